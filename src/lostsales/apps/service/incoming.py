"""Routes of data that come in: the page that uploads and lists them, and the same under /v1."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, File, Form, Path, Query, Request, Response, UploadFile
from pydantic import ValidationError

from lostsales.apps.service import models
from lostsales.apps.service.api import Decider, Here, Reader
from lostsales.apps.service.decisions import Upload
from lostsales.apps.service.exports import decided_in
from lostsales.apps.service.gate import MOST_SMALL
from lostsales.apps.service.pages import checked_form, done_at, inside, may, shown_page
from lostsales.apps.service.problems import Refused, documented, findings_of
from lostsales.apps.service.service import Service
from lostsales.apps.service.uploads import Kind, read_body
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.reading.frames import ColumnTable

ID = r"^[A-Za-z0-9_-]{8,64}$"
SHOWN = 50  # uploads on the page
MOST_LISTED = 1000  # in an answer
TABLE = {"schema": {"type": "string", "format": "binary"}}
TYPES = (
    "text/csv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
)

router = APIRouter(prefix="/v1", responses=documented(400, 401, 403, 413, 422, 429, 503))
pages = APIRouter(include_in_schema=False)


@router.post(
    "/data",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": models.UploadRowsRequest.model_json_schema()}}
            | dict.fromkeys(TYPES, TABLE),
        }
    },
)
async def receive(
    request: Request,
    service: Here,
    who: Decider,
    kind: Kind = "log",
    id: Annotated[str, Query(pattern=ID)] = "",  # noqa: A002, as in decisions
) -> models.UploadJson:
    """Store rows of the log, today's rows, stock counts or deliveries: CSV, Excel, Parquet, Arrow or JSON."""
    body: Any = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        if len(body) > MOST_SMALL:  # it is read in the event loop
            raise Refused(413, f"JSON may have {MOST_SMALL / 1e6:g} MB: send a larger table as CSV, Parquet or Arrow")
        try:
            asked = models.UploadRowsRequest.model_validate_json(body)
        except ValidationError as error:
            raise Refused(422, findings=findings_of(error.errors())) from None
        body = ColumnTable.of_rows(asked.rows)
    return upload_json(await service.run(lambda: service.receive(kind, body, who.key.name, id)))


@router.get("/data")
async def received(service: Here, _: Reader) -> models.UploadsAnswer:
    """Data that came in, with what was rejected, the newest first."""
    found = reversed(service.uploads[-MOST_LISTED:])
    return models.UploadsAnswer(uploads=[upload_json(each.upload) for each in found])


@router.post("/data/{id}/withdraw", responses=documented(404))
async def withdraw(
    id: Annotated[str, Path(pattern=ID)],  # noqa: A002
    service: Here,
    who: Decider,
) -> models.UploadJson:
    """Leave out data that came in; what they had replaced counts again."""
    return upload_json(await service.run(lambda: service.withdraw(id, who.key.name)))


def upload_json(upload: Upload) -> models.UploadJson:
    """Upload without its content."""
    known = {name: getattr(upload, name) for name in models.UploadJson.model_fields if name != "rejected"}
    return models.UploadJson(**known, rejected=json.loads(upload.rejected))


@pages.get("/data")
async def data_page(request: Request, service: Here, _: Reader) -> Response:
    """Page of data that came in, with a form for more."""
    return await _shown(request, service, None)


async def _shown(request: Request, service: Service, refused: Refused | None) -> Response:
    found = [upload_json(each.upload) for each in reversed(service.uploads[-SHOWN:])]
    content = {"uploads": found, "refused": refused, "columns": service.desk.data.columns}
    return await shown_page(request, "data.html", content, 200 if refused is None else refused.status)


@pages.post("/data", dependencies=[Depends(checked_form)])
async def upload(
    request: Request,
    service: Here,
    table: Annotated[UploadFile, File()],
    kind: Annotated[Kind | Literal["decisions"], Form()] = "log",
    id: Annotated[str, Form(pattern=f"^$|{ID}")] = "",  # noqa: A002
    confirmed: Annotated[bool, Form()] = False,
) -> Response:
    """Store an uploaded table, or the decisions in an exported list; the name of its file is not used."""
    key = may(request, "decide").key
    body = await table.read()
    try:
        if kind == "decisions":
            most = service.settings.most_rows
            new = await service.run(lambda: decided_in(read_body(body, most), service.desk, confirmed=confirmed))
            if new:
                await service.decide(new, key)
            return done_at(request, "/?show=decided")
        await service.run(lambda: service.receive(kind, body, key.name, id))
    except Refused as refused:
        if request.headers.get("accept", "").startswith("application/json"):
            raise
        return await _shown(request, service, refused)
    return done_at(request, "/data")


@pages.post("/data/withdraw", dependencies=[Depends(checked_form)])
async def withdraw_upload(request: Request, service: Here, id: Annotated[str, Form(pattern=ID)]) -> Response:  # noqa: A002
    """Leave out data that came in."""
    who = may(request, "decide").key.name
    await service.run(lambda: service.withdraw(id, who))
    return done_at(request, "/data")


@pages.post("/data/stock", dependencies=[Depends(checked_form)])
async def count_stock(
    request: Request,
    service: Here,
    series: Annotated[str, Form(min_length=1, max_length=models.MOST_NAME)],
    stock: Annotated[float, Form(ge=0, le=1e12)],
    id: Annotated[str, Form(pattern=f"^$|{ID}")] = "",  # noqa: A002
    back: Annotated[str, Form(max_length=2000)] = "/",
) -> Response:
    """Correct the stock of one product of today's list; it is decided for anew."""
    who, columns = may(request, "decide").key.name, service.desk.data.problem.columns
    parts = series.split(SERIES_SEPARATOR, len(columns.series_parts) - 1)
    row: dict[str, Any] = dict(zip(columns.series_parts, parts, strict=False)) | {columns.stock: stock}
    await service.run(lambda: service.receive("stock", ColumnTable.of_rows([row]), who, id))
    return done_at(request, inside(back))
