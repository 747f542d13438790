"""Candidate prices and orders: what may be recommended, whatever the log contains.

A declared list is the grid. Otherwise it is derived from the log: few prices at quantiles, spelled as the log spells
its prices, and orders in the log's multiples up to what demand can need. If series differ in price or in size,
candidates are relative to the usual price and size of each series, and are rounded in its units.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from lostsales.data.business_rules import BusinessRules
from lostsales.data.log import SalesLog
from lostsales.data.scale import TINY, series_scale, usual_price
from lostsales.data.settings import MOST_NUMBER
from lostsales.data.units import order_multiple
from lostsales.errors import LostSalesError, SettingError
from lostsales.saved_fields import MOST_ACTIONS, numbers
from lostsales.types import Bools, Floats, Ints

MOST_PRICES = 24  # so many different prices in a log are a grid themselves; of more,
PRICE_CANDIDATES = 12  # ... so many quantiles are: the time of every learner grows with the number of actions
MOST_ORDERS = 64  # so many different orders are a grid themselves; of more,
ORDER_CANDIDATES = 40  # ... so many steps up to the largest are
MOST_PERIODS = 10.0  # of mean sales in one order, unless orders usually are larger: one large order would stretch all
ROUNDED_APART = 0.01  # share of a price by which candidates of one meaning may differ, as prices are rounded
ENOUGH = 0.95  # share of the prices that a rule of spelling must fit
PRICE_STEPS = (10.0, 5.0, 1.0, 0.5, 0.1, 0.05, 0.01)  # in which shops write prices
LEAST_STEP = 1e-12  # of prices and orders


def _no_fraction_of_nothing(step: float) -> float:
    if 0 < step < LEAST_STEP:
        raise ValueError(f"must be 0 or at least {LEAST_STEP:g}")
    return step


_Step = Annotated[float, Field(ge=0, le=MOST_NUMBER), AfterValidator(_no_fraction_of_nothing)]


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """Candidate prices and orders, relative to the usual price and the size of a series where these differ."""

    prices: Annotated[Floats, numbers("candidate prices", least=0, rising=True)]
    orders: Annotated[Floats, numbers("candidate orders", least=0, rising=True)]
    relative_prices: bool = False
    relative_orders: bool = False
    price_step: _Step = 0.0  # a relative price is rounded to a multiple of this plus an ending; 0: not rounded
    price_endings: Annotated[tuple[_Step, ...], Field(min_length=1, max_length=100)] = (0.0,)
    order_multiple: _Step = 1.0  # of relative orders

    @classmethod
    def of(cls, log: SalesLog, rules: BusinessRules | None = None, relative: bool = True) -> "CandidateGrid":
        """Grids that the problem declares, else those that the log suggests, as far as the rules allow them.

        Not `relative`: one grid for all series, whether they differ or not. A log that keeps its price has that alone.

        >>> from lostsales.simulation.simulator import simulate
        >>> log, _ = simulate("released", episodes=5, seed=1)
        >>> CandidateGrid.of(log).prices
        array([2., 4., 6.])
        """
        rules = BusinessRules() if rules is None else rules
        order = np.zeros(1) if log.order is None else log.order
        candidates = cls(**_prices(log, rules, relative) | _orders(log, order, rules, relative))
        if not len(candidates.prices) or not len(candidates.orders):
            raise SettingError("no action of the grid passes the rules: no price or no order of the grid does")
        return candidates.at_usual_price(log) if log.keeps_price else candidates

    @property
    def relative(self) -> bool:
        """True where series have candidates of their own."""
        return self.relative_prices or self.relative_orders

    def prices_of(self, usual: Floats | float) -> Floats:
        """The prices of series of a usual price, (..., prices).

        >>> grid = CandidateGrid(np.array([0.8, 1.0]), np.zeros(1), True, price_step=1.0, price_endings=(0.99,))
        >>> grid.prices_of(4.99)
        array([3.99, 4.99])
        """
        usual = np.asarray(usual, dtype=np.float64)[..., None]
        if not self.relative_prices:
            return np.broadcast_to(self.prices, (*usual.shape[:-1], len(self.prices)))
        prices = self.prices * usual
        return snapped(prices, self.price_step, self.price_endings) if self.price_step else prices

    def orders_of(self, size: Floats | float, own_multiple: Floats | None = None) -> Floats:
        """Orders of series of a size, (..., orders): multiples as far as its candidates reach; a last one repeats.

        Series may have multiples of their own.

        >>> grid = CandidateGrid(np.ones(1), np.array([0.0, 1.0, 2.0]), relative_orders=True, order_multiple=6.0)
        >>> grid.orders_of(9.0)
        array([ 0., 12., 18.])
        """
        size = np.asarray(size, dtype=np.float64)[..., None]
        if not self.relative_orders:
            return np.broadcast_to(self.orders, (*size.shape[:-1], len(self.orders)))
        most = self.orders[-1] * size
        multiple = np.asarray(self.order_multiple if own_multiple is None else own_multiple[..., None])
        case = np.where(multiple > 0, multiple, 1.0)
        most = np.maximum(np.ceil(most / case - 1e-9), 1.0)
        step = np.maximum(np.rint(self.orders[:2][-1] * size / case), 1.0)
        in_cases = case * np.minimum(step * np.arange(len(self.orders)), most)
        return np.where(multiple > 0, in_cases, self.orders * size)

    def validate(self) -> None:
        """Raise where a file has more pairs than a policy can compare."""
        if len(self.prices) * len(self.orders) > MOST_ACTIONS:
            raise LostSalesError(
                f"it decides among {len(self.prices):,} prices and {len(self.orders):,} orders; at most "
                f"{MOST_ACTIONS:,} pairs can be"
            )

    def at_usual_price(self, log: SalesLog) -> "CandidateGrid":
        """The same with only the price nearest to the usual one of a log."""
        usual = 1.0 if self.relative_prices else float(np.median(log.price))
        return replace(self, prices=self.prices[[int(np.abs(self.prices - usual).argmin())]])

    def in_units(self, unit: float) -> "CandidateGrid":
        """The same with orders counted in a unit."""
        orders = self.orders if self.relative_orders else np.round(self.orders / unit, 10)
        return replace(self, orders=orders, order_multiple=self.order_multiple / unit)

    def coarse(self) -> "CandidateGrid":
        """Few candidates where there are many, the first and the last among them."""
        prices, orders = self.coarse_indices
        return replace(self, prices=self.prices[prices], orders=self.orders[orders])

    @property
    def coarse_indices(self) -> tuple[Ints, Ints]:
        """The candidates of `coarse` among prices and orders."""
        return (
            thinned(len(self.prices), MOST_PRICES, PRICE_CANDIDATES),
            thinned(len(self.orders), MOST_ORDERS, ORDER_CANDIDATES + 1),
        )


def _prices(log: SalesLog, rules: BusinessRules, relative: bool) -> dict[str, Any]:
    """The fields of `CandidateGrid` that are about prices."""
    if rules.price_ladder is not None or log.problem.prices is not None:
        only = log.problem.prices if rules.price_ladder is None else rules.price_ladder
        prices = np.array(sorted(set(log.problem.prices or only or ()) & set(only or ())))
        return {"prices": prices if rules.price_endings is None else prices[_ends(prices, rules.price_endings)]}
    usual = usual_price(log)[log.series]
    if relative and (usual != usual[:1]).any():
        step, ending = price_spelling(log.price)
        if rules.price_endings is not None:
            step, endings = 1.0, rules.price_endings
        else:
            endings = (ending,)
        candidates = apart(_price_candidates(log.price / usual, log.price))
        return {"prices": candidates, "relative_prices": True, "price_step": step, "price_endings": endings}
    prices = _price_candidates(log.price, log.price)
    return {"prices": prices if rules.price_endings is None else np.unique(snapped(prices, 1.0, rules.price_endings))}


def _orders(log: SalesLog, order: Floats, rules: BusinessRules, relative: bool) -> dict[str, Any]:
    """The fields of `CandidateGrid` that are about orders."""
    if log.problem.orders is not None:
        orders = np.array(log.problem.orders)
        if rules.multiple is not None:
            orders = orders[np.abs(orders - np.rint(orders / rules.multiple) * rules.multiple) < 1e-9 * (1 + orders)]
        return {"orders": orders[(orders == 0) | (orders >= (rules.minimum or 0.0))]}
    size, multiple = series_scale(log)[log.series], rules.multiple or order_multiple(order)
    if relative and (size != size[:1]).any():
        cover = int(log.problem.periods_covered().max())
        candidates = _relative_order_candidates(order / size, log.sales / size, cover)
        return {"orders": candidates, "relative_orders": True, "order_multiple": multiple}
    orders = _order_candidates(order, log.sales, multiple, int(log.problem.periods_covered().max()))
    if rules.multiple is not None:
        orders = np.unique(np.ceil(orders / multiple - 1e-9) * multiple)
    return {"orders": orders[(orders == 0) | (orders >= (rules.minimum or 0.0))]}


def _ends(prices: Floats, endings: tuple[float, ...]) -> Bools:
    return np.asarray((np.abs((prices % 1)[:, None] - np.array(endings)) < 1e-6).any(axis=1))


def thinned(count: int, most: int, kept: int) -> Ints:
    """Indices of all candidates where there are at most `most`, else of `kept` of them, evenly, with both ends.

    >>> thinned(5, 4, 3), thinned(2, 4, 3)
    (array([0, 2, 4]), array([0, 1]))
    """
    if count <= most:
        return np.arange(count)
    return np.unique(np.rint(np.linspace(0, count - 1, kept)).astype(np.int64))


def apart(candidates: Floats) -> Floats:
    """One candidate for each group of candidates that differ by no more than rounding does in the prices of series.

    It is the number of the fewest decimals among them: 0.8 where 1.59 and 15.99 were 1.99 and 19.99 less 20 %.

    >>> apart(np.array([0.799, 0.79990, 0.802, 1.0, 1.2507]))
    array([0.8   , 1.    , 1.2507])
    """
    groups: list[list[float]] = []
    for candidate in candidates.tolist():
        if not groups or candidate > (1 + ROUNDED_APART) * groups[-1][0]:
            groups.append([])
        groups[-1].append(candidate)
    return np.array([_plainest(each[0], each[-1]) for each in groups])


def _plainest(first: float, last: float) -> float:
    """The number of the fewest decimals from the first to the last."""
    middle = (first + last) / 2
    plain = (round(middle, count) for count in range(6))
    return next((each for each in plain if first - TINY <= each <= last + TINY), middle)


def price_spelling(prices: Floats) -> tuple[float, float]:
    """Step and offset that (nearly) all prices fit: (1, 0.99) of 2.99 and 5.99, (0.01, 0) of any cents, (0, 0) of none.

    >>> price_spelling(np.array([2.99, 5.99, 3.99])), price_spelling(np.array([2.99, 3.49, 3.17]))
    ((1.0, 0.99), (0.01, 0.0))
    """
    cents = np.rint(prices * 100)
    if np.mean(np.abs(prices * 100 - cents) > 1e-6) > 1 - ENOUGH:
        return 0.0, 0.0
    for step in PRICE_STEPS:
        whole = round(step * 100)
        rest, count = np.unique(cents.astype(np.int64) % whole, return_counts=True)
        if count.max() >= ENOUGH * len(cents) and len(np.unique(cents)) > 1:
            return step, float(rest[count.argmax()]) / 100
    return 0.01, 0.0


def snapped(values: Floats, step: float, endings: tuple[float, ...] = (0.0,)) -> Floats:
    """The nearest of the multiples of step plus an ending, above 0."""
    ends = np.array(endings)
    whole = np.maximum(np.rint((values[..., None] - ends) / step), np.where(ends > 0, 0.0, 1.0))
    near = whole * step + ends
    best = np.abs(near - values[..., None]).argmin(axis=-1)
    return np.asarray(np.round(np.take_along_axis(near, best[..., None], axis=-1)[..., 0], 10))


def _price_candidates(prices: Floats, spelled: Floats) -> Floats:
    """The prices themselves where they are few, else those nearest to even quantiles."""
    found = np.unique(prices)
    if len(found) <= MOST_PRICES and len(np.unique(spelled)) <= MOST_PRICES:
        return found
    levels = np.linspace(0.01, 0.99, PRICE_CANDIDATES)
    return np.unique(np.quantile(prices, levels, method="nearest"))


def _order_candidates(orders: Floats, sales: Floats, multiple: float, cover: int) -> Floats:
    """The orders themselves where they are few, else multiples from 0 to what was ordered and to twice what sold."""
    found = np.unique(orders)
    if len(found) <= MOST_ORDERS and ((orders > 0).any() or not (sales > 0).any()):
        return found
    most = _most(orders, sales, cover)
    unit = multiple or most / ORDER_CANDIDATES
    step = unit * np.ceil(most / (unit * ORDER_CANDIDATES) - 1e-9)
    return np.asarray(step * np.arange(np.ceil(most / step - 1e-9) + 1))


def _relative_order_candidates(orders: Floats, sales: Floats, cover: int) -> Floats:
    """Candidates up to what demand can need, not above MOST_PERIODS times the mean sales unless orders usually are."""
    usual = float(np.median(orders[orders > 0])) if (orders > 0).any() else 0.0
    limit = MOST_PERIODS if usual <= MOST_PERIODS else 2 * usual
    return np.linspace(0.0, min(max(_most(orders, sales, cover), TINY), limit), ORDER_CANDIDATES + 1)


def _most(orders: Floats, sales: Floats, cover: int) -> float:
    """Largest order that demand can need; if none was ever placed, over the periods that an order covers."""
    needed = 2 * float(np.quantile(sales, 0.99))
    if not (orders > 0).any():
        needed = max(needed, 2 * cover * float(np.mean(sales)))
    return max(float(np.quantile(orders, 0.995)), needed)
