"""The `[product]` table of a problem: the life of a product, and what becomes of its units at the end of it."""

from datetime import date
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from lostsales.data.settings import NonNegative, Settings
from lostsales.types import Array


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
    """The life of a product: the end of its season, and what units that are left then bring.

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

    @model_validator(mode="after")
    def _consistent(self) -> "ProductKeys":
        if self.salvage is not None and self.season_end is None:
            raise ValueError("salvage is what units bring when a season has ended: it needs season_end")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns and attributes that the keys name."""
        given = (getattr(self, name) for name in type(self).model_fields)
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
