"""A plan: a learned law of demand on grids, and what every state is worth under it."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.demand.evidence import Evidence
from lostsales.demand.law import DemandLaw
from lostsales.demand.means import LinearMean
from lostsales.learn import bellman
from lostsales.learn.states import MarketStates

ATOMS = 32
BELIEF_ATOMS = 16
KINDS = 3  # of what is known of the last demand: itself, hidden by one stock-out, by several
LAGS = 33
STOCKS = 61
MOST_SWEEPS = 40
EVALUATIONS = 12  # sweeps that follow the last greedy actions, after each that seeks better ones
TOLERANCE = 2e-3  # of a period's profit, to which the values are found


@dataclass(frozen=True, eq=False)
class Physics:
    """What moves stock and money, as the compiled loops want it."""

    after: bool
    netted: bool
    strict: bool  # a stock-out is told apart from selling out exactly
    truncates: bool
    room: float
    forbids: bool
    costs: Floats  # (4,) lost, order, holding, fixed order
    layers: int

    @classmethod
    def of(cls, problem: Problem, costs: UnitCosts, strict: bool) -> "Physics":
        """From a log's problem; costs that vary by row enter by their mean."""
        return cls(
            after=problem.arrival == "after",
            netted=problem.balance == "netted",
            strict=strict,
            truncates=problem.longest_run is not None,
            room=np.inf if problem.capacity is None else problem.capacity,
            forbids=problem.capacity_rule == "forbid",
            costs=np.array([np.mean(each) for each in (costs.lost, costs.order, costs.holding, costs.fixed_order)]),
            layers=problem.longest_run or KINDS - 1,
        )


@dataclass(frozen=True, eq=False)
class Grids:
    """Where values are kept: even grids of the stock and of the last demand."""

    stocks: Floats
    lags: Floats

    @property
    def steps(self) -> Floats:
        """(2,) of the stock and of the last demand."""
        return np.array([self.stocks[1], self.lags[1]])

    @classmethod
    def of_scales(cls, highest: Floats, orders: Floats, room: float) -> list["Grids"]:
        """From the largest demand that matters at each scale, all with as many points."""
        steps = [_stock_step(min(room, each + orders[-1]), orders) for each in highest]
        most = np.minimum(room, highest + orders[-1])
        points = int(np.ceil(most / np.array(steps) - 1e-9).max()) + 1
        lag_steps = np.maximum(highest / (LAGS - 1), 1e-9)
        return [
            cls(step * np.arange(max(points, 2.0)), lag_step * np.arange(float(LAGS)))
            for step, lag_step in zip(steps, lag_steps, strict=True)
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
    orders: Floats,
    may: Bools,
    physics: Physics,
    discount: float,
    iterations: int | None = None,
) -> Floats:
    """What the next state is worth for each outlook, by modified policy iteration."""
    atoms = law.demand(latents, scale)
    shape = len(states.cells), physics.layers + 1, len(grids.lags), len(grids.stocks)
    values = np.zeros(shape)
    best = np.zeros(shape, dtype=np.int32)
    node, part = states.cell_outlook(prices)

    def sweep(greedy: bool) -> None:
        following = np.tensordot(states.chances, values, axes=(1, 0))
        bellman.sweep(
            values,
            following,
            best,
            greedy,
            atoms,
            states.cells[:, 0],
            node,
            part,
            prices,
            orders,
            may,
            grids.stocks,
            physics.after,
            physics.netted,
            physics.strict,
            physics.truncates,
            physics.room,
            physics.forbids,
            physics.costs,
            discount,
            grids.steps,
        )

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
