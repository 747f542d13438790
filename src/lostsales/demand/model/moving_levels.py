"""Moving levels of many series: filtered state, and sample paths of future demand."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.demand.model.moving_level_loops import RATES, LevelState, draw_paths, observe
from lostsales.types import Bools, Floats, Ints

# Discount of scores per period; 0.90 and 0.96 were no better on nine windows of VN2 (docs/public-benchmarks.md).
FORGETTING = 0.93
USUAL_SPREAD = 0.35  # prior standard deviation of demand relative to its mean
KNOWN_LEVEL = 4  # weight of that prior, and of a level known in advance, in periods
STUDENT = 6  # degrees of freedom of the errors of a path
MEMBERS = len(RATES)
EQUAL_SERIES = 1.0  # pseudo-count of each member when weights are pooled
ROUNDS = 50  # of expectation-maximisation


@dataclass(frozen=True, eq=False)
class PathDraws:
    """Common random numbers of paths: all series share them, so that no series depends on which others there are."""

    chances: Floats  # (paths, periods) uniform
    errors: Floats  # (paths, periods) Student with variance 1

    @classmethod
    def of(cls, paths: int, periods: int, rng: np.random.Generator) -> "PathDraws":
        """Draw numbers that are stratified in each period."""
        from scipy.special import stdtrit

        chances = stratified(paths, periods, rng)
        return cls(chances, stdtrit(STUDENT, chances) * np.sqrt((STUDENT - 2) / STUDENT))


def stratified(paths: int, columns: int, rng: np.random.Generator) -> Floats:
    """Latin hypercube sample (paths, columns): midpoints of equal parts of [0, 1], each once in a column.

    The ranks of a scrambled Sobol sequence, which is also even over several columns. Paths are sorted by an extra
    first column, which is left out, so that any run of neighbouring paths is even as well.
    """
    from scipy.stats.qmc import Sobol

    points = Sobol(columns + 1, rng=rng).random_base2(max(paths - 1, 1).bit_length())[:paths]
    ranks = points[points[:, 0].argsort(), 1:].argsort(axis=0).argsort(axis=0)
    return np.asarray((ranks + 0.5) / paths)


@dataclass(frozen=True, eq=False)
class MovingLevels:
    """Mixture of levels with several rates and trends, weighted by the likelihood of the demand of each series.

    Examples
    --------
    >>> levels = MovingLevels.start(1).after(np.array([[8.0, 8.0, 8.0, 20.0, 20.0, 20.0, 20.0]]))
    >>> bool(levels.mean[0] > 15)
    True

    """

    state: LevelState
    counted: bool = True  # demand comes in whole units
    forgetting: float = FORGETTING
    prior: Floats = field(default_factory=lambda: np.full(MEMBERS, 1.0 / MEMBERS))  # (members,) prior weights

    @classmethod
    def start(
        cls,
        series: int,
        counted: bool = True,
        level: Floats | None = None,
        spread: Floats | None = None,
        prior: Floats | None = None,
        weight: float = KNOWN_LEVEL,
    ) -> "MovingLevels":
        """Initial state, before any demand.

        A `level` (series,) known in advance (not NaN) has the `weight` of so many periods, and so has a `spread`
        (series,), the variance beyond Poisson's relative to the squared mean. `prior` has the weights of the members
        (members,).
        """
        shape, least = (series, len(RATES)), 0.5 if counted else 0.0
        known = np.zeros(series, dtype=bool) if level is None else np.isfinite(level)
        first = np.zeros(series) if level is None else np.where(known, np.maximum(level, least), 0.0)
        usual = np.full(series, USUAL_SPREAD**2) if spread is None else spread
        state = LevelState(
            level=np.repeat(first[:, None], shape[1], axis=1),
            trend=np.zeros(shape),
            squares=np.repeat(weight * usual[:, None], shape[1], axis=1),
            weight=np.full(shape, float(weight)),
            score=np.zeros(shape),
            shown=known * round(weight),
        )
        found = cls(state, counted)
        return found if prior is None else replace(found, prior=prior)

    @classmethod
    def joined(cls, parts: list["MovingLevels"]) -> "MovingLevels":
        """Concatenate the series of all parts."""
        state = LevelState._make(map(np.concatenate, zip(*(part.state for part in parts), strict=True)))
        return replace(parts[0], state=state)

    def after(self, demand: Floats, censored: Bools | None = None, exposure: Floats | None = None) -> "MovingLevels":
        """Update the levels by further periods (series, periods), NaN where a series has none.

        A censored demand is a lower bound. The exposure of a period is its seasonal index times its share of time on
        sale, 1 by default.
        """
        state = LevelState._make(each.copy() for each in self.state)
        censored = np.zeros(demand.shape, dtype=bool) if censored is None else censored
        exposure = np.ones(demand.shape) if exposure is None else np.ascontiguousarray(exposure)
        units = np.ascontiguousarray(demand, dtype=np.float64)
        observe(state, units, exposure, np.ascontiguousarray(censored), RATES, self.forgetting, self.counted)
        return replace(self, state=state)

    def pooled(self) -> "MovingLevels":
        """Estimate the prior weights of the members from the scores of all series (empirical Bayes).

        They are mixture weights by expectation-maximisation; with few series they stay nearly equal.
        """
        likelihood = np.exp(self.state.score - self.state.score.max(axis=1, keepdims=True))
        weights = np.full(MEMBERS, 1.0 / MEMBERS)
        for _ in range(ROUNDS):
            shares = likelihood * weights
            total = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0) + EQUAL_SERIES
            weights = total / total.sum()
        return replace(self, prior=weights)

    def take(self, rows: Ints) -> "MovingLevels":
        """Select series."""
        return replace(self, state=LevelState._make(each[rows] for each in self.state))

    @property
    def weighted(self) -> LevelState:
        """State with the prior weights added to the scores."""
        return self.state._replace(score=self.state.score + np.log(self.prior))

    @property
    def mean(self) -> Floats:
        """Mean level of each series, (series,)."""
        return np.asarray((self._shares * self.state.level).sum(axis=1))

    @property
    def spread(self) -> Floats:
        """Variance of demand beyond Poisson's, relative to the squared mean, (series,)."""
        return np.asarray((self._shares * self.state.squares / self.state.weight).sum(axis=1))

    @property
    def _shares(self) -> Floats:
        score = self.weighted.score
        shares = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def paths(self, draws: PathDraws, exposure: Floats | None = None) -> Floats:
        """Sample demands of the coming periods, (series, paths, periods); `exposure` is (series, periods)."""
        n, (paths, periods) = len(self.state.shown), draws.chances.shape
        exposure = np.ones((n, periods)) if exposure is None else exposure
        state, found = self.weighted, np.empty((n, periods, paths))
        for i in range(n):
            draw_paths(state, i, exposure[i], draws.chances, draws.errors, RATES, self.counted, found[i])
        return found.transpose(0, 2, 1)
