"""The whole API by schemathesis: no server error, and no answer outside its description."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.load import served
from tests.apps.service.desks import shop

CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance"
EXAMPLES = 300


def schemathesis(port: int, examples: int) -> subprocess.CompletedProcess[str]:
    """Ask everything that the description allows, and some that it does not."""
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"http://127.0.0.1:{port}/openapi.json"]
    command += ["--max-examples", str(examples), "--checks", CHECKS, "--seed", "1", "--no-color"]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.slow
def test_answers_stay_within_the_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with served(shop(tmp_path)) as (port, _, _):
        found = schemathesis(port, EXAMPLES)
    assert found.returncode == 0, found.stdout[-5000:]
