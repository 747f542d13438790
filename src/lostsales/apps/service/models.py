"""What the service is asked and what it answers, as JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MOST_NAME = 500
MOST_REASON = 1000
MOST_RECENT = 10_000
MOST_DECISIONS = 1000


def _plain(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must have no zero character")
    return text


Text = Annotated[str, AfterValidator(_plain)]
Cell = Text | int | float | bool | None
Row = dict[str, Cell]
Amount = Annotated[float, Field(ge=0, le=1e12)]
ROW = {"series": "3", "period": 50, "economy": 1, "interest": 0.01, "stock": 6}
RECENT = {"series": "3", "period": 49, "economy": 1, "interest": 0.01, "stock": 9, "price": 4, "order": 5, "sales": 8}


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Answer(BaseModel):
    version: str = Field(examples=["policy-0f3b6c1d2e4a"], description="The version of the policy that answered.")


class RecommendRequest(_Asked):
    """Open rows, one a series, with the columns of the log: series, period, features, stock."""

    rows: list[Row] = Field(min_length=1, examples=[[ROW]])
    recent: list[Row] | None = Field(
        None,
        max_length=MOST_RECENT,
        description="Closed rows of these series; the service's own history unless given.",
        examples=[[RECENT]],
    )
    reasons: bool = Field(False, description="Say in words what drove each price.")


class RecommendAnswer(_Answer):
    """One row for each that was asked, in the same order."""

    rows: list[dict[str, Any]] = Field(
        examples=[[{"series": "3", "period": 50, "price": 6.0, "order": 11.0, "value": 1040.2, "flag": ""}]]
    )


class About(_Asked):
    """One product: of today's list by its name, or as a row with its columns."""

    series: Annotated[Text, Field(max_length=MOST_NAME)] | None = Field(None, examples=["3"])
    row: Row | None = Field(None, examples=[None])
    recent: list[Row] | None = Field(None, max_length=MOST_RECENT, examples=[None])

    @model_validator(mode="after")
    def _one(self) -> "About":
        if (self.series is None) == (self.row is None):
            raise ValueError("give either series, a product of today's list, or row, its columns")
        if self.recent is not None and self.row is None:
            raise ValueError("recent rows belong to a row")
        return self


class WhatIfRequest(About):
    """Another price, order, unit cost or stock; what is not given is as recommended for that stock."""

    price: Amount | None = Field(None, examples=[5.5])
    order: Amount | None = Field(None, examples=[8])
    unit_cost: Amount | None = Field(None, description="Of today's order.", examples=[None])
    stock: Amount | None = Field(None, examples=[None])


class ForecastRequest(About):
    """Demand of the coming periods, today first."""

    horizon: Annotated[int, Field(ge=1, le=60)] = Field(7, examples=[7])
    levels: list[Annotated[float, Field(gt=0, lt=100)]] = Field(
        default=[10, 50, 90], min_length=1, max_length=20, description="Quantiles, in percent.", examples=[[10, 50, 90]]
    )
    price: Amount | None = Field(None, description="The recommended one unless given.", examples=[None])


class ExpectedJson(BaseModel):
    """What is expected of an action: today, until the next order arrives (profit), and from today on (value)."""

    demand: float | None
    sales: float | None
    lost: float | None
    leftover: float | None
    stockout_chance: float | None
    profit: float | None = Field(
        description="Until the next order would arrive, with stock and orders on their way valued at cost."
    )
    value: float | None


class ActionJson(BaseModel):
    """A price and an order, with what is expected of them."""

    price: float
    order: float
    stock: float
    unit_cost: float | None = None
    expected: ExpectedJson | None = Field(description="Null where the policy has no demand model.")
    unseen: bool = Field(False, description="Nothing is known of demand there, or the product never had this.")


class BeliefJson(BaseModel):
    """What is believed of the last period."""

    last_sales: float | None
    last_stockout: bool
    depth: int = Field(description="Stock-outs in a row just before.")
    last_demand: float | None = Field(description="Mean of the belief over the last demand.")


class RunnerUpJson(BaseModel):
    """The next best action."""

    price: float | None
    order: float | None
    advantage: float | None = Field(
        description="By which the recommendation was ahead when actions were compared; penalties are taken off."
    )


