"""Pages for people: server-rendered, usable without the script, which only makes them faster."""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, PackageLoader

from lostsales.apps.console import sentence
from lostsales.apps.figures_shown import ESTIMATORS, Shown
from lostsales.apps.service import models
from lostsales.apps.service.access import Doorkeeper, Principal, check_csrf, needs, principal_of
from lostsales.apps.service.api import Asked, Found, service_of
from lostsales.apps.service.changes import list_changes
from lostsales.apps.service.deciding import digest
from lostsales.apps.service.keys import SCOPES, Scope
from lostsales.apps.service.morning import STATUSES
from lostsales.apps.service.morning import Query as ListQuery
from lostsales.apps.service.problems import Refused
from lostsales.apps.service.product_page import product_page
from lostsales.apps.service.service import Service

PAGE = 50  # rows of a page
TRAIL = 50  # decisions of a page
STATIC_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
YEAR = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)
Here = Annotated[Service, Depends(service_of)]
Reader = Annotated[Principal, Depends(needs("read"))]
Text = Annotated[str, Query(max_length=models.MOST_NAME)]


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("lostsales.apps.service"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"static": _static_address}
    return environment


@cache
def _static(name: str) -> bytes:
    return files("lostsales.apps.service").joinpath("static", name).read_bytes()


@cache
def _static_address(name: str) -> str:
    """Address of a static file with a hash of its content, so that browsers may cache it."""
    return f"/static/{name}?{sha256(_static(name)).hexdigest()[:12]}"


async def _csrf_of(request: Request) -> str:
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    session = principal_of(request).session
    return doorkeeper.local_csrf if session is None else session.csrf


