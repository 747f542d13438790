"""Decisions of people on recommendations: what they saw, what they chose, and what needs a confirmation."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import numpy as np

from lostsales.apps.service import models
from lostsales.apps.service.decisions import ShownList, Status, StoredDecision
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.doubts import doubts
from lostsales.apps.service.keys import Key
from lostsales.apps.service.problems import Refused
from lostsales.policy.view import Action
from lostsales.types import Ints

CHANGED = "this has changed"
LIST_COLUMNS = ("name", "period", "price", "order", "demand")  # of a list that are kept


def now() -> str:
    """Present time, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def accepted(desk: Desk, at: int, who: str) -> StoredDecision:
    """Acceptance of the recommendation for a product of the list."""
    listed = desk.morning
    price, order = float(listed.price[at]), float(listed.order[at])
    version, name, period = desk.version.version, str(listed.name[at]), str(listed.period[at])
    return StoredDecision(uuid4().hex, now(), who, version, name, period, "accepted", price, order, price, order, "")


def shown_list(desk: Desk) -> ShownList | None:
    """Record of today's list, None where it is empty."""
    listed = desk.morning
    if not len(listed):
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({each: getattr(listed, each) for each in LIST_COLUMNS}), sink, compression="zstd")
    identity = sha256(json.dumps([desk.version.version, *listed.periods]).encode()).hexdigest()[:32]
    return ShownList(identity, now(), desk.version.version, sink.getvalue())


def digest(desk: Desk, rows: Ints) -> str:
    """Hash of the recommendations for some products of the list."""
    listed = desk.morning
    texts = [desk.version.version, *listed.name[rows].tolist(), *listed.period[rows].tolist()]
    figures = listed.price[rows].tobytes() + listed.order[rows].tobytes()
    return sha256(json.dumps(texts).encode() + figures).hexdigest()


def decision_json(decision: StoredDecision) -> dict[str, Any]:
    """Stored decision for JSON."""
    return asdict(decision)


def check_part(desk: Desk, given: Sequence[models.NewDecision], key: Key) -> None:
    """Refuse decisions on products that are not those of the person."""
    if not key.only:
        return
    mine = desk.morning.belongs(key.only.items())
    for each in given:
        at = desk.morning.place.get(each.series)
        if at is None or not mine[at]:
            raise Refused(403, f"{key.name} decides for {key.part} only, and not for product {each.series[:100]}")


def _above_amount(desk: Desk, decision: StoredDecision) -> StoredDecision:
    """Decision, or a proposal if its order costs more than one person may spend."""
    at, limit = desk.morning.place.get(decision.series), desk.data.thresholds.four_eyes
    if at is None or desk.day is None or not decision.order or not decision.is_order or not np.isfinite(limit):
        return decision
    cost = desk.unit_cost(desk.day.view.take(np.array([at])))[0]
    price = decision.price or 0.0
    is_above = decision.order * (cost if np.isfinite(cost) else price) > limit
    return replace(decision, status="proposed") if is_above else decision


def records(
    desk: Desk, given: Sequence[models.NewDecision], who: str, proposals: Mapping[str, StoredDecision]
) -> list[StoredDecision]:
    """Records of new decisions; refused if one is on other figures than the desk's."""
    return [
        _approved(each, who, proposals) if each.status == "approved" else _above_amount(desk, _record(desk, each, who))
        for each in given
    ]


def _approved(given: models.NewDecision, who: str, proposals: Mapping[str, StoredDecision]) -> StoredDecision:
    """Decision that somebody else has proposed."""
    found = proposals.get(given.series)
    if found is None or given.period_text not in (None, found.period):
        raise Refused(409, f"{CHANGED}: there is no proposal on product {given.series[:100]}; nothing was stored")
    if found.who == who:
        raise Refused(409, f"another person has to approve the order of product {given.series[:100]}")
    same = (found.price, found.order) == (found.recommended_price, found.recommended_order)
    reason = f"{found.reason} (proposed by {found.who})".lstrip()
    identity = given.id or uuid4().hex
    status: Status = "accepted" if same else "changed"
    return replace(found, id=identity, time=now(), who=who, status=status, reason=reason, seq=0)


