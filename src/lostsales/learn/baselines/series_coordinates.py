"""Scale, usual price and range of each series, by which a learner sees all of them alike."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from lostsales.data.business_rules import BusinessRules
from lostsales.data.log import SalesLog
from lostsales.data.scale import by_attributes, rounded_scale, series_scale, sizes_of, usual_price
from lostsales.policy.own_range import MOST_PERIODS, OwnRange
from lostsales.policy.series_attributes import SeriesAttributes
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, Axis, numbers, texts
from lostsales.types import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class SeriesCoordinates:
    """Scale, usual price and attributes of each series; scale and price divide its quantities and its money."""

    AXES: ClassVar[dict[str, Axis]] = {"attributes": Axis(least=0)}

    names: Annotated[Array, texts("series")]
    scale: Annotated[Floats, numbers("series", least=POSITIVE)]
    columns: tuple[str, ...]  # attributes; one with text as `name=text`, one column a text
    values: Annotated[Floats, numbers("series", "attributes")]
    usual_price: Annotated[Floats, numbers("series", least=POSITIVE)]  # 1 where series do not differ in price
    own_range: OwnRange | None = None  # what each series has seen
    # logarithms of scale and usual price by the attributes; None where there are none
    sizes: Annotated[Floats | None, numbers("1+attributes", 2)] = None

    @classmethod
    def of(cls, log: SalesLog, rules: BusinessRules | None = None) -> "SeriesCoordinates":
        """From a log; all scales are 1 where its series are of one scale."""
        scale, usual, own = series_scale(log), usual_price(log), SeriesAttributes.of(log)
        if (scale != scale[:1]).any():
            scale = rounded_scale(scale)
        sizes = by_attributes(own.values, np.log(np.column_stack([scale, usual]))) if own.columns else None
        return cls(log.names, scale, own.columns, own.values, usual, OwnRange.of(log, rules), sizes)

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

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The attributes."""
        return {"attributes": len(saved["columns"])}


@dataclass(frozen=True, eq=False)
class ViewCoordinates:
    """The coordinates of the series of a view."""

    scale: Floats  # (rows,)
    usual_price: Floats  # (rows,)
    is_unknown: Bools  # (rows,) the log did not have the series
    own_range: OwnRange | None = None  # by row
