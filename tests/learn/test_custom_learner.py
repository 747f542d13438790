"""A learner from another package is fitted, saved, simulated, compared and reported by its name."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import lostsales
from tests.learn.small import small_log

PACKAGE = Path(__file__).parents[2] / "examples" / "custom_learner"
SCRIPT = """
import json, sys
import lostsales
from typer.testing import CliRunner
from lostsales.apps.cli import app
from lostsales.learn.learner import LEARNERS

def run(*arguments):
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    return json.loads(result.stdout)

log = lostsales.read_log("log.csv")
policy = lostsales.fit(log, "sales-quantile", quantile=0.5, rules={"multiple": 3})
policy.save("python.policy")
try:
    lostsales.fit(log, "sales-quantile", quantile=2.0)
except lostsales.SettingError as error:
    refused = str(error)
print(json.dumps({
    "names": LEARNERS.names,
    "python": policy.summary(),
    "loaded": lostsales.load("python.policy").summary(),
    "refused": refused,
    "fit": run("fit", "log.csv", "--method", "sales-quantile", "--out", "shell.policy"),
    "simulate": run("simulate", "released", "--policy", "shell.policy", "--episodes", "5", "--set", "horizon=9"),
    "compare": run("compare", "log.csv", "--methods", "sales-quantile", "--quick"),
    "report": run("report", "shell.policy", "log.csv", "--out", "report.html", "--methods", "", "--windows", "0"),
}))
"""


def install(target: Path) -> None:
    """By pip where the build backend is at hand, else what a wheel of it would hold."""
    if find_spec("hatchling") is not None:
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, PACKAGE], check=True)  # noqa: S603
        return
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    shutil.copytree(PACKAGE / "src" / "custom_learner", target / "custom_learner")
    information = target / f"custom_learner-{project['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))]
    (information / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process says that has the package installed."""
    target, work = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("work")
    install(target)
    lostsales.write_log(small_log("released", episodes=12, horizon=15), work / "log.csv")
    paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SCRIPT], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (work / "report.html").stat().st_size > 10_000
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_it_has_a_name_beside_ours(found: dict[str, Any]) -> None:
    assert "sales-quantile" in found["names"]
    assert found["names"][:2] == ["planner", "c-fqi"]


def test_its_settings_are_checked_as_ours(found: dict[str, Any]) -> None:
    assert found["refused"] == (
        "SalesQuantile is not usable:\n  - quantile: Input should be less than 1, but it is 2.0"
    )


def test_it_is_fitted_saved_and_loaded(found: dict[str, Any]) -> None:
    assert found["python"] == found["loaded"]
    assert found["python"]["order_up_to"] < found["fit"]["order_up_to"]
    assert found["fit"]["method"] == "sales-quantile"


def test_it_is_simulated_compared_and_reported(found: dict[str, Any]) -> None:
    assert found["simulate"]["periods"] == 45
    (candidate,) = found["compare"]["candidates"]
    assert candidate["method"] == "sales-quantile"
    assert candidate["gain"] is not None
    assert found["report"]
