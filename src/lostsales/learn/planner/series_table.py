"""What is a series' own in a plan: scale, usual price, costs, effects, spread; and which series share a plan."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.encoding import attribute_columns
from lostsales.data.ladders import Ladders, own_multiples
from lostsales.data.log import SalesLog
from lostsales.data.scale import MOST_GROUPS, by_attributes, like_groups, sizes_of
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.policy.own_range import MOST_PERIODS, OwnRange, has_own_ranges
from lostsales.policy.rules import Rules
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, indices, numbers, texts
from lostsales.types import Array, Bools, Floats, Ints

# Plans differ little by scale, by price response and by memory: these weigh less when series are grouped by shape.
SCALE_POWER = 0.4
PRICE_MOVE = 0.25  # relative change of the price and ...
MEMORY_MOVE = 0.5  # ... of the last demand over which responses are compared
WIDEST = 3.0  # spread of an unknown series, as a multiple of the common one
ABOVE_ZERO, NOT_NEGATIVE = numbers("series+1", least=POSITIVE), numbers("series+1", least=0)
LEAST_CASE = 0.1  # of the scale, below which cases hardly matter


class SeriesRows(NamedTuple):
    """What is their own of the series of some rows, every array (rows,) unless said."""

    group: Ints
    scale: Floats
    to_group: Floats  # what turns quantities of a series into those of its group, of another scale
    usual_price: Floats
    order_cost: Floats
    order_multiple: Floats
    price_caution: Floats
    effects: Floats  # (rows, 1 + inputs)
    attributes: Floats  # (rows, columns)
    is_unknown: Bools  # the log did not have the series
    own_range: OwnRange | None  # what each has seen; None where series are alike

    def take(self, rows: Ints) -> "SeriesRows":
        """Some of the rows."""
        own_range = None if self.own_range is None else self.own_range.rows(rows)
        columns = {name: getattr(self, name)[rows] for name in self._fields if name != "own_range"}
        return SeriesRows(own_range=own_range, **columns)

    def by_group(self) -> list[tuple[int, Ints]]:
        """Each group, with the rows that belong to it."""
        return [(int(group), np.flatnonzero(self.group == group)) for group in np.unique(self.group)]


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """One entry a series of the log; the last entry stands for unknown series."""

    names: Annotated[Array, texts("series")]
    columns: tuple[str, ...]  # of the attributes; one with text as `name=text`, one column a text
    attributes: Annotated[Floats, numbers("series+1", "attributes")]
    scale: Annotated[Floats, ABOVE_ZERO]
    effects: Annotated[Floats, numbers("series+1", "3+features+attributes")]  # level and slopes, see SeriesEffects
    centre: Annotated[Floats, numbers("2+features+attributes")]  # of the slopes
    usual_price: Annotated[Floats, ABOVE_ZERO]  # 1 where series do not differ in price
    order_cost: Annotated[Floats, NOT_NEGATIVE]  # mean unit cost of an order
    order_multiple: Annotated[Floats, NOT_NEGATIVE]  # what orders come in, 0 where in anything
    # standard errors of the elasticity that another price than the usual one costs
    price_caution: Annotated[Floats, NOT_NEGATIVE]
    group: Annotated[Ints, indices("series+1", below="groups")]  # of like shape, with a plan of its own
    group_scale: Annotated[Floats, numbers("groups", least=POSITIVE)]
    group_multiple: Annotated[Floats, numbers("groups", least=0)]  # what orders come in, relative to the scale
    # lost, order, holding and fixed cost of an order, relative to the usual price
    group_costs: Annotated[Floats, numbers("groups", 4, least=0)]
    group_slopes: Annotated[Floats, numbers("groups", 2)]  # mean slopes on price and last demand
    group_spread: Annotated[Floats, numbers("groups", least=POSITIVE)]  # of residuals
    sizes: Annotated[Floats, numbers("1+attributes", 2)]  # logarithms of scale and usual price by the attributes
    prior: Annotated[Floats, numbers("1+attributes", "3+features+attributes")]  # effects by the attributes
    own_range: OwnRange | None = None  # by series, what it has seen; None where series are alike

    @classmethod
    def of(
        cls,
        log: SalesLog,
        law: DemandLaw,
        ladders: Ladders,
        rules: Rules,
        price_caution: Floats,
        most_groups: int = MOST_GROUPS,
    ) -> "SeriesTable":
        """From a log and its law; of a series that holes split into parts, the last part counts."""
        names, from_end = np.unique(log.names[::-1], return_index=True)
        last = len(log.names) - 1 - from_end
        columns, values = attribute_columns(log)
        known = values[last]
        usual, scale = _with_median(law.usual_price[last]), _with_median(law.scale[last])
        sizes = by_attributes(known, np.log(np.column_stack([scale[:-1], usual[:-1]])))
        prior = _prior(law, known.shape[1])
        own = np.column_stack([law.effects.level, law.effects.slopes])[last]
        effects = np.concatenate([own, _with_ones(known.mean(axis=0, keepdims=True)) @ prior])
        spread = np.r_[law.effects.spread[last], _unknown_spread(law, known, np.log(scale[:-1]), sizes)]
        assert log.costs is not None  # or the log had been refused
        costs = np.column_stack([_with_median(each) for each in _costs_by_series(log, log.costs, last)])
        relative = costs / usual[:, None]
        responses = np.exp(effects[:, -2:] * [PRICE_MOVE, MEMORY_MOVE])
        multiple = np.r_[_multiples(log, ladders, rules)[last], ladders.order_multiple]
        cases = np.maximum(multiple / scale, LEAST_CASE) ** SCALE_POWER
        bound = _own_rules(rules, names) / np.column_stack([np.ones(len(scale)), scale])
        shape = np.column_stack([scale**SCALE_POWER, cases, relative, responses, spread, 1 + bound])
        group = like_groups(shape, most_groups)
        by_group = [np.flatnonzero(group == each) for each in range(group.max() + 1)]
        return cls(
            names=names,
            columns=columns,
            attributes=np.concatenate([known, known.mean(axis=0, keepdims=True)]),
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
            sizes=sizes,
            prior=prior,
            own_range=OwnRange.of(log, rules).rows(last) if law.are_products or has_own_ranges(log) else None,
        )

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The attributes."""
        return {"attributes": len(saved["columns"])}

    @cached_property
    def _entries(self) -> dict[str, int]:
        return {str(name): entry for entry, name in enumerate(self.names)}

    def rows(self, view: View) -> SeriesRows:
        """What is their own of the series of a view.

        An unknown series has the attributes in the view and what these say about effects, scale and price; the scale
        of its recent demand and its last price come before those.
        """
        at = self._entries_of(view)
        new = at == len(self.names)
        attributes, effects, scale, usual, cost = (
            each[at] for each in (self.attributes, self.effects, self.scale, self.usual_price, self.order_cost)
        )
        multiple = self.order_multiple[at]
        if new.any() and view.context is not None:
            attributes[new] = view.context.take(np.flatnonzero(new)).values(self.columns, self.attributes[-1])
            effects[new] = _with_ones(attributes[new]) @ self.prior
            said = sizes_of(attributes[new], self.sizes)
            recent, last = view.context.mean_demand[new], view.last_price[new]
            if np.ptp(self.scale) > 0:
                scale[new] = np.where(recent > 0, recent, said[:, 0])
            if (self.usual_price != 1).any():
                usual[new] = np.where(last > 0, last, said[:, 1])
                cost[new] *= usual[new] / self.usual_price[-1]
        group = self.group[at]
        own_range = None
        if self.own_range is not None:
            own_range = self.own_range.take(np.minimum(at, len(self.names) - 1), new, MOST_PERIODS * scale)
        to_group = self.group_scale[group] / scale
        caution = self.price_caution[at]
        return SeriesRows(group, scale, to_group, usual, cost, multiple, caution, effects, attributes, new, own_range)

    def _entries_of(self, view: View) -> Ints:
        unknown = len(self.names)
        if view.names is None:
            return np.full(len(view.stock), unknown)
        names, inverse = np.unique(view.names.astype(str), return_inverse=True)
        return np.array([self._entries.get(name, unknown) for name in names], dtype=np.int64)[inverse]

    def market_effects(self, rows: SeriesRows, features: Floats) -> Floats:
        """Level and season of the series of some rows, which z contains, (rows,)."""
        slopes = rows.effects[:, 1:-2]
        if not slopes.any():
            return rows.effects[:, 0]
        return np.asarray(rows.effects[:, 0] + np.einsum("ij,ij->i", features - self.centre[:-2], slopes))

    def shift(self, rows: SeriesRows, price: Floats, memory: Floats) -> Floats:
        """By what the latents of series differ from those of their group at prices (rows, prices), as the law has them.

        `memory` (rows,) is the last demand as the law has it.
        """
        own = rows.effects[:, -2:] - self.group_slopes[rows.group]
        by_memory = (own[:, 1] * (memory - self.centre[-1]))[:, None]
        return np.asarray(own[:, :1] * (price - self.centre[-2]) + by_memory)

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


