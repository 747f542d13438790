"""Small services for tests: a planner over six products, with keys of every scope."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from lostsales.apps.service.app import create_app
from lostsales.apps.service.keys import Scope, create_key
from lostsales.apps.service.service import Service
from lostsales.apps.service.settings import ServiceSettings
from lostsales.apps.service.shop_data import ShopFiles
from lostsales.data.writing import write_log
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.planner.planner import Planner
from tests.learn.small import small_log

HOST = "http://localhost"
ROW = {"series": "3", "period": 20, "economy": 1, "interest": 0.0, "stock": 6}
EVIL = "<script>alert(1)</script>\"'&"


@cache
def made(scenario: str = "released") -> Path:
    """A folder with a log, the policy of a planner and another one, made once."""
    folder = Path(mkdtemp(prefix="lostsales-desk-"))
    log = small_log(scenario, episodes=6, horizon=20)
    write_log(log, folder / "log.parquet")
    Planner(draws=1).plan(log).save(folder / "planner")
    BaseStock().fit(log).save(folder / "rule")
    return folder


def shop(folder: Path, scenario: str = "released") -> Path:
    """A copy of the folder for one test; the path of the planner."""
    for each in made(scenario).iterdir():
        shutil.copy(each, folder / each.name)
    return folder / "planner"


@dataclass
class Running:
    """A service within the process, with a client."""

    service: Service
    client: TestClient
    log: io.StringIO
    keys: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, body: Any, key: str = "admin", **more: Any) -> Any:
        """A JSON request with one of the keys."""
        return self.client.post(path, json=body, headers=self.headers(key), **more)

    def get(self, path: str, key: str = "admin", **more: Any) -> Any:
        """A request with one of the keys."""
        return self.client.get(path, headers=self.headers(key), **more)

    def headers(self, key: str) -> dict[str, str]:
        """The header of a key; none for strangers."""
        return {"Authorization": f"Bearer {self.keys[key]}"} if key else {}

    def seen(self, series: str) -> dict[str, Any]:
        """What the active version recommends for a product, as a decision repeats it."""
        desk = self.service.desk
        at = desk.morning.place[series]
        price, order = float(desk.morning.price[at]), float(desk.morning.order[at])
        return {"version": desk.version.version, "price": price, "order": order}

    def form(self, series: str) -> dict[str, Any]:
        """The hidden fields of a decision's form."""
        seen, listed = self.seen(series), self.service.desk.morning
        shown = {"shown_price": seen["price"], "shown_order": seen["order"], "version": seen["version"]}
        return {"series": series, "period": listed.period[listed.place[series]]} | shown

    def sign_in(self, key: str = "decide") -> str:
        """A browser's session: its CSRF token."""
        answer = self.client.post("/login", data={"key": self.keys[key]})
        assert answer.status_code == 200, answer.text
        return answer.text.split('name="csrf" content="')[1].split('"')[0]


@contextmanager
def running(folder: Path, policy: Path | None = None, **settings: Any) -> Iterator[Running]:
    """A service over a copy of the folder."""
    path = policy or shop(folder)
    scopes: tuple[Scope, ...] = ("read", "decide", "admin")
    keys: dict[str, str] = {scope: create_key(folder / "keys.json", scope, (scope,), 1)[0] for scope in scopes}
    keys["expired"] = create_key(folder / "keys.json", "expired", ("admin",), -1)[0]
    chosen = ServiceSettings(**({"keys": folder / "keys.json"} | settings))
    service = Service.start(path, ShopFiles.beside(folder, None, None, None), chosen)
    log = io.StringIO()
    with TestClient(create_app(service, log), HOST) as client:
        yield Running(service, client, log, keys)


def names(count: int) -> list[str]:
    """Names of products that the log never had."""
    return [f"new {number}" for number in np.arange(count)]
