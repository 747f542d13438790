"""Requests and answers of the service, as JSON."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from lostsales.policy.provenance import PolicyVerdict

# Limits of a request: characters of a name and a reason, rows of history, decisions.
MOST_NAME = 500
MOST_REASON = 1000
MOST_RECENT = 10_000
MOST_DECISIONS = 1000
MOST_LISTED = 10_000  # rows of today's list in one answer


def _plain(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must have no zero character")
    return text


def _cell(value: Any) -> Any:
    """Value of a row, with one message in place of one for each type that it is not."""
    if isinstance(value, str):
        return _plain(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("must be text, a number, true, false or null")


Text = Annotated[str, AfterValidator(_plain)]
CELL = {"anyOf": [{"type": each} for each in ("string", "integer", "number", "boolean", "null")]}
Cell = Annotated[str | int | float | bool | None, PlainValidator(_cell), WithJsonSchema(CELL)]
Row = dict[str, Cell]
Amount = Annotated[float, Field(ge=0, le=1e12)]
ROW = {"series": "3", "period": 50, "economy": 1, "interest": 0.01, "stock": 6}
RECENT = {"series": "3", "period": 49, "economy": 1, "interest": 0.01, "stock": 9, "price": 4, "order": 5, "sales": 8}


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Answer(BaseModel):
    version: str = Field(examples=["policy-0f3b6c1d2e4a"], description="The version of the policy that answered.")


class RecommendRequest(_Asked):
    """Open rows, one per series: `GET /v1/columns` has their columns as a JSON Schema."""

    rows: list[Row] = Field(min_length=1, examples=[[ROW]])
    recent: list[Row] | None = Field(
        None,
        max_length=MOST_RECENT,
        description="Closed rows of these series; by default the service's own history.",
        examples=[[RECENT]],
    )
    reasons: bool = Field(False, description="Add a reason for each price, in words.")


class RecommendAnswer(_Answer):
    """Recommendations, one for each requested row, in the same order."""

    rows: list[dict[str, Any]] = Field(
        examples=[[{"series": "3", "period": 50, "price": 6.0, "order": 11.0, "value": 1040.2, "flag": ""}]]
    )


class About(_Asked):
    """Product: by its name in today's list, or as a row with its columns."""

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
    """Alternative price, order, unit cost or stock; the default is the recommendation for that stock."""

    price: Amount | None = Field(None, examples=[5.5])
    order: Amount | None = Field(None, examples=[8])
    unit_cost: Amount | None = Field(None, description="Unit cost of today's order.", examples=[None])
    stock: Amount | None = Field(None, examples=[None])


class ForecastRequest(About):
    """Demand of the coming periods, today first."""

    horizon: Annotated[int, Field(ge=1, le=60)] = Field(7, examples=[7])
    levels: list[Annotated[float, Field(gt=0, lt=100)]] = Field(
        default=[10, 50, 90], min_length=1, max_length=20, description="Quantiles, in percent.", examples=[[10, 50, 90]]
    )
    price: Amount | None = Field(None, description="By default the recommended price.", examples=[None])


Figure = float | None


class ExpectedJson(BaseModel):
    """Expected outcome of an action: today, in the periods until the next order would arrive, and from today on."""

    demand: Figure
    sales: Figure
    lost: Figure
    leftover: Figure
    stockout_chance: Figure
    profit: Figure = Field(
        description="Until the next order would arrive, with stock and orders on their way valued at cost."
    )
    value: Figure = Field(description="Of today and all that follows.")
    cover_demand: Figure = Field(description="Until the next order would arrive, as what follows.")
    cover_sales: Figure
    cover_lost: Figure
    cover_leftover: Figure = Field(description="At the end.")
    cover_stockout_chance: Figure = Field(description="In any of these periods.")


