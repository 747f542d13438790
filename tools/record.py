"""Record what commands print and methods decide on small logs: `python -m tools.record OUT`, `... --compare A B`.

Run it before and after a change that should leave results as they are.
"""

import argparse
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app

PRESETS = ("released", "paper", "steady", "nonlinear", "newsvendor", "fixed-cost", "markov-demand", "weekday-counts")
SETTINGS = {
    "lead-2": ("lost-sales", "supply.lead_time=2"),
    "lead-4": ("lost-sales", "supply.lead_time=4", "costs.lost=19"),
}
ABOUT_A_LOG = ("inspect", "audit", "demand", "forecast")
EVALUATED = ("released", "shop")
TOLERANCE = 1e-9
PROBLEM = """[columns]
series = "product"
period = "date"
[supply]
lead_time = 2
[costs]
lost = 1.0
holding = 0.02
"""


def write_shop(folder: Path, products: int = 6, days: int = 150, seed: int = 1) -> Path:
    """A table of products with weekdays, promotions, case sizes and stock-outs, and its problem file."""
    rng = np.random.default_rng(seed)
    lines = ["product,date,stock,price,order,sales,order_cost"]
    for product in range(products):
        mean, usual, case = 3.0 * 2.0**product, 2.0 + product, (1, 6)[product % 2]
        stock, coming, first = 6 * mean // 1, [0.0, 0.0], np.datetime64("2026-01-05")
        for day in range(days):
            price = usual * rng.choice([1.0, 1.0, 1.0, 0.8, 1.1])
            weekday = 1.4 if day % 7 > 4 else 0.9
            stock += coming.pop(0)
            position = stock + sum(coming)
            order = case * math.ceil(max(4.2 * mean * rng.uniform(0.7, 1.2) - position, 0) / case)
            coming.append(order)
            demand = rng.negative_binomial(5, 5 / (5 + mean * weekday * (price / usual) ** -1.8))
            sales = min(demand, stock)
            lines.append(f"p{product},{first + day},{stock:g},{price:.2f},{order},{sales:g},{0.6 * usual:.2f}")
            stock -= sales
    path = folder / "shop.csv"
    path.write_text("\n".join(lines) + "\n")
    path.with_suffix(".toml").write_text(PROBLEM)
    return path


def run(*words: object) -> Any:
    """The JSON that a command prints, or its error."""
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--json")])
    if done.exit_code:
        return {"exit": done.exit_code, "error": str(done.exception)}
    return json.loads(done.stdout) if done.stdout.strip() else None


def decisions(path: Path, method: str) -> Any:
    """Prices and orders of the last row of each series, by a policy of all rows before it."""
    log = lostsales.read_log(path)
    try:
        policy = lostsales.fit(log, method)
    except lostsales.LostSalesError as error:
        return {"error": str(error)}
    import pandas as pd

    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    series = log.problem.columns.series
    last = frame.groupby(series).tail(1).index
    recent, today = frame.drop(index=last), frame.loc[last]
    today = today.drop(columns=[each for each in ("price", "order", "sales", "stockout") if each in today])
    found = policy.recommend(recent, today)
    return {name: [float(each) for each in found[name]] for name in ("price", "order", "value") if name in found}


def record(out: Path) -> None:
    """Write one JSON file a log."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = {preset: folder / f"{preset}.parquet" for preset in (*PRESETS, *SETTINGS)}
        simulated = {}
        for preset, path in logs.items():
            scenario, *keys = SETTINGS.get(preset, (preset,))
            options = [word for key in keys for word in ("--set", key)]
            simulated[preset] = run("simulate", scenario, *options, "--episodes", 6, "--seed", 1, "--out", path)
        logs["shop"] = write_shop(folder)
        for log, path in logs.items():
            if (out / f"{log}.json").exists():
                continue
            found: dict[str, Any] = {"simulate": simulated.get(log)}
            for command in ABOUT_A_LOG:
                more = ("--horizon", 3, "--out", folder / "forecast.csv") if command == "forecast" else ()
                found[command] = run(command, path, *more)
            found["forecast table"] = (
                (folder / "forecast.csv").read_text() if (folder / "forecast.csv").exists() else ""
            )
            (folder / "forecast.csv").unlink(missing_ok=True)
            found["impute"] = run("impute", path, "--out", folder / "filled.csv")
            for method in sorted(each["method"] for each in run("methods")["methods"]):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[f"fit {method}"] = decisions(path, method)
            if log in EVALUATED:
                run("fit", path, "--out", folder / "policy")
                found["evaluate"] = run("evaluate", folder / "policy", path)
            (out / f"{log}.json").write_text(json.dumps(found, indent=1, default=str))
            sys.stdout.write(f"{log}\n")


def differences(left: Any, right: Any, at: str = "") -> Iterator[str]:
    """Places at which two records differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            yield from differences(left.get(key), right.get(key), f"{at} / {key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, pair in enumerate(zip(left, right, strict=True)):
            yield from differences(*pair, f"{at} [{index}]")
    elif isinstance(left, float | int) and isinstance(right, float | int):
        if not (math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (left != left and right != right)):
            yield f"{at}: {left:.6g} -> {right:.6g}"
    elif left != right:
        yield f"{at}: {str(left)[:150]} -> {str(right)[:150]}"


def main() -> None:
    """Record, or compare two records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    if not given.compare:
        record(given.folders[0])
        return
    before, after = given.folders
    for path in sorted(before.glob("*.json")):
        for line in differences(json.loads(path.read_text()), json.loads((after / path.name).read_text())):
            sys.stdout.write(f"{path.stem}{line}\n")


if __name__ == "__main__":
    main()
