"""The page of results: what was shown and decided against what came of it, pilots, and alerts that are sent once."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lostsales
from lostsales.apps.service.working import alerts, send_alerts
from lostsales.data.reading.gate import read_log
from tests.apps.service.desks import Running, running, shop
from tests.apps.service.test_orders import SECRET, receiver, wait_for

PERIOD = 20  # of the list


def closed(desk: Running, sold: float = 4.0) -> list[dict[str, Any]]:
    """Rows of the list's period as they came about: as decided, else as recommended."""
    listed = desk.service.desk.morning
    rows = []
    for at, name in enumerate(listed.name.tolist()):
        is_decided = listed.status[at] > 0
        price, order = (
            (listed.decided_price[at], listed.decided_order[at]) if is_decided else (listed.price[at], listed.order[at])
        )
        row = {"series": name, "period": PERIOD, "economy": 1, "interest": 0.0, "stock": float(listed.stock[at])}
        available = listed.stock[at] + order
        rows.append(
            row | {"price": price, "order": order, "sales": min(sold, available), "stockout": bool(sold > available)}
        )
    return rows


def test_results_of_a_closed_period(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        assert desk.get("/v1/results").json()["results"] is None
        assert "No period has closed yet" in desk.get("/results").text
        listed = desk.service.desk.morning
        expected = float(listed.demand.sum())
        new = {"series": "3", "status": "accepted", "recommended": desk.seen("3")}
        changed = {"series": "4", "status": "changed", "price": 4, "order": 7, "reason": "a feast", "confirmed": True}
        assert desk.post("/v1/decisions", {"decisions": [new, changed]}).status_code == 201
        rows = closed(desk)
        answer = desk.client.post(
            "/v1/data?kind=log", content=pd.DataFrame(rows).to_csv(index=False), headers=desk.headers("decide")
        )
        assert answer.status_code == 201, answer.text
        found = desk.get("/v1/results").json()["results"]
        assert (found["rows"], found["periods"], found["accepted"], found["changed"]) == (6, [str(PERIOD)], 1, 1)
        assert found["followed"] == pytest.approx(5 / 6)  # all but the changed one
        assert found["kept"] == 1.0
        charged = [row for row in rows if row["series"] != "4"]
        demand = sum(row["sales"] for row in charged if not row["stockout"])
        if not any(row["stockout"] for row in charged):
            at = [desk.service.desk.morning.place.get(row["series"]) for row in charged]
            assert len(at) == 5
            assert found["error"] is not None
            assert expected > 0 < demand
        assert found["stockouts"] == pytest.approx(sum(row["stockout"] for row in rows) / 6)
        page = desk.get("/results").text
        assert "6 rows of 1 periods" in page
        assert "Recommendations followed" in page


def test_alerts_are_sent_once_and_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = shop(tmp_path)
    log = read_log(tmp_path / "log.parquet")
    plan = lostsales.pilot(log, lostsales.load(policy), seed=1)
    plan.save(tmp_path / "pilot.json")
    monkeypatch.setenv("LOSTSALES_SERVE_WEBHOOK_SECRET", SECRET)
    with receiver() as (url, got), running(tmp_path, policy, alerts=url) as desk:
        pilots = desk.get("/v1/results").json()["pilots"]
        assert [each["name"] for each in pilots] == ["pilot.json"]
        assert "pilot.json" in desk.get("/results").text
        (tmp_path / "log.parquet").write_bytes(b"broken")
        desk.service.reload_if_changed()
        told = alerts(desk.service)
        assert told[0].startswith("newer data were refused")
        for _ in range(2):
            send_alerts(desk.service)
        wait_for(lambda: len(got) >= len(told))
        assert len(got) == len(told)
        assert [json.loads(body)["alert"] for _, body in got] == told
