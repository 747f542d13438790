"""Page of results: what came of recommendations and decisions, pilots, and alerts about both."""

import io
import json
from hashlib import sha256
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from lostsales.apps.service import models
from lostsales.apps.service.api import Here, Reader
from lostsales.apps.service.deciding import LIST_COLUMNS, now
from lostsales.apps.service.decisions import SentOrder
from lostsales.apps.service.pages import shown_page
from lostsales.apps.service.problems import documented
from lostsales.apps.service.service import Service
from lostsales.data.json_files import finite
from lostsales.errors import LostSalesError
from lostsales.evaluation.decision_results import DecisionResults, ShownRecommendations, decision_results
from lostsales.evaluation.pilot.monitor import changes, monitor
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.evaluation.results import plain

MOST_LISTS = 200  # that results are of
PILOTS = "*pilot*.json"  # files of pilots in the folder of the policies
STOPS = ("success", "harm", "undecided")

router = APIRouter(prefix="/v1", responses=documented(401, 403, 422, 429, 503))
pages = APIRouter(include_in_schema=False)


@router.get("/results")
async def results(service: Here, _: Reader) -> models.ResultsAnswer:
    """Results of recommendations and decisions in the periods that have closed since, and the state of pilots."""
    found, pilots = await service.run(lambda: working(service))
    told: Any = None if found is None else finite(plain(found))
    return models.ResultsAnswer(version=service.desk.version.version, results=told, pilots=pilots)


@pages.get("/results")
async def results_page(request: Request, service: Here, _: Reader) -> Response:
    """Page of results."""
    found, pilots = await service.run(lambda: working(service))
    return await shown_page(request, "results.html", {"found": found, "pilots": pilots})


def recommended(service: Service) -> ShownRecommendations:
    """Recommendations of the last lists, with the last decision on each."""
    import pyarrow.parquet as pq

    lists = [pq.read_table(io.BytesIO(each.content)) for each in reversed(service.store.lists(MOST_LISTS))]
    columns: dict[str, Any] = {name: _joined([each.column(name).to_numpy() for each in lists]) for name in LIST_COLUMNS}
    rows = len(columns["name"])
    status, decided = np.full(rows, "", dtype=object), np.full((2, rows), np.nan)
    price, order = columns["price"].astype(float), columns["order"].astype(float)
    latest = {
        (name, period): each
        for period in sorted(set(columns["period"].tolist()))
        for name, each in service.store.latest(period).items()
    }
    for at, pair in enumerate(zip(columns["name"].tolist(), columns["period"].tolist(), strict=True)):
        if (each := latest.get(pair)) is None:
            continue
        status[at], seen = each.status, (each.recommended_price, each.recommended_order)
        price[at], order[at] = (
            old if new is None else new for old, new in zip((price[at], order[at]), seen, strict=True)
        )
        decided[:, at] = [np.nan if value is None else value for value in (each.price, each.order)]
    return ShownRecommendations(
        columns["name"], columns["period"], price, order, columns["demand"].astype(float), status, *decided
    )


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=object)


def working(service: Service) -> tuple[DecisionResults | None, list[dict[str, Any]]]:
    """Results and pilots with the present data; kept until data or decisions change."""
    data = service.desk.data
    key = data, service.store.latest_number(), service.desk.version.version
    if service.results is None or service.results[0] != key:
        log = data.log
        found = None if log is None else decision_results(log, recommended(service))
        service.results = key, (found, _pilots(service))
    return service.results[1]


def _pilots(service: Service) -> list[dict[str, Any]]:
    """State of every pilot of the folder on the present log."""
    log, found = service.desk.data.log, []
    for path in sorted(service.folder.folder.glob(PILOTS)) if log is not None else ():
        told: dict[str, Any] = {"name": path.name}
        try:
            seen = monitor(Pilot.load(path), log)  # type: ignore[arg-type]
            told |= {"verdict": seen.verdict, "sentence": seen.sentence, "alarms": list(changes(seen.alarms))}
        except LostSalesError as error:
            told |= {"verdict": "unknown", "sentence": str(error), "alarms": []}
        found.append(told)
    return found


def alerts(service: Service) -> list[str]:
    """Alerts on what someone should look at: refused data, changes of the market, pilots that should stop."""
    found, pilots = working(service)
    told = [f"newer data were refused: {each}" for each in (service.refused.kinds if service.refused else ())]
    told += [] if found is None else list(found.alarms)
    for each in pilots:
        told += [f"{each['name']}: {each['sentence']}"] if each["verdict"] in STOPS else []
        told += [f"{each['name']}: the market changed: {alarm}" for alarm in each["alarms"]]
    return told


def send_alerts(service: Service) -> None:
    """Give alerts to the webhook, each once."""
    if service.alerts is None:
        return
    for text in alerts(service):
        name = sha256(text.encode()).hexdigest()[:32]
        content = json.dumps({"id": name, "time": now(), "alert": text, "version": service.desk.version.version})
        service.send(SentOrder(name, now(), "alerts", "", 0, content, "waiting", "alert"), service.alerts)
