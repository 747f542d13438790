"""Gains of an assortment: by product, in total, and of the products that a policy should decide for.

The gain of the assortment in a period is the sum of the gains of its products. Contributions have one row a resampled
unit (a block in time that all products share) and one column a product: demand laws without a unit are fitted once for
all products, so that errors which products share add up in the total, and others average out.

Products that are chosen because their gains look high look better than they are, so the gain of the choice is
cross-fitted: the products are chosen again without each fold of units, and counted on that fold alone.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from lostsales.data.assortment import periods_a_week
from lostsales.data.confidence import margin, quantile
from lostsales.data.log import SalesLog
from lostsales.data.products import Products
from lostsales.evaluation.interval import Interval, degrees_of_freedom
from lostsales.types import Bools, Floats, Ints

LARGE = 10_000.0  # money that is shown without decimals
WEEKS_A_YEAR = 365.25 / 7  # to convert a gain per week
LEAST_UNITS = 4  # fewest for an interval and folds
FOLDS = 5  # of units, for the cross-fitted gain of a choice
FALSE_SHARE = 0.025  # of the products called proven that are expected not to be; the one-sided level of an interval
TINY = 1e-12  # against division by 0
MOST_SHARE = 0.9  # of the rows of a product in one unit, beyond which it cannot be evaluated alone
NO_PROOF = "no proven gain"
KEEP_UNTIL_PROVED = "keep the current practice for all products until a pilot has proved the gain"
NO_CALENDAR = "periods are plain numbers, so figures are per period: with dates they would be per week and year"


def amount(money: float, signed: bool = True) -> str:
    """Money as people read it, without decimals where it is large.

    >>> amount(-2.5), amount(12500.4), amount(1500.0, signed=False)
    ('-2.50', '+12,500', '1,500.00')
    """
    return f"{money:{'+' if signed else ''},.{2 if abs(money) < LARGE else 0}f}"


class Gain(NamedTuple):
    """A gain with its interval, and what it is over."""

    interval: Interval
    over: str  # what it is over, such as "per week over all 20 products"

    @property
    def figures(self) -> str:
        """Value and interval in words."""
        return self.text("95 % interval ")

    def text(self, before_interval: str = "") -> str:
        """Value and interval, which words may introduce."""
        value, low, high = (amount(each) for each in (self.interval.value, self.interval.low, self.interval.high))
        return f"{value} {self.over} ({before_interval}{low} to {high})"

    @property
    def sentence(self) -> str:
        """Value and interval with what they prove."""
        proves = "a proven gain" if self.interval.proven else "a proven loss" if self.interval.high < 0 else NO_PROOF
        return f"{proves}, {self.figures}"


@dataclass(frozen=True)
class MoneyOver:
    """Money over a period of the log, a week and a year; the last two only where periods are dates."""

    period: Interval
    week: Interval | None = None
    year: Interval | None = None

    @property
    def usual(self) -> Gain:
        """The figure for people, by week where it is known, and what it is over."""
        return Gain(self.period, "per period") if self.week is None else Gain(self.week, "per week")


@dataclass(frozen=True)
class ProductGain:
    """The gain of one product."""

    product: str
    rows: int  # of the log that it is evaluated on
    earned: MoneyOver  # logged profit
    gain: MoneyOver | None  # over the logged profit; None where it has rows in too few units to be evaluated
    proven: bool  # above zero, also when allowing for the number of products
    chosen: bool  # the policy should decide for it

    @property
    def verdict(self) -> str:
        """Verdict on the gain."""
        if self.gain is None:
            return "too few rows"
        return "proven gain" if self.proven else "proven loss" if self.gain.period.high < 0 else "not proven"


@dataclass(frozen=True)
class ProductChoice:
    """The products that a policy should decide for; the others are decided as before."""

    products: tuple[str, ...]
    kept: tuple[str, ...]  # decided as before
    gain: MoneyOver  # of the choice, which its interval allows for; 0 where none is chosen
    sentence: str


@dataclass(frozen=True, eq=False)
class AssortmentGain:
    """Gains of an assortment by product, in total, and of a choice of its products.

    Attributes
    ----------
    products : tuple of ProductGain
        The greatest gain first, those that cannot be evaluated last.
    earned : MoneyOver
        Logged profit of all products.
    total : MoneyOver
        Gain where the policy decides for all products.
    choice : ProductChoice
        Products that the policy should decide for, with the gain of deciding for these alone.
    products_in_log : int
        More than `products` where these were drawn from a large log; `earned` and `total` are of all of them.
    currency : str or None
        As the problem declares it.
    notes : tuple of str
        What a reader must know beside the figures.

    Examples
    --------
    >>> week = MoneyOver(Interval(2.0, 1.0, 3.0), Interval(14.0, 7.0, 21.0), Interval(730.5, 365.25, 1095.75))
    >>> milk = ProductGain("milk", rows=90, earned=week, gain=week, proven=True, chosen=True)
    >>> choice = ProductChoice(("milk",), (), week, "use it for all 1 products")
    >>> AssortmentGain((milk,), week, week, choice, 1, "EUR", ()).sentence
    'a proven gain, +14.00 EUR per week over all 1 products (95 % interval +7.00 to +21.00)'

    """

    products: tuple[ProductGain, ...]
    earned: MoneyOver
    total: MoneyOver
    choice: ProductChoice
    products_in_log: int
    currency: str | None
    notes: tuple[str, ...]

    @property
    def not_proven(self) -> tuple[str, ...]:
        """Names of the products without a proven gain."""
        return tuple(each.product for each in self.products if not each.proven)

    @property
    def doubted(self) -> "AssortmentGain":
        """Gains under a concern: none is called proven, and no product is to be decided for."""
        products = tuple(replace(each, proven=False, chosen=False) for each in self.products)
        nothing = _over(Interval(0.0, 0.0, 0.0), None if self.total.week is None else Interval(0.0, 0.0, 0.0))
        choice = ProductChoice((), tuple(each.product for each in products), nothing, KEEP_UNTIL_PROVED)
        return replace(self, products=products, choice=choice)

    @property
    def sentence(self) -> str:
        """The total gain and its interval in words."""
        return decisive_gain(self.total.period, self).sentence


def decisive_gain(gain: Interval, products: AssortmentGain | None) -> Gain:
    """The gain that a verdict rests on: that of all products together where there are some."""
    if products is None:
        return Gain(gain, "per period")
    total, over = products.total.usual
    money = f"{products.currency} " if products.currency else ""
    return Gain(total, f"{money}{over} over all {products.products_in_log:,} products")


@dataclass(frozen=True, eq=False)
class ProductFigures:
    """One figure of every product under all demand laws."""

    value: Floats  # (products,)
    without: Floats  # (units, products) without each unit
    shifts: Floats  # (alternatives, products) difference under alternative laws

    def less(self, other: "ProductFigures") -> "ProductFigures":
        """The differences."""
        return ProductFigures(self.value - other.value, self.without - other.without, self.shifts - other.shifts)

    def with_shift(self, shift: Floats) -> "ProductFigures":
        """Add a further shift (products,), whose square is added to the mean square of the others."""
        number = len(self.shifts) + 1
        others = self.shifts * np.sqrt(number / max(number - 1, 1))
        return ProductFigures(self.value, self.without, np.vstack([others, np.sqrt(number) * shift]))

    def contributions(self, share: Floats) -> Floats:
        """Contributions of units by a grouped jackknife; `share` is that of a product's rows, (units, products)."""
        moved = len(share) * (1 - share) * (self.value - self.without)
        return np.asarray(self.value + moved - moved.mean(axis=0))


