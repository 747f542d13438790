"""Every command and line of Python that README and docs show runs as it stands, and every link leads somewhere."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.data.example import write_example
from lostsales.data.problem import Problem
from lostsales.data.settings import checked
from lostsales.data.sublogs import without
from lostsales.data.writing import write_log, write_table
from lostsales.evaluation.pilot.design import pilot
from lostsales.learn.fit import fit
from tests.apps.fleet.shops import shop_columns, taken, write_source
from tests.learn.small import days, small_log
from tools import commands_page, leaderboard_page, methods_page, notebooks, problem_page
from tools.commands_page import commands, examples

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SLOW = ("backtest", "compare", "fleet compare", "report")  # fit methods several times
QUICK_TUTORIALS = ("hidden-demand", "prices")


def blocks(path: Path, *kinds: str) -> list[tuple[str, str]]:
    """Fenced blocks of these kinds, in their order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [(kind, text) for kind, text in found if kind in kinds]


def run(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "lostsales"
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, f"{command}\n{result.output}"
    return result.stdout


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the quick start: the example's table, without its problem file, and the rows of a day."""
    monkeypatch.chdir(tmp_path)
    write_example("corner-shop", tmp_path / "sales.csv")
    (tmp_path / "sales.toml").unlink()
    table = pd.read_csv("sales.csv")
    last = table["date"] == table["date"].max()
    table[~last].to_csv("recent.csv", index=False)
    table[last].drop(columns=["price", "order", "received", "sales"]).to_csv("today.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_the_quick_start_from_end_to_end(whole: bool, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands among the slow tests; else without the slowest command."""
    start = ROOT / "docs" / "quick-start.md"
    ((_, table),) = blocks(start, "csv")
    assert (shop / "sales.csv").read_text().splitlines()[:2] == table.splitlines()
    ((_, problem),) = blocks(start, "toml")
    lines = [line for _, text in blocks(start, "sh") for line in text.splitlines()]
    assert {shlex.split(line)[1] for line in lines} >= {
        "init",
        "inspect",
        "audit",
        "impute",
        "fit",
        "evaluate",
        "recommend",
    }
    for line in lines:
        if whole or shlex.split(line)[1] not in SLOW:
            assert run(line), line
        if line == "lostsales init sales.csv":
            edited, proposed = (
                checked(Problem, tomllib.loads(text), "") for text in (problem, Path("sales.toml").read_text())
            )
            assert edited.columns == proposed.columns
            (shop / "sales.toml").write_text(problem)  # as edited
    ((_, code),) = blocks(start, "python")
    named: dict[str, Any] = {}
    exec(compile(code, start.name, "exec"), named)  # noqa: S102, our own page
    assert len(named["decisions"]) == 12
    assert "price" in capsys.readouterr().out
    assert (shop / "decisions.csv").read_text().count("\n") == 12 + 1


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_readme_prints_what_it_shows(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shown line is in the output of its command; the slow ones run among the slow tests."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "README.md"
    ((_, today),) = blocks(page, "csv")
    (tmp_path / "today.csv").write_text(today)
    shown = [each for _, text in blocks(page, "console") for each in text.removeprefix("$ ").split("\n$ ")]
    assert [shlex.split(each)[1] for each in shown] == ["example", "audit", "fit", "evaluate", "recommend"]
    for command, *lines in (each.splitlines() for each in shown):
        if whole or shlex.split(command)[1] != "evaluate":
            printed = [line.rstrip() for line in run(command).splitlines()]
            assert lines
            assert not [line for line in lines if line not in printed], command
    ((_, code),) = blocks(page, "python")
    named: dict[str, Any] = {}
    exec(compile(code, page.name, "exec"), named)  # noqa: S102, our own page
    assert named["decisions"]["product"].tolist() == ["Orange juice 1 l", "Cola 1.5 l"]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_first_five_minutes(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for _, text in blocks(ROOT / "docs" / "start.md", "sh") for line in text.splitlines()]
    assert [shlex.split(line)[1] for line in lines] == ["example", "audit", "impute", "fit", "recommend", "evaluate"]
    for line in lines:
        if whole or shlex.split(line)[1] not in ("audit", "evaluate"):  # the slowest
            assert run(line), line
    assert (tmp_path / "decisions.csv").read_text().count("\n") == 12 + 1


def test_the_readme_names_the_two_commands_that_set_everything_up() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((_, block),) = re.findall(r"^## (Try it)\n+```text\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^make \w+", block, flags=re.MULTILINE) == ["make demo", "make test"]
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_is_that_of_its_page(name: str) -> None:
    page = notebooks.FOLDER / f"{name}.md"
    made = notebooks.notebook(page.read_text(encoding="utf-8"))
    kept = nbformat.read(page.with_suffix(".ipynb"), as_version=4)  # type: ignore[no-untyped-call]
    assert [each.source for each in kept.cells] == [each.source for each in made.cells], "run python -m tools.notebooks"


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow) if each not in QUICK_TUTORIALS else each for each in notebooks.NAMES],
)
def test_a_notebook_prints_what_its_page_shows(name: str) -> None:
    text = (notebooks.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    printed = notebooks.run(notebooks.notebook(text))
    assert any(printed)
    assert notebooks.differences(text, printed) == []


HOW_TO = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if blocks(page, "sh"))


