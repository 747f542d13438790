"""`lostsales fit`, `methods` and `recommend`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.apps.console import screen
from lostsales.apps.figures_shown import rounded
from lostsales.data.problem import Problem
from lostsales.data.writing import write_log
from lostsales.learn.fit import DEFAULT
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import LEARNERS
from tests.apps.running import run, run_json
from tests.learn.small import days, frame_of, small_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, a policy learned from it, and the tables of a day."""
    place = tmp_path_factory.mktemp("shop")
    write_log(small_log("released"), place / "log.parquet")
    run("fit", place / "log.parquet", "--method", "c-fqi", "--iterations", 2, "--out", place / "policy")
    recent, today = days(small_log("released", seed=2), 6)
    recent.to_csv(place / "recent.csv", index=False)
    today.to_csv(place / "today.csv", index=False)
    return place


def test_fit_says_what_it_learned(folder: Path, tmp_path: Path) -> None:
    log, policy = folder / "log.parquet", tmp_path / "policy"
    facts = json.loads(run("fit", log, "--method", "pc-fqi", "--iterations", 1, "--out", policy, "--json"))
    assert facts["method"] == "pc-fqi"
    assert facts["max_depth"] == 3
    assert len(facts["kernels"]) == 4
    assert facts["value"] == "replayed episodes"
    assert (facts["rows_kept"], facts["rows_pooled"], facts["left_out"]) == (392, 0, {"last row of its series": 8})
    shallow = json.loads(
        run("fit", log, "--method", "pc-fqi", "--iterations", 1, "--set", "max_depth=0", "--out", policy, "--json")
    )
    # 68, 61 and 57 rows are at depths 1 to 3, and three of these are the last of their series.
    assert (shallow["max_depth"], shallow["rows_kept"], shallow["rows_pooled"]) == (0, 392, 183)
    assert facts["penalty"] == "on gains over the usual action (ours)"
    assert lostsales.load(facts["policy"]).observes == "history"
    assert facts["may_recommend"]["prices"]["values"] == [2, 4, 6]
    assert (facts["may_recommend"]["orders"]["highest"], facts["may_recommend"]["orders"]["multiple"]) == (15, 1)
    table = run("fit", log, "--method", "c-fqi", "--iterations", 1, "--out", policy)
    assert "learned to depth" in table
    assert "rows learned from" in table
    assert "rows pooled in deepest Q" in table
    assert "penalty" not in table  # C-FQI has none
    of_paper = run("fit", log, "--method", "pc-fqi", "--iterations", 1, "--set", "penalty=paper", "--out", policy)
    assert "posterior deviation of Q (the paper's)" in of_paper
    assert "replayed episodes" in table
    assert "functions by depth" in table
    assert "prices 2, 4, 6" in table
    assert "orders 0 to 15, in steps of 1 (16 values)" in table


def test_fit_says_what_a_baseline_does(folder: Path, tmp_path: Path) -> None:
    log, policy = folder / "log.parquet", tmp_path / "policy"
    facts = json.loads(run("fit", log, "--method", "base-stock", "--out", policy, "--json"))
    assert facts["order_at"] == facts["order_up_to"]
    assert facts["price"] in (2, 4, 6)
    assert "orders up to" in run("fit", log, "--method", "s-S-p", "--out", policy)
    tables = ["--recent", folder / "recent.csv", "--today", folder / "today.csv"]
    rows = json.loads(run("recommend", policy, *tables, "--json"))["recommendations"]
    assert all(row["runner_up_price"] is None for row in rows)


