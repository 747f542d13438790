"""The routes for systems: what they answer, and that they agree with the library."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lostsales
from lostsales.apps.service.morning import Query
from lostsales.policy.file_format import load
from lostsales.policy.provenance import PolicyVerdict, with_verdict
from tests.apps.service.desks import ROW, Running, names, running, shop
from tests.learn.small import frame_of, small_log

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("desk")) as found:
        yield found


def recommended(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """What the library recommends for rows after the log."""
    policy = lostsales.load(shop_path())
    frame: pd.DataFrame = policy.recommend(frame_of(small_log("released", 6, horizon=20)), pd.DataFrame(rows))
    return frame


def shop_path() -> Path:
    from tests.apps.service.desks import made

    return made() / "planner"


def test_rows_are_decided_as_by_the_library(desk: Running) -> None:
    rows = [ROW | {"series": str(each), "stock": each} for each in range(6)]
    answer = desk.post("/v1/recommend", {"rows": rows, "reasons": True}).json()
    wanted = recommended(rows)
    assert answer["version"] == desk.service.desk.version.version
    for column in ("price", "order", "value", "depth", "flag", "price_reason", "stockout_chance"):
        assert [row[column] for row in answer["rows"]] == wanted[column].tolist(), column
    one_by_one = [desk.post("/v1/recommend", {"rows": [row]}).json()["rows"][0] for row in rows]
    assert [row["price"] for row in one_by_one] == wanted["price"].tolist()
    assert [row["value"] for row in one_by_one] == pytest.approx(wanted["value"].tolist())
    assert "price_reason" not in one_by_one[0]


def test_recent_rows_of_a_request_count_instead_of_the_history(desk: Running) -> None:
    recent = [ROW | {"period": 19, "price": 4, "order": 3, "sales": 9, "stock": 20, "stockout": False}]
    answer = desk.post("/v1/recommend", {"rows": [ROW], "recent": recent}).json()["rows"][0]
    policy = lostsales.load(shop_path())
    wanted = policy.recommend(pd.DataFrame(recent), pd.DataFrame([ROW]))
    assert answer["value"] == pytest.approx(wanted["value"][0])
    assert answer["value"] != desk.post("/v1/recommend", {"rows": [ROW]}).json()["rows"][0]["value"]


@pytest.mark.parametrize("kind", [ARROW, PARQUET])
def test_tables_are_answered_by_tables(desk: Running, kind: str) -> None:
    count = 200
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "series": names(count),
            "period": [20] * count,
            "economy": rng.integers(0, 2, count),
            "interest": np.zeros(count),
            "stock": rng.integers(0, 20, count),
            "last_sales": rng.integers(0, 15, count),
        }
    )
    sink = io.BytesIO()
    if kind == PARQUET:
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    headers = desk.headers("read") | {"Content-Type": kind}
    answer = desk.client.post("/v1/recommend", content=sink.getvalue(), headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-policy-version"] == desk.service.desk.version.version
    body = io.BytesIO(answer.content)
    found = (pq.read_table(body) if kind == PARQUET else pa.ipc.open_stream(body).read_all()).to_pandas()
    wanted = lostsales.load(shop_path()).recommend(None, table.to_pandas())
    assert found["series"].tolist() == names(count)
    np.testing.assert_array_equal(found["price"], wanted["price"])
    np.testing.assert_array_equal(found["order"], wanted["order"])


def test_explain_says_why_and_what_is_expected(desk: Running) -> None:
    answer = desk.post("/v1/explain", {"series": "3"}).json()
    listed = desk.service.desk.morning
    at = listed.place["3"]
    expected = answer["recommended"]["expected"]
    assert answer["recommended"]["price"] == listed.price[at]
    assert expected["profit"] == pytest.approx(listed.profit[at])
    assert expected["sales"] + expected["lost"] == pytest.approx(expected["demand"])
    available = answer["recommended"]["stock"] + answer["recommended"]["order"]  # an order of `released` arrives before
    assert expected["sales"] + expected["leftover"] == pytest.approx(available)
    assert expected["value"] == pytest.approx(answer["value"])
    assert answer["reason"]
    assert answer["belief"]["depth"] == desk.service.desk.situation("3").view.depth[0]
    assert answer["runner_up"]["advantage"] >= 0


def test_what_if_of_the_recommendation_is_the_recommendation(desk: Running) -> None:
    answer = desk.post("/v1/what-if", {"series": "3"}).json()
    assert answer["instead"] == answer["recommended"]
    assert set(answer["difference"].values()) == {0.0}


def test_what_if_moves_profit_by_cost_stock_and_price(desk: Running) -> None:
    base = desk.post("/v1/what-if", {"series": "3"}).json()["recommended"]
    dearer = desk.post("/v1/what-if", {"series": "3", "unit_cost": base["unit_cost"] + 1}).json()
    assert dearer["difference"]["profit"] == pytest.approx(-base["order"])
    assert dearer["difference"]["value"] == pytest.approx(-base["order"])
    empty = desk.post("/v1/what-if", {"series": "3", "stock": 0, "order": 0, "price": base["price"]}).json()["instead"]
    assert empty["expected"]["sales"] == 0
    assert empty["expected"]["lost"] == pytest.approx(empty["expected"]["demand"])
    cheap, dear = (
        desk.post("/v1/what-if", {"series": "3", "price": price, "order": base["order"]}).json() for price in (2, 6)
    )
    assert cheap["difference"]["value"] <= 1e-9  # nothing is better than what is best
    assert dear["difference"]["value"] <= 1e-9
    assert cheap["instead"]["expected"]["demand"] > dear["instead"]["expected"]["demand"]


def test_a_forecast_begins_with_the_demand_that_is_expected_today(desk: Running) -> None:
    answer = desk.post("/v1/forecast", {"series": "3", "horizon": 4, "levels": [10, 50, 90]}).json()
    today = desk.post("/v1/explain", {"series": "3"}).json()["recommended"]["expected"]["demand"]
    assert [row["period"] for row in answer["rows"]] == ["20", "21", "22", "23"]
    assert answer["rows"][0]["mean"] == pytest.approx(today, abs=0.3)
    for row in answer["rows"]:
        assert row["q10"] <= row["q50"] <= row["q90"]


def test_a_policy_without_a_law_of_demand_says_so(tmp_path: Path) -> None:
    shop(tmp_path)
    with running(tmp_path, tmp_path / "rule") as rule:
        for path in ("/v1/what-if", "/v1/forecast"):
            answer = rule.post(path, {"series": "3"})
            assert answer.status_code == 422
            assert "has no demand model" in answer.json()["findings"][0]
        assert rule.post("/v1/explain", {"series": "3"}).json()["recommended"]["expected"] is None
        assert "has no demand model" in rule.get("/product?series=3").text


def test_bad_rows_are_named_as_the_gate_names_them(desk: Running) -> None:
    rows = [ROW, ROW | {"series": "4", "stock": -1}, ROW | {"series": "5", "interest": "x"}]
    for asked in (rows, rows * 40):  # in a batch, and alone
        answer = desk.post("/v1/recommend", {"rows": asked})
        assert answer.status_code == 422
        findings = " ".join(answer.json()["findings"])
        if asked is rows:
            assert "stock must not be negative, but row 1 (series=4, period=20) has -1" in findings
            assert "interest must be a number, but row 2 (series=5, period=20) has 'x'" in findings
        else:
            assert "one row a series" in findings
    missing = desk.post("/v1/recommend", {"rows": [{"series": "3", "period": 20}]}).json()["findings"]
    assert missing[0].startswith("missing column 'stock', 'economy', 'interest'")


def test_a_bad_request_does_not_spoil_others_of_its_batch(desk: Running) -> None:
    """Requests that come together are decided together; each has its own answer."""
    import asyncio

    async def together() -> list[Any]:
        batcher = desk.service.batcher
        rows = [[ROW | {"series": str(each % 5), "stock": -1 if each == 3 else each}] for each in range(40)]
        return await asyncio.gather(*(batcher.decide(each) for each in rows), return_exceptions=True)

    found = asyncio.run(together())
    assert [at for at, each in enumerate(found) if isinstance(each, Exception)] == [3]
    wanted = recommended([ROW | {"series": "2", "stock": 7}])
    assert found[7].columns["price"].tolist() == wanted["price"].tolist()


def test_decisions_are_stored_once_and_told(desk: Running) -> None:
    made = [
        {"series": "1", "status": "accepted", "id": "one-accepted", "recommended": desk.seen("1")},
        {"series": "2", "status": "changed", "price": 4, "order": 7, "reason": "a feast", "confirmed": True},
        {"series": "0", "status": "declined", "reason": "no"},
        {"series": "5", "status": "declined"},
    ]
    first = desk.post("/v1/decisions", {"decisions": made}, "decide")
    assert first.status_code == 201
    stored = first.json()["decisions"]
    assert [each["who"] for each in stored] == ["decide"] * 4
    assert (stored[1]["recommended_price"], stored[1]["price"], stored[1]["order"]) != (4, 4, 7)
    assert (stored[2]["price"], stored[2]["order"]) == (None, None)
    again = desk.post("/v1/decisions", {"decisions": made[:1]}, "decide").json()["decisions"]
    assert again[0]["seq"] == stored[0]["seq"]
    trail = desk.get("/v1/decisions?series=2").json()["decisions"]
    assert [each["reason"] for each in trail] == ["a feast"]
    assert desk.service.desk.morning.counts(Query())["decided"] == 4
    page = desk.get("/v1/decisions?limit=2").json()
    older = desk.get(f"/v1/decisions?limit=2&before={page['next']}").json()
    assert len({each["seq"] for each in page["decisions"] + older["decisions"]}) == 4


@pytest.mark.parametrize(
    ("decision", "finding"),
    [
        ({"series": "1", "status": "changed", "price": 4, "order": 1}, "has a reason"),
        ({"series": "1", "status": "changed", "reason": "x"}, "has a price and an order"),
        ({"series": "1", "status": "accepted", "price": 4}, "only a changed decision"),
        ({"series": "1", "status": "changed", "price": -4, "order": 1, "reason": "x"}, "greater than or equal to 0"),
        ({"series": "nobody", "status": "accepted"}, "must be a product of today's list"),
        ({"series": "1", "status": "maybe"}, "'declined', 'withdrawn', 'approved' or 'comment'"),
    ],
)
def test_a_decision_that_is_not_whole_is_refused(desk: Running, decision: dict[str, Any], finding: str) -> None:
    answer = desk.post("/v1/decisions", {"decisions": [decision]})
    assert answer.status_code == 422
    assert finding in " ".join(answer.json()["findings"])


def test_versions_are_activated_rolled_back_and_remembered(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        versions = {each["name"]: each["version"] for each in desk.get("/v1/policies").json()["versions"]}
        assert set(versions) == {"planner", "rule"}
        assert desk.post("/v1/policies/rollback", {}).status_code == 409
        done = desk.post(f"/v1/policies/{versions['rule']}/activate", {"reason": "try"}).json()
        assert done == {"active": versions["rule"], "previous": versions["planner"]}
        assert desk.post("/v1/recommend", {"rows": [ROW]}).json()["version"] == versions["rule"]
        assert desk.post("/v1/policies/rollback", {}).json()["active"] == versions["planner"]
        assert desk.post("/v1/policies/rollback", {}).status_code == 409  # again is not back to what was left
        assert desk.get("/v1/policies").json()["active"] == versions["planner"]
        desk.post(f"/v1/policies/{versions['rule']}/activate", {})
        assert desk.post("/v1/policies/nobody-0123456789ab/activate", {}).status_code == 404
    with running_again(tmp_path) as desk:
        assert desk.get("/v1/policies").json()["active"] == versions["rule"]


def running_again(folder: Path) -> Any:
    (folder / "keys.json").unlink()
    return running(folder, folder / "planner")


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        assert not desk.service.reload_if_changed()
        pd.DataFrame([ROW | {"stock": 9}]).to_csv(tmp_path / "today.csv", index=False)
        desk.service.files = type(desk.service.files).beside(tmp_path, None, None, None)
        assert desk.service.reload_if_changed()
        assert desk.service.desk.morning.stock.tolist() == [9.0]


def test_the_verdict_of_the_policy_is_shown_and_answered(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    with running(tmp_path, policy) as desk:
        desk.sign_in("read")
        assert "This policy has not been evaluated." in desk.client.get("/").text
        assert desk.get("/v1/policies").json()["versions"][0]["verdict"] is None
        rows = desk.post("/v1/recommend", {"rows": [ROW]}).json()["rows"]
        assert [each["verdict"] for each in rows] == ["not evaluated"]
    verdict = PolicyVerdict(advice="pilot", reason="no proven gain, +3.00 per week", held_out=True)
    (tmp_path / "evaluated").mkdir()
    policy = shop(tmp_path / "evaluated")
    with_verdict(load(policy), verdict).save(policy)
    with running(policy.parent, policy) as desk:
        desk.sign_in("read")
        assert verdict.sentence in desk.client.get("/").text
        active = next(each for each in desk.get("/v1/policies").json()["versions"] if each["active"])
        assert active["verdict"] == verdict.model_dump()
        rows = desk.post("/v1/recommend", {"rows": [ROW]}).json()["rows"]
        assert [each["verdict"] for each in rows] == ["pilot"]


def test_probes_metrics_and_the_description(desk: Running) -> None:
    assert desk.client.get("/healthz").json() == {"status": "ok"}
    assert desk.client.get("/readyz").json() == {"status": "ok"}
    text = desk.get("/metrics").text
    assert 'lostsales_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert f'lostsales_policy_active{{version="{desk.service.desk.version.version}"}} 1.0' in text
    described = desk.get("/openapi.json").json()
    assert {"/v1/recommend", "/v1/explain", "/v1/what-if", "/v1/forecast", "/v1/policies", "/v1/decisions"} <= set(
        described["paths"]
    )
    request = described["paths"]["/v1/recommend"]["post"]["requestBody"]["content"]
    assert set(request) == {"application/json", ARROW, PARQUET}
    assert "examples" in request["application/json"]["schema"]["properties"]["rows"]