class ActionJson(BaseModel):
    """Price and order, with their expected outcome."""

    price: float
    order: float
    stock: float
    unit_cost: float | None = None
    expected: ExpectedJson | None = Field(description="Null if the policy has no demand model.")
    periods: int | None = Field(None, description="Periods until the next order would arrive, today's among them.")
    unseen: bool = Field(False, description="Demand is unknown there, or the product never had this price or order.")


class BeliefJson(BaseModel):
    """Belief about the last period."""

    last_sales: float | None
    last_stockout: bool
    depth: int = Field(description="Stock-outs in a row just before.")
    last_demand: float | None = Field(description="Mean of the belief over the last demand.")


class RunnerUpJson(BaseModel):
    """Next best action."""

    price: float | None
    order: float | None
    advantage: float | None = Field(
        description="Lead of the recommendation when actions were compared; penalties are subtracted."
    )


class OutlookJson(BaseModel):
    """Demand, effect of the price and deliveries; null where the policy does not say."""

    expected_demand: float | None = None
    demand_level: float | None = Field(None, description="Level of demand now, relative to the usual one.")
    season_factor: float | None = Field(None, description="Factor of the season today.")
    price_units: float | None = Field(None, description="Expected demand less that at the usual price.")
    price_margin: float | None = Field(None, description="Expected margin less that at the usual price.")
    next_delivery: float | None = Field(None, description="Periods until the next delivery.")
    stockout_before_delivery: float | None = Field(None, description="Chance of a stock-out before it.")
    periods_of_cover: float | None = Field(None, description="Periods that stock and orders last, today's with them.")
    expected_arrivals: str = Field("", description="Orders on the way, by their arrival.")


class ExplainAnswer(_Answer):
    """Explanation of a price and order."""

    series: str
    period: str
    recommended: ActionJson
    belief: BeliefJson
    runner_up: RunnerUpJson
    value: float | None
    penalty: float | None
    safe_action: bool
    reason: str = Field(description="Reason of the price; empty if the policy gives none.")
    order_reason: str = Field(description="Reason of the order; empty if the policy gives none.")
    outlook: OutlookJson
    flags: list[str]


class WhatIfAnswer(_Answer):
    """Comparison of another action with the recommendation."""

    series: str
    period: str
    recommended: ActionJson
    instead: ActionJson
    difference: ExpectedJson


class ForecastAnswer(_Answer):
    """Forecast of demand, not sales, at one price; a row has period, mean and quantiles such as q10."""

    series: str
    price: float
    rows: list[dict[str, Any]] = Field(examples=[[{"period": "50", "mean": 9.1, "q10": 6, "q50": 9, "q90": 12}]])
    carried_over: list[str] = Field(description="Features kept as in the last period, as they follow no cycle.")


class VersionJson(BaseModel):
    """A policy file."""

    version: str
    name: str
    method: str | None = None
    modified: str
    size: int
    active: bool
    verdict: PolicyVerdict | None = Field(None, description="Of the active version, as its file carries it.")
    evaluation: dict[str, Any] | None = Field(None, description="As `lostsales evaluate --json` prints it.")


class PoliciesAnswer(BaseModel):
    """The versions of the policy, the newest first."""

    active: str
    previous: str | None
    versions: list[VersionJson]


class ChangesAnswer(_Answer):
    """Differences of the list of another version from today's: of each pair the first is today's."""

    verdict: PolicyVerdict | None
    products: int
    prices: int = Field(description="Prices that differ.")
    orders: int = Field(description="Orders that differ.")
    cost: tuple[float | None, float | None] = Field(description="Of all orders, in money.")
    profit: tuple[float | None, float | None] = Field(description="Expected.")
    exceptions: tuple[int, int]
    rows: list[dict[str, Any]] = Field(description="Products with the largest changes.")


class ActivateRequest(_Asked):
    """Reason to activate a version."""

    reason: Annotated[Text, Field(max_length=MOST_REASON)] = Field("", examples=["proven better on held-out weeks"])


class ActivateAnswer(BaseModel):
    """Version that answers from now on."""

    active: str
    previous: str | None


