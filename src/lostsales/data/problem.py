"""The problem behind a log: timing, balance, grids, costs, features and column names."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from lostsales.data.economics import Arrival, Balance, CapacityRule
from lostsales.data.format import Format
from lostsales.data.labels import spelled
from lostsales.data.settings import Settings, checked, read_toml, to_toml
from lostsales.errors import SettingError


def is_number(value: object) -> bool:
    """A number, and no truth value, which Python takes for one."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool | np.bool_):
        raise ValueError("Input should be a valid number")
    return value


Number = Annotated[float, BeforeValidator(_no_truth_value)]
NonNegative = Annotated[Number, Field(ge=0)]
Level = str | bool | int | float


class Shop(Settings):
    """How stock and money move, in a log and in a scenario."""

    arrival: Arrival = "after"
    balance: Balance = "lost-sales"
    capacity: Annotated[Number, Field(gt=0)] | None = None
    capacity_rule: CapacityRule = "discard"
    longest_run: Annotated[int, BeforeValidator(_no_truth_value), Field(ge=1)] | None = None
    prices: tuple[NonNegative, ...] | None = None
    orders: tuple[NonNegative, ...] | None = None
    discount: Annotated[Number, Field(ge=0, lt=1)] = 0.9

    @field_validator("prices", "orders")
    @classmethod
    def _ascending(cls, values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if values is not None and (not values or list(values) != sorted(set(values))):
            raise ValueError("must be a rising list of different values")
        return values

    @model_validator(mode="after")
    def _fits(self) -> "Shop":
        if self.capacity_rule == "forbid" and self.orders and min(self.orders) > 0:
            raise ValueError("with capacity_rule 'forbid' the order grid must contain 0, or a full store could not act")
        return self


class Feature(Settings):
    """A column that describes the market before the decision."""

    name: str
    kind: Annotated[str, Field(pattern="^(numeric|categorical)$")] = "numeric"
    levels: tuple[Level, ...] | None = None

    @model_validator(mode="after")
    def _levels_are_categorical(self) -> "Feature":
        if self.levels is not None and (
            self.kind != "categorical" or len(set(map(spelled, self.levels))) < len(self.levels)
        ):
            raise ValueError("levels belong to a categorical feature and must differ")
        return self


class Costs(Settings):
    """Unit costs: a constant, the name of a column, or absent (then the log's own cost column is used)."""

    lost: NonNegative | str | None = None
    order: NonNegative | str | None = None
    holding: NonNegative | str | None = None
    fixed_order: NonNegative = 0.0


class Columns(Settings):
    """Names of the columns of the table; several columns may name a series together."""

    series: str | Annotated[tuple[str, ...], Field(min_length=1)] = "series"
    period: str = "period"
    stock: str = "stock"
    price: str = "price"
    order: str = "order"
    sales: str = "sales"
    stockout: str = "stockout"
    last_sales: str = "last_sales"
    last_stockout: str = "last_stockout"
    received: str = "received"
    adjustment: str = "adjustment"
    lost_cost: str = "lost_cost"
    order_cost: str = "order_cost"
    holding_cost: str = "holding_cost"

    @property
    def series_parts(self) -> tuple[str, ...]:
        """The columns that name a series together."""
        return (self.series,) if isinstance(self.series, str) else self.series

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that cannot be a feature or an attribute as well; unit costs can."""
        columns = (self.period, self.stock, self.price, self.order, self.sales, self.stockout)
        return (*self.series_parts, *columns, self.last_sales, self.last_stockout)


class Problem(Shop):
    """Everything about a log that is not in its table; as TOML, the same keys.

    Parameters
    ----------
    arrival : {"after", "before"}
        Whether an order arrives after the sales of its period or before.
    balance : {"lost-sales", "netted"}
        Whether unmet demand is lost, or served from the next order as in the paper.
    capacity, capacity_rule
        The most that can be in stock, and whether an excess order is discarded ("discard") or not allowed ("forbid").
    longest_run : int, optional
        After so many stock-outs in a row demand is truncated to what is available (simulated logs only).
    prices, orders : tuple of float, optional
        The action grid; by default what the log contains.
    discount : float
        Of one period.
    features : tuple of Feature or str
        Columns that describe the market before the decision.
    attributes : tuple of str
        Columns that are constant in a series.
    costs : Costs
        Unit costs, constants or columns.
    columns : Columns
        Names of the columns of the table.
    price : float, optional
        The price of every row, where the table has no column of it.
    format : Format
        How text columns write numbers and dates.

    Raises
    ------
    SettingError
        A key is unknown or its value not usable; the error lists all of them.

    Examples
    --------
    >>> problem = Problem(arrival="before", features=["promotion"], costs=Costs(lost=2, order=3, holding=1))
    >>> problem.features[0].kind
    'numeric'

    """

    features: tuple[Feature, ...] = ()
    attributes: tuple[str, ...] = ()
    costs: Costs = Costs()
    columns: Columns = Columns()
    price: NonNegative | None = None
    format: Format = Format()

    @model_validator(mode="before")
    @classmethod
    def _constant_price(cls, keys: Any) -> Any:
        """`[columns] price = 2` means `price = 2`."""
        columns = keys.get("columns") if isinstance(keys, dict) else None
        if not isinstance(columns, dict) or not is_number(columns.get("price")):
            return keys
        named = {name: column for name, column in columns.items() if name != "price"}
        if keys.get("price", columns["price"]) != columns["price"]:
            raise ValueError(f"price is {keys['price']!r}, but columns.price is {columns['price']!r}")
        return keys | {"columns": named, "price": columns["price"]}

    @field_validator("features", mode="before")
    @classmethod
    def _named(cls, features: Any) -> Any:
        if isinstance(features, list | tuple):
            return tuple({"name": each} if isinstance(each, str) else each for each in features)
        return features

    @model_validator(mode="after")
    def _one_role_a_column(self) -> "Problem":
        roles = [*self.columns.named, *(feature.name for feature in self.features), *self.attributes]
        if twice := sorted({name for name in roles if roles.count(name) > 1}):
            raise ValueError(f"a column must have one role, but {', '.join(twice)} has several")
        return self

    @classmethod
    def from_toml(cls, path: str | Path) -> "Problem":
        """The problem in a TOML file."""
        return checked(cls, read_toml(Path(path)), f"problem {path}")

    def to_toml(self) -> str:
        """The text from which `from_toml` reads this problem again."""
        keys = self.model_dump(exclude_none=True)
        keys |= {name: getattr(self, name).model_dump(exclude_defaults=True) for name in ("columns", "format")}
        if self.features:
            keys["features"] = [
                feature.name if feature == Feature(name=feature.name) else feature.model_dump(exclude_defaults=True)
                for feature in self.features
            ]
        return to_toml({key: value for key, value in keys.items() if value not in ((), {})})

    @property
    def reads(self) -> frozenset[str]:
        """The columns that reading a log with this problem looks at."""
        names = {name for name in self.columns.model_dump().values() if isinstance(name, str)}
        costs = {cost for cost in (self.costs.lost, self.costs.order, self.costs.holding) if isinstance(cost, str)}
        return frozenset(
            names | costs | {*self.columns.series_parts, *self.attributes, *(each.name for each in self.features)}
        )

    @classmethod
    def of(cls, given: "Problem | str | Path | None", beside: Path | None) -> "Problem":
        """The problem that was given, else the TOML file `beside` the table, else the defaults."""
        if isinstance(given, Problem):
            return given
        if isinstance(given, str | Path):
            return cls.from_toml(given)
        if given is not None:
            raise SettingError(f"a problem is a Problem or the path of a TOML file, but a {type(given).__name__} came")
        return cls() if beside is None else cls.from_toml(beside)
