"""A level of demand that moves: followed by series through a log, and from its end on through recent rows.

The planner's law holds for demand relative to its level. A moved level is then a changed unit of quantity: stock,
orders and demand are divided by it, and what is decided is multiplied by it again.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.products import Products
from lostsales.data.units import problem_in_units
from lostsales.demand.censoring.observed import observe
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.model.counts import log_scores
from lostsales.demand.model.level_loops import level_paths
from lostsales.demand.model.spread import USUAL, Spread, likeliest_spread
from lostsales.saved_fields import POSITIVE, NonNegative, numbers, texts, wholes
from lostsales.types import Array, Bools, Floats, Ints

HALF_LIVES = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 416.0])  # periods
DECAYS = 0.5 ** (1.0 / HALF_LIVES)
PRIOR, MEMORY = 0.3, 0.95
LASTING = 10  # periods ahead over which a level must help: memory of demand does not last so long
LEAST_ROWS = 40  # of a series, for its level to be followed
LEAST_GAIN = 0.01  # of the mean log score so many periods ahead, and
LEAST_T = 1.7  # times its standard error over blocks of rows: where nothing moves the gain is below 0
BLOCK = 20  # rows
RANGE = 0.1, 10.0  # of a level relative to the usual one
FARTHEST = 50.0  # logarithm of what price and features may do to demand; beyond, products of it would not be finite
STILL = 0.2  # relative change up to which a level that never moved counts as chance, and so do changes ...
CHANCE = 0.99  # ... as large as all but so many of those that the filter made of the log, in which none moved
MOST_PERIOD, MOST_STEP = 9.2e18, 1 << 62  # which int64 can hold
FIRST_ROWS = 15  # of a product, until its filter has settled


@dataclass(frozen=True, eq=False)
class LevelStates:
    """Where the level of each product stands at the end of a log."""

    names: Annotated[Array, texts("levels")]
    last: Annotated[Ints, wholes("levels", least=-(2.0**63), most=MOST_PERIOD)]  # last period, as a number
    usual: Annotated[Floats, numbers("levels", least=POSITIVE)]  # mean level over the log
    total: Annotated[Floats, numbers("levels", len(DECAYS))]
    weight: Annotated[Floats, numbers("levels", len(DECAYS), least=0)]
    score: Annotated[Floats, numbers("levels", len(DECAYS))]
    slopes: Annotated[Floats, numbers("level inputs")]  # of the logarithm of demand on price and features
    centre: Annotated[Floats, numbers("level inputs")]
    spread: Spread
    still: NonNegative = 0.0  # relative change up to which a level is the usual one, and ...
    chance: NonNegative = 0.0  # ... logarithm of one, in units of the relative deviation of a period's demand
    step: Annotated[int, Field(ge=0, le=MOST_STEP)] = (
        0  # from one period to the next, as a number; 0 where it is not known
    )

    def index(self, log: SalesLog) -> Floats:
        """What price and features do to the demand of rows, (rows,)."""
        return np.exp(np.clip((_inputs(log) - self.centre) @ self.slopes, -FARTHEST, FARTHEST))

    def now(self) -> dict[str, float]:
        """The level of each product after the last row that was seen, relative to its usual one."""
        return self._named(self.levels() / self.usual)

    def mean_over(self, log: SalesLog) -> dict[str, float]:
        """The mean level of each product over the rows of a log, relative to its usual one."""
        place = {str(name): at for at, name in enumerate(self.names)}
        product = np.array([place.get(str(name), -1) for name in log.names], dtype=np.int64)[log.series]
        known = np.flatnonzero(product >= 0)
        known = known[np.lexsort((log.period[known], product[known]))]
        nothing = np.zeros_like(self.total), np.zeros_like(self.weight), np.zeros_like(self.score)
        path = level_paths(*_rows(log, self.index(log), known, product[known]), *nothing, *self._law())[:, 0]
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
        """The level of each product after the last row that was seen, (products,)."""
        return np.asarray(level_paths(*_no_rows(len(self.names)), *self._copied(), *self._law())[:, 0])

    def after(self, recent: SalesLog) -> "LevelStates":
        """Where levels stand after the rows of a log that came later.

        Where none ever moved, what was seen last fades over the periods between the two that are not there.
        """
        place = {str(name): at for at, name in enumerate(self.names)}
        of_series = np.array([place.get(str(name), -1) for name in recent.names], dtype=np.int64)
        product = of_series[recent.series] if len(recent) else np.zeros(0, dtype=np.int64)
        period = recent.period.astype(np.int64)
        new = np.flatnonzero((product >= 0) & (period > self.last[product]))
        if not len(new):
            return self
        rows = _rows(recent, self.index(recent), new, product[new])
        total, weight, score = self._copied()
        if self.still and self.step:
            first = np.full(len(self.last), np.iinfo(np.int64).max)
            np.minimum.at(first, product[new], period[new])
            hole = np.where(first < np.iinfo(np.int64).max, (first - self.last) // self.step - 1, 0)[:, None]
            total, weight, score = total * DECAYS**hole, weight * DECAYS**hole, score * MEMORY**hole
        state = total, weight, score
        level_paths(*rows, *state, *self._law())
        last = self.last.copy()
        np.maximum.at(last, product[new], period[new])
        return replace(self, last=last, total=total, weight=weight, score=score)

    def _copied(self) -> tuple[Floats, Floats, Floats]:
        return self.total.copy(), self.weight.copy(), self.score.copy()

    def _law(self) -> tuple[Any, ...]:
        return DECAYS, PRIOR, self.usual, self.spread.factors, self.spread.integer, MEMORY


def deviation(usual: Floats, spread: Spread) -> Floats:
    """The standard deviation of a period's demand at its usual level, relative to it, (products,)."""
    return np.asarray(np.sqrt(spread.variance(usual, 1.0)) / np.maximum(usual, 1e-9))


