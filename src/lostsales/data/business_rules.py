"""Business rules as keys: what a shop will not do, on top of the ladders of prices and orders."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field

from lostsales.data.settings import StrictSettings


class BusinessRules(StrictSettings):
    """The `[rules]` table of a problem; a learner's own `rules` win over it.

    Examples
    --------
    >>> BusinessRules(multiple=6, least_margin=0.2).multiple
    6.0

    """

    model_config = ConfigDict(populate_by_name=True)

    # The aliases are the names in policy files.
    multiple: Annotated[float, Field(gt=0)] | None = Field(
        None, alias="order_multiple", description="Orders come in cases of so many.", examples=[6]
    )
    minimum: Annotated[float, Field(ge=0)] | None = Field(
        None, alias="order_minimum", description="An order is none or at least this.", examples=[12]
    )
    least_margin: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description="Least gross margin as a share of the price: (price - order cost) / price.", examples=[0.2]
    )
    greatest_price_change: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Against the price of the period before, in money; waived where no price lies within it.",
        examples=[0.5],
    )
    greatest_price_change_percent: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Against the price of the period before, in percent of it; waived where no price lies within.",
        examples=[10],
    )
    price_endings: tuple[Annotated[float, Field(ge=0, lt=1)], ...] | None = Field(
        None, description="What prices end in, such as [0.99, 0.49].", examples=[[0.99, 0.49]]
    )
    price_ladder: tuple[float, ...] | None = Field(None, description="Only these prices.", examples=[[3.49, 3.99]])
    forbidden: tuple[tuple[float, float], ...] = Field(
        (), description="Pairs of price and order that are not allowed.", examples=[[[3.49, 0]]]
    )
    order_days: str | None = Field(
        None, description="A feature that is 0 where no order may be placed.", examples=["order_day"]
    )

    def in_units(self, unit: float) -> Self:
        """The rules with quantities counted in a unit.

        >>> BusinessRules(multiple=36, greatest_price_change=1).in_units(12).multiple
        3.0
        """
        update: dict[str, object] = {
            name: round(getattr(self, name) / unit, 10)
            for name in ("multiple", "minimum")
            if getattr(self, name) is not None
        }
        if self.forbidden:
            update["forbidden"] = tuple((price, round(order / unit, 10)) for price, order in self.forbidden)
        return self.model_copy(update=update)