class ExplainAnswer(_Answer):
    """Why this price and order."""

    series: str
    period: str
    recommended: ActionJson
    belief: BeliefJson
    runner_up: RunnerUpJson
    value: float | None
    penalty: float | None
    safe_action: bool
    reason: str = Field(description="What drove the price; empty where the policy does not say.")
    flags: list[str]


class WhatIfAnswer(_Answer):
    """Another action against the recommendation as it stands."""

    series: str
    period: str
    recommended: ActionJson
    instead: ActionJson
    difference: ExpectedJson


class ForecastAnswer(_Answer):
    """Demand, not sales, at one price; a row has period, mean and one column a level, such as q10."""

    series: str
    price: float
    rows: list[dict[str, Any]] = Field(examples=[[{"period": "50", "mean": 9.1, "q10": 6, "q50": 9, "q90": 12}]])
    carried_over: list[str] = Field(description="Features taken as in the last period, as they follow no cycle.")


class VersionJson(BaseModel):
    """A policy file."""

    version: str
    name: str
    method: str | None = None
    modified: str
    size: int
    active: bool
    evaluation: dict[str, Any] | None = Field(None, description="As `lostsales evaluate --json` prints it.")


class PoliciesAnswer(BaseModel):
    """The versions of the policy, the newest first."""

    active: str
    previous: str | None
    versions: list[VersionJson]


class ActivateRequest(_Asked):
    """Why a version is made the active one."""

    reason: Annotated[Text, Field(max_length=MOST_REASON)] = Field("", examples=["proven better on held-out weeks"])


class ActivateAnswer(BaseModel):
    """The version that answers from now on."""

    active: str
    previous: str | None


class Recommended(_Asked):
    """What was recommended, as the person or system that decides has seen it."""

    price: Amount
    order: Amount
    version: Annotated[Text, Field(min_length=1, max_length=100)]


class NewDecision(_Asked):
    """What a person makes of a recommendation."""

    series: Annotated[Text, Field(min_length=1, max_length=MOST_NAME)] = Field(examples=["3"])
    period: Annotated[Text, Field(min_length=1, max_length=50)] | int | None = Field(
        None, description="That of today's list unless given.", examples=[50]
    )
    status: Literal["accepted", "changed", "declined"] = Field(examples=["changed"])
    price: Amount | None = Field(None, description="Of a changed decision.", examples=[5.5])
    order: Amount | None = Field(None, description="Of a changed decision.", examples=[8])
    reason: Annotated[Text, Field(max_length=MOST_REASON)] = Field("", examples=["a delivery is late"])
    recommended: Recommended | None = Field(
        None,
        description="What was seen: needed to accept, and for products that are not in today's list. Status 409 and "
        "nothing stored where the active version recommends something else.",
        examples=[{"price": 5.0, "order": 11.0, "version": "policy-0f3b6c1d2e4a"}],
    )
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")] | None = Field(
        None, description="Of your choice; the same id is stored once.", examples=["5f0c2a1be7d94c0c"]
    )

    @model_validator(mode="after")
    def _whole(self) -> "NewDecision":
        if self.status == "changed":
            if self.price is None or self.order is None:
                raise ValueError("a changed decision has a price and an order")
            if not self.reason.strip():
                raise ValueError("a changed decision has a reason")
        elif self.price is not None or self.order is not None:
            raise ValueError("only a changed decision has a price and an order of its own")
        return self


class DecisionsRequest(_Asked):
    """Decisions to store together."""

    decisions: list[NewDecision] = Field(min_length=1, max_length=MOST_DECISIONS)


class DecisionJson(BaseModel):
    """A stored decision."""

    seq: int
    id: str
    time: str
    who: str
    version: str
    series: str
    period: str
    status: str
    recommended_price: float | None
    recommended_order: float | None
    price: float | None
    order: float | None
    reason: str


class DecisionsAnswer(BaseModel):
    """Decisions, the newest first."""

    decisions: list[DecisionJson]
    next: int | None = Field(description="`before` of the next page, null on the last.")


class StoredAnswer(BaseModel):
    """Decisions that are on disk now."""

    decisions: list[DecisionJson]


class HealthAnswer(BaseModel):
    """Whether the service can answer."""

    status: Literal["ok", "starting", "failing"]
