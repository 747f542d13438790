"""The `[targets]` table of a problem: the service that a shop wants, in place of the cost of a lost sale."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lostsales.data.settings import Number, Settings

Target = Annotated[Number, Field(gt=0, lt=1)]
OTHER = "other"  # key of all values that are not listed


class Targets(Settings):
    """Service that a shop wants; the cost of a lost sale that leads to it is found.

    Examples
    --------
    >>> Targets(fill_rate=0.97).measure, Targets(service={"dairy": 0.98, "other": 0.95}, by="category").measure
    ('fill_rate', 'service')

    """

    fill_rate: Target | dict[str, Target] | None = Field(
        None,
        description="Share of the demanded units that is to be served, instead of `costs.lost`; by value of `by` where "
        "these differ, and `other` for those that are not listed.",
        examples=[0.97, {"dairy": 0.98, "other": 0.95}],
    )
    service: Target | dict[str, Target] | None = Field(
        None, description="Share of the periods that are to pass without a stock-out, likewise.", examples=[0.95]
    )
    by: str | None = Field(
        None,
        description="An attribute, or `series` for products: each value meets the target on its own, with a cost of "
        "its own. By default all products meet it together.",
        examples=["category"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Targets":
        if self.fill_rate is not None and self.service is not None:
            raise ValueError("give one target, fill_rate or service: one cost of a lost sale meets one of them")
        if self.wanted is None and self.by is not None:
            raise ValueError("by needs a target: fill_rate = 0.97 or service = 0.95")
        if isinstance(self.wanted, dict) and self.by is None:
            raise ValueError('targets by value need by = "series" or an attribute')
        return self

    @property
    def wanted(self) -> float | dict[str, float] | None:
        """The target that is given, None without one."""
        return self.service if self.fill_rate is None else self.fill_rate

    @property
    def measure(self) -> Literal["fill_rate", "service"]:
        """Name of the service figure that has a target."""
        return "service" if self.fill_rate is None else "fill_rate"
