"""The service's verbs as tools of the Model Context Protocol, for agents that work with a shop."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, ValidationError

from lostsales.apps.service import models
from lostsales.apps.service.answers import explain_answer, figure, forecast_answer, situation_of, what_if_answer
from lostsales.apps.service.api import policies_answer
from lostsales.apps.service.deciding import decision_json
from lostsales.apps.service.decisions import TrailQuery
from lostsales.apps.service.keys import Key
from lostsales.apps.service.morning import Query, Show
from lostsales.apps.service.problems import Refused, findings_of
from lostsales.apps.service.service import Service
from lostsales.errors import LostSalesError

MOST_LISTED = 200  # products of one answer
ABOUT = "Today's prices and orders of a shop, with reasons, what-if answers, forecasts and the decisions made so far."
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", bound=BaseModel)


def mcp_server(service: Service, key: Key) -> MCPServer:
    """Tools for the holder of a key; only a key that may decide has the tool `decide`."""
    server: MCPServer = MCPServer("lostsales", instructions=ABOUT)

    @server.tool(annotations=READS)
    def today(search: str = "", only_exceptions: bool = False, limit: int = 50) -> dict[str, Any]:
        """List today's products: stock, recommended price and order, expected profit and flags."""
        desk = service.desk
        listed = desk.morning
        show: Show = "exceptions" if only_exceptions else "all"
        rows = listed.rows(Query(show, search, only=tuple(key.only.items())))
        return {
            "version": desk.version.version,
            "found": len(rows),
            "products": [
                {
                    "series": str(listed.name[at]),
                    "period": str(listed.period[at]),
                    "stock": figure(listed.stock[at]),
                    "price": figure(listed.price[at]),
                    "order": figure(listed.order[at]),
                    "expected_profit": figure(listed.profit[at]),
                    "flag": str(listed.flag[at]),
                }
                for at in rows[: min(max(limit, 1), MOST_LISTED)].tolist()
            ],
        }

    @server.tool(annotations=READS)
    def explain(series: str) -> models.ExplainAnswer:
        """Explain the recommended price and order of a product of today's list."""
        desk = service.desk
        return _told(lambda: explain_answer(desk, situation_of(desk, _asked(models.About, series=series))))

    @server.tool(annotations=READS)
    def what_if(
        series: str, price: float | None = None, order: float | None = None, stock: float | None = None
    ) -> models.WhatIfAnswer:
        """Compare another price, order or stock of a product with the recommendation."""
        given = {"series": series, "price": price, "order": order, "stock": stock}
        return _told(lambda: what_if_answer(service.desk, _asked(models.WhatIfRequest, **given)))

    @server.tool(annotations=READS)
    def forecast(series: str, horizon: int = 7, price: float | None = None) -> models.ForecastAnswer:
        """Forecast the demand, not the sales, of a product for the coming periods."""
        given = {"series": series, "horizon": horizon, "price": price}
        return _told(lambda: forecast_answer(service.desk, _asked(models.ForecastRequest, **given)))

    @server.tool(annotations=READS)
    def policies() -> models.PoliciesAnswer:
        """List the versions of the policy with their evaluations."""
        return policies_answer(service)

    @server.tool(annotations=READS)
    def decisions(series: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """List recommendations, the decisions on them and their reasons, the newest first."""
        found = service.store.decisions(TrailQuery(series), limit=min(max(limit, 1), MOST_LISTED))
        return [decision_json(each) for each in found]

    if not key.allows("decide"):
        return server

    @server.tool(annotations=WRITES)
    async def decide(
        series: str,
        status: Literal["accepted", "changed", "declined", "withdrawn"],
        version: str,
        recommended_price: float,
        recommended_order: float,
        price: float | None = None,
        order: float | None = None,
        reason: str = "",
        confirmed: bool = False,
    ) -> dict[str, Any]:
        """Store a decision on a recommendation; refused if the recommendation has changed since it was seen."""
        seen = {"version": version, "price": recommended_price, "order": recommended_order}
        given = {"series": series, "status": status, "recommended": seen, "price": price, "order": order}
        new = _asked(models.NewDecision, **given, reason=reason, confirmed=confirmed)
        try:
            return decision_json((await service.decide([new], key))[0])
        except Refused as refused:
            raise _error_of(refused) from None

    return server


def _asked(model: type[Asked], **given: Any) -> Asked:
    """A request of the service's own kind; its limits hold here too."""
    try:
        return model(**given)
    except ValidationError as error:
        raise ToolError("; ".join(findings_of(error.errors()))) from None


def _told(answer: Callable[[], Answer]) -> Answer:
    """An answer, or the refusal as a tool reports it."""
    try:
        return answer()
    except Refused as refused:
        raise _error_of(refused) from None
    except LostSalesError as error:
        raise ToolError(str(error)) from None


def _error_of(refused: Refused) -> ToolError:
    return ToolError("; ".join([refused.message, *refused.findings]))
