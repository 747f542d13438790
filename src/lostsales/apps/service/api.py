"""Routes for systems, under /v1."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import ValidationError

from lostsales.apps.service import models
from lostsales.apps.service.access import Principal, needs, principal_of
from lostsales.apps.service.answers import (
    explain_answer,
    forecast_answer,
    json_rows,
    row_schema,
    situation_of,
    what_if_answer,
)
from lostsales.apps.service.batching import SMALL
from lostsales.apps.service.bulk import ARROW, JSON, PARQUET, json_answer
from lostsales.apps.service.changes import list_changes
from lostsales.apps.service.deciding import decision_json
from lostsales.apps.service.decisions import TrailQuery
from lostsales.apps.service.morning import SHOWS, STATUSES, MorningList, Show
from lostsales.apps.service.morning import Query as ListQuery
from lostsales.apps.service.problems import Refused, documented, findings_of
from lostsales.apps.service.service import Service
from lostsales.apps.service.text import ALPHABETS
from lostsales.apps.service.uploads import check_rows
from lostsales.apps.service.versions import PATTERN
from lostsales.data.json_files import finite
from lostsales.data.reading.frames import ColumnTable

router = APIRouter(prefix="/v1", responses=documented(400, 401, 403, 413, 422, 429, 503))
Reader = Annotated[Principal, Depends(needs("read"))]
Decider = Annotated[Principal, Depends(needs("decide"))]
Admin = Annotated[Principal, Depends(needs("admin"))]
TABLE = {"type": "string", "format": "binary"}
SMALL_BODY = 64_000  # bytes of JSON that are read in the event loop: a millisecond
LOOK_SECONDS = 0.2  # between looks whether the client is still there


async def service_of(request: Request) -> Service:
    """Service of the application."""
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]
Word = Annotated[str, Query(max_length=models.MOST_NAME, pattern=r"^[^\x00]*$")]
Day = Annotated[str, Query(pattern=r"^$|^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="A day such as 2026-03-31, UTC.")]


async def list_query(
    show: Annotated[str, Query(max_length=20)] = "all",
    q: Word = "",
    sort: Annotated[str, Query(max_length=20)] = "",
    dir: Annotated[str, Query(max_length=4)] = "",  # noqa: A002, a short word in the address
    accept_language: Annotated[str, Header()] = "",
    *,
    request: Request,
) -> ListQuery:
    """Query of the list from the address, of the caller's part of the shop; invalid parts are ignored."""
    only = tuple(principal_of(request).key.only.items())
    known: Show = next((each for each in SHOWS if each == show), "all")
    language = accept_language[:2].lower()
    sort = sort if sort in MorningList.SORTS else ""
    return ListQuery(known, q.strip(), sort, dir == "desc", language if language in ALPHABETS else "", only)


Asked = Annotated[ListQuery, Depends(list_query)]


async def trail_query(
    series: Word = "",
    q: Word = "",
    period: Annotated[str, Query(max_length=50, pattern=r"^[^\x00]*$")] = "",
    status: Annotated[str, Query(pattern="^(|accepted|changed|declined|withdrawn|proposed|comment)$")] = "",
    who: Word = "",
    since: Day = "",
    until: Day = "",
) -> TrailQuery:
    """Query of the trail: an exact product, or words of its name; a person; days from the first to the last."""
    return TrailQuery(series, q.strip(), period, status, who, since, until)


Found = Annotated[TrailQuery, Depends(trail_query)]


