"""Format of numbers and dates in the text columns of a table, as the problem declares it."""

import re
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from lostsales.data.settings import Settings

_DIRECTIVE = re.compile(r"%(?:-[dmyHIMSj]|[aAbBdfGHIjmMpSuVyYzUW%])")
_YEAR = re.compile(r"%-?[yYG]")


class Format(Settings):
    """Format of numbers and dates in columns of text; nothing is guessed.

    Examples
    --------
    >>> Format(decimal=",", thousands=".", currency="€", dates="%d.%m.%Y").date_formats
    ('%d.%m.%Y',)

    """

    decimal: Annotated[str, Field(pattern=r"^[.,]$")] = Field(".", description="The decimal sign.", examples=[","])
    thousands: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="The sign between groups of three digits; by default none.", examples=[","]
    )
    currency: Annotated[str, Field(min_length=1, max_length=10)] | None = Field(
        None, description="A sign or word before or after amounts, which is left out.", examples=["€"]
    )
    dates: str | tuple[str, ...] = Field(
        (),
        description="The format of dates, or several, in the letters of `strptime`; by default ISO (2026-03-01).",
        examples=["%d.%m.%Y"],
    )

    @property
    def date_formats(self) -> tuple[str, ...]:
        """The declared formats of dates, in their order."""
        return (self.dates,) if isinstance(self.dates, str) else self.dates

    @field_validator("thousands")
    @classmethod
    def _separates(cls, mark: str | None) -> str | None:
        if mark is not None and (mark.isalnum() or mark in "+-"):
            raise ValueError('must be one mark such as ".", ",", "\'" or " "')
        return mark

    @field_validator("currency")
    @classmethod
    def _is_no_number(cls, sign: str | None) -> str | None:
        if sign is not None and (not sign.strip() or re.search(r"[\d+-]", sign)):
            raise ValueError('must be a currency such as "€", without digits and signs')
        return None if sign is None else sign.strip()

    @field_validator("dates")
    @classmethod
    def _are_formats(cls, dates: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for each in (dates,) if isinstance(dates, str) else dates:
            if not _YEAR.search(each) or "%" in _DIRECTIVE.sub("", each):
                raise ValueError('must be formats such as "%d.%m.%Y" or "%m/%d/%Y"')
        return dates

    @model_validator(mode="after")
    def _differ(self) -> "Format":
        if self.thousands == self.decimal:
            raise ValueError(f"decimal and thousands must differ, but both are {self.decimal!r}")
        return self