class Recommended(_Asked):
    """Recommendation that the person or system who decides has seen."""

    price: Amount
    order: Amount
    version: Annotated[Text, Field(min_length=1, max_length=100)]


class NewDecision(_Asked):
    """Decision of a person on a recommendation."""

    series: Annotated[Text, Field(min_length=1, max_length=MOST_NAME)] = Field(examples=["3"])
    period: Annotated[Text, Field(min_length=1, max_length=50)] | int | None = Field(
        None, description="By default the period of today's list.", examples=[50]
    )
    status: Literal["accepted", "changed", "declined", "withdrawn", "approved", "comment"] = Field(
        description="`withdrawn` undoes the last decision on a product of today's list, `approved` lets a second "
        "person confirm what was proposed, as orders above an amount are, and a `comment` decides nothing.",
        examples=["changed"],
    )
    price: Amount | None = Field(None, description="Price of a changed decision.", examples=[5.5])
    order: Amount | None = Field(None, description="Order of a changed decision.", examples=[8])
    reason: Annotated[Text, Field(max_length=MOST_REASON)] = Field("", examples=["a delivery is late"])
    recommended: Recommended | None = Field(
        None,
        description="Recommendation that was seen: needed to accept, and for products that are not in today's list. "
        "If the active version recommends something else, or has not answered this for such a product, the status is "
        "409 and nothing is stored.",
        examples=[{"price": 5.0, "order": 11.0, "version": "policy-0f3b6c1d2e4a"}],
    )
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")] | None = Field(
        None,
        description="Id of your choice; the same id is stored once, and 409 if it belongs to another decision.",
        examples=["5f0c2a1be7d94c0c"],
    )
    confirmed: bool = Field(
        False, description="Store a price or an order even if it is against the rules or far from all that was tried."
    )

    @property
    def period_text(self) -> str | None:
        """Period as the list spells it."""
        return None if self.period is None else str(self.period)

    @model_validator(mode="after")
    def _whole(self) -> "NewDecision":
        if self.status == "changed":
            if self.price is None or self.order is None:
                raise ValueError("a changed decision has a price and an order")
            if not self.reason.strip():
                raise ValueError("a changed decision has a reason")
        elif self.status == "comment" and not self.reason.strip():
            raise ValueError("a comment has a reason, its text")
        elif self.price is not None or self.order is not None:
            raise ValueError("only a changed decision has a price and an order of its own")
        return self


class DecisionsRequest(_Asked):
    """Decisions to store together."""

    decisions: list[NewDecision] = Field(min_length=1, max_length=MOST_DECISIONS)

    @model_validator(mode="after")
    def _own_ids(self) -> "DecisionsRequest":
        ids = [each.id for each in self.decisions if each.id]
        if len(set(ids)) < len(ids):
            raise ValueError("every decision must have an id of its own")
        return self


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
    """Stored decisions, now on disk."""

    decisions: list[DecisionJson]


class UploadJson(BaseModel):
    """Data that came in."""

    id: str
    time: str
    who: str
    kind: str
    rows: int
    products: int
    first: str = Field(description="First period.")
    last: str = Field(description="Last period.")
    filled: int = Field(description="Prices and orders that the rows lacked, taken from decisions.")
    rejected: dict[str, str] = Field(description="Products with rows that cannot be used, and why.")
    withdrawn: str = Field(description="When and by whom, empty if it counts.")


class UploadsAnswer(BaseModel):
    """Data that came in, the newest first."""

    uploads: list[UploadJson]


class UploadRowsRequest(_Asked):
    """Rows that come in as JSON."""

    rows: list[Row] = Field(min_length=1, max_length=MOST_RECENT, examples=[[{"series": "3", "stock": 6}]])


class OrderLineJson(BaseModel):
    """Product that is ordered."""

    series: str
    period: str
    units: float
    cases: float | None = Field(description="Null where single units or any quantity may be ordered.")
    case_size: float
    unit_cost: float | None
    value: float | None


