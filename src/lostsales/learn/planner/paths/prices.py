"""Prices among which a product is decided: within its past range, with and without its promotion."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.assortment import is_assortment
from lostsales.data.business_rules import BusinessRules
from lostsales.data.candidate_grid import price_spelling, snapped
from lostsales.data.encoding import feature_columns
from lostsales.data.log import DecisionLog
from lostsales.data.products import medians_by_group
from lostsales.demand.model.exposure import MOST_EFFECT
from lostsales.saved_fields import Axis, NonNegative, numbers
from lostsales.types import Bools, Floats, Ints

CANDIDATES = 9  # prices of a product that are compared
# A flag marks promotions where it lowers the price by at least this share, in this share of rows.
LEAST_CUT, PROMOTION_SHARE = 0.03, (0.002, 0.5)
# Nodes and weights of a normal distribution with standard deviation 1 (Gauss-Hermite): uncertain elasticities.
NODES = np.array([-2.8569700138728, -1.3556261799743, 0.0, 1.3556261799743, 2.8569700138728])
WEIGHTS = np.array([0.011257411327721, 0.222075922005613, 0.533333333333333, 0.222075922005613, 0.011257411327721])


@dataclass(frozen=True, eq=False)
class ProductPrices:
    """Lowest, highest and usual price of each product, without (first) and with (second row) its promotion."""

    AXES: ClassVar[dict[str, Axis]] = {"listed prices": Axis(least=0)}

    promotion: Annotated[int, Field(ge=-1, le=100_000)]  # column of the features that marks promotions, -1: none does
    # The last entry is that of an unknown product, 0 where nothing is known of it.
    floor: Annotated[Floats, numbers(2, "series+1", least=0)]
    ceiling: Annotated[Floats, numbers(2, "series+1", least=0)]
    usual: Annotated[Floats, numbers(2, "series+1", least=0)]
    listed: Annotated[Floats, numbers("listed prices", least=0)]  # of the problem or the rules; none: the range
    step: NonNegative  # prices are multiples of this plus an ending; 0: any price
    endings: tuple[float, ...]

    @classmethod
    def of(cls, log: DecisionLog, rules: BusinessRules) -> "ProductPrices":
        """Ranges of the products of a log; `price_beyond` of the rules widens them."""
        product, count = log.products.of_row, len(log.products)
        columns = feature_columns(log.problem.features, list(log.features.T))
        promotion = _promotion_column(log, columns)
        is_on = np.zeros(len(log), dtype=bool) if promotion < 0 else columns[promotion] == 1
        usual = medians_by_group(log.price, product, count)
        found = np.zeros((3, 2, count + 1))
        for state in (0, 1):
            kept = np.flatnonzero(is_on == bool(state))
            own = np.bincount(product[kept], minlength=count) > 0
            lowest, highest = np.full(count, np.inf), np.zeros(count)
            np.minimum.at(lowest, product[kept], log.price[kept])
            np.maximum.at(highest, product[kept], log.price[kept])
            middle = medians_by_group(log.price[kept], product[kept], count)
            # A product that never had this state has the usual change of the others.
            own_usual = usual[own & (usual > 0)]
            cut = float(np.median(middle[own & (usual > 0)] / own_usual)) if len(own_usual) else 1.0
            found[:, state, :count] = np.where(own, [lowest, highest, middle], np.tile(cut * usual, (3, 1)))
        if not is_assortment(log):  # series are episodes of one shop
            low, high, middle = found[:, :, :count]
            found[:, :, count] = low.min(axis=1), high.max(axis=1), np.median(middle, axis=1)
        beyond = rules.price_beyond
        listed = log.problem.prices if rules.price_ladder is None else rules.price_ladder
        step, ending = price_spelling(log.price)
        endings = (ending,) if rules.price_endings is None else rules.price_endings
        return cls(
            promotion=promotion,
            floor=found[0] * max(1 - beyond, 0.0),
            ceiling=found[1] * (1 + beyond),
            usual=found[2],
            listed=np.array(() if listed is None else sorted(set(listed))),
            step=step if rules.price_endings is None else 1.0,
            endings=endings,
        )

    def candidates(self, at: Ints, state: Ints, count: int = CANDIDATES) -> Floats:
        """Candidate prices of products in their states, rising, (rows, candidates); NaN where there are fewer."""
        if len(self.listed):
            return np.where(self.usual[state, at][:, None] > 0, self.listed, np.nan)
        floor, ceiling = self.floor[state, at], self.ceiling[state, at]
        prices = floor[:, None] + (ceiling - floor)[:, None] * np.linspace(0.0, 1.0, count)
        if self.step:
            prices = np.clip(snapped(prices, self.step, self.endings), floor[:, None], ceiling[:, None])
        prices[:, 1:][prices[:, 1:] == prices[:, :-1]] = np.nan
        return np.where(self.usual[state, at][:, None] > 0, prices, np.nan)


def planned_price(
    candidates: Floats,
    allowed: Bools,
    usual: Floats,
    effect: Floats,
    uncertain: Floats,
    cost: Floats,
    caution: float,
) -> Floats:
    """Price of the largest expected margin, (rows,); the usual one where no other is better beyond its uncertainty.

    Demand at a candidate (rows, candidates) is that at the usual price (rows,) times exp(effect), where `uncertain`
    is the standard deviation. `caution` standard deviations of the gain are subtracted when candidates are compared,
    and the gain of the best must exceed one.
    """
    demand = np.exp(np.minimum(effect[:, :, None] + uncertain[:, :, None] * NODES, MOST_EFFECT))
    gain = (candidates - cost[:, None])[:, :, None] * demand - (usual - cost)[:, None, None]
    mean = gain @ WEIGHTS
    deviation = np.sqrt(np.maximum((gain - mean[:, :, None]) ** 2 @ WEIGHTS, 0.0))
    score = np.where(allowed & ~np.isnan(mean), mean - caution * deviation, -np.inf)
    best, rows = score.argmax(axis=1), np.arange(len(usual))
    is_better = (score[rows, best] > 0) & (mean[rows, best] > deviation[rows, best])
    return np.where(is_better, candidates[rows, best], usual)


def _promotion_column(log: DecisionLog, columns: list[Floats]) -> int:
    """Column of the flag under which prices are lower by the most, -1 where none marks promotions."""
    usual = medians_by_group(log.price, log.products.of_row, len(log.products))[log.products.of_row]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.nan_to_num(log.price / usual, nan=1.0, posinf=1.0)
    calendar = [bool(each.calendar) for each in log.problem.features for _ in feature_columns((each,), [np.zeros(1)])]
    best, found = -LEAST_CUT, -1
    for at, column in enumerate(columns):
        is_on, share = column == 1, float(np.mean(column == 1))
        if calendar[at] or not ((column == 0) | is_on).all() or not PROMOTION_SHARE[0] <= share <= PROMOTION_SHARE[1]:
            continue
        cut = float(relative[is_on].mean() - relative[~is_on].mean())
        if cut < best:
            best, found = cut, at
    return found