def _no_rows(products: int) -> tuple[Floats, Floats, Bools, Ints]:
    """One row a product that says nothing, before which its level is found."""
    nothing = np.zeros(products)
    return nothing, nothing, nothing > 0, np.arange(products)


def _rows(log: SalesLog, index: Floats, rows: Ints, product: Ints) -> tuple[Floats, Floats, Bools, Ints]:
    """Demand, exposure and bounds of some rows as the filter takes them, with their products."""
    observed = observe(log)
    least = observed.available + (observed.integer & (observed.censored_above >= observed.available))
    demand = np.where(observed.is_observed, observed.demand, least)[rows]
    tells = (observed.is_observed | (observed.available > 0))[rows] & ~(log.is_partial & ~log.is_share)[rows]
    return demand, np.where(tells, index[rows], 0.0), ~observed.is_observed[rows], product


def _inputs(log: SalesLog) -> Floats:
    """Price and features of rows, (rows, 1 + columns)."""
    return np.column_stack([log.price, *feature_columns(log.problem.features, log.features.T)])


def has_quantities(problem: Problem) -> bool:
    """Whether a problem names quantities other than the orders that may be made: then its unit cannot move."""
    bare = problem.model_copy(update={"orders": None, "costs": problem.costs.model_copy(update={"fixed_order": 0.0})})
    return problem_in_units(bare, 2.0) != bare


def moving_levels(log: SalesLog, model: DemandModel, *, always: bool = False) -> tuple[LevelStates, Floats] | None:
    """The levels of a log, and that of each row before it was seen (rows,), relative to the usual one of its product.

    None where following a level does not forecast demand better some periods ahead than the mean so far does; or, where
    they are `always` wanted, levels that count only once they have moved by more than chance from that of the log.
    """
    products = log.products
    counts = np.bincount(products.of_row, minlength=len(products))
    if np.median(counts) < LEAST_ROWS or log.stock is None:
        return None
    inputs = _inputs(log)
    centre, slopes = inputs.mean(axis=0), _slopes(model, inputs)
    index = np.exp((inputs - centre) @ slopes)
    order = np.lexsort((log.period, products.of_row))
    rows = _rows(log, index, order, products.of_row[order])
    demand, exposure, censored, product = rows
    seen = (exposure > 0) & ~censored
    mean = np.bincount(product[seen], demand[seen], len(products)) + 1e-9
    usual = mean / np.maximum(np.bincount(product[seen], exposure[seen], len(products)), 1e-9)
    integer = bool(model.law.integer)
    spread, path = Spread(*USUAL, integer), np.zeros((0, 2))
    for _ in range(2):
        shape = (len(products), len(DECAYS))
        state = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        path = level_paths(*rows, *state, DECAYS, PRIOR, usual, spread.factors, integer, MEMORY)
        told = exposure > 0
        spread = likeliest_spread((path[:, 0] * exposure)[told], demand[told], censored[told], integer, spread)
    helps = _helps(path, rows, spread)
    if not helps and not always:
        return None
    last = np.full(len(products), np.iinfo(np.int64).min)
    np.maximum.at(last, products.of_row, log.period.astype(np.int64))
    mean_level = np.bincount(product, path[:, 0], len(products)) / counts
    states = LevelStates(products.names, last, mean_level, *state, slopes, centre, spread)
    if not helps:
        chance = _chance(path[:, 0] / mean_level[product], product, deviation(mean_level, spread))
        return replace(states, still=STILL, chance=chance, step=_step(log, products)), np.ones(len(log))
    relative = np.empty(len(log))
    relative[order] = np.clip(path[:, 0] / mean_level[product], *RANGE)
    return states, relative