class SupplierOrderJson(BaseModel):
    """Order of a supplier; money in the currency of the shop."""

    supplier: str
    units: float
    cases: float
    value: float | None
    minimum: float | None
    budget: float | None
    below_minimum: float
    above_budget: float
    open_products: int = Field(description="Products that are not decided yet, though an order is recommended.")
    running_out: int = Field(description="Products that nothing is ordered of and that are likely to run out.")
    lines: list[OrderLineJson]


class OrdersAnswer(BaseModel):
    """Orders of today's list that were decided."""

    currency: str
    orders: list[SupplierOrderJson]


class SendOrderRequest(_Asked):
    """Supplier whose order is sent."""

    supplier: Annotated[Text, Field(min_length=1, max_length=MOST_NAME)] = Field(examples=["dairy"])
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")] | None = Field(
        None, description="Id of your choice; the same id is sent once.", examples=["5f0c2a1be7d94c0c"]
    )


class SentOrderJson(BaseModel):
    """Order that is on its way to the webhook."""

    id: str
    time: str
    who: str
    supplier: str
    lines: int
    status: str = Field(description="waiting, sent, or why it failed.")


# Names of a row of today's list, and those of its columns in the list.
LISTED = {
    "series": "name", "period": "period", "stock": "stock", "on_order": "on_order", "last_sales": "last_sales",
    "last_stockout": "last_stockout", "last_price": "last_price", "price": "price", "order": "order",
    "expected_demand": "demand", "stockout_chance": "chance", "expected_profit": "profit", "at_stake": "stake",
    "flag": "flag", "decided_price": "decided_price", "decided_order": "decided_order",
}  # fmt: skip


class TodayRow(BaseModel):
    """Product of today's list."""

    series: str
    period: str
    stock: Figure
    on_order: Figure
    last_sales: Figure
    last_stockout: bool
    last_price: Figure
    price: float = Field(description="Recommended.")
    order: float = Field(description="Recommended.")
    expected_demand: Figure
    stockout_chance: Figure
    expected_profit: Figure
    at_stake: Figure = Field(description="Money: margin of the sales expected to be lost, or the expected loss.")
    flag: str = Field(description="What to look at, empty if nothing.")
    status: str = Field(description="Decision: accepted, changed or declined, empty if there is none.")
    decided_price: Figure
    decided_order: Figure


class TodayAnswer(_Answer):
    """Today's list."""

    data: str = Field(description="Time of the data.")
    refused: list[str] = Field(description="Why newer data are not used.")
    left_out: dict[str, str] = Field(description="Products with rows that cannot be used, and why.")
    service: dict[str, float] = Field(
        description="Expected fill rate, value of the stock at cost and periods of cover, of all products."
    )
    limits: list[dict[str, Any]] = Field(description="Limits that products share: use, most, price and gap.")
    found: int = Field(description="Products that the query finds; `skip` has the next ones.")
    rows: list[TodayRow]


class ResultsAnswer(_Answer):
    """What came of recommendations and decisions."""

    results: dict[str, Any] | None = Field(description="Null before a period has closed that had recommendations.")
    pilots: list[dict[str, Any]] = Field(description="State of the pilots in the folder of the policies.")


class RefitRequest(_Asked):
    """Method to compare and fit, with other rules and costs if they are given."""

    method: str = Field("planner", pattern="^[A-Za-z0-9-]{1,40}$", examples=["planner"])
    rules: Annotated[Text, Field(max_length=20_000)] = Field("", description="Tables [rules] and [costs] as TOML.")


class RefitAnswer(BaseModel):
    """Refit, and how far it is."""

    who: str
    method: str
    started: str
    status: str = Field(description="running, done or failed.")
    share: float = Field(description="Done.")
    step: str
    ended: str
    version: str = Field(description="Version that it made, empty before.")
    verdict: str
    error: str


class HealthAnswer(BaseModel):
    """Health of the service."""

    status: Literal["ok", "starting", "failing"]
