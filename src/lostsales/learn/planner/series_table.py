"""Scale, effect and attributes of every series of a log, and which series share a plan."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.encoding import attributes
from lostsales.data.log import SalesLog
from lostsales.data.scale import scale_groups
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """One entry a series of the log; the last entry, of medians, stands for unknown series."""

    names: Array  # (series,) text
    attributes: Floats  # (series + 1, columns)
    scale: Floats  # (series + 1,)
    effect: Floats  # (series + 1,)
    group: Ints  # (series + 1,) of like scale, with a plan of its own
    group_scale: Floats  # (groups,)

    @classmethod
    def of(cls, log: SalesLog, law: DemandLaw) -> "SeriesTable":
        """From a log and its law; of a series that holes split into parts, the last part counts."""
        names, from_end = np.unique(log.names[::-1], return_index=True)
        last = len(log.names) - 1 - from_end
        columns = np.column_stack([*attributes(log, log.starts), np.zeros((len(log.names), 0))])[last]
        effect = law.effect[last]
        scale = np.r_[law.scale[last], np.exp(np.median(np.log(law.scale[last])))]
        group, group_scale = scale_groups(scale)
        return cls(
            names=names,
            attributes=np.concatenate([columns, np.median(columns, axis=0, keepdims=True)]),
            scale=scale,
            effect=np.r_[effect, np.median(effect)],
            group=group,
            group_scale=group_scale,
        )

    def to_arrays(self) -> dict[str, Array]:
        """As it is saved."""
        names = ("attributes", "scale", "effect", "group", "group_scale")
        return {name: getattr(self, name) for name in names} | {"names": self.names.astype(np.str_)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "SeriesTable":
        """From `to_arrays`."""
        return cls(**arrays | {"names": arrays["names"].astype(object)})

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