@router.get("/today")
async def today(
    service: Here,
    _: Reader,
    asked: Asked,
    limit: Annotated[int, Query(ge=1, le=models.MOST_LISTED)] = 100,
    skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> models.TodayAnswer:
    """Today's list with recommendations and decisions: `show`, search `q`, `sort` by a column, `dir` desc."""
    desk = service.desk
    found = await service.run(lambda: desk.morning.rows(asked))
    chosen = found[skip : skip + limit]
    columns = {name: getattr(desk.morning, own)[chosen] for name, own in models.LISTED.items()}
    columns["status"] = np.array(STATUSES, dtype=object)[desk.morning.status[chosen]]
    rows = [models.TodayRow(**each) for each in json_rows([{}] * len(chosen), (), columns)]
    return models.TodayAnswer(
        version=desk.version.version,
        data=desk.data.moment,
        refused=list(service.refused.reasons) if service.refused else [],
        left_out=desk.left_out,
        service={} if asked.only else {name.replace(" ", "_"): value for name, value in desk.service},
        limits=[] if asked.only else [asdict(each) for each in desk.limits],
        found=len(found),
        rows=rows,
    )


@router.get("/columns")
async def columns(service: Here, _: Reader) -> dict[str, Any]:
    """JSON Schema of a row that the active version decides for: its columns, what they hold, and which are needed."""
    return row_schema(service.desk.policy)


@router.post(
    "/recommend",
    response_model=models.RecommendAnswer,
    responses={
        200: {
            "description": "One row for each requested row.",
            "content": {ARROW: {"schema": TABLE}, PARQUET: {"schema": TABLE}},
            "headers": {"X-Policy-Version": {"schema": {"type": "string"}}},
        },
        **documented(415),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": models.RecommendRequest.model_json_schema()},
                ARROW: {"schema": TABLE},
                PARQUET: {"schema": TABLE},
            },
        }
    },
)
async def recommend(request: Request, service: Here, _: Reader) -> Response:
    """Price and order for open rows: JSON, or an Arrow stream or a Parquet file for many.

    An Arrow or Parquet body has the columns of today's rows, and is answered by a table of the same kind; the service
    uses its own history of these series.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, ARROW, PARQUET):
        raise Refused(415, f"a body is {JSON}, {ARROW} or {PARQUET}")
    body = await request.body()
    if kind != JSON or len(body) > SMALL_BODY:
        return await _recommend_in_bulk(request, service, body, kind)
    try:
        asked = models.RecommendRequest.model_validate_json(body)
    except ValidationError as error:
        raise Refused(422, findings=findings_of(error.errors())) from None
    check_rows(len(asked.rows), service.settings.most_rows)
    if asked.recent is None and not asked.reasons and len(asked.rows) <= SMALL:
        desk, columns = await service.batcher.decide(asked.rows)
    else:
        desk = service.desk
        recent = ColumnTable.of_rows(asked.recent, "recent") if asked.recent else None
        today = ColumnTable.of_rows(asked.rows, "today")
        found = await service.run(lambda: desk.recommend(today, recent, reasons=asked.reasons))
        columns = found.columns
    service.metrics.rows.inc(len(asked.rows))
    version = desk.version.version
    return _answer(json_answer(version, desk.policy.problem, asked.rows, columns), JSON, version)


async def _recommend_in_bulk(request: Request, service: Service, body: bytes, kind: str) -> Response:
    """Many rows: in a process of their own, and given up when the client is gone."""
    desk = service.desk
    asking = asyncio.ensure_future(service.bulk.decide(desk, body, kind))
    try:
        while not asking.done():
            await asyncio.wait([asking], timeout=LOOK_SECONDS)
            if not asking.done() and await request.is_disconnected():
                raise Refused(408, "the client is gone")
        content, rows = asking.result()
    finally:
        asking.cancel()
    service.metrics.rows.inc(rows)
    return _answer(content, kind, desk.version.version)


def _answer(content: bytes, kind: str, version: str) -> Response:
    return Response(content, media_type=kind, headers={"X-Policy-Version": version})


@router.post("/explain")
async def explain(asked: models.About, service: Here, _: Reader) -> models.ExplainAnswer:
    """Explain a price and order: belief, runner-up, expected sales, lost sales and leftover stock."""
    desk = service.desk
    found: models.ExplainAnswer = await service.run(lambda: explain_answer(desk, situation_of(desk, asked)))
    return found


@router.post("/what-if")
async def what_if(asked: models.WhatIfRequest, service: Here, _: Reader) -> models.WhatIfAnswer:
    """Compare another price, order, unit cost or stock with the recommendation."""
    desk = service.desk
    found: models.WhatIfAnswer = await service.run(lambda: what_if_answer(desk, asked))
    return found


@router.post("/forecast")
async def forecast(asked: models.ForecastRequest, service: Here, _: Reader) -> models.ForecastAnswer:
    """Demand of the coming periods at one price, by the policy's demand model."""
    desk = service.desk
    found: models.ForecastAnswer = await service.run(lambda: forecast_answer(desk, asked))
    return found


