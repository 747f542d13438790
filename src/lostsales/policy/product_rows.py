"""Products of a view: the entry of each row in the product table, and the usual product for an unknown one."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.candidate_grid import MOST_PERIODS
from lostsales.data.product_table import ProductAttributes, ProductTable
from lostsales.data.scale import rounded_scale
from lostsales.data.seen_range import SeenRange
from lostsales.policy.view import View
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class ProductRows:
    """Columns of the product table for the rows of a view."""

    unit: Floats  # (rows,)
    scale: Floats  # (rows,) divisor of quantities
    usual_price: Floats  # (rows,) divisor of money
    case_size: Floats  # (rows,) 0 for any quantity
    is_unknown: Bools  # (rows,) the log did not have the product
    seen: SeenRange  # by row


def attributes_of_view(attributes: ProductAttributes, view: View) -> tuple[Floats, Bools]:
    """Attributes of the products of a view, (rows, columns), and which of them the log did not have, (rows,).

    An unknown product has those in the view, and for attributes that are not given the mean of the log.
    """
    at = attributes.places(view.names, len(view.stock))
    values, unknown, mean = attributes.values[at], at < 0, attributes.values.mean(axis=0)
    values[unknown] = mean
    if view.context is not None and unknown.any():
        values[unknown] = view.context.take(np.flatnonzero(unknown)).values(attributes.columns, mean)
    return values, unknown


def rows_of_view(products: ProductTable, view: View) -> ProductRows:
    """Rows of the product table for a view.

    An unknown product has the scale of its recent demand and its last price; where these are absent, the scale and
    price that its attributes predict, and without attributes the median ones.
    """
    at = products.attributes.places(view.names, len(view.stock))
    new = at < 0
    unit, scale, price, case = (
        each[at] for each in (products.unit, products.scale, products.usual_price, products.case_size)
    )
    if new.any():
        unit[new], case[new] = products.shop_unit, 0.0
        scale[new] = products.shop_unit if products.one_scale else np.median(products.scale)
        price[new] = np.median(products.usual_price)
        if view.context is not None:
            said = products.predicted_by_attributes(attributes_of_view(products.attributes, view)[0][new])
            recent = view.context.mean_demand[new]
            if said is not None:
                price[new] = said[1]
            if not products.one_scale:
                wanted = scale[new] if said is None else _rounded(said[0], products)
                scale[new] = np.where(recent > 0, _rounded(recent, products), wanted)
        last = view.last_price[new]
        price[new] = np.where((last > 0) & (not products.one_price), last, price[new])
    most = np.full(len(at), np.inf) if products.one_scale else MOST_PERIODS * scale
    return ProductRows(unit, scale, price, case, new, products.seen.take(at, new, most))


def _rounded(sizes: Floats, products: ProductTable) -> Floats:
    return products.shop_unit * rounded_scale(sizes / products.shop_unit)
