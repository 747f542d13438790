"""Stock and cash flows of a shop: timing, balance, capacity, supply, and the prices and orders it may choose."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator, model_validator

from lostsales.data.economics import UNBOUNDED, Arrival, Balance, CapacityRule, StockFlow
from lostsales.data.product_keys import ProductKeys
from lostsales.data.settings import NonNegative, Number, Settings, no_truth_value
from lostsales.data.supply import LeadTimes, Supply, arrival_of, periods_to_order
from lostsales.types import Ints

MOST_CANDIDATES = 10_000  # candidates of a price or order grid: bounds memory


class PriceRange(Settings):
    """Prices from one to another in equal steps.

    >>> PriceRange.model_validate({"from": 3.49, "to": 4.99, "step": 0.5}).values
    (3.49, 3.99, 4.49, 4.99)
    """

    example: ClassVar[str] = "{from = 3.49, to = 5.99, step = 0.5}"

    lowest: NonNegative = Field(alias="from")
    to: NonNegative
    step: Annotated[Number, Field(gt=0)]

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

    multiple: Annotated[Number, Field(gt=0)] = 1.0
    most: NonNegative

    @property
    def values(self) -> tuple[float, ...]:
        """The orders, rising."""
        return _steps(0.0, self.most, self.multiple)


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    count = (last - first) / step + 1e-9
    if count < 0:
        raise ValueError(f"a range must not end at {last:g}, below its start at {first:g}")
    if count >= MOST_CANDIDATES:
        raise ValueError(
            f"a range may have {MOST_CANDIDATES:,} values, but this has {count + 1:,.0f}: take larger steps"
        )
    return tuple(round(first + index * step, 10) for index in range(int(count) + 1))


class Shop(Settings):
    """Stock and cash flows of a shop, in a log and in a scenario."""

    arrival: Arrival = Field(
        "after",
        description="When an order can be sold: `after` the sales of its period (in the next one), or `before` them "
        "(it is there when the doors open).",
        examples=["before"],
    )
    balance: Balance = Field(
        "lost-sales",
        description="What becomes of demand that was not served: it is lost, or `netted` against the next order as in "
        "the paper.",
        examples=["netted"],
    )
    capacity: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="The most that can be in stock; by default no limit.", examples=[25]
    )
    capacity_rule: CapacityRule = Field(
        "discard",
        description="An order that does not fit into the capacity is paid for and discarded (`discard`), or not "
        "allowed (`forbid`).",
        examples=["forbid"],
    )
    longest_run: Annotated[int, BeforeValidator(no_truth_value), Field(ge=1)] | None = Field(
        None,
        description="After this many stock-outs in a row demand is cut to the available units: simulated logs only, "
        "absent in real ones.",
        examples=[3],
    )
    prices: tuple[NonNegative, ...] | None = Field(
        None,
        description="The prices that may be recommended: a rising list, or a range of equal steps. By default "
        "derived from the log: its prices if they are few, else some of them; by product if products differ.",
        examples=[[3.49, 3.99, 4.49], {"from": 3.49, "to": 5.99, "step": 0.5}],
    )
    orders: tuple[NonNegative, ...] | None = Field(
        None,
        description="The orders that may be recommended: a rising list, or the multiples up to the most. By default "
        "derived from the log: its orders if they are few, else multiples up to what demand can need.",
        examples=[[0, 12, 24], {"multiple": 12, "most": 480}],
    )
    discount: Annotated[Number, Field(ge=0, lt=1)] = Field(
        0.9, description="What profit is worth one period later.", examples=[0.99]
    )

    supply: Supply = Field(Supply(), description="How orders become stock: lead times, order days, lots.")
    product: ProductKeys = Field(ProductKeys(), description="The life of a product: the end of its season.")

    @model_validator(mode="before")
    @classmethod
    def _arrival_by_lead_time(cls, keys: Any) -> Any:
        """A lead time says when orders arrive: 0 before the sales of a period, any other after them."""
        arrival = arrival_of(keys.get("supply")) if isinstance(keys, dict) else None
        return keys if arrival is None else keys | {"arrival": arrival}

    @property
    def lead_times(self) -> LeadTimes:
        """Distribution of lead times."""
        return self.supply.lead_times or LeadTimes.fixed(0 if self.arrival == "before" else 1)

    def periods_covered(self, phase: Ints | None = None) -> Ints:
        """Periods until the next order would arrive, today's among them, by position in the cycle of order days.

        Those of every position where none is given; (1,) where the shop has no cycle.

        >>> Shop(supply={"lead_time": 2}).periods_covered(), Shop(supply={"order_days": 3}).periods_covered()
        (array([3]), array([4, 3, 2]))
        """
        cycle = self.supply.order_cycle
        wait = np.ones(1, dtype=np.int64) if cycle is None else periods_to_order(cycle)
        return np.asarray(round(self.lead_times.mean) + (wait if phase is None or cycle is None else wait[phase]))

    @property
    def flow(self) -> StockFlow:
        """The rules by which stock and demand move, as the formulas of a period take them."""
        before = self.arrival == "before"
        return StockFlow(
            before=before,
            netted=self.balance == "netted" and not before,
            capacity=float("inf") if self.capacity is None else self.capacity,
            forbids=self.capacity is not None and self.capacity_rule == "forbid",
            most_on_way=float("inf") if self.supply.capacity is None else self.supply.capacity,
            longest_run=UNBOUNDED if self.longest_run is None else self.longest_run,
        )

    @property
    def pipeline_length(self) -> int:
        """Periods before the present one whose orders may still be on the way."""
        return max(self.lead_times.longest - 1, 0)

    @property
    def receives_orders(self) -> bool:
        """True where what arrives in a period is its order: one lead time of 0 or 1, and all of it comes."""
        return self.lead_times.is_fixed and self.lead_times.longest <= 1 and self.supply.share == 1

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
            wrong = "; ".join(": ".join([*map(str, each["loc"]), each["msg"]]) for each in error.errors())
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
        if self.product.shelf_life is not None and self.flow.netted:
            raise ValueError("goods with a shelf life need balance = 'lost-sales': a netted order has no age")
        return self
