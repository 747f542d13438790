"""The product table: unit, scale, usual price, case size, seen range, costs and attributes of each product."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from lostsales.data.business_rules import BusinessRules
from lostsales.data.encoding import attribute_columns
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.products import medians_by_group
from lostsales.data.scale import by_attributes, rounded_scale, series_scale, sizes_of, usual_price
from lostsales.data.seen_range import SeenRange
from lostsales.data.units import product_units
from lostsales.saved_fields import POSITIVE, Axis, Positive, numbers, texts
from lostsales.types import Array, Floats, Ints

LEAST_ORDERS = 15  # of a product, from which on its case size is read off them
_POSITIVE, _NOT_NEGATIVE = numbers("series", least=POSITIVE), numbers("series", least=0)


@dataclass(frozen=True, eq=False)
class ProductAttributes:
    """Attributes of each product as numbers."""

    AXES: ClassVar[dict[str, Axis]] = {"attributes": Axis(least=0)}

    names: Annotated[Array, texts("series", compact=True)]
    columns: tuple[str, ...]  # attributes; one with text as `name=text`, one column a text
    values: Annotated[Floats, numbers("series", "attributes")]

    @classmethod
    def of(cls, log: SalesLog) -> "ProductAttributes":
        """Attributes of the products of a log; without columns where it has none."""
        columns, values = attribute_columns(log)
        return cls(log.products.names.astype(str), columns, values[log.products.first_segment])

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """Number of attributes."""
        return {"attributes": len(saved["columns"])}

    @cached_property
    def _rising(self) -> tuple[Array, Ints]:
        """Names in rising order, and the places of these."""
        order = np.argsort(self.names, kind="stable")
        return self.names[order], order

    def texts(self, name: str, places: Ints) -> Array:
        """An attribute of products as text, empty for an unknown product (place -1), (rows,)."""
        if name in self.columns:
            values = self.values[:, self.columns.index(name)]
            return np.append(values.astype(str).astype(object), "0")[places]
        levels = [at for at, column in enumerate(self.columns) if column.startswith(f"{name}=")]
        texts = np.array([*(self.columns[at].partition("=")[2] for at in levels), ""], dtype=object)
        code = np.where(self.values[:, levels].any(axis=1), self.values[:, levels].argmax(axis=1), len(levels))
        return np.asarray(texts[np.r_[code, len(levels)][places]])

    def places(self, names: Array | None, rows: int) -> Ints:
        """Place of each of the named products in this table, -1 where it does not have the product, (rows,)."""
        if names is None or not len(self.names):
            return np.full(rows, -1)
        rising, order = self._rising
        wanted = names.astype(str)
        at = np.minimum(np.searchsorted(rising, wanted), len(rising) - 1)
        return np.where(rising[at] == wanted, order[at], -1)


@dataclass(frozen=True, eq=False)
class ProductTable:
    """Facts of each product, in the units of the log."""

    shop_unit: Positive  # of the quantities of all products
    unit: Annotated[Floats, _POSITIVE]  # of the quantities of a product, a multiple of that of the shop
    scale: Annotated[Floats, _POSITIVE]  # mean sales where products differ in them, in powers of a step; else the unit
    usual_price: Annotated[Floats, _POSITIVE]  # median price where products differ in it, else 1
    price: Annotated[Floats, _NOT_NEGATIVE]  # median
    lost_cost: Annotated[Floats, _NOT_NEGATIVE]  # means of the unit costs
    order_cost: Annotated[Floats, _NOT_NEGATIVE]
    holding_cost: Annotated[Floats, _NOT_NEGATIVE]
    case_size: Annotated[Floats, _NOT_NEGATIVE]  # multiple of its orders, 0 for any quantity
    seen: SeenRange
    attributes: ProductAttributes
    # logarithms of scale and usual price by the attributes; None without attributes
    sizes: Annotated[Floats | None, numbers("1+attributes", 2)] = None

    @classmethod
    def of(cls, log: DecisionLog, rules: BusinessRules | None = None) -> "ProductTable":
        """Table of the products of a log, in whose quantities 1 is the unit of every product."""
        products = log.products
        first, ones = products.first_segment, np.ones(len(products))
        scale, usual = series_scale(log)[first], usual_price(log)[first]
        scale = rounded_scale(scale) if (scale != scale[:1]).any() else scale
        attributes = ProductAttributes.of(log)
        lost, order, holding, _ = (products.means(np.broadcast_to(each, len(log))) for each in log.costs)
        return cls(
            shop_unit=1.0,
            unit=ones,
            scale=scale,
            usual_price=usual,
            price=medians_by_group(log.price, products.of_row, len(products)),
            lost_cost=lost,
            order_cost=order,
            holding_cost=holding,
            case_size=_case_sizes(log),
            seen=SeenRange.of(log, rules),
            attributes=attributes,
            sizes=_sizes(attributes, scale, usual),
        )

    def times(self, shop_unit: float, unit: Floats) -> "ProductTable":
        """Table of a log that writes 1 of a product as `unit` (products,), and 1 of an unknown one as `shop_unit`."""
        seen = self.seen
        return replace(
            self,
            shop_unit=self.shop_unit * shop_unit,
            unit=self.unit * unit,
            scale=self.scale * unit,
            case_size=self.case_size * unit,
            seen=replace(seen, largest_order=seen.largest_order * unit, order_ceiling=seen.order_ceiling * unit),
            sizes=_sizes(self.attributes, self.scale * unit, self.usual_price),
        )

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def names(self) -> Array:
        """Names of the products, (products,)."""
        return self.attributes.names

    @property
    def one_scale(self) -> bool:
        """True where products do not differ in scale."""
        return bool((self.scale == self.unit).all())

    @property
    def one_price(self) -> bool:
        """True where products do not differ in price."""
        return bool((self.usual_price == 1).all())

    @property
    def units_by_name(self) -> dict[str, float]:
        """Unit of each product by its name."""
        return dict(zip(self.names.tolist(), self.unit.tolist(), strict=True))

    def without_scale(self) -> "ProductTable":
        """The table for counts: nothing but the unit divides quantities, and nothing divides prices."""
        return replace(self, scale=self.unit, usual_price=np.ones(len(self)), sizes=None)

    def predicted_by_attributes(self, values: Floats) -> tuple[Floats, Floats] | None:
        """Scale and usual price of products with these attributes (rows, attributes); None without attributes."""
        if self.sizes is None:
            return None
        scale, price = sizes_of(values, self.sizes).T
        return scale, price


def _sizes(attributes: ProductAttributes, scale: Floats, usual: Floats) -> Floats | None:
    """Coefficients of the logarithms of scale and usual price by the attributes; None without attributes."""
    logs = np.log(np.column_stack([scale, usual]))
    return by_attributes(attributes.values, logs) if attributes.columns else None


def _case_sizes(log: DecisionLog) -> Floats:
    """Multiple of the orders of each product, (products,): its cases where it placed enough orders, else its unit.

    A product that was never ordered comes in the cases that all others have in common.
    """
    units, product = product_units(log), log.products.of_row
    placed = np.flatnonzero(log.order > 0)
    placed = placed[np.argsort(product[placed], kind="stable")]
    counts = np.rint(log.order[placed] / np.where(units > 0, units, 1.0)[product[placed]]).astype(np.int64)
    rows = np.bincount(product[placed], minlength=len(units))
    enough = np.flatnonzero(rows >= LEAST_ORDERS)
    found, first = np.ones(len(units)), np.cumsum(rows) - rows
    if len(enough):
        found[enough] = np.maximum([np.gcd.reduce(counts[first[at] : first[at] + rows[at]]) for at in enough], 1)
        found[rows == 0] = np.gcd.reduce(found[rows > 0].astype(np.int64))
    return np.asarray(units * found)