def _step(log: SalesLog, products: Products) -> int:
    """The least difference between two periods of a product."""
    order = np.lexsort((log.period, products.of_row))
    later = np.diff(log.period[order].astype(np.int64))[np.diff(products.of_row[order]) == 0]
    return int(later[later > 0].min(initial=np.iinfo(np.int64).max)) if (later > 0).any() else 0


def _chance(relative: Floats, product: Ints, by: Floats) -> float:
    """How far relative levels of rows (rows,) went where none moved, in units of a deviation of each product."""
    first = np.searchsorted(product, product)  # rows are in the order of products
    settled = np.arange(len(product)) - first >= FIRST_ROWS
    moved = np.abs(np.log(np.maximum(relative, 1e-9)))[settled] / by[product[settled]]
    return float(np.quantile(moved, CHANCE)) if len(moved) else np.inf


def _slopes(model: DemandModel, inputs: Floats) -> Floats:
    """Slopes of the logarithm of what the law expects at the usual last demand, (1 + columns,)."""
    evidence, law = model.evidence, model.law
    scale = law.scale[evidence.series]
    lag = np.full(len(evidence), np.nanmean(evidence.lag / scale))
    latent = law.mean_of(law.inputs(evidence.market, evidence.price, lag), evidence.series)
    expected = np.maximum(law.expected(latent, 1.0), 0.05)
    x = inputs[evidence.rows]
    varied = x - x.mean(axis=0)
    found, *_ = np.linalg.lstsq(varied, np.log(expected) - np.log(expected).mean(), rcond=None)
    return np.asarray(found)


def _helps(path: Floats, rows: tuple[Floats, Floats, Bools, Ints], spread: Spread) -> bool:
    """Whether the mixture of rates scores better than the mean so far, some periods ahead and beyond chance."""
    demand, exposure, censored, product = rows
    target = np.arange(LASTING, len(demand))
    origin = target - LASTING
    kept = (product[target] == product[origin]) & (exposure[target] > 0)
    target, origin = target[kept], origin[kept]
    if len(target) < 2 * BLOCK:
        return False
    scores = []
    for level in path[origin].T:
        mean = level * exposure[target]
        every = np.ones(len(mean), dtype=bool)
        variance = spread.variance(mean, 1.0)
        scores.append(log_scores(demand[target], mean, variance, every, censored[target], spread.integer))
    gain = scores[0] - scores[1]
    blocks = np.add.reduceat(gain, np.arange(0, len(gain), BLOCK))
    error = float(np.std(blocks) * np.sqrt(len(blocks))) / len(gain)
    return bool(gain.mean() > max(LEAST_GAIN, LEAST_T * error))


def at_usual_level(log: SalesLog, relative: Floats) -> SalesLog:
    """The log with the quantities of each row divided by its level, whole where they were."""
    whole = bool((log.sales == np.rint(log.sales)).all())

    def divided(values: Floats) -> Floats:
        return np.rint(values / relative) if whole else values / relative

    assert log.stock is not None  # `moving_levels` has looked
    assert log.order is not None
    before = log.problem.arrival == "before"
    available = divided(log.available)
    stock = np.minimum(divided(log.stock), available) if before else available
    order = np.maximum(available - stock, 0.0) if before else divided(log.order)
    sales = np.where(log.censored, available, np.minimum(divided(log.sales), available))
    problem = log.problem.model_copy(update={"orders": None})
    return replace(
        log,
        problem=problem,
        stock=stock,
        order=order,
        sales=sales,
        stockout=log.censored,
        out_of_stock=None,
        open_time=None,
        received=None,
        adjustment=None,
        pipeline=None,
        last_sales=np.where(np.isnan(log.last_sales), np.nan, log.last_sales / relative[log.starts]),
    )
