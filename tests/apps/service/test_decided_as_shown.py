"""What is stored is what was shown: everything else is refused as changed, and what was typed is never dropped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apps.service.desks import Running, running

HTML = {"Accept": "text/html"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def other_version(desk: Running) -> str:
    versions = desk.get("/v1/policies").json()["versions"]
    return next(str(each["version"]) for each in versions if not each["active"])


def activate_other(desk: Running) -> None:
    assert desk.post(f"/v1/policies/{other_version(desk)}/activate", {}).status_code == 200


def stored(desk: Running) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.get("/v1/decisions").json()["decisions"]
    return found


def test_a_form_of_another_version_is_refused_as_changed(desk: Running) -> None:
    token = desk.sign_in("decide")
    before = desk.form("3") | {"csrf": token}
    activate_other(desk)
    for status in ("accepted", "declined"):
        answer = desk.client.post("/decide", data=before | {"status": status}, headers=HTML)
        assert answer.status_code == 409
        assert "This has changed" in answer.text
        assert f"an order of {desk.seen('3')['order']:.10g}" in answer.text  # the page shows the new figures
    assert stored(desk) == []
    now = desk.form("3") | {"csrf": token, "status": "accepted"}
    assert desk.client.post("/decide", data=now, follow_redirects=False).status_code == 303
    assert stored(desk)[0]["order"] == desk.seen("3")["order"]


@pytest.mark.parametrize("change", [{"shown_order": 999}, {"shown_price": 0.5}, {"period": "19"}])
def test_a_form_that_shows_other_figures_is_refused_as_changed(desk: Running, change: dict[str, Any]) -> None:
    form = desk.form("3") | {"csrf": desk.sign_in("decide"), "status": "accepted"}
    assert desk.client.post("/decide", data=form | change, headers=HTML).status_code == 409
    assert stored(desk) == []


def test_systems_say_what_they_accept(desk: Running) -> None:
    seen = desk.seen("3")
    accepted = {"series": "3", "status": "accepted"}
    assert desk.post("/v1/decisions", {"decisions": [accepted]}).status_code == 422
    for other in ({"order": seen["order"] + 1}, {"price": seen["price"] + 1}, {"version": other_version(desk)}):
        answer = desk.post("/v1/decisions", {"decisions": [accepted | {"recommended": seen | other}]})
        assert answer.status_code == 409
        assert "this has changed" in answer.json()["message"]
    late = accepted | {"recommended": seen, "period": 19}
    assert desk.post("/v1/decisions", {"decisions": [late]}).status_code == 409
    assert stored(desk) == []
    assert desk.post("/v1/decisions", {"decisions": [accepted | {"recommended": seen}]}).status_code == 201


def test_all_unflagged_are_accepted_as_shown_or_none(desk: Running) -> None:
    token = desk.sign_in("decide")
    desk.service.desk.morning.flag[:] = ""  # a day without exceptions
    vars(desk.service.desk.morning).pop("is_flagged", None)

    def shown() -> str:
        text = desk.client.get("/").text
        return str(text.split('name="shown" value="')[1].split('"')[0])

    form = {"csrf": token, "shown": shown()}
    desk.post("/v1/decisions", {"decisions": [{"series": unflagged(desk)[0], "status": "declined"}]})
    assert desk.client.post("/accept-unflagged", data=form, headers=HTML).status_code == 409  # one is decided meanwhile
    assert desk.client.post("/accept-unflagged", data={"csrf": token}, headers=HTML).status_code == 409
    form, wanted = form | {"shown": shown()}, unflagged(desk)
    listed = desk.service.desk.morning
    listed.order[listed.place[wanted[0]]] += 1  # as the next list may
    assert desk.client.post("/accept-unflagged", data=form, headers=HTML).status_code == 409
    assert [each["status"] for each in stored(desk)] == ["declined"]
    listed.order[listed.place[wanted[0]]] -= 1
    assert desk.client.post("/accept-unflagged", data=form).status_code == 200
    assert sorted(each["series"] for each in stored(desk) if each["status"] == "accepted") == sorted(wanted)


def unflagged(desk: Running) -> list[str]:
    listed = desk.service.desk.morning
    found = [str(listed.name[at]) for at in range(len(listed)) if not listed.flag[at] and not listed.status[at]]
    assert found
    return found


def test_typed_figures_are_a_change_whichever_button(desk: Running) -> None:
    form = desk.form("3") | {"csrf": desk.sign_in("decide"), "status": "accepted", "price": "4", "order": "1"}
    answer = desk.client.post("/decide", data=form, headers=HTML)
    assert answer.status_code == 422  # no reason yet: asked for, and what was typed is kept
    assert "has a price, an order (neither below 0) and a reason" in answer.text
    assert 'value="1"' in answer.text
    desk.client.post("/decide", data=form | {"reason": "a feast"})
    assert [(each["status"], each["order"]) for each in stored(desk)] == [("changed", 1.0)]


def test_fields_as_recommended_are_accepted(desk: Running) -> None:
    seen = desk.seen("3")
    typed = {"price": f"{seen['price']:.10g}", "order": f"{seen['order']:.10g}", "reason": "good"}
    form = desk.form("3") | typed | {"csrf": desk.sign_in("decide"), "status": "accepted"}
    desk.client.post("/decide", data=form)
    assert [(each["status"], each["order"]) for each in stored(desk)] == [("accepted", seen["order"])]


def test_a_missing_figure_is_not_known_an_exception_and_not_accepted_in_bulk(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        activate_other(desk)  # a rule, which has no demand model
        desk.sign_in("decide")
        text = desk.client.get("/").text
        assert "not known" in text
        assert "/accept-unflagged" not in text
        listed = desk.service.desk.morning
        assert listed.is_flagged.all()
        assert all("is not known" in flag for flag in listed.flag)


def test_what_if_beyond_the_prices_of_the_product_is_not_known(desk: Running) -> None:
    log = desk.service.desk.data.log
    assert log is not None
    highest = float(log.price[log.series == log.names.tolist().index("3")].max())
    beyond = desk.post("/v1/what-if", {"series": "3", "price": 1000, "order": 5}).json()
    assert set(beyond["instead"]["expected"].values()) == {None}
    assert set(beyond["difference"].values()) == {None}
    assert beyond["instead"]["unseen"]
    within = desk.post("/v1/what-if", {"series": "3", "price": highest, "order": 5}).json()
    assert within["instead"]["expected"]["profit"] is not None
    page = desk.get("/product?series=3&price=1000&order=5").text
    assert "What another price would lead to is not known" in page
