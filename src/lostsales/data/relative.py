"""Relative logs: where a row of the shop becomes a row as learners see it, and problems and settings with it.

`in_units` counts quantities in units. `relative_log` divides the quantities of each product by its scale and money by
its usual price, so that products of any size and price are rows of one shop. `policy/shop_units.py` is the way back.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lostsales.data.business_rules import BusinessRules
from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import AnyLog, DecisionLog
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.settings import StrictSettings
from lostsales.data.units import ROW_QUANTITIES, counted, unit_of, whole_units
from lostsales.types import Floats

# Rules whose numbers are the same in every unit; the others are applied to the decisions of the shop.
UNITLESS_RULES = ("least_margin", "greatest_price_change_percent", "order_days")

AnySettings = TypeVar("AnySettings", bound=StrictSettings)


class Quantity:
    """Annotation of a setting whose number is a quantity in the units of the shop."""


class Counts(NamedTuple):
    """A log of a shop with the quantities of each product counted in its unit."""

    log: DecisionLog
    shop_unit: float  # of an unknown product
    units: Floats  # (products,) multiples of that

    @classmethod
    def of(cls, shop: DecisionLog, *settings: StrictSettings) -> "Counts":
        """Count the quantities of a log.

        All products have one unit where the problem, or the settings of a learner, name quantities of the whole shop.
        """
        shop_unit = unit_of(shop)
        own = np.ones(len(shop.products))
        if not names_quantities(shop.problem, *settings):
            own = whole_units(in_units(shop, shop_unit))
        return cls(in_units(shop, shop_unit, shop_unit * own), shop_unit, shop_unit * own)

    def in_shop_units(self, products: ProductTable) -> ProductTable:
        """Table of the shop whose counts these are."""
        return products.times(self.shop_unit, self.units)


def in_units(log: AnyLog, unit: float, by_product: Floats | None = None) -> AnyLog:
    """Log with quantities counted in a unit, or those of each product in its own one where given, (products,)."""
    if unit == 1 and (by_product is None or (by_product == 1).all()):
        return log
    divisor = np.full(len(log.products), unit) if by_product is None else by_product
    costs = log.costs
    if costs is not None:
        costs = costs._replace(fixed_order=costs.fixed_order / unit)
    columns = _divided(log, divisor) | {"problem": problem_in_units(log.problem, unit), "costs": costs}
    return replace(log, **columns)


def relative_log(log: DecisionLog, products: ProductTable, grid: CandidateGrid, rules: BusinessRules) -> DecisionLog:
    """Log with quantities relative to the scale and money relative to the usual price of each product.

    Its problem lists the candidates of the relative grid. Capacities, lots and rules in units of the shop are not part
    of it: they limit what is recommended.
    """
    scale, usual = products.scale[log.products.of_row], products.usual_price[log.products.of_row]
    costs, supply = log.costs, log.problem.supply
    unitless = {name: getattr(rules, name) for name in UNITLESS_RULES if name in rules.model_fields_set}
    problem: dict[str, Any] = {
        "prices": tuple(grid.prices.tolist()),
        "orders": tuple(grid.orders.tolist()),
        "capacity": None,
        "rules": BusinessRules(**unitless),
        "supply": supply.model_copy(update={"capacity": None, "multiple": None, "minimum": None}),
    }
    if log.waste_cost is not None:
        waste_cost = float(np.mean(log.waste_cost / usual))
        problem["product"] = log.problem.product.model_copy(update={"waste_cost": waste_cost})
    fixed = float(np.mean(costs.fixed_order / (scale * usual)))
    changed: dict[str, Any] = {
        "problem": log.problem.model_copy(update=problem),
        "price": log.price / usual,
        "waste_cost": None if log.waste_cost is None else log.waste_cost / usual,
        "costs": costs.per_unit(lambda cost: _share(cost, usual))._replace(fixed_order=fixed),
    }
    return replace(log, **_divided(log, products.scale, np.divide), **changed)


def relative_grid(log: DecisionLog, rules: BusinessRules, grid: CandidateGrid) -> CandidateGrid:
    """Grid relative to each product, also where the problem lists prices or orders for all."""
    problem = log.problem.model_copy(update={"prices": None, "orders": None})
    free = rules.model_copy(update={"price_ladder": None})
    found = CandidateGrid.of(replace(log, problem=problem), free).coarse()
    prices = found.prices if found.relative_prices else grid.prices
    orders = found.orders if found.relative_orders else grid.orders
    return replace(found, prices=prices, orders=orders)


def _divided(log: AnyLog, divisor: Floats, divided: Callable[[Floats, Floats], Floats] = counted) -> dict[str, Any]:
    """Columns of quantities, divided by the divisor of their product."""
    by_row, by_segment = divisor[log.products.of_row], divisor[log.products.of_segment]
    columns = {name: divided(each, by_row) for name in ROW_QUANTITIES if (each := getattr(log, name)) is not None}
    columns["last_sales"] = divided(log.last_sales, by_segment)
    if log.pipeline is not None:
        columns["pipeline"] = divided(log.pipeline, by_row[:, None])
    return columns


def _share(cost: Floats | float, usual: Floats) -> Floats | float:
    """Unit cost relative to the usual price; one that is the same in all rows remains a number."""
    same = np.ndim(cost) == 0 and (cost == 0 or bool((usual == 1).all()))
    return cost if same else np.asarray(cost / usual)


def problem_in_units(problem: Problem, unit: float) -> Problem:
    """Problem with its quantities counted in a unit."""
    update = {
        "capacity": None if problem.capacity is None else float(counted(problem.capacity, unit)),
        "orders": None if problem.orders is None else tuple(counted(np.array(problem.orders), unit).tolist()),
        "costs": problem.costs.model_copy(update={"fixed_order": problem.costs.fixed_order / unit}),
        "rules": problem.rules.in_units(unit),
        "supply": problem.supply.in_units(unit),
    }
    return problem.model_copy(update=update)


def settings_in_units(settings: AnySettings, unit: float) -> AnySettings:
    """Settings of a learner with rules and quantities counted in a unit."""
    update: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, BusinessRules):
            update[name] = value.in_units(unit)
        elif Quantity in field.metadata and value is not None:
            update[name] = float(counted(value, unit))
    return settings.model_copy(update=update)


def names_quantities(problem: Problem, *settings: StrictSettings) -> bool:
    """True where a problem, or the settings of a learner, name quantities of the whole shop."""
    return problem_in_units(problem, 2.0) != problem or any(settings_in_units(each, 2.0) != each for each in settings)
