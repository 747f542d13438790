"""The problem behind a log: timing, balance, grids, costs, features and column names."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from lostsales.data.business_rules import BusinessRules
from lostsales.data.calendar.clock import Clock
from lostsales.data.feature import Feature, with_calendar_features, with_features
from lostsales.data.format import Format
from lostsales.data.limits import Limit
from lostsales.data.settings import NonNegative, Number, Settings, checked, read_toml, to_toml
from lostsales.data.shop import Shop
from lostsales.data.supply import LONGEST, arrival_of, order_day_column
from lostsales.data.targets import Targets
from lostsales.errors import SettingError

# The usual columns of forecasting libraries, read where a table has them instead of ours.
FORECASTING_NAMES = {"series": "unique_id", "period": "ds", "sales": "y"}
SHARE = "in_stock_share"  # is read by its name where the problem names no other record of being out of stock
HELP = "docs/problem.md lists every key; `lostsales init TABLE --out -` proposes a problem for a table"


SHARE_OF_ORDER = re.compile(r"(\d+(?:\.\d+)?)\s*% of order")


class Costs(Settings):
    """Unit costs: a constant, the name of a column, or absent (then the log's own cost column is used)."""

    lost: NonNegative | str | None = Field(
        None,
        description="Cost of a unit of demand that was not served, beyond the lost margin.",
        examples=[2],
    )
    order: NonNegative | str | None = Field(
        None, description="Cost of a unit that is ordered: the purchase price.", examples=["purchase_price"]
    )
    holding: NonNegative | str | None = Field(
        None,
        description="Cost of a unit that is left at the end of a period: capital, space, spoilage. A number, a column, "
        'or a share of the order cost, such as `"0.1 % of order"`.',
        examples=[0.05],
    )
    table: str | None = Field(
        None,
        description="A small table of unit costs (CSV, Parquet or Excel, next to the problem file): one row per "
        "product, supplier or other column of the series and attributes, with columns such as `order_cost` and "
        "`holding_cost`.",
        examples=["costs.csv"],
    )
    fixed_order: NonNegative = Field(0.0, description="Cost of every order, whatever its size.", examples=[15])

    def share_of(self, role: str) -> float | None:
        """Share of the order cost that a cost is given as; None where it is not.

        >>> Costs(holding="0.5 % of order").share_of("holding")
        0.005
        """
        found = SHARE_OF_ORDER.fullmatch(str(getattr(self, role)))
        return None if found is None else float(found[1]) / 100

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that costs are read from."""
        return tuple(
            str(getattr(self, role))
            for role in ("lost", "order", "holding")
            if isinstance(getattr(self, role), str) and self.share_of(role) is None
        )


class Columns(Settings):
    """Names of the columns of the table; several columns may name a series together."""

    series: str | Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        "series",
        description="Name of a series: one product in one place. Several columns may name it together.",
        examples=[["Store ID", "Product ID"]],
    )
    period: str = Field("period", description="Day, week or month: a date, or a whole number.", examples=["Date"])
    stock: str = Field("stock", description="Units on hand when the period opens.", examples=["Inventory Level"])
    closing_stock: str | None = Field(
        None,
        description="Units left when the period ends, where the table has no stock at the opening: that is the closing "
        "stock of the row before, and what arrived since.",
        examples=["Closing Stock"],
    )
    price: str = Field("price", description="What a customer pays for a unit.", examples=["Price"])
    revenue: str | None = Field(
        None,
        description="Money taken in the period, where the table has no price: that is the revenue of a unit sold, and "
        "in rows without a sale the price of the row before.",
        examples=["Revenue"],
    )
    order: str = Field("order", description="Units ordered in the period.", examples=["Units Ordered"])
    sales: str = Field("sales", description="Units sold in the period, not money.", examples=["Units Sold"])
    stockout: str = Field(
        "stockout",
        description="True where demand was above what was available. Without it every row that sold all there was "
        "is treated as a stock-out.",
        examples=["ran_out"],
    )
    last_sales: str = Field(
        "last_sales",
        description="Sales of the period before the first row of a series; read in that row only, may be empty.",
        examples=["previous_sales"],
    )
    last_stockout: str = Field(
        "last_stockout",
        description="Whether the period before the first row ended in a stock-out; read in that row only.",
        examples=["previous_stockout"],
    )
    received: str = Field(
        "received",
        description="Units that arrived, where that differs from what was ordered.",
        examples=["Quantity Received"],
    )
    on_order: str = Field(
        "on_order",
        description="Units on the way when the period opens: a list in one column, or one column per remaining period, "
        "`on_order_1`, `on_order_2`, ...; by default derived from orders and receipts.",
        examples=["in_transit"],
    )
    adjustment: str = Field(
        "adjustment",
        description="Correction of the stock before the next period: spoilage and theft below zero, finds above.",
        examples=["Stock Correction"],
    )
    wasted: str = Field(
        "wasted",
        description="Units thrown away at the end of the period; read where the product has a `shelf_life`, and by "
        "default what is missing from the next stock.",
        examples=["Spoiled Units"],
    )
    out_of_stock: str | None = Field(
        None,
        description="Time out of stock within the period, in hours, days or as a share; `open_time` is the whole.",
        examples=["Days Out of Stock"],
    )
    in_stock: str | None = Field(
        None,
        description="False where the shelf was empty for part or all of the period: a stock-out flag, inverted.",
        examples=["in_stock"],
    )
    in_stock_share: str | None = Field(
        None,
        description="Share of a period's usual demand that falls into the time on the shelf, from 0 to 1: sales of a "
        "period partly out of stock are treated as sales of that share. A column `in_stock_share` is read as this "
        "where neither `out_of_stock` nor `in_stock` is given.",
        examples=["on_shelf_share"],
    )
    lost_cost: str = Field(
        "lost_cost", description="Unit cost of lost sales row by row, as `costs.lost`.", examples=["penalty"]
    )
    order_cost: str = Field(
        "order_cost", description="Unit cost of orders row by row, as `costs.order`.", examples=["purchase_price"]
    )
    holding_cost: str = Field(
        "holding_cost", description="Unit cost of holding row by row, as `costs.holding`.", examples=["storage_fee"]
    )

    def on_order_in(self, periods: int) -> str:
        """Column of the units that arrive in a number of periods."""
        return f"{self.on_order}_{periods}"

    @property
    def series_parts(self) -> tuple[str, ...]:
        """The columns that name a series together."""
        return (self.series,) if isinstance(self.series, str) else self.series

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that cannot be a feature or an attribute as well; unit costs can."""
        columns = (self.period, self.stock, self.price, self.order, self.sales, self.stockout)
        return (*self.series_parts, *columns, self.last_sales, self.last_stockout, *self.records_of_absence)

    def stock_in(self, columns: Collection[str]) -> str | None:
        """Column of the stock in a table: at the opening, otherwise at the end of the period; None without one."""
        return next((name for name in (self.stock, self.closing_stock) if name in columns), None)

    def price_in(self, columns: Collection[str]) -> str | None:
        """Column of a table that prices are read from, or derived from; None without one."""
        return next((name for name in (self.price, self.revenue) if name in columns), None)

    @property
    def records_of_absence(self) -> tuple[str, ...]:
        """The columns that say for how long or whether a product was out of stock, beside the flag."""
        return tuple(name for name in (self.out_of_stock, self.in_stock, self.in_stock_share) if name is not None)


class Problem(Shop):
    """Everything about a log that is not in its table; as TOML, the same keys (`docs/problem.md` lists them).

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

    order_placed: Literal["open", "close"] = Field(
        "open",
        description="When the order of a row was decided: when its period opens, or at closing time, after its sales "
        "(`close`). An order of the evening is read as that of the next row, and `arrival`, `lead_time` and "
        '`order_days` count from that opening: on the shelf the next morning is `arrival = "before"`.',
        examples=["close"],
    )
    stock_includes_arrivals: bool | None = Field(
        None,
        description='Whether the stock of a row already holds what arrives before its doors open (`arrival = "before"` '
        'only). By default it does not; with `order_placed = "close"` the balance of the stock decides.',
        examples=[True],
    )
    stockouts_by: Literal["record", "stock"] | None = Field(
        None,
        description="Source of stock-outs: the recorded flag or time, or the stock (every row that "
        "sold all there was). By default the record, unless it has no stock-out while many rows sold out.",
        examples=["stock"],
    )
    features: tuple[Feature, ...] = Field(
        (),
        description="Columns that describe the market and are known before the decision. A name alone is a numeric "
        "feature.",
        examples=[["promotion", {"name": "weekday", "kind": "categorical"}]],
    )
    instruments: tuple[str, ...] = Field(
        (),
        description="Instrumental variables: numeric columns that moved the price and affect demand only through it, "
        "such as a cost. They are read as features, but the demand model does not depend on them.",
        examples=[["unit_cost"]],
    )
    attributes: tuple[str, ...] = Field(
        (), description="Columns that are the same in all rows of a series.", examples=[["category", "region"]]
    )
    calendar: tuple[str, ...] = Field(
        (),
        description="Features that follow from the date of a period, so that no table needs columns of them: "
        "`weekday`; `week`, the position in the year as two waves (`year_sin_1`, ...); `month`; `holidays:US`, the "
        "public holidays of a country or of a part of it (`holidays:DE-BY`) by the package `holidays`. The planner "
        "knows them ahead.",
        examples=[["weekday", "week", "holidays:US"]],
    )
    costs: Costs = Field(Costs(), description="Unit costs: a number, or the name of a column.")
    price: NonNegative | None = Field(
        None, description="The price of every row, where the table has no column of it.", examples=[2]
    )
    targets: Targets = Field(Targets(), description="Service that the shop wants, in place of the cost of a lost sale.")
    limits: tuple[Limit, ...] = Field(
        (),
        description="What the orders of all products share, such as a budget or a truck, as `[[limits]]` tables.",
        examples=[[{"most": 20000, "of": "stock"}, {"by": "supplier", "least": 500}]],
    )
    columns: Columns = Field(Columns(), description="The names of the columns, where they differ from ours.")
    format: Format = Field(Format(), description="How numbers and dates are written, where they are text.")
    rules: BusinessRules = Field(
        BusinessRules(), description="What the shop will not do; a learner's own `rules` win over these."
    )
    clock: Clock = Field(Clock(), description="When the shop is closed; by default learned from the table.")
    open_time: Annotated[Number, Field(gt=0)] | str | None = Field(
        None,
        description="Length of a period in the unit of the column `out_of_stock` (16 hours, 30 days; 1 where it is a "
        "share), or the column of it.",
        examples=[16],
    )
    out_of_stock_pace: Annotated[Number, Field(gt=0)] | None = Field(
        None,
        description="While out of stock, demand was at most this many times as fast as sales in the rest of the period."
        " It gives the demand of such rows an upper bound; else they show only that demand was at least the sales.",
        examples=[3],
    )

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, keys: Any) -> Any:
        """Add the features that other keys imply, and read `[columns] price = 2` as `price = 2`."""
        if not isinstance(keys, dict):
            return keys
        keys = with_calendar_features(keys)
        columns = keys.get("columns")
        if isinstance(columns, dict) and _is_number(columns.get("price")):
            if keys.get("price", columns["price"]) != columns["price"]:
                raise ValueError(f"price is {keys['price']!r}, but columns.price is {columns['price']!r}")
            named = {name: column for name, column in columns.items() if name != "price"}
            keys = keys | {"columns": named, "price": columns["price"]}
        instruments, order_days = keys.get("instruments"), order_day_column(keys.get("supply"))
        if isinstance(instruments, list | tuple) and all(isinstance(each, str) for each in instruments):
            keys = with_features(keys, list(instruments))
        if order_days is not None:
            keys = with_features(keys, [order_days])
        told = arrival_of(keys.get("supply"))
        if told is not None and keys.get("arrival", told) != told:
            raise ValueError(
                f"arrival = {keys['arrival']!r} does not go with supply.lead_time (0 is 'before', any other 'after'): "
                "leave arrival out"
            )
        return keys

    @field_validator("features", mode="before")
    @classmethod
    def _named(cls, features: Any) -> Any:
        if isinstance(features, list | tuple):
            return tuple({"name": each} if isinstance(each, str) else each for each in features)
        return features

    @model_validator(mode="after")
    def _consistent(self) -> "Problem":
        """Refuse keys that contradict each other."""
        columns = self.columns
        if self.stock_includes_arrivals and self.arrival != "before":
            raise ValueError("stock_includes_arrivals = true needs arrival = 'before': else nothing arrives by then")
        for feature in self.features:
            if feature.name in self.instruments and feature.kind != "numeric":
                raise ValueError(f"an instrument must be numeric, but the feature {feature.name!r} is categorical")
        if len(set(self.instruments)) < len(self.instruments):
            raise ValueError("instruments must differ")
        if self.targets.wanted is not None and self.costs.lost is not None:
            raise ValueError(
                "a target of service replaces the cost of a lost sale: give targets or costs.lost, not both"
            )
        for name in (name for limit in self.limits for name in limit.attributes):
            if name not in self.attributes:
                raise ValueError(f"limits name {name!r}, which must be one of the attributes: {self.attributes}")
        if self.targets.by not in (None, "series", *self.attributes):
            raise ValueError(f"targets.by must be 'series' or one of the attributes, but it is {self.targets.by!r}")
        roles = [*columns.named, *(feature.name for feature in self.features), *self.attributes]
        if twice := sorted({name for name in roles if roles.count(name) > 1}):
            raise ValueError(f"a column must have one role, but {', '.join(twice)} has several")
        if len(columns.records_of_absence) > 1:
            raise ValueError("give one of the columns out_of_stock, in_stock and in_stock_share, not several")
        if self.open_time is not None and columns.out_of_stock is None:
            raise ValueError("open_time needs the column of the time out of stock: [columns] out_of_stock")
        if self.out_of_stock_pace is not None and self.open_time is None:
            raise ValueError("out_of_stock_pace needs open_time, the length of a period")
        may_be = (*columns.series_parts, *self.attributes)
        if self.clock.column is not None and self.clock.column not in may_be:
            raise ValueError(
                f"[clock] column must be a column of the series or an attribute ({', '.join(may_be)}), "
                f"but it is {self.clock.column!r}"
            )
        return self

    @classmethod
    def from_toml(cls, path: str | Path) -> "Problem":
        """The problem in a TOML file."""
        try:
            keys = read_toml(Path(path))
            costs = keys.get("costs")
            if isinstance(costs, dict) and isinstance(costs.get("table"), str):
                costs["table"] = str(Path(path).parent / costs["table"])
            return checked(cls, keys, f"problem {path}")
        except SettingError as error:
            raise SettingError(f"{error}\n{HELP}") from None

    def to_toml(self) -> str:
        """The text from which `from_toml` reads this problem again."""
        keys = self.model_dump(exclude_none=True) | {
            table: getattr(self, table).model_dump(exclude_defaults=True)
            for table in ("columns", "format", "rules", "supply", "product")
        }
        keys["clock"] = self.clock.model_dump(exclude_defaults=True, exclude={"calendars"})
        keys["features"] = tuple(
            feature.name if feature == Feature(name=feature.name) else feature.model_dump(exclude_defaults=True)
            for feature in self.features
            if feature.calendar is None
        )
        return to_toml({key: value for key, value in keys.items() if value not in ((), {})})

    def named_as_in(self, columns: Collection[str]) -> "Problem":
        """Problem that reads `unique_id`, `ds` and `y` if a table has these columns and lacks ours.

        >>> Problem().named_as_in(["unique_id", "ds", "y"]).columns.period
        'ds'
        """
        others = {
            role: name
            for role, name in FORECASTING_NAMES.items()
            if getattr(self.columns, role) == role
            and role not in columns
            and name in columns
            and name not in self._taken
        }
        return self.model_copy(update={"columns": self.columns.model_copy(update=others)}) if others else self

    def with_share_in(self, columns: Collection[str]) -> "Problem":
        """Problem that reads the share of a period in stock if a table has a column of that name.

        >>> Problem().with_share_in(["sales", "in_stock_share"]).columns.in_stock_share
        'in_stock_share'
        """
        if SHARE not in columns or SHARE in self._taken or self.columns.records_of_absence:
            return self
        return self.model_copy(update={"columns": self.columns.model_copy(update={SHARE: SHARE})})

    @property
    def _taken(self) -> frozenset[str]:
        """Columns that have a role."""
        return frozenset({*self.columns.named, *(each.name for each in self.features), *self.attributes})

    @property
    def reads(self) -> frozenset[str]:
        """The columns that reading a log with this problem looks at."""
        names = {name for name in self.columns.model_dump().values() if isinstance(name, str)}
        names |= {*FORECASTING_NAMES.values(), SHARE}
        by_series = self.supply.multiple, self.supply.minimum
        either = (*self.costs.columns, *self.product.columns, self.open_time, *by_series)
        costs = {each for each in either if isinstance(each, str)}
        return frozenset(
            names
            | costs
            | {self.columns.on_order_in(at + 1) for at in range(LONGEST)}
            | {*self.columns.series_parts, *self.attributes, *self.feature_columns}
        )

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The features that a table has: all but those of the calendar."""
        return tuple(each.name for each in self.features if each.calendar is None)

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


def _is_number(value: object) -> bool:
    """A number, and no truth value, which Python takes for one."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
