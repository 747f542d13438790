"""The example of a nightly job against a running service: what is proven better is activated, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import lostsales
from benchmarks.load import served

JOB = Path(__file__).parents[3] / "examples" / "nightly.py"


def run_job(log: Path, port: int, policies: Path, method: str) -> tuple[int, dict[str, object]]:
    command = [sys.executable, str(JOB), str(log), "--service", f"http://127.0.0.1:{port}"]
    command += ["--policies", str(policies), "--method", method, "--hold-out", "15"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, our own code
    return done.returncode, json.loads(done.stdout)


def active(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/v1/policies") as answer:
        return str(json.load(answer)["active"])


@pytest.mark.slow
def test_a_better_policy_is_activated_and_a_worse_one_is_not(tmp_path: Path) -> None:
    log, _ = lostsales.simulate("steady", episodes=30, seed=4)
    lostsales.write_log(log, tmp_path / "log.parquet")
    policies = tmp_path / "policies"
    policies.mkdir()
    lostsales.fit(log, "base-stock").save(policies / "rule")
    with served(policies / "rule", "--log", str(tmp_path / "log.parquet")) as (port, _, _):
        code, told = run_job(tmp_path / "log.parquet", port, policies, "planner")
        assert (code, told["activated"]) == (0, True)
        planner = active(port)
        assert planner.startswith("planner")
        code, told = run_job(tmp_path / "log.parquet", port, policies, "base-stock")
        assert (code, told["activated"]) == (3, False)
        assert active(port) == planner
    code, told = run_job(tmp_path / "log.parquet", 1, policies, "base-stock")  # where nothing listens
    assert code == 2
    assert "refused" in str(told["error"])
