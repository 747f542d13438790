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
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.morning import STATUSES
from lostsales.apps.service.problems import Refused, documented
from lostsales.apps.service.service import Service
from lostsales.apps.service.uploads import column_of
from lostsales.data.format import Format
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.table import Table
from lostsales.data.writing import write_table
from lostsales.types import Array, Ints

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
CSV = "text/csv"
TO_ORDER = "to order now"
ROUNDED = 1e-6  # to which a CSV has figures
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
        TO_ORDER: np.where(declined, 0.0, order),
        "reason": _texts(["" if each is None else each.reason for each in decided]),
        "by": _texts(["" if each is None else each.who for each in decided]),
        "version": _texts([desk.version.version if each is None else each.version for each in decided]),
    }


def decided_in(table: Table, desk: Desk, *, confirmed: bool) -> list[models.NewDecision]:
    """Decisions in an exported list that somebody has filled in: rows with a number in "to order now"."""
    names, listed = desk.policy.problem.columns, desk.morning
    shown_price, shown_order = f"recommended_{names.price}", f"recommended_{names.order}"
    needed = (*names.series_parts, TO_ORDER, "version", shown_price, shown_order)
    if missing := [each for each in needed if each not in table.columns]:
        told = f"decisions come in the columns of the exported list, but {', '.join(map(repr, missing))} is missing"
        raise Refused(422, findings=(told,))
    findings = Findings(table.name, table.place)
    reader = ColumnReader(table, findings, Format())
    codes, series = findings.series_of = reader.series(names.series_parts)
    given = [each for each in (names.price, TO_ORDER, shown_price, shown_order) if each in table.columns]
    figures = {each: reader.number(each, gaps=each in (names.price, TO_ORDER)) for each in given}
    findings.raise_if_any()
    texts = {each: column_of(table, each) for each in ("version", "reason", "decision") if each in table.columns}
    found = []
    for row in np.flatnonzero(~np.isnan(figures[TO_ORDER])).tolist():
        name, order = str(series[codes[row]]), float(figures[TO_ORDER][row])
        seen = [float(figures[each][row]) for each in (shown_price, shown_order)]
        price = float(figures[names.price][row]) if names.price in figures else np.nan
        price = seen[0] if np.isnan(price) else price
        declined = "decision" in texts and str(texts["decision"][row] or "").startswith("declined")
        if (at := listed.place.get(name)) is not None:
            exact = float(listed.price[at]), float(listed.order[at])
            if np.allclose(seen, exact, rtol=0, atol=ROUNDED):  # as the list has them, and a CSV rounds them
                price, seen = (exact[0] if price == seen[0] else price), list(exact)
            known = STATUSES[int(listed.status[at])]
            if (known == "declined" and declined) or (listed.decided_price[at], listed.decided_order[at]) == (
                price,
                order,
            ):
                continue
        given_price = {"price": price, "order": order}
        same = np.allclose([price, order], seen, rtol=0, atol=ROUNDED)
        status = "declined" if declined and order == 0 else "accepted" if same else "changed"
        reason = str(texts["reason"][row] or "") if "reason" in texts else ""
        new = {"series": name, "status": status, "confirmed": confirmed}
        new |= {"reason": reason or "changed in a table"} | given_price if status == "changed" else {"reason": reason}
        recommended = {"price": seen[0], "order": seen[1], "version": str(texts["version"][row])}
        found.append(models.NewDecision.model_validate(new | {"recommended": recommended}))
    return found


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
