"""Market states: the effect of the features on demand today (z) and the forecast of tomorrow's (w).

If features are a calendar, its states follow one another as they do: today's and tomorrow's are exact, and with them
the level of z. Any other features enter through two numbers: the index z, what they add to the mean of demand beyond
the calendar, and the forecast w = E[z_{t+1} | features, price]. Between periods (z, w) moves among at most a few dozen
cells, with probabilities counted in the log.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from lostsales.data.feature import Feature
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import KernelMean, LinearMean, fit_kernel, fit_linear
from lostsales.demand.law.memory import observed_lag
from lostsales.learn.planner.known_cycle import KnownCycle, find_cycle
from lostsales.saved_fields import NOT_SAVED, Sizes, numbers
from lostsales.types import Floats, Ints

Z_NODES = 9  # of the market index of today: the time of a plan grows with the product of both
W_NODES = 7  # of its forecast for tomorrow
# Nodes of z and w beside the states of a calendar: at most so many, and one more for every so many standard deviations
# of demand by which z moves its mean.
BESIDE_CYCLE, Z_STEP = 5, 1.0
LEAST_MASS = 2e-3  # cells with a smaller share of the log are left to their neighbours
USUAL_ROWS = 64  # from which the spread of demand is estimated
REFERENCE_ROWS = 20  # over whose price and last demand a mean with interactions is averaged
LEAST_T = 4.0  # t statistic from which on the price of today moves z of tomorrow


@dataclass(frozen=True, eq=False)
class MarketStates:
    """z and w as functions of the features, their nodes, and the transition probabilities of their cells.

    A node of w is the calendar's next state and, within it, one of the forecasts of z beyond the calendar.
    """

    # features to z, and features, z beyond the calendar and price to w
    index: Annotated[LinearMean | KernelMean, Sizes(inputs="features+attributes")]
    forecast: Annotated[LinearMean, Sizes(inputs="2+features+attributes")]
    z_nodes: Annotated[Floats, numbers("z", rising=True)]
    w_nodes: Annotated[Floats, numbers("forecasts", rising=True)]
    cells: Annotated[Ints, NOT_SAVED]  # (cells, 2) node of z and of w
    transition: Annotated[Floats, NOT_SAVED]  # (w nodes, cells) P(next cell | w)
    usual_price: Annotated[float, NOT_SAVED] = 0.0  # at which the nodes of w were found
    cycle: KnownCycle = field(default_factory=KnownCycle.none)
    # by which a feature of the next period is expected
    ahead: Annotated[Floats | None, numbers("1+features+attributes", "features+attributes")] = None

    def z(self, features: Floats, effect: Floats | float) -> Floats:
        """Index z of rows, with the effect of their series, (rows,)."""
        return self.index(features) + effect

    def z_position(self, features: Floats) -> Floats:
        """Index z as a position among its nodes, (rows,)."""
        return position(self.index(features), self.z_nodes)

    def w_position(self, features: Floats, prices: Floats, coming: Floats | None = None) -> Floats:
        """Forecast w under each price as a position among its nodes, (rows, prices).

        `coming` are features of the next period; what is not known of it yet is expected (`expected`).
        """
        today = self.cycle.state(features)
        z = self.index(features) - self.cycle.level[today]
        base = self.forecast(np.column_stack([features, z, np.zeros(len(z))]))
        moved, following = base[:, None] + self.forecast.slopes[-1] * prices, self.cycle.following[today]
        if coming is not None:
            following = self.cycle.state(coming)
            moved += (self.index(coming) - self.cycle.level[following] - base)[:, None]
        return position(moved, self.w_nodes) + (following * len(self.w_nodes))[:, None]

    def expected(self, features: Floats, coming: Floats) -> Floats:
        """The features of the next period, (rows, columns): as far as they are known (not NaN), else as expected."""
        if self.ahead is None:
            return np.where(np.isnan(coming), features, coming)
        return np.where(np.isnan(coming), self.ahead[0] + features @ self.ahead[1:], coming)

    def against_time(self) -> list[tuple[slice, slice, slice]]:
        """The cells of each state of the calendar, those of the next state, and the nodes of w that lead there.

        The states are in reverse order of time.
        """
        pairs, forecasts = len(self.cells) // len(self.cycle), len(self.w_nodes)

        def part(state: int, each: int) -> slice:
            return slice(state * each, (state + 1) * each)

        return [
            (part(state, pairs), part(coming, pairs), part(coming, forecasts))
            for state, coming in self.cycle.against_time()
        ]

    def cell_w(self, prices: Floats) -> tuple[Ints, Floats]:
        """Forecast w of each cell and price: node at or below it, and weight of the node above, (cells, prices)."""
        following, own = np.divmod(self.cells[:, 1], len(self.w_nodes))
        moved = self.w_nodes[own][:, None] + self.forecast.slopes[-1] * (prices - self.usual_price)
        node, weight = _node_and_weight(position(moved, self.w_nodes), len(self.w_nodes))
        return node + (following * len(self.w_nodes))[:, None], weight

    def next_values(self, values: Floats) -> Floats:
        """E[V(next state) | w], (w nodes, ...), from the values of each cell, (cells, ...)."""
        return np.asarray(np.tensordot(self.transition, values, axes=(1, 0)))

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG003, it depends on nothing
        """No cells, which only planning needs."""
        return {"cells": np.zeros((0, 2), np.int64), "transition": np.zeros((0, 0))}


def position(values: Floats, nodes: Floats) -> Floats:
    """Values as fractional indices into nodes: 1.5 is half-way from the second to the third."""
    return np.asarray(np.interp(values, nodes, np.arange(len(nodes))))


def market_states(
    evidence: Evidence, law: DemandLaw, seed: int = 0, features: tuple[Feature, ...] = ()
) -> MarketStates:
    """Estimate index, forecast and transition probabilities from the rows of a log; `features` are those of it."""
    market, index = evidence.market, _fit_index(evidence, law, seed)
    z = index(market) + law.level[evidence.series]
    follows = (np.diff(evidence.rows) == 1) & (np.diff(evidence.series) == 0)
    cycle = find_cycle(evidence, features, index, follows)
    state = cycle.state(market)
    beyond = z - cycle.level[state]
    rows = np.flatnonzero(follows)  # whose next row is of the next period
    inputs = np.column_stack([market, beyond, evidence.price])
    forecast = _fit_forecast(inputs[rows], beyond[rows + 1])
    if not _price_matters(inputs[rows], beyond[rows + 1], forecast):
        inputs = inputs * np.r_[np.ones(inputs.shape[1] - 1), 0.0]
        forecast = _fit_forecast(inputs[rows], beyond[rows + 1])
    usual_price = float(np.mean(evidence.price))
    w = forecast(np.column_stack([market, beyond, np.full(len(z), usual_price)]))
    most = (Z_NODES, W_NODES) if len(cycle) == 1 else 2 * (_beside_cycle(evidence, law, beyond),)
    z_nodes, w_nodes = (_nodes(each, count, float(z.std())) for each, count in zip((beyond, w), most, strict=True))
    z_weights, w_weights = _node_weights(beyond, z_nodes), _node_weights(w, w_nodes)
    pairs = np.argwhere(z_weights.T @ w_weights / len(z) > LEAST_MASS)
    weights = z_weights[:, pairs[:, 0]] * w_weights[:, pairs[:, 1]]
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    w_before = forecast(inputs[rows]) if len(rows) else w[rows]
    marginal = weights.mean(axis=0)
    counts = _node_weights(w_before, w_nodes).T @ weights[rows + 1] + 0.5 * marginal / marginal.sum()
    transition = counts / counts.sum(axis=1, keepdims=True)
    # The calendar moves as it does, and the rest beside it.
    levels, place = np.unique(np.add.outer(cycle.level, z_nodes), return_inverse=True)
    own_z = place.reshape(len(cycle), len(z_nodes))[:, pairs[:, 0]]
    own_w = (cycle.following * len(w_nodes))[:, None] + pairs[:, 1]
    cells = np.column_stack([own_z.reshape(-1), own_w.reshape(-1)])
    moves = np.kron(np.eye(len(cycle)), transition)
    ahead = _fit_ahead(market[rows], market[rows + 1])
    return MarketStates(index, forecast, levels, w_nodes, cells, moves, usual_price, cycle, ahead)


def _beside_cycle(evidence: Evidence, law: DemandLaw, beyond: Floats) -> int:
    """Number of nodes that z needs beyond the calendar, by how far it moves the mean of demand."""
    low, high = np.quantile(beyond, [0.01, 0.99])
    rows = np.linspace(0, len(evidence) - 1, min(len(evidence), USUAL_ROWS)).astype(np.int64)
    series, one = evidence.series[rows], np.ones(len(rows))
    usual = float(np.nanmedian(observed_lag(evidence, law.lag_weights) / law.scale[evidence.series]))
    mean = law.mean_of(law.inputs(evidence.market[rows], evidence.price[rows], usual * one), series)
    spread = law.spread_of(mean, law.scale[series]) * law.residuals.spread
    moved = mean * np.expm1(high - low) if law.family.log_link else np.full(len(rows), high - low)
    reach = float(np.quantile(np.abs(moved) / np.maximum(spread, 1e-9), 0.9))
    return int(np.clip(1 + np.ceil(reach / Z_STEP), 2, BESIDE_CYCLE))


def _nodes(values: Floats, most: int, of_all: float) -> Floats:
    """Values themselves where they are few, else nodes midway between quantiles and an even grid of the middle 98 %.

    A spread of nearly nothing beside that `of_all` z is none.
    """
    spread = values.std()
    if spread < 1e-9 + 1e-6 * of_all:
        return np.array([values.mean()])
    near = np.unique(np.rint(values / (0.02 * spread))) * 0.02 * spread
    if len(near) <= max(most, BESIDE_CYCLE):
        return np.asarray(near)
    quantiles = np.quantile(values, np.linspace(0.01, 0.99, most))
    even = np.linspace(quantiles[0], quantiles[-1], most)
    chosen = np.sort(0.5 * (quantiles + even))
    return np.asarray(chosen[np.r_[True, np.diff(chosen) > 0.02 * spread]])


def _node_and_weight(positions: Floats, nodes: int) -> tuple[Ints, Floats]:
    """The node at or below each position, and the weight of the node above."""
    low = np.minimum(positions.astype(np.int64), max(nodes - 2, 0))
    return low, positions - low


def _node_weights(values: Floats, nodes: Floats) -> Floats:
    """Weight of each node in the linear interpolation at each value, (rows, nodes)."""
    low, weight = _node_and_weight(position(values, nodes), len(nodes))
    weights, rows = np.zeros((len(values), len(nodes))), np.arange(len(values))
    weights[rows, low] = 1 - weight
    weights[rows, np.minimum(low + 1, len(nodes) - 1)] += weight
    return weights


def _fit_index(evidence: Evidence, law: DemandLaw, seed: int) -> LinearMean | KernelMean:
    """Effect of the features on the mean, averaged over prices and last demands of the log."""
    features = evidence.market
    n_columns = features.shape[1]
    if isinstance(law.mean, LinearMean):
        return LinearMean(0.0, law.mean.slopes[:n_columns].copy())
    if n_columns == 0:
        return LinearMean(0.0, np.zeros(0))
    rng = np.random.default_rng(seed)
    observed_lags = observed_lag(evidence, law.lag_weights) / law.scale[evidence.series]
    observed = np.flatnonzero(~np.isnan(observed_lags))
    reference = rng.choice(observed, min(REFERENCE_ROWS, len(observed)), replace=False)
    lag = observed_lags[reference]
    total = np.zeros(len(evidence))
    for each_price, each_lag in zip(evidence.price[reference], lag, strict=True):
        same = np.full(len(evidence), 1.0)
        total += law.mean(law.inputs(features, each_price * same, each_lag * same))
    z = total / len(reference)
    z -= z.mean()
    weights = np.ones(len(z))
    linear = getattr(law.mean, "linear", None)
    prior = None if linear is None or linear.prior is None else linear.prior[:n_columns]
    line = fit_linear(features, z, weights, prior)
    if np.std(z - line(features)) < 0.02 * np.std(z):
        return line
    return fit_kernel(features, z, weights, seed, prior=prior)


def _fit_forecast(inputs: Floats, z_tp1: Floats) -> LinearMean:
    """E[z_{t+1} | features, z, price] by least squares; 0 without rows."""
    if len(inputs) == 0:
        return LinearMean(0.0, np.zeros(inputs.shape[1]))
    return fit_linear(inputs, z_tp1, np.ones(len(inputs)))


def _fit_ahead(market: Floats, market_tp1: Floats) -> Floats | None:
    """E[x_{t+1} | features] of every column by least squares, (1 + columns, columns); None without columns or rows."""
    if not market.size:
        return None
    centre, middle = market.mean(axis=0), market_tp1.mean(axis=0)
    slopes = np.linalg.lstsq(market - centre, market_tp1 - middle, rcond=1e-10)[0]
    return np.concatenate([(middle - centre @ slopes)[None], slopes])


def _price_matters(inputs: Floats, z_tp1: Floats, forecast: LinearMean) -> bool:
    """True where the price of today moves z of tomorrow significantly."""
    if len(inputs) < 30 or np.std(inputs[:, -1]) < 1e-9:
        return False
    others = np.column_stack([np.ones(len(inputs)), inputs[:, :-1]])
    price = inputs[:, -1] - others @ np.linalg.lstsq(others, inputs[:, -1], rcond=1e-10)[0]
    residual = z_tp1 - forecast(inputs)
    error = np.sqrt(np.mean(residual**2) / max(float(price @ price), 1e-12))
    return bool(abs(forecast.slopes[-1]) > LEAST_T * error + 1e-9)