def test_the_same_seed_gives_the_same_file(folder: Path, tmp_path: Path) -> None:
    run("fit", folder / "log.parquet", "--method", "c-fqi", "--iterations", 2, "--seed", 0, "--out", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (folder / "policy").read_bytes()


def test_recommend_answers_as_the_library_does(folder: Path, tmp_path: Path) -> None:
    tables = ["--recent", folder / "recent.csv", "--today", folder / "today.csv"]
    rows = json.loads(run("recommend", folder / "policy", *tables, "--json"))["recommendations"]
    recent, today = (pd.read_csv(folder / f"{name}.csv") for name in ("recent", "today"))
    expected = lostsales.load(folder / "policy").recommend(recent, today)
    assert [row["series"] for row in rows] == [str(each) for each in expected["series"]]
    for column in ("price", "order", "depth", "value", "safe_action", "flag"):
        assert [row[column] for row in rows] == expected[column].tolist(), column
    for name in ("answer.csv", "answer.parquet"):
        shown = run("recommend", folder / "policy", *tables, "--out", tmp_path / name)
        assert "written to" in shown
        read = pd.read_csv if name.endswith("csv") else pd.read_parquet
        written = read(tmp_path / name)
        assert written["price"].tolist() == expected["price"].tolist()
        assert written["series"].astype(str).tolist() == expected["series"].astype(str).tolist()


def test_recommend_shows_a_table(folder: Path) -> None:
    asked = "recommend", folder / "policy", "--recent", folder / "recent.csv", "--today", folder / "today.csv"
    assert "Not yet evaluated" in run(*asked).splitlines()[0]
    assert "advantage" not in run(*asked)
    shown = run(*asked, "--full")
    for column in ("series", "period", "price", "order", "depth", "value", "advantage"):
        assert column in shown


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_recommend_never_cuts_a_figure_off(folder: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    tables = ["--recent", folder / "recent.csv", "--today", folder / "today.csv"]
    rows = json.loads(run("recommend", folder / "policy", *tables, "--json"))["recommendations"]
    monkeypatch.setattr(screen, "width", width)
    verdict, shown = run("recommend", folder / "policy", *tables, "--full").split("\n", 1)
    assert "Not yet evaluated" in verdict
    assert max(map(len, shown.splitlines())) <= width
    assert "\u2026" not in shown
    figures = shown.split()
    for row in rows:
        for name in ("price", "order"):
            assert f"{row[name]:g}" in figures
    assert set(rounded(np.array([row["value"] for row in rows]))) <= set(figures)


def test_recommend_writes_dates_and_names_as_in_the_table(folder: Path, tmp_path: Path) -> None:
    names = {"series": "SKU", "period": "Day", "price": "Price", "order": "Units Ordered", "stock": "On Hand"}
    problem = small_log("released").problem.model_dump() | {"columns": names, "format": {"dates": "%d.%m.%Y"}}
    (tmp_path / "sales.toml").write_text(Problem.model_validate(problem).to_toml())
    recent, today = (pd.read_csv(folder / f"{name}.csv") for name in ("recent", "today"))
    sales = frame_of(small_log("released"))
    for name, frame in (("sales", sales), ("recent", recent), ("today", today)):
        frame["period"] = (pd.Timestamp("2026-01-31") + pd.to_timedelta(frame["period"], "D")).dt.strftime("%d.%m.%Y")
        frame.rename(columns=names).to_csv(tmp_path / f"{name}.csv", index=False)
    run("fit", tmp_path / "sales.csv", "--method", "c-fqi", "--iterations", 2, "--out", tmp_path / "policy")
    asked = ["recommend", tmp_path / "policy", "--recent", tmp_path / "recent.csv", "--today", tmp_path / "today.csv"]
    shown = run(*asked, "--out", tmp_path / "decisions.csv")
    assert {"SKU", "Day", "Price", "Units", "Ordered"} <= set(shown.split())
    for row in (pd.read_csv(tmp_path / "decisions.csv").iloc[0], run_json(*asked)["recommendations"][0]):
        assert row["Day"] == today["period"][0] == "06.02.2026"
        assert row["Price"] in (2, 4, 6)
        assert row["Units Ordered"] in range(16)


def test_day_one_needs_no_recent_rows(folder: Path) -> None:
    rows = json.loads(run("recommend", folder / "policy", "--today", folder / "today.csv", "--json"))
    assert {row["flag"] for row in rows["recommendations"]} == {"no recent rows: the usual demand is used"}


def test_many_rows_are_cut_on_the_screen(folder: Path, tmp_path: Path) -> None:
    today = pd.read_csv(folder / "today.csv").head(1)
    many = pd.concat([today.assign(series=f"sku {each}") for each in range(60)])
    many.to_csv(tmp_path / "many.csv", index=False)
    shown = run("recommend", folder / "policy", "--today", tmp_path / "many.csv")
    assert "... and 10 more series" in shown
    assert "sku 49" in shown
    assert "sku 50" not in shown


def test_the_default_method_is_that_of_the_library(folder: Path, tmp_path: Path) -> None:
    facts = run_json("fit", folder / "log.parquet", "--set", "draws=1", "--iterations", 1, "--out", tmp_path / "policy")
    assert facts["method"] == DEFAULT == "planner"


def test_settings_by_command_by_file_and_in_python_give_the_same_policy(folder: Path, tmp_path: Path) -> None:
    log, config = folder / "log.parquet", tmp_path / "settings.toml"
    config.write_text(
        'iterations = 7\nseed = 4\nboundary = "paper"\n[rules]\nmultiple = 3\n[function]\nridges = [1, 10]\n'
    )
    given = ["fit", log, "--method", "pc-fqi"]
    run(*given, "--config", config, "--set", "iterations=2", "--set", "rules.minimum=6", "--out", tmp_path / "file")
    texts = ["boundary=paper", "rules.multiple=3", "rules.minimum=6.0", "function.ridges=[1, 10]", "seed=4"]
    options = [part for text in texts for part in ("--set", text)]
    run(*given, *options, "--iterations", 2, "--out", tmp_path / "command")
    learner = lostsales.PCFQI(
        iterations=2,
        seed=4,
        boundary="paper",
        rules=lostsales.Rules(multiple=3, minimum=6),
        function=FunctionClass(ridges=(1.0, 10.0)),
    )
    table = lostsales.read_log(log)
    lostsales.with_replayed_value(lostsales.fit(table, learner), table, seed=4).save(tmp_path / "python")
    assert (tmp_path / "file").read_bytes() == (tmp_path / "command").read_bytes() == (tmp_path / "python").read_bytes()


def test_methods_are_listed_with_their_settings() -> None:
    listed = run_json("methods")["methods"]
    assert [each["method"] for each in listed] == list(LEARNERS.names)
    assert all(each["about"] for each in listed)
    (planner,) = run_json("methods", "planner")["methods"]
    draws = next(each for each in planner["settings"] if each["name"] == "draws")
    assert (draws["type"], draws["default"]) == ("whole number, at least 1", "")
    assert "bootstrap" in draws["description"]
    assert "rules.multiple" in run("methods", "planner")
    assert "newsvendor" in run("methods")


def test_the_help_of_fit_lists_the_methods_of_the_registry() -> None:
    assert "fqi-plugin" in run("fit", "--help")
