"""Routes of orders by supplier: the page, exports, and sending one to the webhook."""

import json
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import uuid4

import numpy as np
from fastapi import APIRouter, Depends, Form, Query, Request, Response

from lostsales.apps.service import models
from lostsales.apps.service.answers import figure
from lostsales.apps.service.api import Decider, Here, Reader
from lostsales.apps.service.deciding import now
from lostsales.apps.service.decisions import SentOrder
from lostsales.apps.service.exports import (
    CSV,
    WORKBOOK,
    Bom,
    csv_response,
    documented_file,
    table_lines,
    workbook_response,
)
from lostsales.apps.service.exports import router as files
from lostsales.apps.service.incoming import ID
from lostsales.apps.service.orders import SupplierOrder, read_terms, supplier_orders
from lostsales.apps.service.pages import checked_form, done_at, may, shown_page
from lostsales.apps.service.problems import Refused, documented
from lostsales.apps.service.service import Service
from lostsales.types import Array

router = APIRouter(prefix="/v1", responses=documented(400, 401, 403, 404, 409, 422, 429, 503))
pages = APIRouter(include_in_schema=False)
Supplier = Annotated[str, Query(max_length=models.MOST_NAME)]


@router.get("/orders")
async def listed_orders(service: Here, _: Reader, supplier: Supplier = "") -> models.OrdersAnswer:
    """Orders of today's list that were decided, by supplier."""
    orders = await _orders(service, supplier)
    return models.OrdersAnswer(currency=service.desk.currency, orders=[order_json(each) for each in orders])


@router.post("/orders/send", status_code=202)
async def send(asked: models.SendOrderRequest, service: Here, who: Decider) -> models.SentOrderJson:
    """Send the order of a supplier to the webhook that the service was started with."""
    return await _send(service, asked.supplier, who.key.name, asked.id or "")


@pages.get("/orders")
async def orders_page(request: Request, service: Here, _: Reader, supplier: Supplier = "") -> Response:
    """Orders by supplier, or the lines of one."""
    orders = await _orders(service, supplier)
    if supplier and not orders:
        raise Refused(404, "there is no such supplier")
    sent = await service.run(service.store.sent)
    latest = {each.supplier: each for each in reversed(sent)}
    content = {
        "orders": orders,
        "supplier": supplier,
        "sent": latest,
        "same": {each.supplier: _same(latest.get(each.supplier), each) for each in orders},
        "has_webhook": service.webhook is not None,
        "has_suppliers": bool(service.desk.data.suppliers),
    }
    return await shown_page(request, "orders.html", content)


def _same(sent: SentOrder | None, order: SupplierOrder) -> bool:
    """True if an order was sent as it is now."""
    return sent is not None and json.loads(sent.content)["lines"] == lines_json(order)


@files.get("/orders.csv", responses=documented_file(CSV))
async def orders_csv(service: Here, _: Reader, supplier: Supplier = "", bom: Bom = False) -> Response:
    """Lines of all orders, or of one supplier's, as CSV."""
    columns = _columns(service, await _orders(service, supplier))
    return csv_response("orders.csv", table_lines(columns), bom=bom)


@files.get("/orders.xlsx", responses=documented_file(WORKBOOK))
async def orders_workbook(service: Here, _: Reader, supplier: Supplier = "") -> Response:
    """Lines of all orders, or of one supplier's, as a workbook."""
    columns = _columns(service, await _orders(service, supplier))
    response: Response = await service.run(lambda: workbook_response("orders.xlsx", columns))
    return response


@pages.post("/orders/send", dependencies=[Depends(checked_form)])
async def send_form(
    request: Request,
    service: Here,
    supplier: Annotated[str, Form(min_length=1, max_length=models.MOST_NAME)],
    id: Annotated[str, Form(pattern=f"^$|{ID}")] = "",  # noqa: A002, as in decisions
) -> Response:
    """Send the order of a supplier from the page."""
    await _send(service, supplier, may(request, "decide").key.name, id)
    return done_at(request, "/orders")