def assortment_gain(
    log: SalesLog, of_row: Ints, units: int, earned: ProductFigures, profit: ProductFigures, products_in_log: int
) -> AssortmentGain | None:
    """Gains from the logged profit of each product and that under a policy; `of_row` (rows,) is the unit of a row.

    None where there are too few units to evaluate on.
    """
    if units < LEAST_UNITS:
        return None
    products = log.products
    rows = np.bincount(of_row * len(products) + products.of_row, minlength=units * len(products))
    share = rows.reshape(units, -1) / products.counts()
    evaluated = share.max(axis=0) <= MOST_SHARE
    # What cannot be evaluated is treated as no gain.
    contributions = np.where(evaluated, profit.less(earned).contributions(share), 0.0)
    shifts = np.where(evaluated, profit.less(earned).shifts, 0.0)
    present = (share > 0).sum(axis=0)
    proven = np.zeros(len(products), dtype=bool)
    proven[evaluated] = proven_products(contributions[:, evaluated], shifts[:, evaluated], present[evaluated])
    weekly = periods_a_week(log)
    every = _Totals(contributions, shifts, weekly, products_in_log)
    chosen, gain = every.choice(evaluated)
    logged = _Totals(earned.contributions(share), earned.shifts, weekly, products_in_log)
    gains = [
        ProductGain(
            product=str(products.names[each]),
            rows=int(rows.reshape(units, -1)[:, each].sum()),
            earned=logged.of_product(each, int(present[each])),
            gain=every.of_product(each, int(present[each])) if evaluated[each] else None,
            proven=bool(proven[each]),
            chosen=bool(chosen[each]),
        )
        for each in range(len(products))
    ]
    gains.sort(key=lambda each: np.inf if each.gain is None else -each.gain.period.value)
    return AssortmentGain(
        products=tuple(gains),
        earned=logged.total,
        total=every.total,
        choice=_choice(gains, gain, products_in_log, log.problem.format.currency),
        products_in_log=products_in_log,
        currency=log.problem.format.currency,
        notes=_notes(log, products, evaluated, weekly, products_in_log),
    )


