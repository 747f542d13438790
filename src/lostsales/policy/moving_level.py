"""Moving levels of demand: where the level of each product stands, followed through recent rows.

A moved level is a changed unit of quantity: stock, orders and demand are divided by it, and decisions multiplied.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.observed import observe
from lostsales.demand.model.level_loops import level_paths
from lostsales.demand.model.spread import Spread
from lostsales.saved_fields import POSITIVE, NonNegative, numbers, texts, wholes
from lostsales.types import Array, Bools, Floats, Ints

HALF_LIVES = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 416.0])  # periods; from days to a year of them, by doubling
DECAYS = 0.5 ** (1.0 / HALF_LIVES)
PRIOR, SCORE_DECAY = 0.3, 0.95  # periods that the usual level counts for, and decay of past scores of the rates
RANGE = 0.1, 10.0  # of a level relative to the usual one
FARTHEST = 50.0  # bound on the logarithm of the effect of price and features, so that products of it stay finite
MOST_PERIOD, MOST_STEP = 9.2e18, 1 << 62  # within int64


@dataclass(frozen=True, eq=False)
class LevelStates:
    """State of the filter of each product at the end of a log."""

    names: Annotated[Array, texts("levels")]
    last: Annotated[Ints, wholes("levels", least=-(2.0**63), most=MOST_PERIOD)]  # last period, as a number
    usual: Annotated[Floats, numbers("levels", least=POSITIVE)]  # mean level over the log
    total: Annotated[Floats, numbers("levels", len(DECAYS))]
    weight: Annotated[Floats, numbers("levels", len(DECAYS), least=0)]
    score: Annotated[Floats, numbers("levels", len(DECAYS))]
    slopes: Annotated[Floats, numbers("level inputs")]  # of the logarithm of demand on price and features
    centre: Annotated[Floats, numbers("level inputs")]
    spread: Spread
    whole: bool  # orders are whole
    still: NonNegative = 0.0  # relative change up to which a level is the usual one, and ...
    chance: NonNegative = 0.0  # ... logarithm of one, in units of the relative deviation of a period's demand
    # from one period to the next, as a number; 0 where it is not known
    step: Annotated[int, Field(ge=0, le=MOST_STEP)] = 0

    def index(self, log: SalesLog) -> Floats:
        """Effect of price and features on the demand of rows, (rows,)."""
        return np.exp(np.clip((level_inputs(log) - self.centre) @ self.slopes, -FARTHEST, FARTHEST))

    def now(self) -> dict[str, float]:
        """Level of each product after the last row that was seen, relative to its usual one."""
        return self._named(self.levels() / self.usual)

    def without_recent_rows(self) -> dict[str, float]:
        """Level of each product at the end of the log; the usual one where no level moved beyond chance in it."""
        return {} if self.still else self.now()

    def mean_over(self, log: SalesLog) -> dict[str, float]:
        """Mean level of each product over the rows of a log, relative to its usual one."""
        place = {str(name): at for at, name in enumerate(self.names)}
        product = np.array([place.get(str(name), -1) for name in log.names], dtype=np.int64)[log.series]
        known = np.flatnonzero(product >= 0)
        known = known[np.lexsort((log.period[known], product[known]))]
        nothing = np.zeros_like(self.total), np.zeros_like(self.weight), np.zeros_like(self.score)
        path = level_paths(*filter_rows(log, self.index(log), known, product[known]), *nothing, *self._law())[:, 0]
        rows = np.bincount(product[known], minlength=len(self.names))
        total = np.bincount(product[known], path, len(self.names))
        return self._named(np.where(rows > 0, total / np.maximum(rows, 1), self.usual) / self.usual)

    def _named(self, relative: Floats) -> dict[str, float]:
        """Relative levels by product, 1 where they differ from it by no more than chance."""
        relative = np.clip(relative, *RANGE)
        least = np.maximum(np.log1p(self.still), self.chance * deviation(self.usual, self.spread))
        moved = np.abs(np.log(relative)) > least
        return dict(zip(map(str, self.names), np.where(moved, relative, 1.0).tolist(), strict=True))

    def levels(self) -> Floats:
        """Level of each product after the last row that was seen, (products,)."""
        return np.asarray(level_paths(*_no_rows(len(self.names)), *self._copied(), *self._law())[:, 0])

    def after(self, recent: SalesLog) -> "LevelStates":
        """States after the rows of a log that came later.

        If no level ever moved, past rows lose weight over the periods that are missing between the two.
        """
        place = {str(name): at for at, name in enumerate(self.names)}
        of_series = np.array([place.get(str(name), -1) for name in recent.names], dtype=np.int64)
        product = of_series[recent.series] if len(recent) else np.zeros(0, dtype=np.int64)
        period = recent.period.astype(np.int64)
        new = np.flatnonzero((product >= 0) & (period > self.last[product]))
        if not len(new):
            return self
        rows = filter_rows(recent, self.index(recent), new, product[new])
        total, weight, score = self._copied()
        if self.still and self.step:
            first = np.full(len(self.last), np.iinfo(np.int64).max)
            np.minimum.at(first, product[new], period[new])
            hole = np.where(first < np.iinfo(np.int64).max, (first - self.last) // self.step - 1, 0)[:, None]
            total, weight, score = total * DECAYS**hole, weight * DECAYS**hole, score * SCORE_DECAY**hole
        state = total, weight, score
        level_paths(*rows, *state, *self._law())
        last = self.last.copy()
        np.maximum.at(last, product[new], period[new])
        return replace(self, last=last, total=total, weight=weight, score=score)

    def _copied(self) -> tuple[Floats, Floats, Floats]:
        return self.total.copy(), self.weight.copy(), self.score.copy()

    def _law(self) -> tuple[Any, ...]:
        return DECAYS, PRIOR, self.usual, self.spread.factors, self.spread.integer, SCORE_DECAY


def deviation(usual: Floats, spread: Spread) -> Floats:
    """The standard deviation of a period's demand at its usual level, relative to it, (products,)."""
    return np.asarray(np.sqrt(spread.variance(usual, 1.0)) / np.maximum(usual, 1e-9))


def _no_rows(products: int) -> tuple[Floats, Floats, Bools, Ints]:
    """One row a product that says nothing, before which its level is found."""
    nothing = np.zeros(products)
    return nothing, nothing, nothing > 0, np.arange(products)


def filter_rows(log: SalesLog, index: Floats, rows: Ints, product: Ints) -> tuple[Floats, Floats, Bools, Ints]:
    """Demand, exposure and bounds of some rows as the filter takes them, with their products."""
    observed = observe(log)
    least = observed.available + (observed.integer & (observed.censored_above >= observed.available))
    demand = np.where(observed.is_observed, observed.demand, least)[rows]
    tells = (observed.is_observed | (observed.available > 0))[rows] & ~(log.is_partial & ~log.is_share)[rows]
    return demand, np.where(tells, index[rows], 0.0), ~observed.is_observed[rows], product


def level_inputs(log: SalesLog) -> Floats:
    """Price and features of rows, (rows, 1 + columns)."""
    return np.column_stack([log.price, *feature_columns(log.problem.features, log.features.T)])