def repeats(given: models.NewDecision, who: str, known: StoredDecision) -> bool:
    """True if a decision says what the stored one with its id says."""
    seen = given.recommended
    if given.status == "approved":
        return (given.series, who) == (known.series, known.who) and known.is_order
    proposed = known.status == "proposed" and given.status in ("accepted", "changed")
    return (
        (proposed or given.status == known.status)
        and (given.series, given.reason.strip(), who) == (known.series, known.reason, known.who)
        and (given.status != "changed" or (given.price, given.order) == (known.price, known.order))
        and given.period_text in (None, known.period)
        and (
            seen is None
            or (seen.version, seen.price, seen.order)
            == (known.version, known.recommended_price, known.recommended_order)
        )
    )


def _record(desk: Desk, given: models.NewDecision, who: str) -> StoredDecision:
    version, seen, at = desk.version.version, given.recommended, desk.morning.place.get(given.series)
    if at is None:
        price, order, period = _answered(desk, given)
    else:
        listed = desk.morning
        price, order, period = float(listed.price[at]), float(listed.order[at]), str(listed.period[at])
        if seen is None and given.status == "accepted":
            raise Refused(422, findings=("recommended: the version, price and order that are accepted are needed",))
        undone = given.status in ("withdrawn", "comment")
        other = seen is not None and not undone and (seen.version, seen.price, seen.order) != (version, price, order)
        if given.period_text not in (None, period) or other:
            told = f"{version} recommends a price of {price:.10g} and an order of {order:.10g} for period {period}"
            raise Refused(409, f"{CHANGED}: for product {given.series[:100]}, {told}; nothing was stored")
        if given.status == "withdrawn" and not listed.status[at]:
            raise Refused(409, f"there is no decision on product {given.series[:100]} to undo")
    chosen = {"accepted": (price, order), "changed": (given.price, given.order)}
    own_price, own_order = chosen.get(given.status, (None, None))
    assert given.status != "approved"
    return StoredDecision(
        id=given.id or uuid4().hex,
        time=now(),
        who=who,
        version=version,
        series=given.series,
        period=period,
        status=given.status,
        recommended_price=price,
        recommended_order=order,
        price=own_price,
        order=own_order,
        reason=given.reason.strip(),
    )


def _answered(desk: Desk, given: models.NewDecision) -> tuple[float, float, str]:
    """Recommendation for a product that is not listed, as the active version answered it to a system."""
    seen, period = given.recommended, given.period_text
    if seen is None or period is None:
        wanted = "a product of today's list, or else its period and what was recommended"
        raise Refused(422, findings=(f"series must be {wanted}, but {given.series[:200]!r} came",))
    if seen.version != desk.version.version or not desk.answered.has(given.series, period, seen.price, seen.order):
        told = f"{desk.version.version} has not recommended this for product {given.series[:100]} in this period"
        raise Refused(409, f"{CHANGED}: {told}; nothing was stored. Ask for a recommendation again")
    return seen.price, seen.order, period


def check_usual(desk: Desk, given: Sequence[models.NewDecision]) -> None:
    """Refuse typed figures that are against the rules or unusual, unless they are confirmed."""
    asked = [each for each in given if each.status == "changed" and not each.confirmed]
    asked = [each for each in asked if each.series in desk.morning.place]
    at = np.array([desk.morning.place[each.series] for each in asked], dtype=np.int64)
    price, order = (np.array([float(getattr(each, name)) for each in asked]) for name in ("price", "order"))
    told = [
        f"{each.series[:100]}: {text}" if len(given) > 1 else text
        for each, texts in zip(asked, doubts(desk, at, Action(price, order)) if asked else (), strict=True)
        for text in texts
    ]
    if told:
        raise Refused(422, "nothing was stored yet: these figures need a confirmation", told, confirm=True)
