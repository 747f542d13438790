"""A market replayed from a log: features as they followed each other, demand by local conditional distributions.

No family of demand distributions is assumed: demands are aligned by a linear mean, and what is drawn around it are
kernel-weighted residuals of the rows, censored ones by their conditional distribution (`learn/replay`).
"""

from dataclasses import dataclass

import numpy as np

from lostsales.data.encoding import costs_as_features
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.sublogs import series_parts
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.local_residuals import LocalResiduals, Points
from lostsales.demand.law.selection import fit_law
from lostsales.errors import LostSalesError
from lostsales.learn.planner.market_states import market_states
from lostsales.learn.replay.local_demand import aligning_families, localised
from lostsales.policy.rollout import Opening
from lostsales.policy.view import Features
from lostsales.types import Floats, Ints

MOST_ROWS = 1_000  # from which distributions are learned, in blocks of ...
BLOCK_ROWS = 50  # ... so many periods of a series
BANDWIDTHS = (1.0, 0.5, 0.25)  # candidates; held-out rows choose
MEANS = tuple(each for each in aligning_families("learn") if each.mean == "linear")
SIMILAR = 5  # rows; one of them continues a series that ends


@dataclass(eq=False)
class ReplayedMarket:
    """Opens at rows of a log, and goes on with the features of the rows that follow them; demand is drawn.

    If a series ends, it goes on after one of the rows of the same product whose features are most like its last.
    """

    log: DecisionLog  # or a part of it
    features: Floats  # (rows of the log, features) with unit costs that vary
    evidence: Evidence
    law: DemandLaw
    residuals: LocalResiduals | None  # None: what lies around the mean is drawn from the law
    index: Floats  # (rows of the evidence,) what the market adds to the mean
    following: Ints  # (rows of the evidence, SIMILAR) rows of the evidence that may come next
    row: Ints  # (episodes,) of the evidence

    @classmethod
    def of(cls, log: SalesLog, episodes: int, seed: int) -> "ReplayedMarket":
        """Learn the distributions from a log, or from blocks of it, and draw where episodes open."""
        log = _part(log, seed).decisions("fit")
        model = fit_law(log, MEANS, seed)
        return cls.with_residuals(
            log, model, localised(log, model, model.law, BANDWIDTHS, seed).residuals, episodes, seed
        )

    @classmethod
    def of_law(cls, log: DecisionLog, episodes: int, seed: int) -> "ReplayedMarket":
        """Learn the demand law that the planner decides on, from the whole log."""
        return cls.with_residuals(log, fit_law(log, None, seed), None, episodes, seed)

    @classmethod
    def with_residuals(
        cls, log: DecisionLog, model: DemandModel, residuals: LocalResiduals | None, episodes: int, seed: int
    ) -> "ReplayedMarket":
        """Build with what is drawn around the means of a model, and draw where episodes open."""
        evidence, law = model.evidence, model.law
        states = market_states(evidence, law, seed, log.problem.features)
        if states.forecast.slopes[-1]:
            raise LostSalesError("the price moves the features of the next period, which are replayed as they were")
        return cls(
            log=log,
            features=costs_as_features(log).features,
            evidence=evidence,
            law=law,
            residuals=residuals,
            index=states.z(evidence.market, law.level[evidence.series]),
            following=_following(evidence),
            row=np.random.default_rng(seed).choice(np.flatnonzero(evidence.depth == 0), episodes),
        )

    @property
    def log_rows(self) -> Ints:
        """The rows of the log at which episodes are, (episodes,)."""
        return self.evidence.rows[self.row]

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes them
        """Open as the log did."""
        log, rows = self.log, self.log_rows
        pipeline = None if log.pipeline is None else log.pipeline[rows]
        phase = log.problem.supply.order_phase(log.period[rows])
        stock, last_demand = log.stock[rows], self.evidence.lag[self.row]
        return Opening(self._features(), stock, last_demand, log.names[log.series[rows]], pipeline, phase)

    def demand(
        self,
        period: int,  # noqa: ARG002, the protocol passes it
        features: Features,  # noqa: ARG002, those of the rows
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw D_t, stratified over the episodes."""
        law, series, episodes = self.law, self.evidence.series[self.row], len(price)
        scale, relative = law.scale[series], price / law.usual_price[series]
        lag = last_demand / scale
        mean = law.mean_of(law.inputs(self.evidence.market[self.row], relative, lag), series)
        share = (rng.permutation(episodes) + rng.random(episodes)) / episodes
        if self.residuals is None:
            return law.demand(law.quantile(share, mean, scale), scale)
        drawn = self.residuals.quantile(Points(self.index[self.row], relative, lag, mean), share)
        return law.demand(mean + law.spread_of(mean, scale) * drawn, scale)

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """Features of the rows that follow."""
        self.row = self.following[self.row, rng.integers(0, self.following.shape[1], len(self.row))]
        return self._features()

    def _features(self) -> Features:
        return tuple(self.features[self.log_rows].T)


def _part(log: SalesLog, seed: int) -> SalesLog:
    """The log, or blocks of its series drawn at random until they have `MOST_ROWS` rows."""
    if len(log) <= MOST_ROWS:
        return log
    rows = np.arange(len(log))
    place = rows - log.starts[log.series]
    blocks = np.flatnonzero(place % BLOCK_ROWS == 0)
    drawn = np.random.default_rng(seed).permutation(len(blocks))
    sizes = np.diff(np.r_[blocks, len(log)])
    chosen = drawn[: int(np.searchsorted(np.cumsum(sizes[drawn]), MOST_ROWS)) + 1]
    kept = np.flatnonzero(np.isin(np.cumsum(place % BLOCK_ROWS == 0) - 1, chosen))
    return series_parts(log, kept, place[kept] % BLOCK_ROWS == 0)


def _following(evidence: Evidence) -> Ints:
    """The row after each; after the last of a series rows that follow its most similar ones, (rows, SIMILAR)."""
    rows = np.arange(len(evidence))
    goes_on = np.r_[(np.diff(evidence.rows) == 1) & (np.diff(evidence.series) == 0), False]
    product = evidence.product[evidence.series]
    deviation = evidence.market.std(axis=0)
    market = evidence.market[:, deviation > 0] / deviation[deviation > 0]
    following = np.repeat(np.minimum(rows + 1, len(rows) - 1)[:, None], SIMILAR, axis=1)
    for last in np.flatnonzero(~goes_on):
        others = np.flatnonzero(goes_on & (product == product[last]))
        apart = ((market[others] - market[last]) ** 2).sum(axis=1)
        similar = others[np.argsort(apart, kind="stable")[:SIMILAR]] + 1
        following[last] = np.resize(similar, SIMILAR) if len(similar) else last
    return following
