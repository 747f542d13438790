"""Data that come in: validated by the one gate, stored before the answer, and decided for on the spot."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lostsales.apps.service.decisions import DecisionStore
from lostsales.data.reading.gate import read_log
from tests.apps.service.desks import Running, running, shop

FORMATS: dict[str, Callable[[pd.DataFrame], bytes]] = {}


def written(kind: Callable[[pd.DataFrame], bytes]) -> Callable[[pd.DataFrame], bytes]:
    FORMATS[kind.__name__] = kind
    return kind


@written
def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


@written
def excel(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    table.to_excel(sink, index=False, engine="xlsxwriter")
    return sink.getvalue()


@written
def parquet(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    table.to_parquet(sink)
    return sink.getvalue()


@written
def arrow(table: pd.DataFrame) -> bytes:
    sink, rows = io.BytesIO(), pa.Table.from_pandas(table, preserve_index=False)
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return sink.getvalue()


@written
def feather(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    table.to_feather(sink)
    return sink.getvalue()


def closed(desk: Running, products: range = range(6), **changes: Any) -> pd.DataFrame:
    """The rows of the log that close today's period."""
    listed = desk.service.desk.morning
    at = [listed.place[str(each)] for each in products]
    table = pd.DataFrame({
        "series": [str(each) for each in products],
        "period": listed.period[at].astype(int),
        "economy": 1,
        "interest": 0.0,
        "stock": listed.stock[at],
        "price": 4.0,
        "order": 6.0,
        "sales": np.minimum(listed.stock[at] + 6, 5.0),
        "stockout": False,
    })  # fmt: skip
    return table.assign(**changes)


def send(desk: Running, body: bytes, kind: str = "log", key: str = "decide", **more: str) -> Any:
    address = f"/v1/data?{'&'.join(f'{name}={value}' for name, value in (more | {'kind': kind}).items())}"
    return desk.client.post(address, content=body, headers=desk.headers(key))


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_of_the_log_in_any_format_close_the_period(tmp_path: Path, kind: str) -> None:
    policy = shop(tmp_path)
    with running(tmp_path, policy) as desk:
        before = desk.service.desk
        told = send(desk, FORMATS[kind](closed(desk)))
        assert told.status_code == 201, told.text
        assert {name: told.json()[name] for name in ("rows", "products", "first", "last", "rejected", "who")} == {
            "rows": 6, "products": 6, "first": "20", "last": "20", "rejected": {}, "who": "decide",
        }  # fmt: skip
        after = desk.service.desk
        assert set(after.morning.period) == {"21"}
        assert after.data.log is not None
        assert before.data.log is not None
        assert len(after.data.log) == len(before.data.log) + 6
        left = after.morning.stock[after.morning.place["3"]]
        assert left == before.morning.stock[before.morning.place["3"]] + 6 - 5  # by the balance
    (tmp_path / "keys.json").unlink()
    with running(tmp_path, policy) as desk:  # a restart
        assert desk.service.desk.morning.period.tolist() == after.morning.period.tolist()
        np.testing.assert_array_equal(desk.service.desk.morning.order, after.morning.order)
        assert desk.get("/v1/data").json()["uploads"] == [told.json()]


