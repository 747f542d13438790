"""Gains of an assortment: by product, in total, and of the products that a policy should decide for.

The gain of the assortment in a period is the sum of the gains of its products. Contributions have one row a resampled
unit (a block in time that all products share) and one column a product: demand laws without a unit are fitted once for
all products, so that errors which products share add up in the total, and others average out.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.assortment import periods_a_week
from lostsales.data.confidence import margin
from lostsales.data.log import SalesLog
from lostsales.data.products import Products
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.product_choice import choose_products, cross_fitted_gain, proven_products, root_mean_square
from lostsales.types import Bools, Floats, Ints

LARGE = 10_000.0  # money that is shown without decimals
WEEKS_A_YEAR = 365.25 / 7  # to convert a gain per week
LEAST_UNITS = 4  # fewest for an interval and folds
MOST_SHARE = 0.9  # of the rows of a product in one unit, beyond which it cannot be judged on its own
KEEP_UNTIL_PROVED = "keep the current practice for all products until a pilot has proved the gain"
NO_CALENDAR = "periods are plain numbers, so figures are per period: with dates they would be per week and year"


def amount(money: float, signed: bool = True) -> str:
    """Money as people read it, without decimals where it is large.

    >>> amount(-2.5), amount(12500.4), amount(1500.0, signed=False)
    ('-2.50', '+12,500', '1,500.00')
    """
    return f"{money:{'+' if signed else ''},.{2 if abs(money) < LARGE else 0}f}"


@dataclass(frozen=True)
class MoneyOver:
    """Money over a period of the log, a week and a year; the last two only where periods are dates."""

    period: Interval
    week: Interval | None = None
    year: Interval | None = None

    @property
    def usual(self) -> tuple[Interval, str]:
        """The figure for people, by week where it is known, and what it is over."""
        return (self.period, "per period") if self.week is None else (self.week, "per week")


@dataclass(frozen=True)
class ProductGain:
    """The gain of one product."""

    product: str
    rows: int  # of the log that it is judged from
    earned: MoneyOver  # logged profit
    gain: MoneyOver | None  # over the logged profit; None where it has rows in too few units to be judged
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
        The greatest gain first, those that cannot be judged last.
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
        gain, over = judged_gain(self.total.period, self)
        sure = "a proven gain" if gain.proven else "a proven loss" if gain.high < 0 else "no proven gain"
        return f"{sure}, {amount(gain.value)} {over} (95 % interval {amount(gain.low)} to {amount(gain.high)})"


def judged_gain(gain: Interval, products: AssortmentGain | None) -> tuple[Interval, str]:
    """The gain that a verdict rests on, and what it is over: that of all products together where there are some."""
    if products is None:
        return gain, "per period"
    total, over = products.total.usual
    money = f"{products.currency} " if products.currency else ""
    return total, f"{money}{over} over all {products.products_in_log:,} products"


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

    None where there are too few units to judge from.
    """
    if units < LEAST_UNITS:
        return None
    products = log.products
    rows = np.bincount(of_row * len(products) + products.of_row, minlength=units * len(products))
    share = rows.reshape(units, -1) / products.counts()
    judged = share.max(axis=0) <= MOST_SHARE
    # What cannot be judged counts as no gain.
    contributions = np.where(judged, profit.less(earned).contributions(share), 0.0)
    shifts = np.where(judged, profit.less(earned).shifts, 0.0)
    present = (share > 0).sum(axis=0)
    proven = np.zeros(len(products), dtype=bool)
    proven[judged] = proven_products(contributions[:, judged], shifts[:, judged], present[judged])
    weekly = periods_a_week(log)
    every = _Totals(contributions, shifts, weekly, products_in_log)
    chosen, gain = every.choice(judged)
    logged = _Totals(earned.contributions(share), earned.shifts, weekly, products_in_log)
    gains = [
        ProductGain(
            product=str(products.names[each]),
            rows=int(rows.reshape(units, -1)[:, each].sum()),
            earned=logged.of_product(each, int(present[each])),
            gain=every.of_product(each, int(present[each])) if judged[each] else None,
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
        notes=_notes(log, products, judged, weekly, products_in_log),
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
        return _over(period, None if self.weekly is None else _times(period, float(self.weekly[product])))

    @property
    def total(self) -> MoneyOver:
        """Over all products; where these were drawn, scaled up to the log, with the error of drawing them."""
        ones = np.ones(self.contributions.shape[1])
        return _over(self._sum(ones), None if self.weekly is None else self._sum(self.weekly))

    def _sum(self, weights: Floats) -> Interval:
        drawn, of_all = len(weights), self.products_in_log
        found = Interval.of(self.contributions @ weights, float(root_mean_square(self.shifts @ weights)))
        if drawn == of_all:
            return found
        spread = float(np.std(self.contributions.mean(axis=0) * weights, ddof=1))
        error = margin(float(np.sqrt(drawn * (1 - drawn / of_all))) * spread)
        reach = float(np.hypot(found.high - found.value, error))
        return _times(Interval(found.value, found.value - reach, found.value + reach), of_all / drawn)

    def choice(self, judged: Bools) -> tuple[Bools, MoneyOver]:
        """All products or the best of them, whichever has the greater lower bound above zero, and their gain."""
        ones = np.ones(len(judged))
        chosen = choose_products(self.contributions, self.shifts) & judged
        gains = [(chosen, self._cross_fitted(chosen, ones)), (judged, self._sum(ones))]
        best, gain = max(gains, key=lambda each: each[1].low)
        if gain.low <= 0 or not best.any():
            nothing = Interval(0.0, 0.0, 0.0)
            return np.zeros_like(judged), _over(nothing, None if self.weekly is None else nothing)
        if best is judged:
            return best, self.total
        return best, _over(gain, None if self.weekly is None else self._cross_fitted(chosen, self.weekly))

    def _cross_fitted(self, chosen: Bools, weights: Floats) -> Interval:
        return cross_fitted_gain(self.contributions, self.shifts, chosen, weights)


def _over(period: Interval, week: Interval | None) -> MoneyOver:
    return MoneyOver(period, week, None if week is None else _times(week, WEEKS_A_YEAR))


def _times(figure: Interval, factor: float) -> Interval:
    return Interval(figure.value * factor, figure.low * factor, figure.high * factor)


def _choice(gains: list[ProductGain], gain: MoneyOver, in_log: int, currency: str | None) -> ProductChoice:
    chosen = tuple(each.product for each in gains if each.chosen)
    kept = tuple(each.product for each in gains if not each.chosen)
    if not chosen:
        return ProductChoice(chosen, kept, gain, "keep the current practice for all products: no gain is proven")
    figure, over = gain.usual
    money = f" {currency}" if currency else ""
    brings = f"{amount(figure.value)}{money} {over} (95 % interval {amount(figure.low)} to {amount(figure.high)})"
    whose = f"{len(chosen):,} of {in_log:,} products" if kept else f"all {in_log:,} products"
    rest = f", and keep the current practice for the other {in_log - len(chosen):,}" if kept else ""
    return ProductChoice(chosen, kept, gain, f"use it for {whose}{rest}: {brings}")


def _notes(
    log: SalesLog, products: Products, judged: Bools, weekly: Floats | None, products_in_log: int
) -> tuple[str, ...]:
    notes = [NO_CALENDAR] if weekly is None else []
    if products_in_log > len(products):
        notes.append(f"totals are scaled up from {len(products):,} of {products_in_log:,} products, drawn at random")
    if short := int(np.count_nonzero(~judged)):
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
