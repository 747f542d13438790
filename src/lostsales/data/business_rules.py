"""Business rules as keys: what a shop will not do, on top of the grids of prices and orders."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator

from lostsales.data.settings import StrictSettings

MOST_FORBIDDEN = 1_000  # pairs of price and order: bounds the size of a problem file
OWN_RULES = ("multiple", "minimum", "least_margin", "greatest_price_change", "greatest_price_change_percent")


class OwnRules(StrictSettings):
    """Rules of some products, which win over those of all: a `[[rules.own]]` table."""

    where: dict[str, tuple[str, ...]] = Field(
        description="Attributes with their values, or `series` with names; a product that has them all is meant.",
        examples=[{"department": ["bakery"]}],
    )
    multiple: Annotated[float, Field(gt=0)] | None = Field(None, description="Case size; orders are multiples of it.")
    minimum: Annotated[float, Field(ge=0)] | None = Field(None, description="An order is none or at least this.")
    least_margin: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description="Least gross margin as a share of the price."
    )
    greatest_price_change: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Against the price of the period before, in money."
    )
    greatest_price_change_percent: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Against the price of the period before, in percent of it."
    )

    @field_validator("where", mode="before")
    @classmethod
    def _listed(cls, where: object) -> object:
        """One value may stand for a list of one."""
        if not isinstance(where, dict):
            return where
        return {
            key: (each,) if isinstance(each, str) else tuple(each) if isinstance(each, list) else each
            for key, each in where.items()
        }

    @property
    def given(self) -> dict[str, float]:
        """The rules that it sets."""
        return {name: each for name in OWN_RULES if (each := getattr(self, name)) is not None}


class BusinessRules(StrictSettings):
    """The `[rules]` table of a problem; a learner's own `rules` take precedence.

    Examples
    --------
    >>> BusinessRules(multiple=6, least_margin=0.2).multiple
    6.0

    """

    model_config = ConfigDict(populate_by_name=True)

    # The aliases are the names in policy files.
    multiple: Annotated[float, Field(gt=0)] | None = Field(
        None, alias="order_multiple", description="Case size; orders are multiples of it.", examples=[6]
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
    price_beyond: Annotated[float, Field(ge=0, le=10)] = Field(
        0.0,
        description="Share by which prices may leave the range at which a product was sold: with 0.1 from 10 % below "
        "its lowest to 10 % above its highest price, among the prices of the log relative to each product's usual one. "
        "A list of `prices` is not limited by that range.",
        examples=[0.1],
    )
    price_every: Annotated[int, Field(ge=1, le=1_000)] | None = Field(
        None, description="Periods for which a price is kept once it has changed; by default 1.", examples=[7]
    )
    markdowns_only: bool = Field(
        False,
        description="Prices may stay or fall, never rise: against the price of the period before.",
        examples=[True],
    )
    most_price_changes: Annotated[int, Field(ge=0, le=20)] | None = Field(
        None,
        description="Price changes of a product in its recent rows and until its season ends (`season_end`); the "
        "planner spends them where they are worth most.",
        examples=[3],
    )
    forbidden: tuple[tuple[float, float], ...] = Field(
        (),
        max_length=MOST_FORBIDDEN,
        description="Pairs of price and order that are not allowed.",
        examples=[[[3.49, 0]]],
    )
    order_days: str | None = Field(
        None, description="A feature that is 0 where no order may be placed.", examples=["order_day"]
    )

    own: tuple[OwnRules, ...] = Field(
        (),
        description="Rules of some products by attribute or name, as `[[rules.own]]` tables; the last one applies.",
        examples=[[{"where": {"department": "bakery"}, "multiple": 6}]],
    )

    def in_units(self, unit: float) -> Self:
        """The rules with quantities counted in a unit.

        >>> BusinessRules(multiple=36, greatest_price_change=1).in_units(12).multiple
        3.0
        """
        update: dict[str, object] = _counted(self, unit)
        if self.own:
            update["own"] = tuple(each.model_copy(update=_counted(each, unit)) for each in self.own)
        if self.forbidden:
            update["forbidden"] = tuple((price, round(order / unit, 10)) for price, order in self.forbidden)
        return self.model_copy(update=update)


def _counted(rules: BusinessRules | OwnRules, unit: float) -> dict[str, object]:
    names = [name for name in ("multiple", "minimum") if getattr(rules, name) is not None]
    return {name: round(getattr(rules, name) / unit, 10) for name in names}
