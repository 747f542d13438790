"""Today's list and the trail of decisions as CSV."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse

from lostsales.apps.service import models
from lostsales.apps.service.access import Principal, needs
from lostsales.apps.service.api import service_of
from lostsales.apps.service.decisions import StoredDecision
from lostsales.apps.service.morning import Query
from lostsales.apps.service.pages import list_query
from lostsales.apps.service.service import Service
from lostsales.data.writing import write_table
from lostsales.types import Array, Ints

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FORMULA = ("=", "+", "-", "@", "\t", "\r")

router = APIRouter(include_in_schema=False)
Here = Annotated[Service, Depends(service_of)]
Reader = Annotated[Principal, Depends(needs("read"))]
Asked = Annotated[Query, Depends(list_query)]


@router.get("/today.csv")
async def export(service: Here, _: Reader, asked: Asked) -> Response:
    """Today's list as CSV, with the decisions."""
    desk = service.desk
    rows = desk.morning.rows(asked)
    periods = desk.morning.periods
    latest = await service.run(
        lambda: {name: each for period in periods for name, each in service.store.latest(period).items()}
    )
    return csv_response("today.csv", _export_lines(service, rows, latest))


def _export_lines(service: Service, rows: Ints, latest: dict[str, StoredDecision]) -> Iterator[list[Any]]:
    money = service.desk.currency or "money"
    yield [
        "series", "period", "stock_units", "on_order_units", "yesterday_units", f"recommended_price_{money}",
        "recommended_order_units", "expected_demand_units", "stockout_chance", f"expected_profit_{money}", "flag",
        "decision", f"decided_price_{money}", "decided_order_units", "reason", "by", "version",
    ]  # fmt: skip
    listed, version = service.desk.morning, service.desk.version.version
    columns = [
        _plain(getattr(listed, name)[rows])
        for name in (
            "name",
            "period",
            "stock",
            "on_order",
            "last_sales",
            "price",
            "order",
            "demand",
            "chance",
            "profit",
        )
    ]
    for name, period, *figures, flag in zip(*columns, listed.flag[rows].tolist(), strict=True):
        decided = latest.get(name)
        own: tuple[Any, ...] = ("", "", "", "", "", version)
        if decided is not None and decided.period == period:
            own = (decided.status, decided.price, decided.order, decided.reason, decided.who, decided.version)
        yield [name, period, *figures, flag, *own]


def _plain(values: Array) -> list[Any]:
    """Cells: text, or numbers with an empty cell if unknown."""
    if values.dtype.kind == "O":
        return list(values.tolist())
    return [each if each == each else "" for each in np.round(values, 6).tolist()]


@router.get("/decisions.csv")
async def export_decisions(service: Here, _: Reader) -> Response:
    """Trail of all decisions as CSV, the newest first."""

    def lines() -> Iterator[list[Any]]:
        names = list(models.DecisionJson.model_fields)
        yield names
        before = 0
        while found := service.store.decisions(before=before, limit=1000):
            for each in found:
                yield [getattr(each, name) for name in names]
            before = found[-1].seq

    return csv_response("decisions.csv", lines())


def workbook_response(name: str, columns: dict[str, Array]) -> Response:
    """Workbook of columns; text that a spreadsheet would treat as a formula is text in it."""
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / "export.xlsx"
        write_table(columns, path)
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=WORKBOOK, headers=headers)


def csv_response(name: str, lines: Iterator[list[Any]]) -> Response:
    """CSV response; text that a spreadsheet would treat as a formula gets an apostrophe."""

    def text() -> Iterator[str]:  # in a thread of the server, part by part
        sink = io.StringIO()
        writer = csv.writer(sink)
        for count, line in enumerate(lines, 1):
            writer.writerow(
                [f"'{each}" if isinstance(each, str) and each.startswith(FORMULA) else each for each in line]
            )
            if count % 500 == 0:
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()

    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(text(), media_type="text/csv; charset=utf-8", headers=headers)
