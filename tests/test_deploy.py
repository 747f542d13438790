"""What deploy/ starts: the same commands as the package has, as no root, and on a file system that may be read-only."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from examples import nightly
from tests.apps.running import run
from tests.apps.service.desks import shop

DEPLOY = Path(__file__).parents[1] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]


def lines_of(name: str, start: str) -> list[str]:
    text = (DEPLOY / name).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.removeprefix(start).strip() for line in text.split("\n") if line.startswith(start)]


def unit_command() -> list[str]:
    return shlex.split(lines_of("lostsales.service", "ExecStart=")[0])[1:]


def image_command() -> list[str]:
    found = yaml.safe_load(lines_of("Dockerfile", "CMD")[-1])
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "command", [unit_command(), image_command(), COMPOSE["desk"]["command"]], ids=["unit", "image", "compose"]
)
def test_the_service_starts_as_it_is_deployed(command: list[str], tmp_path: Path) -> None:
    """The places of the machine are those of a test, and decisions are in a file instead of a server."""
    policy, keys = shop(tmp_path), tmp_path / "keys.json"
    run("keys", "create", "--name", "desk", "--keys", keys, "--scope", "decide")
    places = {"policies": str(policy), "keys.json": str(keys)}
    given = [places.get(Path(word).name, word) for word in command]
    given = [str(tmp_path / "decisions.db") if word.startswith("postgresql://") else word for word in given]
    assert "ready to be served" in run(*given, "--check")


def test_the_image_is_not_root_and_asks_the_service_for_its_health() -> None:
    assert lines_of("Dockerfile", "USER") == ["10001"]
    assert "/healthz" in lines_of("Dockerfile", "HEALTHCHECK")[0]
    desk = COMPOSE["desk"]
    assert desk["read_only"]
    assert desk["cap_drop"] == ["ALL"]
    assert desk["ports"] == ["127.0.0.1:8765:8765"]  # the page is behind a proxy
    # What is written lies in /data or /tmp.
    assert "NUMBA_CACHE_DIR=/tmp/numba" in lines_of("Dockerfile", "ENV")[0]
    assert desk["tmpfs"] == ["/tmp"]  # noqa: S108


def test_cron_calls_the_nightly_job_with_its_options() -> None:
    (line,) = lines_of("lostsales.cron", "0 3 * * *")
    user, python, script, *words = shlex.split(line)
    assert (user, Path(python).name, Path(script).name) == ("lostsales", "python", Path(str(nightly.__file__)).name)
    assert nightly.options().parse_args(words).hold_out == 28


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "lostsales.service").read_text(encoding="utf-8")
    unit = tmp_path / "lostsales.service"
    unit.write_text(text.replace("/opt/lostsales/bin/lostsales", str(shutil.which("true"))), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert (done.returncode, done.stderr) == (0, "")