@pytest.mark.slow
@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_the_commands_of_a_how_to_page_run(page: Path, shop: Path) -> None:
    """In the folder of the quick start, with its problem file and a policy."""
    ((_, problem),) = blocks(ROOT / "docs" / "quick-start.md", "toml")
    (shop / "sales.toml").write_text(problem)
    run("lostsales fit sales.csv --method base-stock --out policy")
    for line in (line for _, text in blocks(page, "sh") for line in text.splitlines()):
        assert run(line), line
        if line == "lostsales init sales.csv --force":
            (shop / "sales.toml").write_text(problem)  # as edited


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.name)
def test_problem_files_that_pages_show_are_read(page: Path) -> None:
    for _, text in blocks(page, "toml"):
        assert checked(Problem, tomllib.loads(text), page.name)


def test_every_public_name_is_in_the_api_reference() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md")]
    named = [name for page in pages for name in re.findall(r"^   (\w+)$", page, flags=re.MULTILINE)]
    assert sorted(named) == sorted(set(dir(lostsales)) - {"__version__"})


def test_generated_pages_are_up_to_date() -> None:
    pages = commands_page.pages() | {each.PAGE: each.page() for each in (leaderboard_page, methods_page, problem_page)}
    assert [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text] == [], (
        "run make pages"
    )
    assert set(commands_page.FOLDER.iterdir()) < set(pages)


def test_paths_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(
        r"`((?:src/lostsales/|tests/|docs/|benchmarks/)?[\w./-]+(?:\.py|\.toml|\.md|/))(?:::\w+)*`", text
    )
    assert len(paths) > 30
    rooms = ROOT / "src" / "lostsales"
    missing = [path for path in paths if not (ROOT / path).exists() and not (rooms / path).exists()]
    assert not missing


def test_functions_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+\.py)::([\w.]+)`", text)
    assert len(named) > 15
    for path, name in named:
        source = (ROOT / "src" / "lostsales" / path).read_text(encoding="utf-8")
        last = name.split(".")[-1]
        assert re.search(rf"^\s*(?:def|class) {last}\b|^{last}\b.*=", source, flags=re.MULTILINE), f"{path}::{name}"


def _marked(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name


# The examples of experiment, mcp, serve and benchmark are run by their own tests, the last one on made-up data.
ELSEWHERE = ("benchmark", "experiment", "mcp", "serve")


@pytest.mark.parametrize("name", [_marked(name) for name in sorted(commands()) if name not in ELSEWHERE])
def test_every_command_has_an_example_that_runs(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = examples(commands()[name])
    assert found, f"{name} shows no example"
    monkeypatch.chdir(request.getfixturevalue("example"))
    for line in found:
        assert run(line), line


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("example")
    log = small_log("released", 10)
    write_log(log, folder / "log.parquet")
    (folder / "problem.toml").write_text(log.problem.to_toml())
    fit(log, "c-fqi", iterations=2).save(folder / "policy")
    for name, table in zip(("recent", "today"), days(log, 20), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    write_log(log, folder / "since.parquet")
    till = "time,product,quantity,price\n2026-03-02 09:10,milk,2,1.4\n2026-03-02 17:30,milk,1,1.4\n"
    (folder / "till.csv").write_text(till + "2026-03-04 08:00,milk,3,1.4\n2026-03-03 10:00,bread,1,3.2\n")
    pilot(without(log, log.period >= 40), folder / "policy").save(folder / "pilot.json")
    shop, columns = shop_columns(8)
    write_source(folder / "sales", columns, shop)
    fit_fleet(folder / "sales", folder / "store", "base-stock")
    write_table(taken(columns, columns["period"] == 39), folder / "today.parquet")
    write_table(taken(columns, columns["period"] < 39), folder / "recent.parquet")
    return folder


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "docs" / "results").glob("*/summary.csv")), ids=lambda at: at.parent.name
)
def test_no_method_of_an_experiment_exceeds_the_optimum_by_its_measure(folder: Path) -> None:
    """pi* for a discount is no such optimum: it is labelled by its discount, and pages call nothing an upper bound."""
    rows = pd.read_csv(folder).set_index("method")["mean"]
    assert rows.drop(index=["oracle-horizon", "pi-star-horizon"]).max() <= rows["oracle-horizon"]
    page = (folder.parent / "summary.md").read_text(encoding="utf-8")
    assert f"| pi* for discount 0.9, measured undiscounted | {rows['pi-star']:.2f} |" in page
    assert f"optimal for the test: undiscounted, knows the last period | {rows['pi-star-horizon']:.2f} |" in page


def test_no_page_calls_pi_star_an_upper_bound() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(pi\\?\*|pi-star|oracle)[^|\n]*upper\s+bound", text), page.name
