"""Messages of the command line: how to provoke each, and its essential text. Nothing is written."""

from pathlib import Path

import pytest

from tests.apps.running import Fails, run

HUGE = "99999999999999999999"
FIT = "fit log.csv --out new --method c-fqi --set"
PILOT = "pilot log.csv --policy policy"
MESSAGES = {
    "nonsense": "No such command 'nonsense'",
    # Scenarios and their settings.
    "simulate nowhere": "no scenario 'nowhere'",
    f"simulate {'x' * 5_000}.toml": "File name too long",
    "simulate released --episodes 0": "Invalid value for '--episodes'",
    "simulate released --episodes many": "Invalid value for '--episodes'",
    "simulate released --set horizon=no": "horizon: Input should be a valid integer",
    "simulate released --set horizon=100000000": "horizon: Input should be less than or equal to",
    f"simulate released --set horizon={HUGE}": "horizon: must lie between",
    f"simulate released --set capacity={'9' * 5_000}": "the value of 'capacity' cannot be read",
    "simulate released --set costs.lost=true": "costs.lost: must be a number, but it is True",
    "simulate released --set nonsense": "a setting looks like demand.rho=0.6",
    "simulate released --policy clever": "no policy 'clever'",
    f"simulate released --policy {'9' * 5_000}": "no policy",
    "simulate released --policy ./no": "there is no file of that name",
    "simulate released --epsilon 7": "epsilon must lie between 0 and 1, but 7 came",
    "simulate released --out no/log.csv": "there is no folder no to write log.csv into",
    "simulate released --out a.csv --truth ./a.csv": "need different files, but both are a.csv",
    "solve released --target best --out new": "Invalid value for '--target'",
    "solve released --target oracle --out new --discount 1": "discount must be from 0 to below 1, but 1 came",
    "solve released --target oracle --out new --set capacity=1e14": "too large to be solved exactly",
    "solve released --target oracle --out new --set demand.intercept=1e14": "too large to be solved exactly",
    "experiment released --out new --levels five": "levels are whole numbers",
    "calibrate steady --series five": "whole numbers",
    "calibrate assorted --study pilot": "--study pilot takes one number of series",
    "calibrate confounded --study gain --series 5,14": "--study gain takes one number of series",
    # Logs.
    "inspect nowhere.csv": "there is no file nowhere.csv",
    "inspect empty": "must have a .csv, .parquet or .xlsx file, but it has none",
    "audit log.csv --memory 1kB": "audit of 200 rows needs about 0.0 GiB of memory, but the limit is 0.0 GiB",
    "audit log.csv --memory much": "memory is a size such as 4GiB or 500MB, but 'much' came",
    "demand few.csv": "needs at least 10 rows with known demand, besides the first of each series, but there are 8",
    "init nothing.csv": "column names",
    "init head.csv": "the table has none",
    "init log.csv": "is there already: --force replaces it",
    "init log.csv --out log.csv --force": "ends in .toml",
    "init log.csv --out no/log.toml --force": "there is no folder",
    "init log.csv --out folder.toml --force": "is a folder",
    "impute log.csv --out new.csv --estimator magic": "one of model, beran, marginal, cox, aft, but 'magic' came",
    "impute log.csv --out new.csv --tail long": "one of to_max, exponential, last, refuse, but 'long' came",
    "impute log.csv --out new.csv --demand-max 3": "finite and at least every demand seen, but it is 3",
    "forecast log.csv --horizon 2 --out new.csv --levels 10,x": "levels are numbers between 0 and 100 with commas",
    "forecast log.csv --horizon 2 --out new.csv --levels 100": "levels are numbers between 0 and 100",
    "forecast bad.csv --horizon 1 --out new.csv": "y must be a number, but row 1 (series=a, period=2) has 'many'",
    # Methods, policies and estimators.
    "methods magic": "no method 'magic'; there are planner",
    "fit log.csv --out no/policy": "there is no folder",
    "fit log.csv --out new --method magic": "no method 'magic'",
    "fit log.csv --out new --set iterations=0": "iterations: Input should be greater than or equal to 1, but it is 0",
    f"{FIT} betta=3": "betta: no such key; the keys are iterations, rules, pricing, seed, faithful",
    f"{FIT} rules.multipel=6": "rules.multipel: no such key; the keys are multiple, minimum",
    f"{FIT} function.kinf=linear": "function.kinf: no such key; the keys are kind, kernels",
    f"{FIT} beta=high": "beta: Input should be a valid number, but it is 'high'",
    f"{FIT} safe=never": "safe: Input should be 'learned' or 'paper', but it is 'never'",
    f"{FIT} function.kind=cubic": "should be 'kernel' or 'linear'",
    f"{FIT} rules=6": "rules: Input should be an object, but it is 6",
    f"{FIT} beta": "a setting looks like rules.multiple=6, but 'beta' came",
    "recommend nothing --today log.csv": "there is no policy file",
    "recommend policy --today nowhere.csv": "there is no file",
    "recommend oracle --today log.csv": "needs true demand, which no shop sees: it can only be simulated",
    "evaluate nothing log.csv": "no policy file",
    "evaluate policy log.csv --estimator guess": "no estimator 'guess'",
    "compare log.csv --methods guess": "no method 'guess'",
    # Pilots.
    "pilot log.csv --policy nothing --out new.json": "no policy file",
    "pilot nowhere.csv --policy policy --out new.json": "nowhere.csv",
    f"{PILOT} --gain 0 --out new.json": "gain must be",
    f"{PILOT} --power 2 --out new.json": "power must lie",
    f"{PILOT} --out new.json --schedule new.json": "must end in .parquet, .csv or .xlsx",
    f"{PILOT} --out new.csv --schedule new.csv": "a file each",
    "monitor policy log.csv": "cannot be read",
    "monitor nothing log.csv": "cannot be read",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    run("simulate", "released", "--episodes", 4, "--out", folder / "log.csv")
    run("fit", folder / "log.csv", "--method", "base-stock", "--quick", "--out", folder / "policy")
    run("solve", "released", "--target", "oracle", "--horizon", 2, "--out", folder / "oracle")
    for name in ("empty", "folder.toml"):
        (folder / name).mkdir()
    few = "".join(f"1,{period},1,2,false\n" for period in range(9))
    texts = {
        "few": f"series,period,price,sales,stockout\n{few}",
        "bad": "unique_id,ds,y\na,1,3\na,2,many\n",
        "head": "a,b\n",
        "nothing": "",
    }
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.mark.parametrize(("command", "expected"), MESSAGES.items(), ids=lambda text: text[:60])
def test_a_mistake_is_one_message(
    command: str, expected: str, shop: Path, fails: Fails, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    before = sorted(path.name for path in shop.iterdir())
    assert expected in " ".join(fails(*command.split()).split())
    assert sorted(path.name for path in shop.iterdir()) == before
