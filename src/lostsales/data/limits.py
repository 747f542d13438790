"""The `[[limits]]` of a problem: what the orders of a day share, such as money, a truck or a supplier's terms."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lostsales.data.settings import NonNegative, Number, Settings

Positive = Annotated[Number, Field(gt=0)]


class Limit(Settings):
    """A limit on the orders of all products together, or of those with the same value of an attribute.

    Examples
    --------
    >>> Limit(most=20_000, of="stock").title, Limit(least=500, by="supplier").title
    ('money in stock', 'money ordered by supplier')

    """

    of: Literal["order", "stock"] = Field(
        "order",
        description="What counts: today's orders, or the stock with all orders on the way and those of today.",
        examples=["stock"],
    )
    measure: str = Field(
        "money",
        description="How it is counted: `money` at the order cost, `units`, or an attribute that says what a unit "
        "takes, such as its volume.",
        examples=["volume"],
    )
    most: NonNegative | None = Field(None, description="The most that may be used.", examples=[20000])
    least: Positive | None = Field(
        None, description="An order is none or at least this, such as the minimum value of a supplier.", examples=[500]
    )
    multiple: Positive | None = Field(
        None, description="What a truck or container holds; orders fill whole ones.", examples=[33]
    )
    filled: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.9, description="Share of a `multiple` to which the last truck or container must be filled.", examples=[1]
    )
    fixed_cost: Positive | None = Field(
        None, description="Cost of an order, however many products are on it.", examples=[40]
    )
    by: str | None = Field(
        None,
        description="An attribute, such as the supplier: each of its values has the limit. By default one limit is "
        "shared by all products.",
        examples=["supplier"],
    )
    where: dict[str, tuple[str, ...]] = Field(
        {}, description="Attributes with their values: only such products count.", examples=[{"supplier": ["North"]}]
    )
    every: Literal["period", "week"] = Field(
        "period",
        description="Whether `most` is for the orders of a period, or for those of a week from Monday on.",
        examples=["week"],
    )

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, keys: object) -> object:
        """One value may stand for a list of one."""
        if isinstance(keys, dict) and isinstance(keys.get("where"), dict):
            where = {name: [each] if isinstance(each, str) else each for name, each in keys["where"].items()}
            return keys | {"where": where}
        return keys

    @model_validator(mode="after")
    def _consistent(self) -> "Limit":
        if self.most is None and self.least is None and self.multiple is None and self.fixed_cost is None:
            raise ValueError("a limit needs most, least, multiple or fixed_cost")
        if self.of == "stock" and (self.least or self.multiple or self.fixed_cost or self.every == "week"):
            raise ValueError("least, multiple, fixed_cost and every = 'week' are of orders: leave out of = 'stock'")
        if self.most is not None and self.least is not None and self.least > self.most:
            raise ValueError(f"no order can meet least = {self.least:g} and most = {self.most:g}")
        if self.most is not None and self.multiple is not None and self.multiple * self.filled > self.most:
            raise ValueError(f"no order can fill a multiple of {self.multiple:g} with most = {self.most:g}")
        if self.every == "week" and self.most is None:
            raise ValueError("every = 'week' is for most, the most of a week")
        return self

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that it needs."""
        by = () if self.by is None else (self.by,)
        return (*by, *self.where, *(() if self.measure in ("money", "units") else (self.measure,)))

    @property
    def title(self) -> str:
        """Description of the limited resource in words."""
        what = f"{self.measure} {'ordered' if self.of == 'order' else 'in stock'}"
        return what if self.by is None else f"{what} by {self.by}"
