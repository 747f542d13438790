"""The market as a planner sees it: what it does to demand today, and what it promises for tomorrow.

Any number of features enter through two numbers: the index z, what they add to the mean of demand, and the outlook
w = E[z_{t+1} | features, price]. Between periods (z, w) moves among at most a few dozen cells, with chances counted in
the log; a calendar's w tells tomorrow's z exactly, so it cycles.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import KernelMean, LinearMean, fit_kernel, fit_linear
from lostsales.types import Array, Bools, Floats, Ints

INDEX_NODES = 9
OUTLOOK_NODES = 7
LEAST_MASS = 2e-3  # cells with less of the log are left to their neighbours
REFERENCE_ROWS = 200  # at which a mean with interactions is averaged
PRICE_MATTERS = 4.0  # standard errors from which on the price counts as moving tomorrow's market


@dataclass(frozen=True, eq=False)
class MarketStates:
    """Index and outlook of a market, and how they move."""

    index: LinearMean | KernelMean  # market columns to z
    outlook: LinearMean  # market columns, z and price to w
    z_nodes: Floats  # (z nodes,) rising
    w_nodes: Floats  # (w nodes,) rising
    cells: Ints  # (cells, 2) node of z and of w
    chances: Floats  # (w nodes, cells) P(next cell | w)
    usual_price: float = 0.0  # at which the nodes of w were found

    def z_place(self, market: Floats, effect: Floats | float) -> Floats:
        """The index as a place among its nodes."""
        return place(self.index(market) + effect, self.z_nodes)

    def w_place(self, market: Floats, effect: Floats | float, prices: Floats) -> Floats:
        """The outlook under each price as a place among its nodes, (rows, prices)."""
        z = self.index(market) + effect
        base = self.outlook(np.column_stack([market, z, np.zeros(len(z))]))
        return place(base[:, None] + self.outlook.slopes[-1] * prices, self.w_nodes)

    def cell_outlook(self, prices: Floats) -> tuple[Ints, Floats]:
        """For each cell and price the node of w below the outlook and the part beyond it, (cells, prices)."""
        moved = self.w_nodes[self.cells[:, 1]][:, None] + self.outlook.slopes[-1] * (prices - self.usual_price)
        return _split(place(moved, self.w_nodes), len(self.w_nodes))

    def following(self, values: Floats) -> Floats:
        """What the next state is worth for each outlook, (w nodes, ...), from the worth of each cell, (cells, ...)."""
        return np.asarray(np.tensordot(self.chances, values, axes=(1, 0)))

    def arrays(self) -> dict[str, Array]:
        """What has to be saved."""
        own: dict[str, Array] = {
            "z_nodes": self.z_nodes,
            "w_nodes": self.w_nodes,
            "outlook": np.r_[self.outlook.intercept, self.outlook.slopes],
        }
        linear = self.index.linear if isinstance(self.index, KernelMean) else self.index
        own["index"] = np.r_[linear.intercept, linear.slopes]
        if isinstance(self.index, KernelMean):
            scale = np.where(np.isinf(self.index.scale), 0.0, self.index.scale)
            own |= {"centre": self.index.centre, "scale": scale, "landmarks": self.index.landmarks}
            own |= {"root": self.index.root, "weights": self.index.weights}
            own["kernel"] = np.array([self.index.coefficient, self.index.ridge])
        return own

    @classmethod
    def from_arrays(cls, own: dict[str, Array]) -> "MarketStates":
        """What decides, without what was only needed to plan."""
        linear = LinearMean(float(own["index"][0]), own["index"][1:])
        index: LinearMean | KernelMean = linear
        if "landmarks" in own:
            scale = np.where(own["scale"] == 0, np.inf, own["scale"])
            shape = own["centre"], scale, own["landmarks"], own["root"]
            index = KernelMean(linear, *shape, float(own["kernel"][0]), float(own["kernel"][1]), own["weights"])
        outlook = LinearMean(float(own["outlook"][0]), own["outlook"][1:])
        return cls(index, outlook, own["z_nodes"], own["w_nodes"], np.zeros((0, 2), np.int64), np.zeros((0, 0)))


def place(values: Floats, nodes: Floats) -> Floats:
    """Where values lie among nodes: 1.5 is half-way from the second to the third."""
    return np.asarray(np.interp(values, nodes, np.arange(len(nodes))))


def _split(places: Floats, nodes: int) -> tuple[Ints, Floats]:
    low = np.minimum(places.astype(np.int64), max(nodes - 2, 0))
    return low, places - low


def _memberships(places: Floats, nodes: int) -> Floats:
    """How much each row belongs to each node, (rows, nodes)."""
    low, part = _split(places, nodes)
    shares, rows = np.zeros((len(places), nodes)), np.arange(len(places))
    shares[rows, low] = 1 - part
    shares[rows, np.minimum(low + 1, nodes - 1)] += part
    return shares


def _nodes(values: Floats, most: int) -> Floats:
    """Values themselves where they are few, else an even grid over what the middle 98 % spans and their clusters."""
    spread = values.std()
    if spread < 1e-9:
        return np.array([values.mean()])
    near = np.unique(np.rint(values / (0.02 * spread))) * 0.02 * spread
    if len(near) <= most:
        return np.asarray(near)
    rungs = np.quantile(values, np.linspace(0.01, 0.99, most))
    even = np.linspace(rungs[0], rungs[-1], most)
    chosen = np.sort(0.5 * (rungs + even))
    return np.asarray(chosen[np.r_[True, np.diff(chosen) > 0.02 * spread]])


def market_states(evidence: Evidence, law: DemandLaw, has_next: Bools, seed: int = 0) -> MarketStates:
    """Learn index, outlook and chances from the rows of a log; `has_next` marks rows whose next row follows here."""
    market, effect = evidence.market, law.effect[evidence.series]
    index = _index(evidence, law, seed)
    z = index(market) + effect
    at = np.flatnonzero(has_next)
    inputs = np.column_stack([market, z, evidence.price])
    ones = np.ones(len(at))
    outlook = fit_linear(inputs[at], z[at + 1], ones) if len(at) else LinearMean(0.0, np.zeros(inputs.shape[1]))
    if not _price_moves(inputs[at], z[at + 1], outlook):
        inputs = inputs * np.r_[np.ones(inputs.shape[1] - 1), 0.0]
        outlook = fit_linear(inputs[at], z[at + 1], ones) if len(at) else outlook
    usual = float(np.mean(evidence.price))
    w = outlook(np.column_stack([market, z, np.full(len(z), usual)]))
    z_nodes, w_nodes = _nodes(z, INDEX_NODES), _nodes(w, OUTLOOK_NODES)
    of_z = _memberships(place(z, z_nodes), len(z_nodes))
    of_w = _memberships(place(w, w_nodes), len(w_nodes))
    cells = np.argwhere(of_z.T @ of_w / len(z) > LEAST_MASS)
    of_cell = of_z[:, cells[:, 0]] * of_w[:, cells[:, 1]]
    of_cell /= np.maximum(of_cell.sum(axis=1, keepdims=True), 1e-12)
    now = outlook(inputs[at]) if len(at) else w[at]
    from_w = _memberships(place(now, w_nodes), len(w_nodes))
    usually = of_cell.mean(axis=0)
    counts = from_w.T @ of_cell[at + 1] + 0.5 * usually / usually.sum()
    chances = counts / counts.sum(axis=1, keepdims=True)
    return MarketStates(index, outlook, z_nodes, w_nodes, cells, chances, usual_price=usual)


def _index(evidence: Evidence, law: DemandLaw, seed: int) -> LinearMean | KernelMean:
    """What the market columns add to the mean, averaged over prices and last demands of the log."""
    columns = evidence.market.shape[1]
    if isinstance(law.mean, LinearMean):
        slopes = law.mean.slopes.copy()
        return LinearMean(0.0, slopes[:columns])
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(~np.isnan(evidence.lag))
    reference = rng.choice(known, min(20, len(known)), replace=False)
    lag = (evidence.lag / law.scale[evidence.series])[reference]
    total = np.zeros(len(evidence))
    for each_price, each_lag in zip(evidence.price[reference], lag, strict=True):
        same = np.full(len(evidence), 1.0)
        total += law.mean(law.inputs(evidence.market, each_price * same, each_lag * same))
    z = total / len(reference)
    z -= z.mean()
    if columns == 0:
        return LinearMean(0.0, np.zeros(0))
    weights = np.ones(len(z))
    linear = fit_linear(evidence.market, z, weights)
    if np.std(z - linear(evidence.market)) < 0.02 * np.std(z):
        return linear
    return fit_kernel(evidence.market, z, weights, seed)


def _price_moves(inputs: Floats, following: Floats, outlook: LinearMean) -> bool:
    """Whether the price of today is seen in the market of tomorrow beyond chance."""
    if len(inputs) < 30 or np.std(inputs[:, -1]) < 1e-9:
        return False
    others = np.column_stack([np.ones(len(inputs)), inputs[:, :-1]])
    price = inputs[:, -1] - others @ np.linalg.lstsq(others, inputs[:, -1], rcond=1e-10)[0]
    left = following - outlook(inputs)
    error = np.sqrt(np.mean(left**2) / max(float(price @ price), 1e-12))
    return bool(abs(outlook.slopes[-1]) > PRICE_MATTERS * error + 1e-9)
