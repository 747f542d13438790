"""Scale, usual price and range of each series, by which a learner sees all of them alike."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.scale import by_attributes, rounded_scale, series_scale, sizes_of, usual_price
from lostsales.policy.own_range import MOST_PERIODS, OwnRange
from lostsales.policy.series_attributes import SeriesAttributes
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
    # (1 + columns, 2) logarithms of scale and usual price by the attributes; None where there are none, in files of old
    sizes: Floats | None = None

    @classmethod
    def of(cls, log: SalesLog) -> "SeriesCoordinates":
        """From a log; all scales are 1 where its series are of one scale."""
        scale, usual, own = series_scale(log), usual_price(log), SeriesAttributes.of(log)
        if (scale != scale[:1]).any():
            scale = rounded_scale(scale)
        sizes = by_attributes(own.values, np.log(np.column_stack([scale, usual]))) if own.columns else None
        return cls(log.names, scale, own.columns, own.values, usual, OwnRange.of(log), sizes)

    @property
    def one_scale(self) -> bool:
        """True where nothing is divided."""
        return bool((self.scale == 1).all())

    def of_view(self, view: View) -> "ViewCoordinates":
        """The coordinates of the series of a view.

        An unknown series has the scale of its own recent demand, its last price and the attributes in the view; where
        these are absent, the scale and price that its attributes say, and without attributes the median ones.
        """
        context, rows = view.context, len(view.stock)
        attributes = SeriesAttributes(self.names, self.columns, self.values)
        at = attributes.places(view)
        new = at < 0
        scale, price = self.scale[at], self.usual_price[at]
        scale[new], price[new] = np.median(self.scale), np.median(self.usual_price)
        if context is not None and new.any():
            recent, values = context.mean_demand[new], attributes.of_view(view)[0]
            if self.sizes is not None:
                said = sizes_of(values[new], self.sizes)
                scale[new], price[new] = 1.0 if self.one_scale else rounded_scale(said[:, 0]), said[:, 1]
            scale[new] = np.where((recent > 0) & (not self.one_scale), rounded_scale(recent), scale[new])
        last = view.last_price[new]
        price[new] = np.where((self.usual_price != 1).any() & (last > 0), last, price[new])
        own_range = None
        if self.own_range is not None:
            most = np.full(rows, np.inf) if self.one_scale else MOST_PERIODS * scale
            own_range = self.own_range.take(at, new, most)
        return ViewCoordinates(scale, price, new, own_range)

    def to_arrays(self) -> dict[str, Array]:
        """The arrays of a policy file; names as text of one width."""
        optional = {
            "series_range": None if self.own_range is None else self.own_range.to_array(),
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
        own = own_range, arrays.get("series_sizes")
        return cls(names, arrays["series_scale"], tuple(columns), arrays["series_values"], price, *own)


@dataclass(frozen=True, eq=False)
class ViewCoordinates:
    """The coordinates of the series of a view."""

    scale: Floats  # (rows,)
    usual_price: Floats  # (rows,)
    is_unknown: Bools  # (rows,) the log did not have the series
    own_range: OwnRange | None = None  # by row
