"""The command line, run in process: what it prints, and how it ends."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from lostsales.data.reading.gate import read_log
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.apps.running import Fails, run, run_json

SUMMARY_KEYS = {"mean_profit", "std_error", "uncensored_share", "depth_share", "episodes", "periods"}


def test_simulate_prints_the_contract_as_json() -> None:
    found = run_json("simulate", "released", "--episodes", 20, "--seed", 3)
    expected = evaluate_policy(Scenario.load("released"), episodes=20, seed=3)
    assert set(found) == SUMMARY_KEYS
    assert found["mean_profit"] == expected.mean_profit
    assert found["depth_share"] == expected.depth_share
    assert (found["episodes"], found["periods"]) == (20, 1000)


def test_a_standard_error_that_does_not_exist_is_null() -> None:
    assert run_json("simulate", "released", "--episodes", 1)["std_error"] is None


def test_simulate_writes_a_log_with_its_problem_and_the_truth_apart(tmp_path: Path) -> None:
    log, truth = tmp_path / "log.parquet", tmp_path / "truth.csv"
    found = run_json("simulate", "paper", "--episodes", 4, "--seed", 1, "--out", log, "--truth", truth)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "log.toml", "truth.csv"]
    read = read_log(log)
    assert read.problem == Scenario.load("paper").problem
    assert 1 - read.censored.mean() == pytest.approx(found["uncensored_share"])
    header, *rows = truth.read_text().splitlines()
    assert header == "series,period,demand,lost,profit,truncated"
    assert sum(float(row.split(",")[4]) for row in rows) / 200 == pytest.approx(found["mean_profit"])


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    written = []
    for seed in (7, 7, 8):
        run("simulate", "released", "--episodes", 3, "--seed", seed, "--out", tmp_path / "log.parquet")
        written.append((tmp_path / "log.parquet").read_bytes())
    assert written[0] == written[1] != written[2]


def test_set_overrides_a_field_and_policies_have_names() -> None:
    certain = (
        "--set",
        "demand.noise.scale=0",
        "--set",
        "features.interest.shock=0",
        "--set",
        "features.interest.start_sd=0",
    )
    good = ("--set", "features.economy.start=[0,1]", "--set", "features.economy.transition=[[0,1],[0,1]]")
    found = run_json("simulate", "released", *certain, *good, "--policy", "base-stock:15@6", "--episodes", 2)
    assert found["mean_profit"] == pytest.approx(1.24)  # by hand, see tests/simulation/test_simulator.py
    assert found["uncensored_share"] == 1
    drawn = run_json("simulate", "released", *certain, *good, "--policy", "base-stock:15@6", "--epsilon", 1)
    assert drawn["mean_profit"] < -5  # uniform behaviour is ruinous


def test_simulate_tells_people_what_was_earned_and_where_it_lies(tmp_path: Path) -> None:
    text = run("simulate", "released", "--episodes", 3, "--out", tmp_path / "l.csv", "--truth", tmp_path / "t.csv")
    for expected in ("released under uniform", "mean profit per period", "3 x 50 = 150", "l.csv", "l.toml", "t.csv"):
        assert expected in text.replace("\n", "")


def test_inspect_says_what_is_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    run("simulate", "released", "--episodes", 3, "--out", path)
    found = run_json("inspect", path)
    assert (found["rows"], found["series"], found["arrival"]) == (150, 3, "before")
    assert found["notes"]["off_balance_rows"] == 0
    assert found["notes"]["balance_rows"] == 147
    assert "150 in 3 series, periods 0 to 49" in run("inspect", path)


def test_inspect_takes_a_problem(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("sku,week,price,sold,stockout\n[red],1,2,3,true\n[red],2,2,1,false\n")
    problem = tmp_path / "p.toml"
    problem.write_text("[columns]\nseries = 'sku'\nperiod = 'week'\nsales = 'sold'\n")
    assert run_json("inspect", tmp_path / "log.csv", "--problem", problem)["demand_only"] is True


def test_brackets_in_names_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "[bold]log[/nonsense].csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("series,period,price,sales,stockout,[red]\na,1,2,3,true,5\n")
    assert "[red] (declare them under features to use them)" in run("inspect", path)


def test_every_fault_of_a_log_is_shown(tmp_path: Path, fails: Fails) -> None:
    path = tmp_path / "log.csv"
    path.write_text("series,period,stock,price,order,sales\na,1,5,2,0,9\na,1,x,2,0,1\n")
    message = fails("inspect", path)
    assert "stock must be a number, but row 1 (series=a, period=1) has 'x'" in message
    assert "sales must not exceed what was available, but row 0 (series=a, period=1) has 9 of 5" in message
    assert "row 1 (series=a, period=1) repeats row 0" in message


def test_the_version_is_shown() -> None:
    assert run("--version").strip() == f"lostsales {version('lostsales')}"


@pytest.mark.parametrize("chosen", [(), ("--dropped-rows", "bad.csv")])
def test_bad_rows_are_left_out_when_asked_and_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, row in (("sales-1.csv", "a,1,5,2,0,1"), ("sales-2.csv", "a,2,4,2,0,many")):
        (tmp_path / name).write_text(f"series,period,stock,price,order,sales\n{row}\n")
    found = run_json("inspect", "sales-*.csv", "--drop-bad-rows", *chosen)
    target = tmp_path / (chosen[1] if chosen else "sales-1.dropped.csv")
    assert (found["rows"], found["notes"]["rows_dropped"]) == (1, 1)
    assert Path(found["notes"]["dropped_file"]).resolve() == target
    assert target.read_text().splitlines()[1] == "row 0 of sales-2.csv,sales must be a number,a,2,4,2,0,many"
    text = run("inspect", "sales-*.csv", "--drop-bad-rows", *chosen)
    assert "rows left out" in text
    assert "1 that could not be used, written with the reasons to" in " ".join(text.split())


def test_nothing_half_written_remains(tmp_path: Path, fails: Fails) -> None:
    path = tmp_path / "log.csv"
    path.write_text("kept")
    (tmp_path / "log.toml").mkdir()  # the problem cannot be written here
    assert "log.toml is a folder" in fails("simulate", "released", "--out", path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.csv", "log.toml"]


@pytest.mark.parametrize("command", ["simulate", "inspect"])
def test_help_shows_an_example(command: str) -> None:
    assert f"lostsales {command} " in run(command, "--help").split("Example:")[1]


def test_help_does_not_wait_for_heavy_libraries() -> None:
    code = (
        "import sys; sys.argv = ['lostsales', '--help']\n"
        "from lostsales.apps.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'duckdb', 'pydantic', 'scipy', 'pandas', 'polars', 'pyarrow', 'narwhals', 'numba'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert "simulate" in shown
    assert shown.splitlines()[-1] == "loaded: []"


CODE = "from lostsales.apps.cli import main; main()"


def ended(redirected: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command under a shell that redirects its streams."""
    command = ["sh", "-c", f'exec "$0" "$@" {redirected}', sys.executable, "-c", CODE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)  # noqa: S603


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_streams_that_are_closed_are_no_error(redirected: str) -> None:
    assert ended(redirected, "simulate", "newsvendor", "--episodes", "1").returncode == 0
    assert ended(redirected, "simulate", "absent").returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="a shell")
def test_an_output_that_has_no_such_characters_gets_escapes() -> None:
    done = ended("", "simulate", "日本", PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert "\\u65e5\\u672c" in done.stderr


def test_json_is_json_in_every_encoding(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("series,period,stock,price,order,sales,日本\na,1,5,2,0,1,x\n", encoding="utf-8")
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = ended("", "inspect", str(path), "--json", PYTHONIOENCODING=encoding)
        assert json.loads(done.stdout)["notes"]["unused_columns"] == ["日本"]


def test_a_word_of_very_many_characters_does_not_hide_the_message(fails: Fails) -> None:
    message = fails("inspect", "x" * 50_000 + ".csv")
    assert len(message) < 500
    assert "x.csv cannot be read: File name too long" in message


def test_the_package_runs_as_a_module() -> None:
    asked = [sys.executable, "-m", "lostsales", "--version"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert shown.split()[-1] == version("lostsales")
    wrong = subprocess.run([*asked[:3], "inspect", "nowhere.csv"], capture_output=True, text=True, check=False)  # noqa: S603
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
