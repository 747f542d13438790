"""Market states: what the features do to demand today (z), and what they forecast for tomorrow (w).

Any number of features enter through two numbers: the index z, what they add to the mean of demand, and the forecast
w = E[z_{t+1} | features, price]. Between periods (z, w) moves among at most a few dozen cells, with probabilities
counted in the log; a calendar's w determines tomorrow's z, so it cycles.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import KernelMean, LinearMean, fit_kernel, fit_linear
from lostsales.policy.file_content import numbers, optional
from lostsales.types import Array, Floats, Ints

Z_NODES = 9
W_NODES = 7
LEAST_MASS = 2e-3  # cells with a smaller share of the log are left to their neighbours
REFERENCE_ROWS = 20  # over whose price and last demand a mean with interactions is averaged
# In a policy file; the arrays of a kernel mean are absent where the mean is linear.
STATE_ARRAYS = {
    "z_nodes": numbers("z", rising=True),
    "w_nodes": numbers("w", rising=True),
    "index": numbers("1+features+attributes"),
    "outlook": numbers("3+features+attributes"),
    "centre": optional(numbers("features+attributes")),
    "scale": optional(numbers("features+attributes", least=0)),
    "landmarks": optional(numbers("landmarks", "features+attributes")),
    "root": optional(numbers("landmarks", "rank")),
    "weights": optional(numbers("rank")),
    "kernel": optional(numbers(2, least=0)),
}
LEAST_T = 4.0  # t statistic from which on the price of today counts as moving z of tomorrow


@dataclass(frozen=True, eq=False)
class MarketStates:
    """z and w as functions of the features, their nodes, and the transition probabilities of their cells."""

    index: LinearMean | KernelMean  # features to z
    forecast: LinearMean  # features, z and price to w
    z_nodes: Floats  # (z nodes,) rising
    w_nodes: Floats  # (w nodes,) rising
    cells: Ints  # (cells, 2) node of z and of w
    transition: Floats  # (w nodes, cells) P(next cell | w)
    usual_price: float = 0.0  # at which the nodes of w were found

    def z(self, features: Floats, effect: Floats | float) -> Floats:
        """Index z of rows, with the effect of their series, (rows,)."""
        return self.index(features) + effect

    def z_position(self, features: Floats, effect: Floats | float) -> Floats:
        """Index z as a position among its nodes, (rows,)."""
        return position(self.z(features, effect), self.z_nodes)

    def w_position(self, features: Floats, effect: Floats | float, prices: Floats) -> Floats:
        """Forecast w under each price as a position among its nodes, (rows, prices)."""
        z = self.z(features, effect)
        base = self.forecast(np.column_stack([features, z, np.zeros(len(z))]))
        return position(base[:, None] + self.forecast.slopes[-1] * prices, self.w_nodes)

    def cell_w(self, prices: Floats) -> tuple[Ints, Floats]:
        """Forecast w of each cell and price: node at or below it, and weight of the node above, (cells, prices)."""
        moved = self.w_nodes[self.cells[:, 1]][:, None] + self.forecast.slopes[-1] * (prices - self.usual_price)
        return _node_and_weight(position(moved, self.w_nodes), len(self.w_nodes))

    def next_values(self, values: Floats) -> Floats:
        """E[V(next state) | w], (w nodes, ...), from the values of each cell, (cells, ...)."""
        return np.asarray(np.tensordot(self.transition, values, axes=(1, 0)))

    def to_arrays(self) -> dict[str, Array]:
        """What decisions need, as it is saved."""
        linear = self.index.linear if isinstance(self.index, KernelMean) else self.index
        arrays: dict[str, Array] = {
            "z_nodes": self.z_nodes,
            "w_nodes": self.w_nodes,
            "outlook": np.r_[self.forecast.intercept, self.forecast.slopes],
            "index": np.r_[linear.intercept, linear.slopes],
        }
        if isinstance(self.index, KernelMean):
            arrays |= {
                "centre": self.index.centre,
                "scale": np.where(np.isinf(self.index.scale), 0.0, self.index.scale),
                "landmarks": self.index.landmarks,
                "root": self.index.root,
                "weights": self.index.weights,
                "kernel": np.array([self.index.coefficient, self.index.ridge]),
            }
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "MarketStates":
        """From `to_arrays`, without the cells, which only planning needs."""
        linear = LinearMean(float(arrays["index"][0]), arrays["index"][1:])
        index: LinearMean | KernelMean = linear
        if "landmarks" in arrays:
            scale = np.where(arrays["scale"] == 0, np.inf, arrays["scale"])
            shape = arrays["centre"], scale, arrays["landmarks"], arrays["root"]
            coefficient, ridge = map(float, arrays["kernel"])
            index = KernelMean(linear, *shape, coefficient, ridge, arrays["weights"])
        forecast = LinearMean(float(arrays["outlook"][0]), arrays["outlook"][1:])
        no_cells = np.zeros((0, 2), np.int64), np.zeros((0, 0))
        return cls(index, forecast, arrays["z_nodes"], arrays["w_nodes"], *no_cells)


def position(values: Floats, nodes: Floats) -> Floats:
    """Values as fractional indices into nodes: 1.5 is half-way from the second to the third."""
    return np.asarray(np.interp(values, nodes, np.arange(len(nodes))))


def market_states(evidence: Evidence, law: DemandLaw, seed: int = 0) -> MarketStates:
    """Estimate index, forecast and transition probabilities from the rows of a log."""
    features, index = evidence.market, _fit_index(evidence, law, seed)
    z = index(features) + market_effects(evidence, law)
    follows = (np.diff(evidence.rows) == 1) & (np.diff(evidence.series) == 0)
    rows = np.flatnonzero(follows)  # whose next row is of the next period
    inputs = np.column_stack([features, z, evidence.price])
    forecast = _fit_forecast(inputs[rows], z[rows + 1])
    if not _price_matters(inputs[rows], z[rows + 1], forecast):
        inputs = inputs * np.r_[np.ones(inputs.shape[1] - 1), 0.0]
        forecast = _fit_forecast(inputs[rows], z[rows + 1])
    usual_price = float(np.mean(evidence.price))
    w = forecast(np.column_stack([features, z, np.full(len(z), usual_price)]))
    z_nodes, w_nodes = _nodes(z, Z_NODES), _nodes(w, W_NODES)
    z_weights, w_weights = _node_weights(z, z_nodes), _node_weights(w, w_nodes)
    cells = np.argwhere(z_weights.T @ w_weights / len(z) > LEAST_MASS)
    cell_weights = z_weights[:, cells[:, 0]] * w_weights[:, cells[:, 1]]
    cell_weights /= np.maximum(cell_weights.sum(axis=1, keepdims=True), 1e-12)
    w_before = forecast(inputs[rows]) if len(rows) else w[rows]
    marginal = cell_weights.mean(axis=0)
    counts = _node_weights(w_before, w_nodes).T @ cell_weights[rows + 1] + 0.5 * marginal / marginal.sum()
    transition = counts / counts.sum(axis=1, keepdims=True)
    return MarketStates(index, forecast, z_nodes, w_nodes, cells, transition, usual_price)


def market_effects(evidence: Evidence, law: DemandLaw) -> Floats:
    """Level and season of the series of each row, (rows,)."""
    effects, features = law.effects, evidence.market
    own = replace(effects, slopes=effects.slopes[:, : features.shape[1]], centre=effects.centre[: features.shape[1]])
    return own.of(features, evidence.series)


def _nodes(values: Floats, most: int) -> Floats:
    """Values themselves where they are few, else nodes midway between quantiles and an even grid of the middle 98 %."""
    spread = values.std()
    if spread < 1e-9:
        return np.array([values.mean()])
    near = np.unique(np.rint(values / (0.02 * spread))) * 0.02 * spread
    if len(near) <= most:
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
    """What the features add to the mean, averaged over prices and last demands of the log."""
    features = evidence.market
    n_columns = features.shape[1]
    if isinstance(law.mean, LinearMean):
        return LinearMean(0.0, law.mean.slopes[:n_columns].copy())
    if n_columns == 0:
        return LinearMean(0.0, np.zeros(0))
    rng = np.random.default_rng(seed)
    observed = np.flatnonzero(~np.isnan(evidence.lag))
    reference = rng.choice(observed, min(REFERENCE_ROWS, len(observed)), replace=False)
    lag = (evidence.lag / law.scale[evidence.series])[reference]
    total = np.zeros(len(evidence))
    for each_price, each_lag in zip(evidence.price[reference], lag, strict=True):
        same = np.full(len(evidence), 1.0)
        total += law.mean(law.inputs(features, each_price * same, each_lag * same))
    z = total / len(reference)
    z -= z.mean()
    weights = np.ones(len(z))
    linear = fit_linear(features, z, weights)
    if np.std(z - linear(features)) < 0.02 * np.std(z):
        return linear
    return fit_kernel(features, z, weights, seed)


def _fit_forecast(inputs: Floats, z_tp1: Floats) -> LinearMean:
    """E[z_{t+1} | features, z, price] by least squares; 0 without rows."""
    if len(inputs) == 0:
        return LinearMean(0.0, np.zeros(inputs.shape[1]))
    return fit_linear(inputs, z_tp1, np.ones(len(inputs)))


def _price_matters(inputs: Floats, z_tp1: Floats, forecast: LinearMean) -> bool:
    """Whether the price of today moves z of tomorrow significantly."""
    if len(inputs) < 30 or np.std(inputs[:, -1]) < 1e-9:
        return False
    others = np.column_stack([np.ones(len(inputs)), inputs[:, :-1]])
    price = inputs[:, -1] - others @ np.linalg.lstsq(others, inputs[:, -1], rcond=1e-10)[0]
    residual = z_tp1 - forecast(inputs)
    error = np.sqrt(np.mean(residual**2) / max(float(price @ price), 1e-12))
    return bool(abs(forecast.slopes[-1]) > LEAST_T * error + 1e-9)
