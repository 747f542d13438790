"""A plan: a learned law of demand on grids, and what every state is worth under it."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import LinearMean
from lostsales.learn.planner import bellman_loops as bellman
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.physics import KINDS, Physics
from lostsales.types import Bools, Floats

ATOMS = 32
BELIEF_ATOMS = 16
LAGS = 33
STOCKS = 61
MOST_SWEEPS = 40
EVALUATIONS = 12  # sweeps that follow the last greedy actions, after each that seeks better ones
TOLERANCE = 2e-3  # of a period's profit, to which the values are found


@dataclass(frozen=True, eq=False)
class Grids:
    """Where values are kept: even grids of the stock and of the last demand."""

    stocks: Floats
    lags: Floats
    orders: Floats  # worth a thought

    @property
    def steps(self) -> Floats:
        """(2,) of the stock and of the last demand."""
        return np.array([self.stocks[1], self.lags[1]])

    @classmethod
    def of_scales(cls, highest: Floats, orders: Floats, physics: Physics, discount: float) -> list["Grids"]:
        """From the largest demand that matters at each scale, all with as many points.

        An order beyond two such demands and two economic batches (sqrt(2 K D / h), capital counted in h) is not planned
        with, so that products of different scale can share a list of orders.
        """
        holding = physics.holding_cost + (1 - discount) * physics.order_cost
        batch = np.sqrt(2 * physics.fixed_order_cost * highest / max(holding, 1e-9))
        own = [orders[: np.searchsorted(orders, each) + 1] for each in 2 * (highest + batch)]
        most = np.minimum(physics.room, highest + [each[-1] for each in own])
        steps = [_stock_step(each, orders) for each in most]
        points = max(int(np.ceil(most / np.array(steps) - 1e-9).max()) + 1, 2)
        lag_steps = np.maximum(highest / (LAGS - 1), 1e-9)
        return [
            cls(step * np.arange(float(points)), lag_step * np.arange(float(LAGS)), each)
            for step, lag_step, each in zip(steps, lag_steps, own, strict=True)
        ]


def _stock_step(most: float, orders: Floats) -> float:
    """The step of a grid up to `most`: whole where orders are, a multiple of what all orders are multiples of."""
    step = most / (STOCKS - 1)
    if (orders != np.rint(orders)).any() or not orders.any():
        return step
    unit = float(np.gcd.reduce(orders[orders > 0].astype(np.int64)))
    return unit * float(np.ceil(step / unit)) if step > unit else max(1.0, float(np.floor(step)))


def latent_table(evidence: Evidence, law: DemandLaw, states: MarketStates, prices: Floats, lags: Floats) -> Floats:
    """Equally likely latents for every node, price and last demand, (3, z nodes, prices, lags, atoms).

    The last demand is known, or hidden by one stock-out, or by several. A belief with mean mu is taken to be mu plus
    what a demand that was cut at its middle leaves, less the mean of that: after one stock-out the upper half of the
    residual law, after several that of the law after one.
    """
    atoms = law.residuals.atoms(ATOMS)
    known = _mean_table(evidence, law, states, prices, lags)
    tables = [known[..., None] + atoms]
    for _ in range(KINDS - 1):
        middle = tables[-1][tuple(each // 2 for each in known.shape)]
        upper = np.interp(_shares(BELIEF_ATOMS), _shares(ATOMS // 2), middle[ATOMS // 2 :])
        if law.family.multiplicative:
            believed = lags[:, None] * np.exp(upper) / np.exp(upper).mean()
        else:
            believed = np.maximum(lags[:, None] + upper - upper.mean(), 0.0)
        means = _mean_table(evidence, law, states, prices, believed.reshape(-1)).reshape(*known.shape, BELIEF_ATOMS)
        mixed = np.sort((means[..., None] + atoms).reshape(*known.shape, -1), axis=-1)
        tables.append(mixed.reshape(*known.shape, ATOMS, BELIEF_ATOMS).mean(axis=-1))
    return np.ascontiguousarray(np.stack(tables))


def _shares(count: int) -> Floats:
    return (np.arange(count) + 0.5) / count


def _mean_table(evidence: Evidence, law: DemandLaw, states: MarketStates, prices: Floats, lags: Floats) -> Floats:
    """The mean of the latent, (z nodes, prices, lags); interactions with the market are averaged near each node."""
    at = np.linspace(0, len(evidence) - 1, min(len(evidence), 64)).astype(np.int64)
    market = evidence.market[at]
    own = states.index(market)
    grid = np.stack(np.meshgrid(prices, lags, indexing="ij"), axis=-1).reshape(-1, 2)
    table = np.empty((len(states.z_nodes), len(grid)))
    if isinstance(law.mean, LinearMean):
        zero = np.zeros((len(grid), evidence.market.shape[1]))
        shared = law.mean(law.inputs(zero, grid[:, 0], grid[:, 1]))
        table[:] = states.z_nodes[:, None] + shared
    else:
        left = np.empty((len(at), len(grid)))
        for row, (one, z) in enumerate(zip(market, own, strict=True)):
            same = np.repeat(one[None], len(grid), axis=0)
            left[row] = law.mean(law.inputs(same, grid[:, 0], grid[:, 1])) - z
        width = max(float(np.std(own)), 1e-9) / 2
        near = np.exp(-0.5 * ((states.z_nodes[:, None] - own) / width) ** 2) + 1e-9
        table[:] = states.z_nodes[:, None] + near / near.sum(axis=1, keepdims=True) @ left
    return table.reshape(len(states.z_nodes), len(prices), len(lags))


def solve(
    latents: Floats,
    law: DemandLaw,
    scale: float,
    states: MarketStates,
    grids: Grids,
    prices: Floats,
    may: Bools,
    physics: Physics,
    discount: float,
    iterations: int | None = None,
    start: Floats | None = None,
) -> Floats:
    """What every state is worth, (cells, layers + 1, lags, stocks), by modified policy iteration from a start."""
    atoms = law.demand(latents, scale)
    may = np.ascontiguousarray(may.reshape(len(prices), -1)[:, : len(grids.orders)]).reshape(-1)
    shape = len(states.cells), physics.layers + 1, len(grids.lags), len(grids.stocks)
    values = np.zeros(shape) if start is None else start.copy()
    best = np.zeros(shape, dtype=np.int64)
    node, part = states.cell_outlook(prices)

    def sweep(greedy: bool) -> None:
        bellman.sweep(
            values, states.following(values), best, greedy, atoms, states.cells[:, 0], node, part, prices,
            grids.orders, may, grids.stocks, physics, discount, grids.steps,
        )  # fmt: skip

    enough = TOLERANCE * (float(np.abs(prices).max()) * float(np.median(atoms)) + 1e-9)
    for _ in range(MOST_SWEEPS if iterations is None else iterations):
        before = values.copy()
        sweep(greedy=True)
        change = values - before
        if change.max() - change.min() < enough:
            break
        for _ in range(EVALUATIONS):
            sweep(greedy=False)
    return values
