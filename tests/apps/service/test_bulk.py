"""Large requests: decided in processes of their own, bounded by their speed, and given up with the client."""

import io
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lostsales
from benchmarks.load import processor_seconds, request, run_load, served
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.service import bulk
from lostsales.apps.service.bulk import BulkDecider, BulkRequest
from lostsales.apps.service.problems import Refused
from lostsales.evaluation.report.open_period import open_rows
from tests.apps.service.desks import ROW, Running, running, shop

ARROW = "application/vnd.apache.arrow.stream"


def table(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "series": [f"p{number}" for number in range(rows)],
            "period": 20,
            "economy": rng.integers(0, 2, rows),
            "interest": 0.0,
            "stock": rng.integers(0, 20, rows),
            "last_sales": rng.integers(0, 15, rows),
        }
    )


def streamed(frame: pd.DataFrame) -> bytes:
    sink, found = io.BytesIO(), pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(sink, found.schema) as stream:
        stream.write_table(found)
    return sink.getvalue()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("bulk")) as found:
        yield found


def ask(desk: Running, body: bytes, kind: str = ARROW) -> Any:
    return desk.client.post("/v1/recommend", content=body, headers=desk.headers("read") | {"Content-Type": kind})


def test_large_tables_are_decided_as_all_at_once(desk: Running) -> None:
    frame = table(2 * bulk.CHUNK + 7)
    wanted = desk.service.desk.recommend(frame).table
    found = pa.ipc.open_stream(ask(desk, streamed(frame)).content).read_all().to_pandas()
    assert found.columns.tolist() == list(wanted)
    for name, values in wanted.items():
        assert (
            found[name].tolist() == pytest.approx(values.tolist(), nan_ok=True)
            if values.dtype.kind == "f"
            else (found[name].astype(str).tolist() == values.astype(str).tolist())
        ), name
    rows = frame.to_dict("records")
    answer = ask(desk, json.dumps({"rows": rows, "reasons": True}).encode(), "application/json").json()
    assert [row["order"] for row in answer["rows"]] == wanted["order"].tolist()
    assert answer["rows"][0]["price_reason"]
    assert answer["version"] == desk.service.desk.version.version


def test_a_fleet_is_asked_in_another_process(tmp_path: Path) -> None:
    log, _ = lostsales.simulate("newsvendor", episodes=6, seed=1)
    lostsales.write_log(log, tmp_path / "log.parquet")
    fit_fleet(tmp_path / "log.parquet", tmp_path / "store", "newsvendor")
    with running(tmp_path, tmp_path / "store") as fleet:
        listed, shop_log = fleet.service.desk.morning, fleet.service.desk.data.log
        assert shop_log is not None
        answer = ask(fleet, streamed(pd.DataFrame(open_rows(shop_log))))
        assert answer.status_code == 200, answer.text
        found = pa.ipc.open_stream(answer.content).read_all().to_pandas()
        assert found["order"].tolist() == listed.order.tolist()


def test_errors_of_large_requests_name_their_rows(desk: Running) -> None:
    frame = table(3000)
    frame.loc[2500, "stock"] = -1
    for body, kind in ((streamed(frame), ARROW), (frame.to_json(orient="records"), "application/json")):
        content = body if isinstance(body, bytes) else f'{{"rows": {body}}}'.encode()
        answer = ask(desk, content, kind)
        assert answer.status_code == 422
        assert "row 2500 (series=p2500, period=20) has -1" in " ".join(answer.json()["findings"])
    assert ask(desk, b'{"rows": [' + b"1," * 40_000 + b"1]}", "application/json").status_code == 422
    many = b'{"rows": [' + b",".join([b'{"a":1}'] * 100_001) + b"]}"
    assert ask(desk, many, "application/json").status_code == 413


def test_a_process_that_is_killed_is_begun_again(desk: Running) -> None:
    body = streamed(table(10))
    assert ask(desk, body).status_code == 200
    process = desk.service.bulk._all[-1]._process
    assert process is not None
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    assert ask(desk, body).status_code == 200


def test_what_would_take_too_long_is_refused_at_the_measured_speed(desk: Running) -> None:
    decider = BulkDecider(desk.service.desk.policy, desk.service.desk.recent)
    told: list[int] = []
    body, asked = streamed(table(5000)), BulkRequest("v", ARROW, 100_000, 1000.0)
    decider.answer(asked, body, lambda rows: told.append(len(rows.price)) or True)  # type: ignore[func-returns-value]
    assert told == [bulk.CHUNK] * 5
    rate = decider.rate
    with pytest.raises(Refused, match="ask for at most") as refused:  # at the speed of the last request
        decider.answer(asked._replace(seconds=2000 / rate), body, lambda _: pytest.fail("nothing is decided"))
    assert refused.value.status == 413
    with pytest.raises(bulk.GivenUpError):
        decider.answer(asked, body, lambda rows: told.append(len(rows.price)) or len(told) < 7)  # type: ignore[func-returns-value]
    assert len(told) == 7


def test_a_body_of_other_routes_is_small(desk: Running) -> None:
    for path in ("/v1/decisions", "/v1/explain", "/login"):
        answer = desk.client.post(path, content=b"x" * 4_000_001, headers=desk.headers("admin"))
        assert (answer.status_code, answer.json()["message"]) == (413, "a body may have 4 MB"), path


@pytest.mark.slow
def test_single_rows_do_not_wait_for_large_requests_which_end_with_their_clients(tmp_path: Path) -> None:
    body = request("/v1/recommend", streamed(table(100_000)), ARROW)
    single = request("/v1/recommend", json.dumps({"rows": [ROW]}).encode())
    with served(shop(tmp_path)) as (port, process, _):
        run_load(port, process.pid, lambda _: single, 1, 4)
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        for each in clients:
            each.sendall(body)
        time.sleep(3)
        load = run_load(port, process.pid, lambda _: single, 3, 4, rate=50)
        assert set(load.statuses) == {200}
        assert load.latency(99) < 1000
        for each in clients:
            each.close()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        time.sleep(3)
        before = sum(processor_seconds(int(each)) for each in children)
        time.sleep(2)
        assert sum(processor_seconds(int(each)) for each in children) - before < 0.5  # nobody waits: nothing is done
