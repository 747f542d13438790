"""JSON has null where there is no figure, and says why."""

from pathlib import Path
from typing import Any

import pytest

import lostsales
from lostsales.apps.no_figure import ANSWERS, KEY, SAYS_WHY, UNKNOWN
from lostsales.data.writing import write_log
from tests.apps.running import run_json

HEADER = "series,period,stock,price,order,sales,lost_cost,order_cost,holding_cost\n"
LOGS = {
    "one.csv": HEADER + "a,1,5,2,0,1,1,1,1\n",
    "all_out.csv": HEADER + "".join(f"a,{period},3,2,3,3,1,1,1\n" for period in range(30)),
    "constant.csv": HEADER + "".join(f"a,{period},9,2,1,1,1,1,1\n" for period in range(30)),
    "demand_only.csv": "series,period,price,sales,stockout\n" + "".join(f"a,{n},2,{n % 3},0\n" for n in range(30)),
}
COMMANDS = [
    *(f"{command} {log}" for command in ("inspect", "audit") for log in LOGS),
    "impute demand_only.csv --replicates 2 --out filled.csv",
    "demand constant.csv --replicates 2",
    "fit constant.csv --method base-stock --out new",
    "evaluate policy log.csv --quick --diagnose",
    "compare log.csv --methods newsvendor,base-stock --quick",
    "recommend policy --today today.csv",
    "simulate newsvendor --episodes 1",
    "solve newsvendor --target oracle --out new",
    "calibrate newsvendor --series 5 --replications 1",
    "experiment newsvendor --levels 5 --runs 1 --methods newsvendor --workers 1 --test-episodes 1 --out folder",
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Logs that leave most figures open."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lostsales.apps.commands.experiment_figures.draw_figures", lambda *_: [])
    for name, text in LOGS.items():
        Path(name).write_text(text)
    log, _ = lostsales.simulate("newsvendor", episodes=6, seed=1)
    write_log(log, "log.csv")
    lostsales.fit(log, "newsvendor").save("policy")
    Path("today.csv").write_text("series,period,stock\n0,99,3\n")
    return tmp_path


def unexplained(value: Any, reasons: dict[str, str], path: str = "") -> list[str]:
    """Paths of nulls for which there is no reason."""
    if isinstance(value, list):
        return [each for item in value for each in unexplained(item, reasons, f"{path}[]")]
    if isinstance(value, dict):
        if any(value.get(key) for key in SAYS_WHY):
            return []
        return [
            each
            for key, item in value.items()
            if key not in ANSWERS
            for each in unexplained(item, reasons, f"{path}.{key}".removeprefix("."))
        ]
    return [path] if value is None and reasons.get(path.removesuffix("[]"), UNKNOWN) == UNKNOWN else []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("shop")
@pytest.mark.filterwarnings("ignore")
def test_every_null_has_a_reason(command: str) -> None:
    found = run_json(*command.split())
    assert unexplained(found, found.get(KEY, {})) == []


@pytest.mark.usefixtures("shop")
def test_the_reason_names_the_figure_by_its_path() -> None:
    assert run_json("simulate", "newsvendor", "--episodes", 1)[KEY] == {
        "std_error": "a single value has no standard error"
    }
    assert KEY not in run_json("simulate", "newsvendor", "--episodes", 3)
    reasons = run_json("audit", "demand_only.csv")[KEY]
    assert reasons["price_ranges[].never_seen_above"] == "the log has no stock"