@dataclass(frozen=True, eq=False)
class _Totals:
    """Totals of contributions over products, a period, a week and a year."""

    contributions: Floats  # (units, products)
    shifts: Floats  # (alternatives, products)
    weekly: Floats | None  # (products,) periods a week
    products_in_log: int

    def of_product(self, product: int, present: int) -> MoneyOver:
        """The figure of one product, by the number of units with rows of it."""
        uncertainty = float(root_mean_square(self.shifts[:, product]))
        period = Interval.of(self.contributions[:, product], uncertainty, present)
        return _over(period, None if self.weekly is None else period.times(float(self.weekly[product])))

    @property
    def total(self) -> MoneyOver:
        """Sum over all products; where these were drawn, scaled up to the log, with the error of drawing them."""
        ones = np.ones(self.contributions.shape[1])
        return _over(self._sum(ones), None if self.weekly is None else self._sum(self.weekly))

    def _sum(self, weights: Floats) -> Interval:
        drawn, of_all = len(weights), self.products_in_log
        found = Interval.of(self.contributions @ weights, float(root_mean_square(self.shifts @ weights)))
        if drawn == of_all:
            return found
        spread = float(np.std(self.contributions.mean(axis=0) * weights, ddof=1))
        error = margin(float(np.sqrt(drawn * (1 - drawn / of_all))) * spread)
        return Interval.around(found.value, float(np.hypot(found.reach, error))).times(of_all / drawn)

    def choice(self, evaluated: Bools) -> tuple[Bools, MoneyOver]:
        """All products or the best of them, whichever has the greater lower bound above zero, and their gain."""
        ones = np.ones(len(evaluated))
        chosen = choose_products(self.contributions, self.shifts) & evaluated
        gains = [(chosen, self._cross_fitted(chosen, ones)), (evaluated, self._sum(ones))]
        best, gain = max(gains, key=lambda each: each[1].low)
        if gain.low <= 0 or not best.any():
            nothing = Interval(0.0, 0.0, 0.0)
            return np.zeros_like(evaluated), _over(nothing, None if self.weekly is None else nothing)
        if best is evaluated:
            return best, self.total
        return best, _over(gain, None if self.weekly is None else self._cross_fitted(chosen, self.weekly))

    def _cross_fitted(self, chosen: Bools, weights: Floats) -> Interval:
        return cross_fitted_gain(self.contributions, self.shifts, chosen, weights)


def _over(period: Interval, week: Interval | None) -> MoneyOver:
    return MoneyOver(period, week, None if week is None else week.times(WEEKS_A_YEAR))


def _choice(gains: list[ProductGain], gain: MoneyOver, in_log: int, currency: str | None) -> ProductChoice:
    chosen = tuple(each.product for each in gains if each.chosen)
    kept = tuple(each.product for each in gains if not each.chosen)
    if not chosen:
        return ProductChoice(chosen, kept, gain, "keep the current practice for all products: no gain is proven")
    figure, over = gain.usual
    brings = Gain(figure, f"{currency} {over}" if currency else over).figures
    whose = f"{len(chosen):,} of {in_log:,} products" if kept else f"all {in_log:,} products"
    rest = f", and keep the current practice for the other {in_log - len(chosen):,}" if kept else ""
    return ProductChoice(chosen, kept, gain, f"use it for {whose}{rest}: {brings}")


