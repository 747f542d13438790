"""Coordinates of a series beside its history: its scale, its usual price and its attributes."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.encoding import attribute_columns
from lostsales.data.ladders import Ladders, own_multiples
from lostsales.data.log import SalesLog
from lostsales.data.scale import by_attributes, rounded_scale, series_scale, size_range, sizes_of, usual_price
from lostsales.errors import warn
from lostsales.policy.own_range import MOST_PERIODS, OwnRange
from lostsales.policy.rules import Rules
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class SeriesCoordinates:
    """By series: the scale and the usual price that divide its units and its money, and its attributes as numbers."""

    names: Array  # (series,) text
    scale: Floats  # (series,)
    columns: tuple[str, ...]  # attributes; one with text as `name=text`, one column a text
    values: Floats  # (series, columns)
    usual_price: Floats  # (series,) 1 where series do not differ in price
    own_range: OwnRange | None = None  # what each series has seen; None in files of old
    order_multiple: Floats | None = None  # (series,) what its orders come in; None where all share a ladder
    # (1 + columns, 2) logarithms of scale and usual price by the attributes; None where there are none, in files of old
    sizes: Floats | None = None

    @classmethod
    def of(cls, log: SalesLog, warn: bool = True) -> "SeriesCoordinates":
        """From a log; all scales are 1 where its series are of one scale."""
        scale = series_scale(log)
        if (scale != scale[:1]).any():
            if warn and (ends := size_range(scale)) is not None:
                _warn(*ends)
            scale = rounded_scale(scale)
        columns, values = attribute_columns(log)
        usual = usual_price(log)
        sizes = by_attributes(values, np.log(np.column_stack([scale, usual]))) if columns else None
        return cls(log.names, scale, columns, values, usual, OwnRange.of(log), sizes=sizes)

    @property
    def one_scale(self) -> bool:
        """True where nothing is divided."""
        return bool((self.scale == 1).all())

    @property
    def vary(self) -> bool:
        """True where series differ in scale, price or attributes."""
        return bool(self.columns) or not self.one_scale or bool((self.usual_price != 1).any())

    def in_cases(self, log: SalesLog, ladders: Ladders, rules: Rules) -> "SeriesCoordinates":
        """With what the orders of each series of a log come in: as the rules say, else as the log shows."""
        if not ladders.relative_orders:
            return self
        said = rules.of_names(log.names).multiple
        shown = own_multiples(log, ladders.order_multiple)
        return replace(self, order_multiple=shown if said is None else np.where(np.isnan(said), shown, said))

    def of_view(self, view: View) -> "ViewCoordinates":
        """The coordinates of the series of a view.

        An unknown series has the scale of its own recent demand, its last price and the attributes in the view; where
        these are absent, the scale and price that its attributes say, and without attributes the median ones.
        """
        context, rows = view.context, len(view.stock)
        place = {name: index for index, name in enumerate(self.names)}
        names = [None] * rows if view.names is None else view.names
        at = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        new = at < 0
        values, scale, price = self.values[at], self.scale[at], self.usual_price[at]
        values[new], scale[new] = self.values.mean(axis=0), np.median(self.scale)
        price[new] = np.median(self.usual_price)
        if context is not None and new.any():
            recent = context.mean_demand[new]
            values[new] = context.take(np.flatnonzero(new)).values(self.columns, self.values.mean(axis=0))
            if self.sizes is not None:
                said = sizes_of(values[new], self.sizes)
                scale[new], price[new] = 1.0 if self.one_scale else rounded_scale(said[:, 0]), said[:, 1]
            scale[new] = np.where((recent > 0) & (not self.one_scale), rounded_scale(recent), scale[new])
        last = view.last_price[new]
        price[new] = np.where((self.usual_price != 1).any() & (last > 0), last, price[new])
        own_range, multiple = None, None
        if self.order_multiple is not None:
            multiple = np.where(new, 0.0, self.order_multiple[at])
        if self.own_range is not None:
            most = np.full(rows, np.inf) if self.one_scale else MOST_PERIODS * scale
            own_range = self.own_range.take(at, new, most)
        return ViewCoordinates(scale, values, price, new, own_range, multiple)

    def to_arrays(self) -> dict[str, Array]:
        """The arrays of a policy file; names as text of one width."""
        optional = {
            "series_range": None if self.own_range is None else self.own_range.to_array(),
            "series_multiple": self.order_multiple,
            "series_sizes": self.sizes,
        }
        return {
            "series_names": self.names.astype(str),
            "series_scale": self.scale,
            "series_values": self.values,
            "series_price": self.usual_price,
        } | {name: each for name, each in optional.items() if each is not None}

    @classmethod
    def from_arrays(cls, columns: list[str] | None, arrays: dict[str, Array]) -> "SeriesCoordinates | None":
        """The coordinates of a policy file, None where series are alike."""
        if columns is None:
            return None
        names = arrays["series_names"].astype(object)
        price = arrays.get("series_price", np.ones(len(names)))
        own_range = OwnRange.from_array(arrays["series_range"]) if "series_range" in arrays else None
        own = own_range, arrays.get("series_multiple"), arrays.get("series_sizes")
        return cls(names, arrays["series_scale"], tuple(columns), arrays["series_values"], price, *own)


@dataclass(frozen=True, eq=False)
class ViewCoordinates:
    """The coordinates of the series of a view."""

    scale: Floats  # (rows,)
    attributes: Floats | None  # (rows, columns)
    usual_price: Floats  # (rows,)
    is_unknown: Bools  # (rows,) the log did not have the series
    own_range: OwnRange | None = None  # by row
    order_multiple: Floats | None = None  # (rows,) 0 of an unknown series; None where all share a ladder


def _warn(low: float, high: float) -> None:
    warn(
        f"one Q is learned for series whose mean demand runs from {low:.3g} to {high:.3g}; each is divided by its own "
        "scale, but series that differ in more than that want attributes that tell them apart, or a fit of their own"
    )
