"""`lostsales experiment`: what it prints, writes and draws."""

import csv
import json
import re
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from lostsales.apps.cli import app
from lostsales.apps.commands.experiment import QUICK_LEVELS, as_markdown, print_outcome, to_json
from lostsales.apps.commands.experiment_figures import figure_of_gaps, figure_of_values
from lostsales.lab.experiments.claims import check_claims
from lostsales.lab.experiments.design import FEW_LEVELS, LEVELS
from lostsales.lab.experiments.published import published_results
from lostsales.lab.experiments.results import summarise_results
from lostsales.simulation.scenario import Scenario
from tests.lab.experiments.small import TINY, made_up
from tests.lab.experiments.test_claims import AS_THE_PAPER_SAYS

FILES = {"results.parquet", "summary.csv", "claims.csv", "times.csv", "summary.md", "manifest.json"}
FIGURES = {"uniform.png", "near-optimal.png", "gaps.png"}


def run(*arguments: Any) -> str:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_from_end_to_end(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    asked = [TINY, "--out", folder, "--quick", "--levels", "5,10", "--methods", "c-fqi, pc-fqi", "--workers", 1]
    asked += ["--iterations", 2, "--test-episodes", 10]
    found = json.loads(run(*asked, "--json"))
    assert found["cells"] == 4 * (6 + 2 * 2 * 2)
    assert found["failures"] == []
    assert {each["verdict"] for each in found["claims"]} <= {"reproduced", "not reproduced", "inconclusive"}
    assert {path.name for path in folder.iterdir()} >= FILES | FIGURES
    for name in FIGURES:
        assert (folder / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with (folder / "summary.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in table] == pytest.approx([row["mean"] for row in found["summary"]])
    assert {row["n"] for row in table} == {"4"}
    shown = run(*asked)
    for text in ("pi* for discount", "10 episodes", "c-fqi beats pc-fqi", "56 cells in"):
        assert text in shown


def test_figures_show_our_curves_the_published_ones_and_the_references() -> None:
    results = made_up(AS_THE_PAPER_SAYS, scenario=Scenario.load("released"))
    figure = figure_of_values(results, "uniform")
    (axes,) = figure.axes
    labels = axes.get_legend_handles_labels()[1]
    expected = ["C-FQI", "PC-FQI", "fusion", "planner (ours)", "C-FQI, published", "pi*, published (31.89)"]
    assert set(expected) <= set(labels)
    assert len(labels) == 4 + 3 + 5
    ours = axes.containers[labels.index("C-FQI") - 5].lines[0]  # type: ignore[attr-defined]
    means = [row.mean for row in summarise_results(results) if (row.behaviour, row.method) == ("uniform", "c-fqi")]
    assert np.asarray(ours.get_ydata()).tolist() == means
    assert "episodes" in axes.get_xlabel()
    assert "profit per period (money)" in axes.get_ylabel()
    low, high = axes.get_ylim()
    assert low < min(means) < 33 < high
    colours = {container.lines[0].get_color() for container in axes.containers[:4]}  # type: ignore[attr-defined]
    assert len(colours) == 4


def test_nothing_published_is_drawn_for_another_scenario() -> None:
    (axes,) = figure_of_values(made_up(AS_THE_PAPER_SAYS), "near-optimal").axes
    assert not any("published" in label for label in axes.get_legend_handles_labels()[1])


def test_the_gaps_have_a_panel_a_behaviour_and_baselines_in_grey() -> None:
    with_baseline = AS_THE_PAPER_SAYS | {("uniform", "behaviour"): (-18.0, -18.0)}
    failed = with_baseline | {("near-optimal", "behaviour"): (np.nan, np.nan)}
    figure = figure_of_gaps(made_up(failed))
    assert [axes.get_title() for axes in figure.axes] == [
        "tiny: learned from uniform behaviour",
        "tiny: learned from near-optimal behaviour",
    ]
    for axes in figure.axes:
        assert set(axes.get_legend_handles_labels()[1]) == {"C-FQI", "PC-FQI", "fusion", "planner (ours)", "behaviour"}


def test_the_page_and_the_screen_say_what_failed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    results = made_up(AS_THE_PAPER_SAYS | {("uniform", "fusion"): (np.nan, 31.0)}, spread=0.1)
    page = as_markdown(results, summarise_results(results), check_claims(results))
    assert "| fusion | failed | 3" in page
    assert re.search(r"^\| c-fqi beats pc-fqi \| \w[\w ]*: 2\.", page, flags=re.MULTILINE)
    assert page.count("\n## ") == 3
    assert "| uniform | fusion | 10 | 31.0 | 31.0 | 3" in page
    print_outcome(results, tmp_path, [])
    assert "pip install 'lostsales[plots]'" in capsys.readouterr().out


def test_differences_to_the_published_figures_are_shown_with_both_intervals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    results = made_up(AS_THE_PAPER_SAYS, spread=0.1, scenario=Scenario.load("released"))
    page = as_markdown(results, summarise_results(results), check_claims(results))
    compared = page[page.index("## Against the published figures") :]
    (row,) = [line for line in compared.splitlines() if line.startswith("| near-optimal | pc-fqi | 10 |")]
    ours, published, difference = row.split(" | ")[3:]
    assert ours.startswith("31.")
    assert published == "25.37 (22.27 to 28.47)"
    low, high = (float(text) for text in difference.split("(")[1].split(")")[0].split(" to "))
    assert low < 31.5 - 25.371 < high
    assert [each["episodes"] for each in to_json(results, tmp_path)["published"]] == [10] * 6 + [0, 0]
    print_outcome(results, tmp_path, [])
    assert "Against the published figures" in capsys.readouterr().out
    elsewhere = made_up(AS_THE_PAPER_SAYS)
    assert "Against" not in as_markdown(elsewhere, summarise_results(elsewhere), check_claims(elsewhere))


def test_published_figures_are_those_of_released_only() -> None:
    released = Scenario.load("released")
    points = {(each.behaviour, each.method, each.episodes): each.mean for each in published_results(released)}
    assert points["uniform", "c-fqi", 50] == 31.310
    assert points["near-optimal", "pc-fqi", 10] == 25.371
    assert len(points) == 32
    assert published_results(released.model_copy(update={"horizon": 51})) == []


@pytest.mark.slow
def test_a_first_look_takes_less_than_a_minute(tmp_path: Path) -> None:
    """The example of the command, with two workers on a machine that is free."""
    began = perf_counter()
    found = json.loads(run("released", "--quick", "--out", tmp_path / "first-look", "--json"))
    assert perf_counter() - began < 60
    assert not found["failures"]
    best = {each["method"]: each["mean"] for each in found["summary"] if each["episodes"] == QUICK_LEVELS[-1]}
    assert best["planner"] > best["c-fqi"] > best["behaviour"]


def test_a_level_at_which_a_method_was_not_fitted_is_empty_and_not_failed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rising = tuple(20.0 + at for at in range(len(LEVELS)))
    means = {key: value * (len(LEVELS) if key[0] == "reference" else 1) for key, value in AS_THE_PAPER_SAYS.items()}
    means |= {key: rising if key[1] != "planner" else (40.0,) * len(LEVELS) for key in means if key[0] != "reference"}
    means |= {(behaviour, "fqi-imputed"): (0.0,) * len(LEVELS) for behaviour in ("uniform", "near-optimal")}
    results = made_up(means, spread=0.0, levels=LEVELS)
    claims = check_claims(results)
    page = as_markdown(results, summarise_results(results), claims)
    assert "| planner | 40.00 ± 0.00 | 40.00 ± 0.00 |  |  |  |  |  |  |  | 40.00 ± 0.00 |" in page
    assert "failed" not in page
    lead = {each.measured: (each.mean, each.low, each.high) for each in claims}
    assert lead["c-fqi - fqi-imputed"] == pytest.approx((70 / 3,) * 3)
    # The planner's lead is over its own levels: 40 less the mean of 20, 21 and 29.
    assert lead["planner - c-fqi"][0] == pytest.approx(50 / 3)
    print_outcome(results, tmp_path, [])
    assert "failed" not in capsys.readouterr().out
    for line in figure_of_values(results, "uniform").axes[0].get_lines():
        assert len(np.asarray(line.get_xdata())) in (2, len(LEVELS), len(FEW_LEVELS))
