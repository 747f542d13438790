"""The problem behind a log: timing, balance, grids, costs, features and column names."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from lostsales.data.business_rules import BusinessRules
from lostsales.data.economics import Arrival, Balance, CapacityRule
from lostsales.data.labels import spelled
from lostsales.data.settings import Settings, checked, read_toml, to_toml
from lostsales.errors import SettingError

NonNegative = Annotated[float, Field(ge=0)]
Level = str | bool | int | float


MOST_RUNGS = 10_000


class PriceRange(Settings):
    """Prices from one to another in equal steps.

    >>> PriceRange.model_validate({"from": 3.49, "to": 4.99, "step": 0.5}).values
    (3.49, 3.99, 4.49, 4.99)
    """

    example: ClassVar[str] = "{from = 3.49, to = 5.99, step = 0.5}"

    lowest: NonNegative = Field(alias="from")
    to: NonNegative
    step: Annotated[float, Field(gt=0)]

    @property
    def values(self) -> tuple[float, ...]:
        """The prices, rising."""
        return _steps(self.lowest, self.to, self.step)


class OrderRange(Settings):
    """Orders of none, one multiple, two, and so on.

    >>> OrderRange(multiple=12, most=40).values
    (0.0, 12.0, 24.0, 36.0)
    """

    example: ClassVar[str] = "{multiple = 12, most = 480}"

    multiple: Annotated[float, Field(gt=0)] = 1.0
    most: NonNegative

    @property
    def values(self) -> tuple[float, ...]:
        """The orders, rising."""
        return _steps(0.0, self.most, self.multiple)


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    count = (last - first) / step + 1e-9
    if count < 0:
        raise ValueError(f"a range must not end at {last:g}, below its start at {first:g}")
    if count >= MOST_RUNGS:
        raise ValueError(f"a range may have {MOST_RUNGS:,} values, but this has {count + 1:,.0f}: take larger steps")
    return tuple(round(first + index * step, 10) for index in range(int(count) + 1))


class Shop(Settings):
    """How stock and money move, in a log and in a scenario."""

    arrival: Arrival = "after"
    balance: Balance = "lost-sales"
    capacity: Annotated[float, Field(gt=0)] | None = None
    capacity_rule: CapacityRule = "discard"
    longest_run: Annotated[int, Field(ge=1)] | None = None
    prices: tuple[NonNegative, ...] | None = None
    orders: tuple[NonNegative, ...] | None = None
    discount: Annotated[float, Field(ge=0, lt=1)] = 0.9

    @field_validator("prices", "orders", mode="before")
    @classmethod
    def _listed(cls, values: Any, info: ValidationInfo) -> Any:
        """A range as the list of its values."""
        if not isinstance(values, dict):
            return values
        kind: type[PriceRange | OrderRange] = PriceRange if info.field_name == "prices" else OrderRange
        try:
            return kind.model_validate(values).values
        except ValidationError as error:
            wrong = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
            raise ValueError(f"a range is {kind.example}, but {wrong}") from None

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
    out_of_stock: str | None = None  # time out of stock within the period
    in_stock: str | None = None  # false: out of stock for part or all of the period
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
        recorded = [name for name in (self.out_of_stock, self.in_stock) if name is not None]
        return (*self.series_parts, *columns, self.last_sales, self.last_stockout, *recorded)


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
        What may be recommended: lists, or ranges ``{from, to, step}`` and ``{multiple, most}``; derived from the log
        unless given.
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
    rules : BusinessRules
        What the shop will not do: order multiples, margins, price changes, endings of prices.
    open_time : float or str, optional
        Length of a period in the unit of the column `out_of_stock` (16 hours, 30 days; 1 where it is a share), or the
        column of it.
    out_of_stock_pace : float, optional
        While out of stock, demand ran at most so many times as fast as sales in the rest of the period. It gives the
        demand of such rows an upper end; without it they tell only that demand was at least the sales.

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
    rules: BusinessRules = BusinessRules()
    open_time: Annotated[float, Field(gt=0)] | str | None = None
    out_of_stock_pace: Annotated[float, Field(gt=0)] | None = None

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

    @model_validator(mode="after")
    def _time_has_a_length(self) -> "Problem":
        columns = self.columns
        if columns.out_of_stock is not None and columns.in_stock is not None:
            raise ValueError("give the column out_of_stock or in_stock, not both")
        if self.open_time is not None and columns.out_of_stock is None:
            raise ValueError("open_time needs the column of the time out of stock: [columns] out_of_stock")
        if self.out_of_stock_pace is not None and self.open_time is None:
            raise ValueError("out_of_stock_pace needs open_time, the length of a period")
        return self

    @classmethod
    def from_toml(cls, path: str | Path) -> "Problem":
        """The problem in a TOML file."""
        return checked(cls, read_toml(Path(path)), f"problem {path}")

    def to_toml(self) -> str:
        """The text from which `from_toml` reads this problem again."""
        keys = self.model_dump(exclude_none=True) | {
            "columns": self.columns.model_dump(exclude_defaults=True),
            "rules": self.rules.model_dump(exclude_defaults=True),
        }
        if self.features:
            keys["features"] = [
                feature.name if feature == Feature(name=feature.name) else feature.model_dump(exclude_defaults=True)
                for feature in self.features
            ]
        return to_toml({key: value for key, value in keys.items() if value not in ((), {})})

    @classmethod
    def of(cls, given: "Problem | str | Path | None", beside: Path | None) -> "Problem":
        """The problem that was given, else the TOML beside the table, else the defaults."""
        if isinstance(given, Problem):
            return given
        if isinstance(given, str | Path):
            return cls.from_toml(given)
        if given is not None:
            raise SettingError(f"a problem is a Problem or the path of a TOML file, but a {type(given).__name__} came")
        if beside is not None and beside.name and beside.with_suffix(".toml").is_file():
            return cls.from_toml(beside.with_suffix(".toml"))
        return cls()