def test_the_list_is_as_if_the_rows_had_been_in_the_file(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    with running(tmp_path, policy) as desk:
        new = closed(desk)
        assert send(desk, csv(new)).status_code == 201
        by_upload = desk.service.desk.morning
    (tmp_path / "keys.json").unlink()
    (tmp_path / "decisions.db").unlink()
    file = tmp_path / "log.parquet"
    old = pd.read_parquet(file)
    pd.concat([old, new.astype({"series": old["series"].dtype})]).to_parquet(file)
    with running(tmp_path, policy) as desk:
        by_file = desk.service.desk.morning
    for name in ("name", "period", "stock", "price", "order", "demand", "profit", "flag"):
        np.testing.assert_array_equal(getattr(by_upload, name), getattr(by_file, name), name)


def test_a_bad_row_costs_one_product_and_its_correction_brings_it_back(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        rows = closed(desk)
        rows.loc[2, "sales"] = -1
        told = send(desk, csv(rows)).json()
        assert list(told["rejected"]) == ["2"]
        assert "sales must not be negative" in told["rejected"]["2"]
        assert sorted(desk.service.desk.morning.name) == ["0", "1", "3", "4", "5"]
        assert "<li>2: sales must not be negative" in desk.get("/").text
        assert send(desk, csv(rows.loc[[2]].assign(sales=1))).json()["rejected"] == {}
        assert sorted(desk.service.desk.morning.name) == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("body", "status", "wanted"),
    [
        (b"series,period\n1,20\n", 422, "missing column"),
        (b"", 422, ""),
        (b"PK\x03\x04 no workbook", 422, "the body is no workbook"),
        (b"PAR1 no Parquet", 422, "the body is no Parquet file"),
        (b"\xff\xff\xff\xff no Arrow", 422, "the body is no Arrow stream"),
        (b"\x89PNG\x00\x00\x01", 422, "the uploaded table"),
    ],
)
def test_what_cannot_be_used_leaves_nothing(tmp_path: Path, body: bytes, status: int, wanted: str) -> None:
    with running(tmp_path) as desk:
        before, files = desk.service.desk, sorted(tmp_path.iterdir())
        told = send(desk, body)
        assert told.status_code == status, told.text
        assert wanted in " ".join([told.json()["message"], *told.json()["findings"]])
        assert "lostsales-" not in told.text  # the temporary folder
        assert desk.service.desk is before
        assert desk.get("/v1/data").json() == {"uploads": []}
        assert sorted(tmp_path.iterdir()) == files


def test_an_upload_whose_rows_are_all_bad_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        told = send(desk, csv(closed(desk).assign(sales=-1)))
        assert told.status_code == 422
        assert "sales must not be negative" in told.json()["findings"][0]
        assert not desk.get("/v1/data").json()["uploads"]


def test_too_many_rows_and_the_wrong_scope_are_refused(tmp_path: Path) -> None:
    with running(tmp_path, most_rows=5) as desk:
        assert send(desk, csv(closed(desk))).status_code == 413
        assert send(desk, parquet(closed(desk))).status_code == 413
        assert send(desk, csv(closed(desk)), key="read").status_code == 403
        assert send(desk, csv(closed(desk)), key="").status_code == 401
        token = desk.sign_in("decide")
        files = {"table": ("../../evil.csv", csv(closed(desk, range(2))))}
        wrong = desk.client.post("/data", data={"kind": "log", "csrf": "guessed"}, files=files)
        assert wrong.status_code == 403
        assert not desk.get("/v1/data").json()["uploads"]
        right = desk.client.post("/data", data={"kind": "log", "csrf": token}, files=files)
        assert right.status_code == 200
        assert "2 to" not in right.text
        assert [each.upload.rows for each in desk.service.uploads] == [2]
        assert not list(tmp_path.parent.rglob("*evil*"))


def test_decisions_become_prices_and_orders_of_the_log(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        changed = {"series": "1", "status": "changed", "price": 6, "order": 9, "reason": "a feast"}
        accepted = {"series": "2", "status": "accepted", "recommended": desk.seen("2")}
        declined = {"series": "4", "status": "declined"}
        assert desk.post("/v1/decisions", {"decisions": [changed, accepted, declined]}).status_code == 201
        seen = desk.seen("2")
        rows = closed(desk).drop(columns=["price", "order"]).assign(sales=1.0)
        told = send(desk, csv(rows)).json()
        assert told["filled"] == 4
        assert sorted(told["rejected"]) == ["0", "3", "4", "5"]  # nobody decided, so that nothing is known
        assert "order must be present" in told["rejected"]["4"]
        log = desk.service.desk.data.log
        assert log is not None
        last = {name: int(np.flatnonzero(log.series == at)[-1]) for at, name in enumerate(log.names)}
        assert [(log.price[last[name]], np.asarray(log.order)[last[name]]) for name in ("1", "2")] == [
            (6, 9), (seen["price"], seen["order"]),
        ]  # fmt: skip


def test_a_counted_stock_is_decided_for_on_the_spot(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        before = desk.service.desk
        features = {
            feature.name: float(values[0])
            for feature, values in zip(before.policy.problem.features, before.situation("3").view.features, strict=True)
        }
        row = {"series": "3", "period": 20, "stock": 40} | features
        wanted = desk.post("/v1/recommend", {"rows": [row]}).json()["rows"][0]
        token = desk.sign_in("decide")
        done = desk.client.post(
            "/data/stock", data={"csrf": token, "series": "3", "stock": "40", "back": "/product?series=3"}
        )
        assert done.status_code == 200
        assert "40 units in stock" in done.text
        after = desk.service.desk
        at = after.morning.place["3"]
        assert (after.morning.stock[at], after.morning.price[at], after.morning.order[at]) == (
            40, wanted["price"], wanted["order"],
        )  # fmt: skip
        others = after.morning.name != "3"
        np.testing.assert_array_equal(after.morning.order[others], before.morning.order[others])
        assert after.data.log is before.data.log  # which is not read again
        assert desk.service.reload_if_changed() is False
        for wrong in ("-1", "many", ""):
            form = {"csrf": token, "series": "3", "stock": wrong}
            assert desk.client.post("/data/stock", data=form).status_code == 422
        assert desk.client.post("/data/stock", data={"csrf": token, "series": "nobody", "stock": 1}).status_code == 422
        assert len(desk.service.uploads) == 1


def test_stock_counts_of_which_one_is_bad(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        told = send(desk, b"series,stock\n1,7\n2,-3\nnobody,4\n4,8\n4,9\n", "stock")
        assert told.status_code == 201, told.text
        assert sorted(told.json()["rejected"]) == ["2", "4", "nobody"]
        morning = desk.service.desk.morning
        assert morning.stock[morning.place["1"]] == 7
        assert "2" in morning.place
        assert send(desk, b"series,stock\n2,-3\n", "stock").status_code == 422


def test_the_newest_wins_and_a_withdrawn_upload_counts_no_more(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        first = desk.service.desk.morning

        def stock() -> float:
            listed = desk.service.desk.morning
            return float(listed.stock[listed.place["1"]])

        send(desk, b"series,stock\n1,7\n", "stock")
        last = send(desk, b"series,stock\n1,8\n", "stock").json()
        assert stock() == 8
        assert desk.post(f"/v1/data/{last['id']}/withdraw", None, "read").status_code == 403
        told = desk.post(f"/v1/data/{last['id']}/withdraw", None, "decide").json()
        assert told["withdrawn"].endswith("decide")
        assert stock() == 7
        token = desk.sign_in("decide")
        for each in desk.service.uploads:
            assert desk.client.post("/data/withdraw", data={"csrf": token, "id": each.upload.id}).status_code == 200
        np.testing.assert_array_equal(desk.service.desk.morning.order, first.order)
        assert desk.post("/v1/data/unknown-upload/withdraw", None, "decide").status_code == 404


def test_the_same_id_is_stored_once(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        first = send(desk, b"series,stock\n1,7\n", "stock", id="0123456789").json()
        assert send(desk, b"series,stock\n1,9\n", "stock", id="0123456789").json() == first
        assert len(desk.service.store.uploads()) == 1


def test_todays_rows_replace_the_list_until_the_log_closes_them(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        rows = [{"series": "3", "period": 20, "economy": 0, "interest": 0.01, "stock": 6}]
        told = desk.client.post("/v1/data?kind=today", json={"rows": rows}, headers=desk.headers("decide"))
        assert told.status_code == 201, told.text
        assert desk.service.desk.morning.name.tolist() == ["3"]
        assert not desk.service.desk.data.is_derived
        new = closed(desk, range(3, 4))
        assert send(desk, csv(new)).status_code == 201
        assert desk.service.desk.data.is_derived
        assert desk.service.desk.morning.period[desk.service.desk.morning.place["3"]] == "21"


def test_deliveries_need_receipts_in_the_log(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    with running(tmp_path, policy) as desk:
        told = send(desk, b"series,period,received\n1,19,3\n", "deliveries")
        assert told.status_code == 422
        assert "has none" in told.json()["findings"][0]
    (tmp_path / "keys.json").unlink()
    table = pd.read_parquet(tmp_path / "log.parquet")
    table.assign(received=table["order"]).to_parquet(tmp_path / "log.parquet")
    with running(tmp_path, policy) as desk:
        log = desk.service.desk.data.log
        assert log is not None
        row = np.flatnonzero((log.series == 1) & (log.period == 19))
        before, now = float(np.asarray(log.received)[row][0]), 0.0
        assert send(desk, f"series,period,received\n1,19,{before + 2:g}\n".encode(), "deliveries").status_code == 201
        found = desk.service.desk.data.log
        assert found is not None
        now = float(np.asarray(found.received)[row][0])
        assert now == before + 2


def test_uploads_are_on_disk_when_they_are_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        told = send(desk, csv(closed(desk))).json()
        content = desk.service.uploads[0].upload.content
    with_store = DecisionStore(tmp_path / "decisions.db")
    (kept,) = with_store.uploads()
    with_store.close()
    assert (kept.id, kept.content, json.loads(kept.rejected)) == (told["id"], content, {})
    (tmp_path / "kept.parquet").write_bytes(kept.content)
    log = read_log(pd.read_parquet(tmp_path / "kept.parquet"), tmp_path / "log.toml")
    assert len(log) == 6
