"""Routes for systems, under /v1."""

import io
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import ValidationError

from lostsales.apps.service import models
from lostsales.apps.service.access import Principal, needs
from lostsales.apps.service.answers import explain_answer, forecast_answer, json_rows, situation_of, what_if_answer
from lostsales.apps.service.batching import SMALL
from lostsales.apps.service.deciding import decision_json
from lostsales.apps.service.problems import Refused, documented
from lostsales.apps.service.service import Service
from lostsales.apps.service.uploads import arrow_table, check_rows, parquet_table
from lostsales.apps.service.versions import PATTERN
from lostsales.data.json_files import finite
from lostsales.data.reading.frames import ColumnTable
from lostsales.policy.recommendation import Recommendation

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"

router = APIRouter(prefix="/v1", responses=documented(400, 401, 403, 413, 422, 429, 503))
Reader = Annotated[Principal, Depends(needs("read"))]
Decider = Annotated[Principal, Depends(needs("decide"))]
Admin = Annotated[Principal, Depends(needs("admin"))]
TABLE = {"type": "string", "format": "binary"}


async def service_of(request: Request) -> Service:
    """Service of the application."""
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]


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
    body = await request.body()
    if kind in (ARROW, PARQUET):
        return await _recommend_table(service, body, kind)
    if kind != "application/json":
        raise Refused(415, f"a body is application/json, {ARROW} or {PARQUET}")
    try:
        asked = models.RecommendRequest.model_validate_json(body)
    except ValidationError as error:
        raise Refused(422, findings=findings_of(error)) from None
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
    keys = (*desk.policy.problem.columns.series_parts, desk.policy.problem.columns.period)
    return _json({"version": desk.version.version, "rows": json_rows(asked.rows, keys, columns)}, desk.version.version)


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
    done = await service.decide(asked.decisions, who.key.name)
    return models.StoredAnswer(decisions=[models.DecisionJson(**decision_json(each)) for each in done])


@router.get("/decisions")
async def decisions(
    service: Here,
    _: Reader,
    series: Annotated[str, Query(max_length=models.MOST_NAME, pattern=r"^[^\x00]*$")] = "",
    period: Annotated[str, Query(max_length=50, pattern=r"^[^\x00]*$")] = "",
    status: Annotated[str, Query(pattern="^(|accepted|changed|declined|withdrawn)$")] = "",
    before: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> models.DecisionsAnswer:
    """Recommendations, decisions on them and reasons, the newest first."""
    found = await service.run(
        lambda: service.store.decisions(series=series, period=period, status=status, before=before, limit=limit)
    )
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


def findings_of(error: ValidationError | Any) -> list[str]:
    """Findings with their place, without the value."""
    return [
        f"{'.'.join(str(part) for part in each['loc']) or 'the body'}: {each['msg'].removeprefix('Value error, ')}"
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _json(content: dict[str, Any], version: str) -> Response:
    from pydantic_core import to_json

    return Response(to_json(content), media_type="application/json", headers={"X-Policy-Version": version})


async def _recommend_table(service: Service, body: bytes, kind: str) -> Response:
    desk = service.desk

    def work() -> tuple[bytes, int]:
        table = _read_table(service, body, kind)
        return _written(desk.recommend(table), kind), len(table)

    content, rows = await service.run(work)
    service.metrics.rows.inc(rows)
    return Response(content, media_type=kind, headers={"X-Policy-Version": desk.version.version})


def _read_table(service: Service, body: bytes, kind: str) -> Any:
    """Read an untrusted table of at least one row."""
    table = (parquet_table if kind == PARQUET else arrow_table)(body, service.settings.most_rows)
    if not table.num_rows:
        raise Refused(422, findings=("the table has no rows",))
    return table


def _written(found: Recommendation, kind: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: _arrow(values) for name, values in found.table.items()})
    sink = io.BytesIO()
    if kind == PARQUET:
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    return sink.getvalue()


def _arrow(values: Any) -> Any:
    """Values for Arrow; text stays text even if all values are missing."""
    import pyarrow as pa

    return pa.array(values, type=pa.string() if values.dtype == np.dtype(object) else None)
