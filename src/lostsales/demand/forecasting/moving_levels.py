"""Moving levels of many series: what each has shown so far, and paths of demand that it may take from here."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.demand.forecasting.moving_level_loops import RATES, LevelState, draw_paths, observe
from lostsales.types import Bools, Floats, Ints

FORGETTING = 0.93  # weight of a score against that of the next period
USUAL_SPREAD = 0.35  # standard deviation of demand relative to its mean, before a series has shown its own
USUAL_WEIGHT = 4.0  # periods that it counts for
KNOWN_LEVEL = 4  # periods that a level counts for that is known beforehand
STUDENT = 6  # degrees of freedom of the errors of a path
MEMBERS = len(RATES)
EQUAL_SERIES = 1.0  # series of equal weights that each member counts for when weights are pooled
ROUNDS = 50  # of expectation and maximisation


@dataclass(frozen=True, eq=False)
class PathDraws:
    """Common random numbers of paths: every series meets the same, so that none depends on which others there are."""

    chances: Floats  # (paths, periods) of the uniform law
    errors: Floats  # (paths, periods) of Student's law with variance 1

    @classmethod
    def of(cls, paths: int, periods: int, rng: np.random.Generator) -> "PathDraws":
        """Stratified in each period."""
        from scipy.special import stdtrit

        chances = stratified(paths, periods, rng)
        return cls(chances, stdtrit(STUDENT, chances) * np.sqrt((STUDENT - 2) / STUDENT))


def stratified(paths: int, columns: int, rng: np.random.Generator) -> Floats:
    """The middles of equal shares of [0, 1], each once in a column, (paths, columns), even in several columns too.

    Points of a scrambled Sobol sequence, of which the ranks are kept. A first column that sorts them is left out, so
    that any run of neighbouring paths is even as well.
    """
    from scipy.stats.qmc import Sobol

    points = Sobol(columns + 1, rng=rng).random_base2(max(paths - 1, 1).bit_length())[:paths]
    ranks = points[points[:, 0].argsort(), 1:].argsort(axis=0).argsort(axis=0)
    return np.asarray((ranks + 0.5) / paths)


@dataclass(frozen=True, eq=False)
class MovingLevels:
    """Levels with several rates and trends, weighted by how well each foretold the demand of its series.

    Examples
    --------
    >>> levels = MovingLevels.start(1).after(np.array([[8.0, 8.0, 8.0, 20.0, 20.0, 20.0, 20.0]]))
    >>> bool(levels.mean[0] > 15)
    True

    """

    state: LevelState
    counted: bool = True  # demand comes in whole units
    forgetting: float = FORGETTING
    prior: Floats = field(default_factory=lambda: np.full(MEMBERS, 1.0 / MEMBERS))  # (members,) weights before demands

    @classmethod
    def start(
        cls,
        series: int,
        counted: bool = True,
        level: Floats | None = None,
        spread: Floats | None = None,
        prior: Floats | None = None,
    ) -> "MovingLevels":
        """Nothing seen yet.

        Where a `level` (series,) is known, and not NaN, it counts as some periods; so does a `spread` (series,), the
        variance beyond Poisson's relative to the squared mean. Members have weights (members,) beforehand.
        """
        shape, least = (series, len(RATES)), 0.5 if counted else 0.0
        known = np.zeros(series, dtype=bool) if level is None else np.isfinite(level)
        first = np.zeros(series) if level is None else np.where(known, np.maximum(level, least), 0.0)
        usual = np.full(series, USUAL_SPREAD**2) if spread is None else spread
        state = LevelState(
            level=np.repeat(first[:, None], shape[1], axis=1),
            trend=np.zeros(shape),
            squares=np.repeat(USUAL_WEIGHT * usual[:, None], shape[1], axis=1),
            weight=np.full(shape, USUAL_WEIGHT),
            score=np.zeros(shape),
            shown=known * KNOWN_LEVEL,
        )
        found = cls(state, counted)
        return found if prior is None else replace(found, prior=prior)

    @classmethod
    def joined(cls, parts: list["MovingLevels"]) -> "MovingLevels":
        """The series of all parts."""
        state = LevelState._make(map(np.concatenate, zip(*(part.state for part in parts), strict=True)))
        return replace(parts[0], state=state)

    def after(self, demand: Floats, censored: Bools | None = None, exposure: Floats | None = None) -> "MovingLevels":
        """The levels after further periods (series, periods), NaN where a series has none.

        A censored demand is at least so large. A period is exposed for its seasonal index times its share of time on
        sale, 1 unless given.
        """
        state = LevelState._make(each.copy() for each in self.state)
        censored = np.zeros(demand.shape, dtype=bool) if censored is None else censored
        exposure = np.ones(demand.shape) if exposure is None else np.ascontiguousarray(exposure)
        units = np.ascontiguousarray(demand, dtype=np.float64)
        observe(state, units, exposure, np.ascontiguousarray(censored), RATES, self.forgetting, self.counted)
        return replace(self, state=state)

    def pooled(self) -> "MovingLevels":
        """With the prior weights of members under which the scores of all series are likeliest (empirical Bayes).

        The weights are those of a mixture, by expectation and maximisation; few series leave them near equal.
        """
        likelihood = np.exp(self.state.score - self.state.score.max(axis=1, keepdims=True))
        weights = np.full(MEMBERS, 1.0 / MEMBERS)
        for _ in range(ROUNDS):
            shares = likelihood * weights
            total = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0) + EQUAL_SERIES
            weights = total / total.sum()
        return replace(self, prior=weights)

    def take(self, rows: Ints) -> "MovingLevels":
        """Some of the series."""
        return replace(self, state=LevelState._make(each[rows] for each in self.state))

    @property
    def weighted(self) -> LevelState:
        """The state, whose scores count the prior weights."""
        return self.state._replace(score=self.state.score + np.log(self.prior))

    @property
    def mean(self) -> Floats:
        """The level of each series, (series,)."""
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
        """Demands of the coming periods, (series, paths, periods), exposed so, (series, periods)."""
        n, (paths, periods) = len(self.state.shown), draws.chances.shape
        exposure = np.ones((n, periods)) if exposure is None else exposure
        state, found = self.weighted, np.empty((n, paths, periods))
        for i in range(n):
            draw_paths(state, i, exposure[i], draws.chances, draws.errors, RATES, self.counted, found[i])
        return found
