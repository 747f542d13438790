"""Scale, usual price, costs, effect and attributes of every series of a log, and which series share a plan."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.encoding import attributes
from lostsales.data.log import SalesLog
from lostsales.data.scale import like_groups
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """One entry a series of the log; the last entry, of medians, stands for unknown series."""

    names: Array  # (series,) text
    attributes: Floats  # (series + 1, columns)
    scale: Floats  # (series + 1,)
    to_group: Floats  # (series + 1,) what turns quantities of a series into those of its group, of another scale
    effect: Floats  # (series + 1,)
    usual_price: Floats  # (series + 1,) 1 where series do not differ in price
    order_cost: Floats  # (series + 1,) mean unit cost of an order
    group: Ints  # (series + 1,) of like scale and costs, with a plan of its own
    group_scale: Floats  # (groups,)
    group_costs: Floats  # (groups, 4) lost, order, holding and fixed cost of an order, relative to the usual price

    @classmethod
    def of(cls, log: SalesLog, law: DemandLaw) -> "SeriesTable":
        """From a log and its law; of a series that holes split into parts, the last part counts."""
        names, from_end = np.unique(log.names[::-1], return_index=True)
        last = len(log.names) - 1 - from_end
        columns = np.column_stack([*attributes(log, log.starts), np.zeros((len(log.names), 0))])[last]
        effect, usual = law.effect[last], _with_median(law.usual_price[last])
        scale = _with_median(law.scale[last])
        assert log.costs is not None  # or the log had been refused
        costs = np.column_stack([_with_median(each) for each in _costs_by_series(log, log.costs, last)])
        relative = costs / usual[:, None]
        group = like_groups(np.column_stack([scale, relative]))
        by_group = [np.flatnonzero(group == each) for each in range(group.max() + 1)]
        group_scale = np.array([np.exp(np.log(scale[rows]).mean()) for rows in by_group])
        return cls(
            names=names,
            attributes=np.concatenate([columns, np.median(columns, axis=0, keepdims=True)]),
            scale=scale,
            to_group=group_scale[group] / scale,
            effect=np.r_[effect, np.median(effect)],
            usual_price=usual,
            order_cost=costs[:, 1],
            group=group,
            group_scale=group_scale,
            group_costs=np.array([relative[rows].mean(axis=0) for rows in by_group]),
        )

    def to_arrays(self) -> dict[str, Array]:
        """As it is saved."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        return arrays | {"names": self.names.astype(np.str_)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], costs: Floats) -> "SeriesTable":
        """From `to_arrays`; files of old have one price and one set of costs (4,) for all, and groups share a scale."""
        entries, groups = len(arrays["scale"]), len(arrays["group_scale"])
        old = (
            {}
            if "to_group" in arrays
            else {
                "scale": np.ones(entries),
                "to_group": np.ones(entries),
                "usual_price": np.ones(entries),
                "order_cost": np.full(entries, costs[1]),
                "group_costs": np.tile(costs, (groups, 1)),
            }
        )
        return cls(**arrays | old | {"names": arrays["names"].astype(object)})

    @cached_property
    def _entries(self) -> dict[str, int]:
        return {str(name): entry for entry, name in enumerate(self.names)}

    def entries(self, view: View) -> Ints:
        """The entry of each series of a view, (series of the view,)."""
        unknown = len(self.names)
        if view.names is None:
            return np.full(len(view.stock), unknown)
        names, inverse = np.unique(view.names.astype(str), return_inverse=True)
        return np.array([self._entries.get(name, unknown) for name in names], dtype=np.int64)[inverse]

    def is_unknown(self, entries: Ints) -> Bools:
        """Which entries stand for unknown series."""
        return np.asarray(entries == len(self.names))

    def by_group(self, entries: Ints) -> list[tuple[int, Ints]]:
        """Each group among the entries, with the rows that belong to it."""
        groups = self.group[entries]
        return [(int(group), np.flatnonzero(groups == group)) for group in np.unique(groups)]

    @property
    def differs(self) -> bool:
        """True where it matters which series a row belongs to."""
        return len(self.group_scale) > 1 or bool(self.effect.any()) or bool((self.usual_price != 1).any())


def _with_median(values: Floats) -> Floats:
    """The values of the series, and their geometric median for an unknown one."""
    middle = np.exp(np.median(np.log(values))) if (values > 0).all() else np.median(values)
    return np.asarray(np.r_[values, middle])


def _costs_by_series(log: SalesLog, costs: UnitCosts, series: Ints) -> list[Floats]:
    """Mean lost, order, holding and fixed cost of some series, each (series,)."""
    rows = np.bincount(log.series, minlength=len(log.names))
    found = [
        (np.bincount(log.series, each, len(log.names)) / rows)[series]
        if isinstance(each, np.ndarray)
        else np.full(len(series), float(each))
        for each in (costs.lost, costs.order, costs.holding)
    ]
    return [*found, np.full(len(series), float(costs.fixed_order))]