async def _orders(service: Service, supplier: str) -> list[SupplierOrder]:
    desk = service.desk

    def work() -> list[SupplierOrder]:
        latest = {name: each for period in desk.morning.periods for name, each in service.store.latest(period).items()}
        today = dict(zip(desk.morning.name.tolist(), desk.morning.period.tolist(), strict=True))
        latest = {name: each for name, each in latest.items() if today.get(name) == each.period}
        found = supplier_orders(desk, latest, read_terms(service.settings.suppliers))
        return [each for each in found if supplier in ("", each.supplier)]

    orders: list[SupplierOrder] = await service.run(work)
    return orders


async def _send(service: Service, supplier: str, who: str, identity: str) -> models.SentOrderJson:
    if service.webhook is None:
        raise Refused(409, "the service was started without a webhook for orders")
    order = next(iter(await _orders(service, supplier)), None)
    if order is None:
        raise Refused(404, "there is no such supplier")
    if not len(order.lines):
        raise Refused(409, "nothing was decided to be ordered of this supplier")
    if order.below_minimum or order.above_budget:
        raise Refused(409, f"not sent: the order is {' and '.join(shortfalls(order))}")
    moment, name = now(), identity or uuid4().hex
    content = {"id": name, "time": moment, "by": who, "currency": service.desk.currency} | order_json(
        order
    ).model_dump()
    new = SentOrder(name, moment, who, supplier, len(order.lines), json.dumps(content), "waiting")
    webhook = service.webhook
    stored = await service.run(lambda: service.send(new, webhook))
    return models.SentOrderJson(**{each: getattr(stored, each) for each in models.SentOrderJson.model_fields})


def shortfalls(order: SupplierOrder) -> list[str]:
    """What keeps an order from being sent."""
    found = [f"{order.below_minimum:,.2f} below the minimum"] if order.below_minimum else []
    return [*found, *([f"{order.above_budget:,.2f} above the budget"] if order.above_budget else [])]


def order_json(order: SupplierOrder) -> models.SupplierOrderJson:
    """Order for JSON."""
    return models.SupplierOrderJson(
        supplier=order.supplier,
        units=order.units,
        cases=order.cases,
        value=figure(order.value),
        minimum=figure(order.terms.minimum),
        budget=figure(order.terms.budget),
        below_minimum=order.below_minimum,
        above_budget=order.above_budget,
        open_products=order.open_products,
        running_out=order.running_out,
        lines=[models.OrderLineJson(**each) for each in lines_json(order)],
    )


def lines_json(order: SupplierOrder) -> list[dict[str, Any]]:
    """Lines of an order for JSON."""
    lines = order.lines
    columns = lines.name, lines.period, lines.units, lines.cases, lines.case_size, lines.unit_cost, lines.value
    names = ("series", "period", "units", "cases", "case_size", "unit_cost", "value")
    return [
        dict(zip(names, (str(name), str(period), *map(figure, figures)), strict=True))
        for name, period, *figures in zip(*(each.tolist() for each in columns), strict=True)
    ]


def _columns(service: Service, orders: Sequence[SupplierOrder]) -> dict[str, Array]:
    """Lines of orders as columns of a table."""
    money = service.desk.currency or "money"
    lines = [each.lines for each in orders]

    def joined(values: list[Array], kind: type) -> Array:
        return np.concatenate([np.zeros(0, dtype=kind), *values])

    return {
        "supplier": joined([np.full(len(each.lines), each.supplier, dtype=object) for each in orders], object),
        "series": joined([each.name for each in lines], object),
        "period": joined([each.period for each in lines], object),
        "order_units": joined([each.units for each in lines], float),
        "cases": joined([each.cases for each in lines], float),
        "case_size_units": joined([each.case_size for each in lines], float),
        f"unit_cost_{money}": joined([each.unit_cost for each in lines], float),
        f"value_{money}": joined([each.value for each in lines], float),
        "by": joined([each.who for each in lines], object),
    }