async def shown_page(request: Request, template: str, content: dict[str, Any], status: int = 200) -> HTMLResponse:
    """Page of a template, with what every page shows."""
    service = await service_of(request)
    principal: Principal | None = request.scope.get("principal")
    found = {
        "desk": service.desk,
        "shown": Shown(service.desk.currency),
        "csrf": "" if principal is None else await _csrf_of(request),
        "who": None if principal is None else principal.key,
        "may": {scope: principal is not None and principal.key.allows(scope) for scope in SCOPES},
        "has_session": principal is not None and principal.session is not None,
        "path": request.url.path,
    }
    return HTMLResponse(_templates().get_template(template).render(found | content), status)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Static file of the pages."""
    kind = STATIC_TYPES.get(name.rpartition(".")[2])
    if kind is None or name not in _static_names():
        raise Refused(404)
    return Response(_static(name), media_type=kind, headers={"Cache-Control": YEAR})


@cache
def _static_names() -> frozenset[str]:
    return frozenset(each.name for each in files("lostsales.apps.service").joinpath("static").iterdir())


@router.get("/")
async def today(
    request: Request,
    service: Here,
    _: Reader,
    asked: Asked,
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
    fragment: bool = False,
    done: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """Morning list."""
    desk = service.desk
    rows = desk.morning.rows(asked)
    pages = max(1, -(-len(rows) // PAGE))
    page = min(page, pages)
    chosen, acceptable = rows[(page - 1) * PAGE : page * PAGE], desk.morning.acceptable(asked)
    content = {
        "asked": asked,
        "counts": desk.morning.counts(asked),
        "found": len(rows),
        "page": page,
        "pages": pages,
        "first": (page - 1) * PAGE + 1,
        "acceptable": len(acceptable),
        "digest": digest(desk, acceptable),
        "refused": service.refused,
        "rows": _rows(service, chosen),
        "done": done,
        "link": lambda **changes: _link(asked, **changes),
    }
    return await shown_page(request, "_list.html" if fragment else "list.html", content)


def _rows(service: Service, chosen: Sequence[int] | np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    listed = service.desk.morning
    return [
        {name: getattr(listed, name)[at] for name in _COLUMNS} | {"status": STATUSES[int(listed.status[at])]}
        for at in np.asarray(chosen).tolist()
    ]


_COLUMNS = (
    "name", "period", "stock", "on_order", "last_sales", "last_stockout", "last_price", "price", "order", "demand",
    "chance", "profit", "stake", "flag", "decided_price", "decided_order",
)  # fmt: skip


def _link(asked: ListQuery, **changes: Any) -> str:
    given = {"show": asked.show, "q": asked.search, "sort": asked.sort, "dir": "desc" if asked.descending else ""}
    used = {name: value for name, value in (given | changes).items() if value not in ("", "all", None)}
    return f"/?{urlencode(used)}" if used else "/"


@router.get("/product")
async def product(
    request: Request,
    service: Here,
    _: Reader,
    series: Annotated[str, Query(min_length=1, max_length=models.MOST_NAME)],
    price: float | None = None,
    order: float | None = None,
    stock: float | None = None,
    unit_cost: float | None = None,
) -> Response:
    """Product page: past, price response, forecast, policy, explanation, what-if, and the decisions on it."""
    desk = service.desk
    if series not in desk.morning.place:
        return await _message(request, 404, "No such product", "Today's list has no product of this name.")
    given = {"price": price, "order": order, "stock": stock, "unit_cost": unit_cost}
    asked = models.WhatIfRequest(series=series, **{k: v for k, v in given.items() if v is not None and 0 <= v <= 1e12})
    content = await service.run(lambda: product_page(desk, service.store, asked))
    return await shown_page(request, "product.html", content | {"notice": None, "typed": {}})


async def checked_form(request: Request, csrf: Annotated[str, Form(max_length=200)] = "") -> None:
    """Check that this service made the form, for this browser."""
    principal = principal_of(request)
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    check_csrf(doorkeeper.local_csrf if principal.session is None else principal.session.csrf, csrf)


def may(request: Request, scope: Scope) -> Principal:
    """Caller, whose key must have a scope."""
    principal = principal_of(request)
    if not principal.key.allows(scope):
        raise Refused(403, f"this key may not do this: it needs the scope {scope}")
    return principal


@router.post("/decide", dependencies=[Depends(checked_form)])
async def decide(
    request: Request,
    service: Here,
    series: Annotated[str, Form(max_length=models.MOST_NAME)],
    status: Annotated[str, Form(max_length=20)],
    period: Annotated[str, Form(min_length=1, max_length=50)],
    version: Annotated[str, Form(min_length=1, max_length=100)],
    shown_price: Annotated[float, Form(ge=0, le=1e12)],
    shown_order: Annotated[float, Form(ge=0, le=1e12)],
    price: Annotated[str, Form(max_length=50)] = "",
    order: Annotated[str, Form(max_length=50)] = "",
    reason: Annotated[str, Form(max_length=models.MOST_REASON)] = "",
    id: Annotated[str | None, Form(pattern="^[A-Za-z0-9_-]{8,64}$")] = None,  # noqa: A002, as in the API
    confirmed: Annotated[bool, Form()] = False,
    back: Annotated[str, Form(max_length=2000)] = "/",
) -> Response:
    """Store one decision on what was shown, and go back; typed numbers are a change, whichever button was used."""
    who = may(request, "decide")
    fields = Shown("").field(shown_price), Shown("").field(shown_order)
    if status == "accepted" and any(typed not in ("", own) for typed, own in zip((price, order), fields, strict=True)):
        status = "changed"
    given = {"price": price, "order": order} if status == "changed" else {}
    seen = {"version": version, "price": shown_price, "order": shown_order}
    try:
        try:
            new = models.NewDecision.model_validate(
                {"series": series, "period": period, "status": status, "reason": reason, "id": id}
                | {"recommended": seen, "confirmed": confirmed}
                | given
            )
        except ValueError:
            needed = "a changed decision has a price, an order (neither below 0) and a reason"
            raise Refused(422, f"nothing was stored: {needed}") from None
        await service.decide([new], who.key)
    except Refused as refused:
        typed = {"price": price, "order": order, "reason": reason}
        typed |= {name: "" for name, own in zip(("price", "order"), fields, strict=True) if typed[name] == own}
        return await _not_stored(request, service, series, refused, typed)
    return done_at(request, inside(back))


async def _not_stored(
    request: Request, service: Service, series: str, refused: Refused, typed: dict[str, str]
) -> Response:
    """Current page of the product, with the reason and the typed values; systems get the refusal itself."""
    if _wants_json(request) or series not in service.desk.morning.place:
        raise refused
    desk = service.desk
    content = await service.run(lambda: product_page(desk, service.store, models.WhatIfRequest(series=series)))
    kept = {name: text for name, text in typed.items() if text}
    return await shown_page(request, "product.html", content | {"notice": refused, "typed": kept}, refused.status)


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def done_at(request: Request, address: str) -> Response:
    """Redirect to an address: a browser by itself, the script of a page by JSON."""
    return JSONResponse({"next": address}) if _wants_json(request) else RedirectResponse(address, 303)


@router.post("/accept-unflagged", dependencies=[Depends(checked_form)])
async def accept_unflagged(
    request: Request, service: Here, asked: Asked, shown: Annotated[str, Form(max_length=64)] = ""
) -> Response:
    """Accept all unflagged products that the list shows, if they are still as it showed them."""
    who = may(request, "decide")
    count = await service.accept_all(asked, shown, who.key.name)
    return done_at(request, _link(asked, done=count))


@router.get("/decisions")
async def decisions(
    request: Request,
    service: Here,
    _: Reader,
    asked: Found,
    before: Annotated[int, Query(ge=0, le=2**62)] = 0,
) -> Response:
    """Trail of decisions."""
    found, people = await service.run(
        lambda: (service.store.decisions(asked, before=before, limit=TRAIL), service.store.people())
    )
    further = found[-1].seq if len(found) == TRAIL else None
    used = {name: value for name, value in asked._asdict().items() if value}
    content = {"decisions": found, "asked": asked, "people": people, "next": further, "before": before}
    content["link"] = lambda path, **more: f"{path}?{urlencode(used | more)}"
    return await shown_page(request, "decisions.html", content)


@router.get("/policies")
async def policies(request: Request, service: Here, _: Reader) -> Response:
    """Versions of the policy with their evaluation."""
    versions, activations = await service.run(lambda: (service.folder.versions(), service.store.activations(20)))
    listed = [
        {"version": each, "active": each.version == service.desk.version.version, "facts": service.evaluation_of(each)}
        for each in versions
    ]
    method = service.desk.policy.summary().get("method")
    content = {
        "versions": listed,
        "previous": service.previous,
        "activations": activations,
        "method": method,
        "verdict": service.desk.verdict,
        "estimators": ESTIMATORS,
    }
    return await shown_page(request, "policies.html", content)


@router.get("/policies/preview")
async def preview(
    request: Request, service: Here, _: Reader, version: Annotated[str, Query(max_length=100)]
) -> Response:
    """Changes that a version would make today, with its verdict and a form to activate it."""
    other = await service.run(lambda: service.desk_of(version))
    content = {"version": other.version, "verdict": other.verdict, "changes": list_changes(service.desk, other)}
    return await shown_page(request, "preview.html", content)


@router.post("/policies/activate", dependencies=[Depends(checked_form)])
async def activate(
    request: Request,
    service: Here,
    version: Annotated[str, Form(max_length=100)] = "",
    reason: Annotated[str, Form(max_length=models.MOST_REASON)] = "",
) -> Response:
    """Activate a version, possibly the previous one."""
    who = may(request, "admin").key.name
    await service.run(lambda: service.activate(version, who, reason))
    return done_at(request, "/policies")


@router.get("/login")
async def sign_in_page(request: Request) -> Response:
    """Sign-in page."""
    if request.scope.get("principal") is not None:
        return RedirectResponse("/", 303)
    return await shown_page(request, "login.html", {"refused": ""})


@router.post("/login")
async def sign_in(request: Request, key: Annotated[str, Form(max_length=300)] = "") -> Response:
    """Open a session for a browser with a key."""
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    address = str((request.scope.get("client") or ("unknown",))[0])
    try:
        known = doorkeeper.key_of(key.strip(), address)
    except Refused as refused:
        return await shown_page(request, "login.html", {"refused": refused.message}, refused.status)
    request.state.signed_in = known.name
    cookie, _ = doorkeeper.sessions.open(known.id)
    response = RedirectResponse("/", 303)
    response.set_cookie(
        doorkeeper.cookie_name,
        cookie,
        max_age=int(3600 * doorkeeper.settings.session_hours),
        secure=doorkeeper.settings.behind_tls or request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/logout", dependencies=[Depends(checked_form)])
async def sign_out(request: Request) -> Response:
    """End the session: its cookie opens nothing any more."""
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    doorkeeper.sessions.close(request.cookies.get(doorkeeper.cookie_name, ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(doorkeeper.cookie_name, secure=doorkeeper.settings.behind_tls, httponly=True)
    return response


async def _message(request: Request, status: int, title: str, text: str) -> HTMLResponse:
    return await shown_page(request, "message.html", {"title": title, "text": text}, status)


def inside(address: str) -> str:
    """Address within this service; anything else becomes the list."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if plain and "\\" not in address else "/"


async def for_people(request: Request, refused: Refused) -> Response | None:
    """Refusal as a page, if a browser asked for one."""
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith("/v1/"):
        return None
    text = " ".join([sentence(refused.message), *refused.findings])
    return await _message(request, refused.status, "This did not work", text)