def _notes(
    log: SalesLog, products: Products, evaluated: Bools, weekly: Floats | None, products_in_log: int
) -> tuple[str, ...]:
    notes = [NO_CALENDAR] if weekly is None else []
    if products_in_log > len(products):
        notes.append(f"totals are scaled up from {len(products):,} of {products_in_log:,} products, drawn at random")
    if short := int(np.count_nonzero(~evaluated)):
        notes.append(f"products with too few rows to be evaluated: {short:,}; their gain is treated as 0")
    if gone := int(np.count_nonzero(~on_sale(log, products))):
        notes.append(f"products that were no longer sold at the end of the log: {gone:,}; totals count them")
    return tuple(notes)


def on_sale(log: SalesLog, products: Products) -> Bools:
    """Products with a row in the last tenth of the periods of the log, (products,)."""
    periods, at = np.unique(log.period, return_inverse=True)
    last = np.zeros(len(products), dtype=np.int64)
    np.maximum.at(last, products.of_row, at.reshape(-1))
    return np.asarray(last >= len(periods) - 1 - len(periods) // 10)


def root_mean_square(shifts: Floats) -> Floats:
    """The root of the mean square over the first axis, 0 where it is empty."""
    return np.sqrt(np.mean(shifts**2, axis=0)) if len(shifts) else np.zeros(shifts.shape[1:])


def proven_products(contributions: Floats, shifts: Floats, units: Ints) -> Bools:
    """Products with a gain above zero, by Benjamini and Hochberg's procedure, (products,).

    With one product these are those whose 95 % interval lies above zero; with many, among those called proven an
    expected share of at most `FALSE_SHARE` is not. `shifts` (alternatives, products) are those under other laws of
    demand, `units` (products,) have rows of the product.
    """
    from scipy.stats import false_discovery_control

    mean, error = _mean_and_error(contributions, root_mean_square(shifts))
    degrees = np.array([degrees_of_freedom(each) for each in units.tolist()])
    chance = stdtr(degrees, -mean / np.maximum(error, TINY))  # of such a gain where there is none
    return np.asarray(false_discovery_control(chance) <= FALSE_SHARE)


def choose_products(contributions: Floats, shifts: Floats) -> Bools:
    """The products, in order of gain over its error, whose total gain has the greatest lower bound, (products,).

    None are chosen where no such bound is above zero.
    """
    units, products = contributions.shape
    mean, error = _mean_and_error(contributions, root_mean_square(shifts))
    order = np.argsort(-mean / np.maximum(error, TINY), kind="stable")
    total, total_error = _mean_and_error(
        np.cumsum(contributions[:, order], axis=1), root_mean_square(np.cumsum(shifts[:, order], axis=1))
    )
    bound = total - quantile(0.95, degrees_of_freedom(units)) * total_error
    best, chosen = int(bound.argmax()), np.zeros(products, dtype=bool)
    if bound[best] > 0:
        chosen[order[: best + 1]] = True
    return chosen


def cross_fitted_gain(contributions: Floats, shifts: Floats, chosen: Bools, weights: Floats) -> Interval:
    """The gain of choosing products, each fold of units counted for the products that the others choose.

    `chosen` is the choice from all units; `weights` (products,) multiply the gains, as for another length of time.
    """
    units = len(contributions)
    fold = np.arange(units) * min(FOLDS, units) // units
    counted = np.empty(units)
    for each in np.unique(fold):
        inside = fold == each
        counted[inside] = contributions[inside] @ (weights * choose_products(contributions[~inside], shifts))
    return Interval.of(counted, float(root_mean_square(shifts @ (weights * chosen))))


def _mean_and_error(contributions: Floats, model_uncertainty: Floats) -> tuple[Floats, Floats]:
    error = contributions.std(axis=0, ddof=1) / np.sqrt(len(contributions))
    return contributions.mean(axis=0), np.hypot(error, model_uncertainty)