def _unknown_spread(law: DemandLaw, attributes: Floats, log_scale: Floats, sizes: Floats) -> float:
    """Spread of the residuals of an unknown series: that of a usual one, its level, and its scale by its attributes."""
    prior, common = law.effects.prior, max(law.residuals.spread, 1e-9)
    level = prior.variance[0] if prior is not None else 0.0
    scale = float(np.var(log_scale - (_with_ones(attributes) @ sizes)[:, 0]))
    usual = float(np.median(law.effects.spread))
    return min(float(np.sqrt(usual**2 + (level + scale) / common**2)), max(WIDEST, usual))


def _multiples(log: SalesLog, ladders: Ladders, rules: Rules) -> Floats:
    """What orders of each series come in, (series,): as the rules say, else as the log shows."""
    if not ladders.relative_orders:
        return np.full(len(log.names), ladders.order_multiple)
    shown, said = own_multiples(log, ladders.order_multiple), rules.of_names(log.names).multiple
    if said is None:
        return shown
    return np.where(np.isnan(said), shown, said)


def _own_rules(rules: Rules, names: Array) -> Floats:
    """Least margin and least order of each series and of an unknown one, 0 where there is none, (series + 1, 2)."""
    own = rules.of_names(np.append(names.astype(object), ""))
    columns = [np.nan if each is None else each for each in (own.least_margin, own.minimum)]
    return np.asarray(np.nan_to_num(np.column_stack([np.broadcast_to(each, len(names) + 1) for each in columns])))


def _common(multiples: Floats) -> float:
    """One multiple for series of like ones; 0 where some order in anything."""
    return float(np.exp(np.log(multiples).mean())) if (multiples > 0).all() else 0.0


def _costs_by_series(log: SalesLog, costs: UnitCosts, series: Ints) -> list[Floats]:
    """Mean lost, order, holding and fixed cost of some series, each (series,)."""
    rows = np.bincount(log.series, minlength=len(log.names))
    return [
        (np.bincount(log.series, each, len(log.names)) / rows)[series]
        if isinstance(each, np.ndarray)
        else np.full(len(series), float(each))
        for each in costs
    ]
