"""Today's list and the trail of decisions as CSV."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from lostsales.apps.service import models
from lostsales.apps.service.api import TABLE, Asked, Found, Here, Reader
from lostsales.apps.service.morning import STATUSES
from lostsales.apps.service.problems import documented
from lostsales.apps.service.service import Service
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.writing import write_table
from lostsales.types import Array, Ints

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
CSV = "text/csv"
FORMULA = ("=", "+", "-", "@", "\t", "\r")
DECIDED = (
    "", "accepted", "changed", "declined: nothing is ordered, and the price stays", "proposed: a second person decides",
)  # by STATUSES  # fmt: skip

Bom = Annotated[bool, Query(description="Begin with a byte order mark, which old spreadsheets need.")]


def documented_file(kind: str) -> dict[int | str, dict[str, Any]]:
    """Response of an export, for its documentation."""
    return {
        200: {
            "description": "A table.",
            "content": {kind: {"schema": TABLE}},
        }
    }


router = APIRouter(responses=documented(400, 401, 403, 422, 429, 503), default_response_class=Response)


@router.get("/today.csv", responses=documented_file(CSV))
async def export(service: Here, _: Reader, asked: Asked, bom: Bom = False) -> Response:
    """Today's list as CSV, with the decisions, in the column names of the shop."""
    columns = await service.run(lambda: list_columns(service, service.desk.morning.rows(asked)))
    return csv_response("today.csv", table_lines(columns), bom=bom)


@router.get("/today.xlsx", responses=documented_file(WORKBOOK))
async def export_workbook(service: Here, _: Reader, asked: Asked) -> Response:
    """Today's list as a workbook, with the decisions, in the column names of the shop."""
    response: Response = await service.run(
        lambda: workbook_response("today.xlsx", list_columns(service, service.desk.morning.rows(asked)))
    )
    return response


def list_columns(service: Service, rows: Ints) -> dict[str, Array]:
    """Rows of today's list as columns of a table; "to order now" is empty where nothing was decided."""
    desk = service.desk
    listed, names = desk.morning, desk.policy.problem.columns
    latest = {each: found for period in listed.periods for each, found in service.store.latest(period).items()}
    products = listed.name[rows].tolist()
    decided = [latest.get(name) for name in products]
    parts = [name.split(SERIES_SEPARATOR, len(names.series_parts) - 1) for name in products]
    found: dict[str, Array] = {
        part: _texts([each[at] if at < len(each) else "" for each in parts])
        for at, part in enumerate(names.series_parts)
    }
    status = listed.status[rows]
    declined, proposed = (status == STATUSES.index(each) for each in ("declined", "proposed"))
    price, order = (np.where(proposed, np.nan, each[rows]) for each in (listed.decided_price, listed.decided_order))
    return found | {
        names.period: listed.period[rows],
        names.stock: listed.stock[rows],
        names.on_order: listed.on_order[rows],
        f"last_{names.sales}": listed.last_sales[rows],
        f"recommended_{names.price}": listed.price[rows],
        f"recommended_{names.order}": listed.order[rows],
        "expected_demand": listed.demand[rows],
        "stockout_chance": listed.chance[rows],
        "expected_profit": listed.profit[rows],
        "at_stake": listed.stake[rows],
        "flag": listed.flag[rows],
        "decision": _texts([DECIDED[each] for each in status.tolist()]),
        names.price: np.where(declined, listed.last_price[rows], price),
        "to order now": np.where(declined, 0.0, order),
        "reason": _texts(["" if each is None else each.reason for each in decided]),
        "by": _texts(["" if each is None else each.who for each in decided]),
        "version": _texts([desk.version.version if each is None else each.version for each in decided]),
    }


def _texts(values: list[str]) -> Array:
    return np.array(values, dtype=object)


def table_lines(columns: dict[str, Array]) -> Iterator[list[Any]]:
    """Heading and rows of a table, with empty cells for what is not known."""
    yield list(columns)
    cells = [
        values.tolist()
        if values.dtype.kind == "O"
        else [each if each == each else "" for each in np.round(values, 6).tolist()]
        for values in columns.values()
    ]
    yield from map(list, zip(*cells, strict=True))


@router.get("/decisions.csv", responses=documented_file(CSV))
async def export_decisions(service: Here, _: Reader, asked: Found, bom: Bom = False) -> Response:
    """Trail of the decisions that a query finds as CSV, the newest first."""

    def lines() -> Iterator[list[Any]]:
        names = list(models.DecisionJson.model_fields)
        yield names
        before = 0
        while found := service.store.decisions(asked, before=before, limit=1000):
            for each in found:
                yield [getattr(each, name) for name in names]
            before = found[-1].seq

    return csv_response("decisions.csv", lines(), bom=bom)


def workbook_response(name: str, columns: dict[str, Array]) -> Response:
    """Workbook of columns; text that a spreadsheet would treat as a formula is text in it."""
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / "export.xlsx"
        write_table(columns, path)
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=WORKBOOK, headers=headers)


def csv_response(name: str, lines: Iterator[list[Any]], *, bom: bool = False) -> Response:
    """CSV response; text that a spreadsheet would treat as a formula gets an apostrophe.

    With a byte order mark old spreadsheets read its letters right.
    """

    def text() -> Iterator[str]:  # in a thread of the server, part by part
        sink = io.StringIO()
        sink.write("\ufeff" if bom else "")
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
