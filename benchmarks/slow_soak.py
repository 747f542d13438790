"""Twenty minutes of mixed load with twenty switches of the policy: no error, flat memory, one version an answer."""

import json
import os
import shutil
import threading
import time
from collections import Counter
from urllib.request import Request, urlopen

from benchmarks.bench_service import batch, shop, single
from benchmarks.load import request, resident_bytes, run_load, served
from benchmarks.rows import Row

SECONDS = float(os.environ.get("SOAK_SECONDS", "1200"))
SWITCHES, WARM = 20, 0.1
RATE = 100


def run() -> list[Row]:
    decision = request("/v1/decisions", json.dumps({"decisions": [{"series": "3", "status": "declined"}]}).encode())
    what_if = request("/v1/what-if", json.dumps({"series": "3", "price": 4, "order": 5}).encode())
    page, many = request("/product?series=3", b"", method="GET"), batch()
    kinds = {**dict.fromkeys(range(50), page), **dict.fromkeys(range(50, 60), many)}
    versions: Counter[str] = Counter()

    def make(number: int) -> bytes:
        place = number % 1000
        return kinds.get(place) or (decision if place % 5 == 0 else what_if if place % 5 == 1 else single(number))

    def check(_: int, body: bytes) -> None:
        if body[:12] == b'{"version":"':
            versions[json.loads(body)["version"]] += 1

    with shop() as policy:
        shutil.copy(policy, policy.with_name("other"))
        with served(policy) as (port, process, _):
            run_load(port, process.pid, make, WARM * SECONDS, 8, RATE)
            before = resident_bytes(process.pid)
            switching = threading.Thread(target=_switch, args=(port,), daemon=True)
            switching.start()
            load = run_load(port, process.pid, make, SECONDS, 8, RATE, check)
            after = resident_bytes(process.pid)
    errors = sum(count for status, count in load.statuses.items() if status >= 300)
    return [
        Row(f"errors in {len(load.latencies):,} requests", str(errors), "0", float(errors), at_most=0),
        Row("memory", f"{after / 1e6:.0f} MB", f"{before / 1e6:.0f} MB", after / before, at_most=1.05),
        Row("versions that answered", str(len(versions)), "2", len(versions) / 2, at_least=1),
    ]


def _switch(port: int) -> None:
    def ask(path: str, body: bytes | None = None) -> dict[str, object]:
        asked = Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
        with urlopen(asked, timeout=60) as answer:  # noqa: S310
            found: dict[str, object] = json.load(answer)
            return found

    names = [each["version"] for each in ask("/v1/policies")["versions"]]  # type: ignore[attr-defined]
    for number in range(SWITCHES):
        ask(f"/v1/policies/{names[number % len(names)]}/activate", b"{}")
        time.sleep(SECONDS / (SWITCHES + 1))