@router.get("/policies")
async def policies(service: Here, _: Reader) -> models.PoliciesAnswer:
    """Versions of the policy, with the results of `lostsales evaluate`."""
    found: models.PoliciesAnswer = await service.run(lambda: policies_answer(service))
    return found


@router.get("/policies/{version}/changes", responses=documented(404))
async def changes(version: Annotated[str, Path(pattern=PATTERN)], service: Here, _: Reader) -> models.ChangesAnswer:
    """Changes of today's prices and orders that a version would make if it were activated."""
    other = await service.run(lambda: service.desk_of(version))
    return models.ChangesAnswer(**list_changes(service.desk, other)._asdict(), verdict=other.verdict)


@router.post("/policies/rollback", responses=documented(409))
async def roll_back(asked: models.ActivateRequest, service: Here, who: Admin) -> models.ActivateAnswer:
    """Activate the version before the active one."""
    desk = await service.run(lambda: service.roll_back(who.key.name, asked.reason))
    return models.ActivateAnswer(active=desk.version.version, previous=_name(service))


@router.post("/policies/{version}/activate", responses=documented(404))
async def activate(
    version: Annotated[str, Path(pattern=PATTERN)], asked: models.ActivateRequest, service: Here, who: Admin
) -> models.ActivateAnswer:
    """Activate a version; requests in progress keep theirs, and none is lost."""
    desk = await service.run(lambda: service.activate(version, who.key.name, asked.reason))
    return models.ActivateAnswer(active=desk.version.version, previous=_name(service))


@router.post("/decisions", status_code=201, responses=documented(409))
async def decide(asked: models.DecisionsRequest, service: Here, who: Decider) -> models.StoredAnswer:
    """Store decisions; they are on disk before the answer is sent."""
    done = await service.decide(asked.decisions, who.key)
    return models.StoredAnswer(decisions=[models.DecisionJson(**decision_json(each)) for each in done])


@router.get("/decisions")
async def decisions(
    service: Here,
    _: Reader,
    asked: Found,
    before: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> models.DecisionsAnswer:
    """Recommendations, decisions on them and reasons, the newest first."""
    found = await service.run(lambda: service.store.decisions(asked, before=before, limit=limit))
    rows = [models.DecisionJson(**decision_json(each)) for each in found]
    return models.DecisionsAnswer(decisions=rows, next=rows[-1].seq if len(rows) == limit else None)


def policies_answer(service: Service) -> models.PoliciesAnswer:
    """Versions of the policy with their evaluations, the active one marked."""
    active = service.desk.version.version
    versions = [
        models.VersionJson(
            version=each.version,
            name=each.name,
            method=service.desk.policy.summary().get("method") if each.version == active else None,
            modified=each.modified.isoformat().replace("+00:00", "Z"),
            size=each.size,
            active=each.version == active,
            verdict=service.desk.verdict if each.version == active else None,
            evaluation=finite(service.evaluation_of(each)),
        )
        for each in service.folder.versions()
    ]
    return models.PoliciesAnswer(active=active, previous=_name(service), versions=versions)


def _name(service: Service) -> str | None:
    return None if service.previous is None else service.previous.version
