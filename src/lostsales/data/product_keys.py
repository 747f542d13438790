"""The `[product]` table of a problem: the life of a product, and what becomes of its units at the end of it."""

from datetime import date
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from lostsales.data.settings import NonNegative, Number, Settings, no_truth_value
from lostsales.types import Array

MOST_LIFE = 1_000  # periods: bounds the memory for ages


def _period_or_column(value: Any) -> Any:
    """Parse a whole-number period or a date (as ISO text); any other text names a column."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise ValueError('must be a date such as "2026-12-24", a whole-number period, or the name of a column')
    return value


def is_date(text: object) -> bool:
    """True for a date as text, False for the name of a column.

    >>> is_date("2026-12-24"), is_date("last_day")
    (True, False)
    """
    try:
        return isinstance(text, str) and bool(date.fromisoformat(text))
    except ValueError:
        return False


class ProductKeys(Settings):
    """The life of a product: its shelf life, the end of its season, and what units that are left then bring.

    Examples
    --------
    >>> ProductKeys(season_end="2026-12-24", salvage="clearance_value").columns
    ('clearance_value',)

    """

    season_end: Annotated[int | str, BeforeValidator(_period_or_column)] | None = Field(
        None,
        description="The last period in which a product is sold: a date, a whole-number period, or a column or "
        "attribute of it. By default products are sold for ever.",
        examples=["2026-12-24"],
    )
    salvage: NonNegative | str | None = Field(
        None,
        description="What a unit brings that is left when the season has ended: a number, or a column or attribute; "
        "by default 0.",
        examples=[2.5],
    )

    shelf_life: Annotated[int, BeforeValidator(no_truth_value), Field(ge=1, le=MOST_LIFE)] | str | None = Field(
        None,
        description="Periods in which a unit can be sold, from the one in which it is first on the shelf: a number, or "
        "a column or attribute. What is left then is thrown away. By default units keep for ever. Today's rows may "
        "have stock by age: `age_1` of units in the first period of their life, `age_2`, ...; else it follows from "
        "receipts, sales and waste.",
        examples=[5],
    )
    waste_cost: NonNegative | str | None = Field(
        None,
        description="Cost of a unit that is thrown away, beyond its purchase price: a number, or a column or "
        "attribute; by default 0.",
        examples=[0.1],
    )
    issuing: Literal["fifo", "lifo"] | Annotated[Number, Field(ge=0, le=1)] | str = Field(
        "fifo",
        description="Which units are sold first: the oldest (`fifo`), the freshest (`lifo`), or the share of sales "
        "that takes the oldest, as a number or a column or attribute of it.",
        examples=["lifo", 0.7],
    )

    @property
    def oldest_first(self) -> float | str:
        """Share of sales that takes the oldest units, or the column of it.

        >>> ProductKeys(shelf_life=3, issuing="lifo").oldest_first
        0.0
        """
        return {"fifo": 1.0, "lifo": 0.0}.get(str(self.issuing), self.issuing)

    @property
    def is_one_shelf(self) -> bool:
        """True where shelf life, cost of waste and issuing are the same for all products."""
        given = self.shelf_life, self.waste_cost, self.oldest_first
        return self.shelf_life is not None and not any(isinstance(each, str) for each in given)

    @property
    def unit_waste_cost(self) -> float:
        """Cost of a unit thrown away where it is one for all, else 0."""
        return self.waste_cost if isinstance(self.waste_cost, float) else 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "ProductKeys":
        if self.salvage is not None and self.season_end is None:
            raise ValueError("salvage is what units bring when a season has ended: it needs season_end")
        if self.shelf_life is None and (self.waste_cost is not None or self.issuing != "fifo"):
            raise ValueError("waste_cost and issuing are of units whose life ends: they need shelf_life")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns and attributes that the keys name."""
        given = (self.season_end, self.salvage, self.shelf_life, self.waste_cost, self.oldest_first)
        return tuple(each for each in given if isinstance(each, str) and not is_date(each))

    @property
    def season_column(self) -> str | None:
        """Column of the last periods; None where it is one for all, or there is none."""
        return self.season_end if isinstance(self.season_end, str) and not is_date(self.season_end) else None

    def last_period(self, period: Array) -> Array | None:
        """The one last period of all products, of the type of `period`; None where there is none, or a column has it.

        >>> ProductKeys(season_end=20).last_period(np.array([3, 4]))
        array(20)
        """
        if self.season_end is None or self.season_column is not None:
            return None
        return np.asarray(self.season_end, dtype="datetime64[us]" if period.dtype.kind == "M" else np.int64)
