"""Groups of products that share a plan, and the effects of each product in the demand model.

Scale and usual price are those of the demand model; case sizes, seen ranges, attributes and costs are those of the
product table.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.data.candidate_grid import MOST_PERIODS, CandidateGrid
from lostsales.data.log import DecisionLog
from lostsales.data.product_table import ProductTable
from lostsales.data.scale import MOST_GROUPS, like_groups
from lostsales.data.seen_range import SeenRange, is_limited
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.policy.product_rows import attributes_of_view
from lostsales.policy.rules import Rules
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, indices, numbers
from lostsales.types import Array, Bools, Floats, Ints

# Plans differ little by scale, price response and autocorrelation, so that these weigh less when products are grouped
# by shape (docs/decisions/assortment.md).
SCALE_POWER = 0.4
PRICE_MOVE = 0.25  # relative change of the price and ...
LAG_MOVE = 0.5  # ... of the last demand over which responses are compared
WIDEST = 3.0  # spread of an unknown product, as a multiple of the common one
LEAST_CASE = 0.1  # of the scale, below which cases hardly matter
_POSITIVE, _NOT_NEGATIVE = numbers("series+1", least=POSITIVE), numbers("series+1", least=0)


class PlanRows(NamedTuple):
    """Products of some rows, every array (rows,) unless said."""

    group: Ints
    scale: Floats
    to_group: Floats  # factor from quantities of a product to those of its group, of another scale
    usual_price: Floats
    order_cost: Floats
    order_multiple: Floats
    price_caution: Floats
    effects: Floats  # (rows, 1 + inputs)
    attributes: Floats  # (rows, columns)
    is_unknown: Bools  # the log did not have the product
    seen: SeenRange | None  # None where series are alike

    def take(self, rows: Ints) -> "PlanRows":
        """Some of the rows."""
        seen = None if self.seen is None else self.seen.rows(rows)
        columns = {name: getattr(self, name)[rows] for name in self._fields if name != "seen"}
        return PlanRows(seen=seen, **columns)

    def by_group(self) -> list[tuple[int, Ints]]:
        """Each group, with the rows that belong to it."""
        return [(int(group), np.flatnonzero(self.group == group)) for group in np.unique(self.group)]


@dataclass(frozen=True, eq=False)
class PlanGroups:
    """Effects, costs and group of each product; the last entry is that of an unknown one."""

    products: ProductTable
    is_limited: bool  # products keep to their seen ranges; False where series are alike
    scale: Annotated[Floats, _POSITIVE]
    effects: Annotated[Floats, numbers("series+1", "3+features+attributes")]  # level and slopes, see SeriesEffects
    centre: Annotated[Floats, numbers("2+features+attributes")]  # of the slopes
    usual_price: Annotated[Floats, _POSITIVE]  # 1 where products do not differ in price
    order_cost: Annotated[Floats, _NOT_NEGATIVE]  # mean unit cost of an order
    order_multiple: Annotated[Floats, _NOT_NEGATIVE]  # 0 for any quantity
    # standard errors of the elasticity that another price than the usual one costs
    price_caution: Annotated[Floats, _NOT_NEGATIVE]
    group: Annotated[Ints, indices("series+1", below="groups")]  # of like shape, with one plan
    group_scale: Annotated[Floats, numbers("groups", least=POSITIVE)]
    group_multiple: Annotated[Floats, numbers("groups", least=0)]  # of orders, relative to the scale
    # lost, order, holding and fixed cost of an order, relative to the usual price
    group_costs: Annotated[Floats, numbers("groups", 4, least=0)]
    group_slopes: Annotated[Floats, numbers("groups", 2)]  # mean slopes on price and last demand
    group_spread: Annotated[Floats, numbers("groups", least=POSITIVE)]  # of residuals
    prior: Annotated[Floats, numbers("1+attributes", "3+features+attributes")]  # effects by the attributes

    @classmethod
    def of(
        cls,
        log: DecisionLog,
        law: DemandLaw,
        candidates: CandidateGrid,
        rules: Rules,
        price_caution: Floats,
        most_groups: int = MOST_GROUPS,
    ) -> "PlanGroups":
        """Groups of the products of a log by its demand model; of a product with gaps the last segment counts."""
        products, last = ProductTable.of(log, rules), log.products.last_segment
        values = products.attributes.values
        usual, scale = _with_median(law.usual_price[last]), _with_median(law.scale[last])
        prior = _prior(law, values.shape[1])
        own = np.column_stack([law.effects.level, law.effects.slopes])[last]
        effects = np.concatenate([own, _with_ones(values.mean(axis=0, keepdims=True)) @ prior])
        spread = np.r_[law.effects.spread[last], _unknown_spread(law, products, np.log(scale[:-1]))]
        unit_costs = products.lost_cost, products.order_cost, products.holding_cost
        fixed = np.full(len(scale), float(np.mean(log.costs.fixed_order)))
        costs = np.column_stack([*(_with_median(each) for each in unit_costs), fixed])
        relative = costs / usual[:, None]
        responses = np.exp(effects[:, -2:] * [PRICE_MOVE, LAG_MOVE])
        multiple = np.r_[_multiples(products, candidates, rules), candidates.order_multiple]
        cases = np.maximum(multiple / scale, LEAST_CASE) ** SCALE_POWER
        bound = _own_rules(rules, products.names) / np.column_stack([np.ones(len(scale)), scale])
        shape = np.column_stack([scale**SCALE_POWER, cases, relative, responses, spread, 1 + bound])
        group = like_groups(shape, most_groups)
        by_group = [np.flatnonzero(group == each) for each in range(group.max() + 1)]
        return cls(
            products=products,
            is_limited=law.are_products or is_limited(log),
            scale=scale,
            effects=effects,
            centre=law.effects.centre,
            usual_price=usual,
            order_cost=costs[:, 1],
            order_multiple=multiple,
            price_caution=np.r_[price_caution, price_caution.max(initial=0.0)],
            group=group,
            group_scale=np.array([np.exp(np.log(scale[rows]).mean()) for rows in by_group]),
            group_multiple=np.array([_common(multiple[rows] / scale[rows]) for rows in by_group]),
            group_costs=np.array([relative[rows].mean(axis=0) for rows in by_group]),
            group_slopes=np.array([effects[rows, -2:].mean(axis=0) for rows in by_group]),
            group_spread=np.array([spread[rows].mean() for rows in by_group]),
            prior=prior,
        )

    def rows(self, view: View) -> PlanRows:
        """Rows of a view.

        An unknown product has the attributes in the view, and effects, scale and price predicted by them; the scale of
        its recent demand and its last price are preferred to those.
        """
        at = self.products.attributes.places(view.names, len(view.stock))  # -1, the last entry, where it is unknown
        new = at < 0
        effects, scale, usual, cost = (
            each[at] for each in (self.effects, self.scale, self.usual_price, self.order_cost)
        )
        attributes = attributes_of_view(self.products.attributes, view)[0]
        if new.any() and view.context is not None:
            effects[new] = _with_ones(attributes[new]) @ self.prior
            said = self.products.said_by_attributes(attributes[new]) or (scale[new], usual[new])
            recent, last = view.context.mean_demand[new], view.last_price[new]
            if np.ptp(self.scale) > 0:
                scale[new] = np.where(recent > 0, recent, said[0])
            if (self.usual_price != 1).any():
                usual[new] = np.where(last > 0, last, said[1])
                cost[new] *= usual[new] / self.usual_price[-1]
        group = self.group[at]
        return PlanRows(
            group=group,
            scale=scale,
            to_group=self.group_scale[group] / scale,
            usual_price=usual,
            order_cost=cost,
            order_multiple=self.order_multiple[at],
            price_caution=self.price_caution[at],
            effects=effects,
            attributes=attributes,
            is_unknown=new,
            seen=self.products.seen.take(at, new, MOST_PERIODS * scale) if self.is_limited else None,
        )

    def market_effects(self, rows: PlanRows, features: Floats) -> Floats:
        """Level and season of the series of some rows, which z contains, (rows,)."""
        slopes = rows.effects[:, 1:-2]
        if not slopes.any():
            return rows.effects[:, 0]
        return np.asarray(rows.effects[:, 0] + np.einsum("ij,ij->i", features - self.centre[:-2], slopes))

    def shift(self, rows: PlanRows, price: Floats, lag: Floats) -> Floats:
        """Difference of the latents of products from those of their group at prices (rows, prices) as the law has them.

        `lag` (rows,) is the last demand as the law has it.
        """
        own = rows.effects[:, -2:] - self.group_slopes[rows.group]
        by_lag = (own[:, 1] * (lag - self.centre[-1]))[:, None]
        return np.asarray(own[:, :1] * (price - self.centre[-2]) + by_lag)

    @property
    def differs(self) -> bool:
        """True where it matters which series a row belongs to."""
        return len(self.group_scale) > 1 or bool(self.effects.any()) or bool((self.usual_price != 1).any())


def _with_median(values: Floats) -> Floats:
    """The values of the series, and their geometric median for an unknown one."""
    middle = np.exp(np.median(np.log(values))) if (values > 0).all() else np.median(values)
    return np.asarray(np.r_[values, middle])


def _with_ones(columns: Floats) -> Floats:
    return np.column_stack([np.ones(len(columns)), columns])


def _prior(law: DemandLaw, attributes: int) -> Floats:
    """Effects by attributes as they are in the log, (1 + attributes, 1 + inputs)."""
    prior = law.effects.prior
    if prior is None:
        return np.zeros((1 + attributes, 1 + law.effects.slopes.shape[1]))
    slopes = prior.coefficients[1:] / prior.scale[:, None]
    return np.concatenate([(prior.coefficients[0] - prior.centre @ slopes)[None], slopes])


def _unknown_spread(law: DemandLaw, products: ProductTable, log_scale: Floats) -> float:
    """Spread of an unknown product: residuals of a usual one, its level, and its scale given its attributes."""
    prior, common = law.effects.prior, max(law.residuals.spread, 1e-9)
    level = prior.variance[0] if prior is not None else 0.0
    said = products.said_by_attributes(products.attributes.values)
    scale = float(np.var(log_scale if said is None else log_scale - np.log(said[0])))
    usual = float(np.median(law.effects.spread))
    return min(float(np.sqrt(usual**2 + (level + scale) / common**2)), max(WIDEST, usual))


def _multiples(products: ProductTable, candidates: CandidateGrid, rules: Rules) -> Floats:
    """Multiples of the orders of each product, (products,): those of the rules, else the case sizes of the log."""
    if not candidates.relative_orders:
        return np.full(len(products), candidates.order_multiple)
    said = rules.of_names(products.names).multiple
    return products.case_size if said is None else np.where(np.isnan(said), products.case_size, said)


def _own_rules(rules: Rules, names: Array) -> Floats:
    """Least margin and least order of each series and of an unknown one, 0 where there is none, (series + 1, 2)."""
    own = rules.of_names(np.append(names.astype(object), ""))
    columns = [np.nan if each is None else each for each in (own.least_margin, own.minimum)]
    return np.asarray(np.nan_to_num(np.column_stack([np.broadcast_to(each, len(names) + 1) for each in columns])))


def _common(multiples: Floats) -> float:
    """One multiple for series of like ones; 0 where some order in anything."""
    return float(np.exp(np.log(multiples).mean())) if (multiples > 0).all() else 0.0
