"""People: parts of the shop, comments, changes until the period closes, and orders that need a second person."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lostsales.apps.service.keys import create_key
from tests.apps.service.desks import ROW, Running, running, shop
from tests.apps.service.test_orders import SUPPLIERS, orders, supplied


def keyed(desk: Running, name: str, folder: Path, **only: tuple[str, ...]) -> None:
    """A further key that may decide for a part of the shop."""
    desk.keys[name] = create_key(folder / "keys.json", name, ("decide",), 1, only)[0]


def test_a_person_sees_and_decides_for_their_part_of_the_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lostsales.apps.service.keys.CHECK_SECONDS", 0.0)
    with running(tmp_path, supplied(tmp_path)) as desk:
        keyed(desk, "anna", tmp_path, supplier=("Dairy",))
        keyed(desk, "ben", tmp_path, store=("Berlin",))
        mine = {name for name, supplier in SUPPLIERS.items() if supplier == "Dairy"}
        assert {each["series"] for each in desk.get("/v1/today", "anna").json()["rows"]} == mine
        assert desk.get("/v1/today", "ben").json()["rows"] == []  # the shop has no column of stores
        assert desk.get("/v1/today", "read").json()["found"] == len(SUPPLIERS)
        new = {"series": "0", "status": "accepted", "recommended": desk.seen("0")}
        assert desk.post("/v1/decisions", {"decisions": [new]}, "anna").status_code == 201
        other = {"series": "2", "status": "accepted", "recommended": desk.seen("2")}
        refused = desk.post("/v1/decisions", {"decisions": [new, other]}, "anna")
        assert refused.status_code == 403
        assert refused.json()["message"] == "anna decides for supplier Dairy only, and not for product 2"
        csrf = desk.sign_in("anna")
        page = desk.client.get("/").text
        assert "(supplier Dairy)" in page
        assert 'All <b data-count="all">3</b>' in page
        form = {"csrf": csrf, "shown": page.partition('name="shown" value="')[2][:64]}
        desk.client.post("/accept-unflagged", data=form)
        assert {each.series for each in desk.service.store.decisions()} <= mine


def test_a_comment_decides_nothing_and_stays(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        new = {"series": "3", "status": "accepted", "recommended": desk.seen("3")}
        assert desk.post("/v1/decisions", {"decisions": [new]}, "decide").status_code == 201
        comment = {"series": "3", "status": "comment", "reason": "the shelf was moved"}
        assert desk.post("/v1/decisions", {"decisions": [comment]}, "decide").status_code == 201
        assert desk.post("/v1/decisions", {"decisions": [comment | {"reason": " "}]}, "decide").status_code == 422
        row = next(each for each in desk.get("/v1/today").json()["rows"] if each["series"] == "3")
        assert row["status"] == "accepted"
        assert orders(desk)["no supplier"]["units"] == desk.seen("3")["order"]
        assert "the shelf was moved" in desk.get("/product?series=3").text
        told = desk.get("/v1/decisions").json()["decisions"]
        assert [(each["status"], each["who"]) for each in told] == [("comment", "decide"), ("accepted", "decide")]


def test_an_order_above_the_amount_waits_for_a_second_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lostsales.apps.service.keys.CHECK_SECONDS", 0.0)
    policy = shop(tmp_path)
    rows = [ROW | {"series": str(each), "stock": 4} for each in range(6)]
    pd.DataFrame(rows).to_csv(tmp_path / "today.csv", index=False)
    with running(tmp_path, policy, four_eyes=60.0) as desk:  # a unit costs 3
        keyed(desk, "anna", tmp_path)

        def decide(key: str, **new: Any) -> Any:
            return desk.post("/v1/decisions", {"decisions": [{"series": "3"} | new]}, key)

        changed = {"status": "changed", "price": 6, "order": 21, "reason": "a feast", "confirmed": True}
        told = decide("decide", **changed, id="the-same-request").json()["decisions"][0]
        assert (told["status"], told["order"]) == ("proposed", 21.0)
        assert decide("decide", **changed, id="the-same-request").status_code == 201  # repeated: stored once
        assert orders(desk)["no supplier"]["units"] == 0.0
        refused = decide("decide", status="approved")
        assert refused.status_code == 409
        assert "another person" in refused.json()["message"]
        told = decide("anna", status="approved").json()["decisions"][0]
        assert (told["status"], told["order"], told["who"]) == ("changed", 21.0, "anna")
        assert told["reason"] == "a feast (proposed by decide)"
        assert orders(desk)["no supplier"]["units"] == 21.0
        assert decide("anna", status="approved").status_code == 409  # nothing is proposed any more
        forged = changed | {"reason": "a feast (proposed by decide)"}
        assert decide("decide", **forged).json()["decisions"][0]["status"] == "proposed"
        told = decide("decide", **(changed | {"order": 20})).json()["decisions"][0]  # 60 is not above 60
        assert (told["status"], told["order"]) == ("changed", 20.0)
