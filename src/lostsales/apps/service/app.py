"""Web application: routes behind the gate."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any, TextIO

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException

from lostsales.apps.service import api, exports, incoming, models, ordering, pages, refit, working
from lostsales.apps.service.access import Doorkeeper, needs
from lostsales.apps.service.gate import Gate
from lostsales.apps.service.problems import TITLES, Refused, documented, findings_of, refusal_of
from lostsales.apps.service.service import Service
from lostsales.errors import LostSalesError

ABOUT = """Prices and orders by a policy of `lostsales`, and the decisions of people on them.

Send a key as `Authorization: Bearer lsk_...`. Every answer of a policy names its version. All errors have one shape:
status, message, findings.
"""


ROUTERS = (
    refit.router,  # before /policies/{version}
    api.router,
    incoming.router,
    ordering.router,
    working.router,
    pages.router,
    exports.router,
    incoming.pages,
    ordering.pages,
    working.pages,
    refit.pages,
)


def create_app(service: Service, log: TextIO | None = None) -> Gate:
    """Create the application of a service, behind its gate."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(_watch(service, gate))
        yield
        watching.cancel()
        service.close()

    app = FastAPI(
        title="lostsales",
        version=version("lostsales"),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.doorkeeper = Doorkeeper.of(service.settings)
    _add_probes(app, service)
    for router in ROUTERS:
        app.include_router(router)
    _add_refusals(app)
    gate = Gate(app, service.settings, app.state.doorkeeper, service.metrics, log)
    gate.routes = (*app.routes, *(route for router in ROUTERS for route in router.routes))
    app.state.gate = gate
    return gate


async def _watch(service: Service, gate: Gate) -> None:
    """Reload the shop's files when they have changed, and log the result."""
    told: object = None
    while True:
        await asyncio.sleep(service.settings.reload_seconds)
        before = service.refused
        run = asyncio.get_running_loop().run_in_executor
        try:
            is_new = await run(service.executor, service.reload_if_changed)
            if told != (told := (service.desk.data, service.refused)):
                await run(service.executor, working.send_alerts, service)
        except Exception as error:  # noqa: BLE001, or files would never be read again
            gate.write("import", error=type(error).__name__)
            continue
        if service.refused is not None and service.refused != before:
            gate.write("import", data=service.refused.moment, refused=service.refused.kinds)
        elif is_new:
            gate.write("import", data=service.desk.data.moment, left_out=len(service.desk.left_out))


def _add_probes(app: FastAPI, service: Service) -> None:
    from fastapi import Depends

    @app.get("/healthz", tags=["probes"], responses=documented(503))
    async def health() -> models.HealthAnswer:
        """Liveness: the process answers, and the thread that stores decisions runs."""
        if not service.store.is_writing:
            raise Refused(503, "decisions cannot be stored any more: the service must be restarted")
        return models.HealthAnswer(status="ok")

    @app.get("/readyz", tags=["probes"], responses=documented(503))
    async def ready() -> models.HealthAnswer:
        """Readiness: a policy is loaded, decisions can be stored, and the newest data of the shop are used."""
        if not await asyncio.get_running_loop().run_in_executor(None, service.store.is_alive):
            raise Refused(503, "decisions cannot be stored", retry=10)
        if service.refused is not None:  # the list shows the reason to callers with a key
            raise Refused(503, f"newer data were refused: the list is of {service.desk.data.moment}", retry=60)
        return models.HealthAnswer(status="ok")

    @app.get(
        "/metrics",
        tags=["probes"],
        dependencies=[Depends(needs("read"))],
        responses=documented(401, 403, 429),
        response_class=PlainTextResponse,
    )
    async def metrics() -> Response:
        """Counters for Prometheus."""
        service.metrics.waiting.set(app.state.gate.waiting)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(needs("read"))])
    async def schema() -> dict[str, Any]:
        """OpenAPI description of this service."""
        return _described(app)


def _described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI of the routes for systems, with their authentication."""
    found = app.openapi()
    found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"key": []}]
    return found


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return await pages.for_people(request, error) or error.response()

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:  # the gate writes its kind into the log
        del error
        return Refused(500).response()

    @app.exception_handler(LostSalesError)
    async def unusable(_: Request, error: LostSalesError) -> Response:
        return refusal_of(error).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        refused = Refused(422, findings=findings_of([each | {"loc": each["loc"][1:]} for each in error.errors()]))
        return await pages.for_people(request, refused) or refused.response()

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        refused = Refused(error.status_code if error.status_code in TITLES else 400)
        response = await pages.for_people(request, refused) or refused.response()
        if error.headers:
            response.headers.update({name: value for name, value in error.headers.items() if name == "Allow"})
        return response
