"""What the trail holds: what was shown, each id once, nothing covered over, unusual figures only if confirmed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lostsales.apps.service.deciding import digest
from lostsales.apps.service.desk import Answered
from lostsales.apps.service.doubts import doubts
from lostsales.apps.service.morning import Query
from lostsales.apps.service.service import Service
from lostsales.learn.planner.lookahead import Lookahead
from lostsales.policy.view import Action
from tests.apps.service.calm_shop import calm_shop, calm_table
from tests.apps.service.desks import ROW, Running, running
from tests.apps.service.test_decided_as_shown import activate_other, stored
from tests.apps.service.test_exceptions import desk_of

NEW = ROW | {"series": "not in the list", "last_sales": 5}
ABOUT_NEW = {"series": "not in the list", "period": 20, "status": "accepted"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def decide(desk: Running, **given: Any) -> Any:
    return desk.post("/v1/decisions", {"decisions": [given]}, "decide")


@pytest.mark.parametrize("kind", ["json", "history", "arrow"])
def test_for_a_product_outside_the_list_the_trail_takes_what_was_answered_and_nothing_else(
    desk: Running, kind: str
) -> None:
    made_up: dict[str, Any] = {"version": desk.service.desk.version.version, "price": 4.0, "order": 777.0}
    assert decide(desk, **ABOUT_NEW, recommended=made_up).status_code == 409
    if kind == "arrow":
        sink = pa.BufferOutputStream()
        table = pa.Table.from_pylist([NEW])
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        head = desk.headers("read") | {"Content-Type": "application/vnd.apache.arrow.stream"}
        answer = desk.client.post("/v1/recommend", content=sink.getvalue().to_pybytes(), headers=head)
        row = pa.ipc.open_stream(answer.content).read_all().to_pylist()[0]
    else:
        before = {name: NEW[name] for name in ("series", "economy", "interest", "stock")}
        recent = [before | {"period": 19, "price": 4, "order": 3, "sales": 2}] if kind == "history" else None
        given = {name: value for name, value in NEW.items() if recent is None or name != "last_sales"}
        row = desk.post("/v1/recommend", {"rows": [given], "recent": recent}).json()["rows"][0]
    seen = made_up | {"price": row["price"], "order": row["order"]}
    for other in (made_up, seen | {"price": seen["price"] + 0.5}, seen | {"version": "planner-000000000000"}):
        assert decide(desk, **ABOUT_NEW, recommended=other).status_code == 409
    assert decide(desk, **ABOUT_NEW | {"period": 21}, recommended=seen).status_code == 409
    assert stored(desk) == []
    assert decide(desk, **ABOUT_NEW, recommended=seen).status_code == 201
    assert [each["recommended_order"] for each in stored(desk)] == [seen["order"]]
    activate_other(desk)
    assert decide(desk, **ABOUT_NEW, recommended=seen).status_code == 409  # another version has not said so


def test_answers_that_are_kept_are_bounded_and_the_oldest_go() -> None:
    kept, ones = Answered(most=10), np.ones(4)
    for start in range(0, 40, 4):
        names = np.array([f"p{number}" for number in range(start, start + 4)])
        kept.add(names, np.full(4, 7), 2 * ones, ones)
    assert len(kept._rows) == 10
    assert [kept.has(f"p{number}", "7", 2.0, 1.0) for number in (29, 30, 39)] == [False, True, True]


def test_an_id_belongs_to_one_decision(desk: Running) -> None:
    first = {"series": "3", "status": "declined", "id": "identity-1", "reason": "late"}
    assert decide(desk, **first).status_code == 201
    other = {"series": "4", "status": "declined", "id": "identity-2"}
    for change in ({"series": "4"}, {"status": "accepted", "recommended": desk.seen("3")}, {"reason": "no"}):
        answer = desk.post("/v1/decisions", {"decisions": [other, first | change]}, "decide")
        assert answer.status_code == 409, change
        assert "belongs to another decision" in answer.json()["message"]
    assert desk.post("/v1/decisions", {"decisions": [first]}, "admin").status_code == 409  # somebody else's
    assert desk.post("/v1/decisions", {"decisions": [other, other]}, "decide").status_code == 422
    assert [each["id"] for each in stored(desk)] == ["identity-1"]


def test_an_old_id_that_is_repeated_does_not_turn_the_list_back(desk: Running) -> None:
    seen = desk.seen("3")
    first = {"series": "3", "status": "accepted", "id": "identity-1", "recommended": seen}
    assert decide(desk, **first).status_code == 201
    assert decide(desk, series="3", status="declined").status_code == 201
    assert decide(desk, **first).json()["decisions"][0]["status"] == "accepted"  # answered again
    assert status(desk, "3") == "declined"
    activate_other(desk)
    assert decide(desk, **first).status_code == 201  # it was stored, whatever is recommended now
    assert status(desk, "3") == "declined"
    assert len(stored(desk)) == 2


def status(desk: Running, series: str) -> str:
    listed = desk.service.desk.morning
    return ("", "accepted", "changed", "declined")[listed.status[listed.place[series]]]


def test_a_decision_acknowledged_while_versions_are_switched_is_on_the_new_list(
    desk: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, latest = desk.service.store, desk.service.store.latest

    def latest_then_another(period: str) -> Any:
        """What the store holds, and right after it was read somebody decides."""
        found = latest(period)
        monkeypatch.setattr(store, "latest", latest)
        assert decide(desk, series="3", status="declined").status_code == 201
        return found

    monkeypatch.setattr(store, "latest", latest_then_another)
    activate_other(desk)
    assert status(desk, "3") == "declined"


def test_what_is_decided_while_all_are_accepted_is_not_covered_over(desk: Running) -> None:
    service: Service = desk.service
    service.desk.morning.flag[:] = ""
    vars(service.desk.morning).pop("is_flagged", None)
    rows = service.desk.morning.acceptable(Query())
    shown = digest(service.desk, rows)
    assert decide(desk, series="3", status="declined").status_code == 201
    service.desk.morning.status[:] = 0  # as while the decision is on disk and not marked yet
    form = {"csrf": desk.sign_in("decide"), "shown": shown}
    answer = desk.client.post("/accept-unflagged", data=form)
    assert answer.status_code == 409, answer.text
    assert [each["status"] for each in stored(desk)] == ["declined"]


def test_a_decision_is_undone_and_made_again(desk: Running) -> None:
    assert decide(desk, series="3", status="withdrawn").status_code == 409  # there is none
    given = {"series": "3", "status": "changed", "price": desk.seen("3")["price"], "order": 6, "reason": "a feast"}
    assert decide(desk, **given, confirmed=True).status_code == 201
    desk.sign_in("decide")
    listed = desk.client.get("/").text
    assert "order 6</span>" in listed
    assert "order 6</b>" in desk.client.get("/product?series=3").text
    form = desk.form("3") | {"csrf": listed.split('name="csrf" content="')[1].split('"')[0], "status": "withdrawn"}
    assert desk.client.post("/decide", data=form).status_code == 200
    assert status(desk, "3") == ""
    assert "order 6</b>" not in desk.client.get("/product?series=3").text
    decided = [line for line in desk.get("/today.csv").text.splitlines() if line.startswith("3,")]
    assert "changed" not in decided[0]
    desk.service._show(desk.service.desk)  # as after a restart
    assert status(desk, "3") == ""
    assert decide(desk, series="3", status="accepted", recommended=desk.seen("3")).status_code == 201
    assert [each["status"] for each in stored(desk)] == ["accepted", "withdrawn", "changed"]


def test_unusual_figures_are_stored_only_if_confirmed(desk: Running) -> None:
    given = {"series": "3", "status": "changed", "price": 0.01, "order": 99_999_999, "reason": "a feast"}
    answer = decide(desk, **given)
    assert (answer.status_code, answer.json()["confirm"]) == (422, True)
    told = answer.json()["findings"]
    assert any(text.startswith("a price of 0.01 is below the unit cost") for text in told)
    assert any(text.startswith("a price of 0.01 was never tried") for text in told)
    assert any(text == "an order of 99999999 is none of those that the problem lists" for text in told)
    form = desk.form("3") | given | {"csrf": desk.sign_in("decide")}
    page = desk.client.post("/decide", data=form, headers={"Accept": "text/html"})
    assert page.status_code == 422
    assert 'name="confirmed"' in page.text
    assert 'value="99999999"' in page.text
    assert stored(desk) == []
    assert decide(desk, **given, confirmed=True).status_code == 201
    usual = desk.seen("4")
    same = {"series": "4", "status": "changed", "price": usual["price"], "order": usual["order"], "reason": "x"}
    assert decide(desk, **same).status_code == 201


def test_cases_margins_order_days_and_price_steps_are_doubted() -> None:
    table, shop = calm_table(), calm_shop()
    rules = {"least_margin": 0.2, "greatest_price_change_percent": 10.0}
    problem = shop.problem.model_validate(shop.problem.model_dump(exclude_defaults=True) | {"rules": rules})
    found = desk_of(table, Lookahead(), problem)
    assert found.day is not None
    listed, cost = found.morning, found.unit_cost(found.day.view)
    at = np.arange(len(listed))
    recommended = Action(listed.price, listed.order)
    assert not any(doubts(found, at, recommended))  # what is recommended is never doubted
    case = shop.case[[int(name.split()[1]) for name in listed.name]] if np.ndim(shop.case) else shop.case
    for other, text in (
        (recommended._replace(order=listed.order + case / 2), "is not a multiple of"),
        (recommended._replace(price=listed.last_price * 1.2), "is further from the last one"),
        (recommended._replace(price=1.1 * cost), "leaves less than the margin of 20%"),
        (recommended._replace(price=0.9 * cost), "is below the unit cost"),
        (recommended._replace(order=1e6 * case), "is far more than ever"),
    ):  # fmt: skip
        texts = doubts(found, at, other)
        assert all(any(text in each for each in own) for own in texts), (text, texts[0])
    tuesday = desk_of(table[table.period < table.period.max()], Lookahead(), problem)
    ordered = Action(tuesday.morning.price, np.full(len(listed), 1e-3) + case)
    assert all(any("more than the 0 that may be" in text for text in own) for own in doubts(tuesday, at, ordered))
