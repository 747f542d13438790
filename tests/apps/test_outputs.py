"""Every command with an output: it destroys no input, no link, no device, and no TOML that people wrote."""

from pathlib import Path

import pytest

from lostsales.learn.fit import fit
from lostsales.simulation.presets import preset_text
from tests.apps.running import Fails, run
from tests.learn.small import small_log

# The command, and each of its files that `--out` must not be.
COMMANDS: list[tuple[str, tuple[str, ...]]] = [
    ("simulate shop.toml --policy policy --episodes 2 --out OUT.csv", ("shop.toml",)),
    ("simulate shop.toml --policy policy --episodes 2 --truth OUT.csv", ()),
    (
        "fit log.csv --problem problem.toml --config settings.toml --out OUT",
        ("log.csv", "problem.toml", "settings.toml"),
    ),
    ("fit log.csv --out OUT", ("log.csv", "log.toml")),
    ("compare log.csv --methods base-stock --out OUT", ("log.csv", "log.toml")),
    ("impute log.csv --out OUT.csv", ("log.csv",)),
    ("recommend policy --today today.csv --recent log.csv --out OUT.csv", ("today.csv", "log.csv")),
    ("report policy.html log.csv --out OUT.html", ("policy.html",)),
    ("forecast log.csv --horizon 2 --out OUT.csv", ("log.csv",)),
    ("pilot log.csv --policy policy --out OUT", ("log.csv", "log.toml", "policy")),
    ("monitor pilot.html log.csv --out OUT.html", ("pilot.html",)),
    ("solve shop.toml --target oracle --out OUT", ("shop.toml",)),
    ("calibrate shop.toml --policy policy --behaviour policy --out OUT", ("shop.toml", "policy")),
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of every input."""
    monkeypatch.chdir(tmp_path)
    run("simulate", "released", "--episodes", 3, "--out", "log.csv")
    policy = fit(small_log("released", 10), "base-stock")
    for name in ("policy", "policy.html"):
        policy.save(tmp_path / name)
    Path("pilot.html").write_text("{}")
    Path("shop.toml").write_text(preset_text("released"))
    for name in ("problem.toml", "settings.toml"):
        Path(name).write_text("# the user's\n")
    Path("today.csv").write_text("series,period,stock,economy,interest\nx,1,3,0,0.0\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("command", "given"), [(command, given) for command, inputs in COMMANDS for given in inputs], ids=str
)
def test_an_input_is_never_overwritten(command: str, given: str, shop: Path, fails: Fails) -> None:
    before = contents(shop)
    out = given if not command.startswith("simulate") else given.replace(".toml", ".csv")
    arguments = [out if part.startswith("OUT") else part for part in command.split()]
    assert "input" in fails(*arguments)
    assert contents(shop) == before


@pytest.mark.parametrize("command", [command for command, _ in COMMANDS])
def test_a_link_is_refused_and_not_followed(command: str, shop: Path, fails: Fails) -> None:
    Path("target").write_text("the user's")
    arguments = command.split()
    out = arguments[-1]
    Path(out).symlink_to("target")
    before = contents(shop)
    assert "is a symbolic link" in fails(*arguments)
    assert contents(shop) == before
    assert Path(out).is_symlink()


@pytest.mark.parametrize("command", [command for command, _ in COMMANDS if command.endswith((".csv", ".html"))])
def test_an_output_of_another_kind_is_refused(command: str, shop: Path, fails: Fails) -> None:
    before = contents(shop)
    wanted = "must end in .parquet, .csv or .xlsx" if command.endswith(".csv") else "must end in .html"
    arguments = command.replace("OUT.csv", "OUT.ods").replace("OUT.html", "OUT.pdf").split()
    message = fails(*arguments)
    assert wanted in message
    assert arguments[-1] in message
    assert contents(shop) == before


@pytest.mark.parametrize("command", [command for command, _ in COMMANDS if not command.endswith((".csv", ".html"))])
def test_a_device_is_refused(command: str, shop: Path, fails: Fails) -> None:
    arguments = command.replace("OUT", "/dev/null").split()
    assert "is a device" in fails(*arguments)
    assert Path("/dev/null").is_char_device()
    assert shop.is_dir()


def test_the_toml_beside_a_log_is_replaced_only_where_it_came_with_one(shop: Path, fails: Fails) -> None:
    before = contents(shop)
    problem = "simulate", "released", "--episodes", 2, "--out", "problem.csv"
    assert "problem.toml, and a file of that name is there that lostsales did not write" in fails(*problem)
    assert contents(shop) == before
    run("simulate", "steady", "--episodes", 2, "--out", "log.csv")  # whose problem the first simulation wrote
    assert 'arrival = "after"' in Path("log.toml").read_text()


def test_the_problem_of_a_log_that_version_0_2_wrote_is_replaced(shop: Path) -> None:
    text = Path("log.toml").read_text()
    Path("log.toml").write_text(text.partition("\n")[2])
    run("simulate", "steady", "--episodes", 2, "--out", "log.csv")
    assert Path("log.toml").read_text() != text
    assert shop.is_dir()


def test_log_and_truth_are_one_file_under_no_spelling(shop: Path, fails: Fails) -> None:
    asked = "simulate", "released", "--out", "new.csv", "--truth", "./new.csv"
    assert "need different files" in fails(*asked)
    assert shop.is_dir()


@pytest.mark.parametrize("out", ["", ".", "/", ".."])
def test_an_output_without_a_name_is_refused(out: str, shop: Path, fails: Fails) -> None:
    before = contents(shop)
    assert "must end in" in fails("simulate", "released", "--out", out)
    message = fails("pilot", "log.csv", "--policy", "policy", "--out", out)
    assert "is no name of a file" in message or "is a folder" in message
    assert contents(shop) == before


@pytest.mark.parametrize(
    ("command", "dropped"),
    [
        ("fit log.csv --config settings.toml --out new", "settings.toml"),
        ("fit log.csv --out new", "./new"),
        ("evaluate policy log.csv", "policy"),
        ("report policy log.csv --out page.html", "policy"),
        ("compare log.csv --out new", "new"),
        ("impute log.csv --out new.csv", "new.csv"),
    ],
)
def test_rows_left_out_go_to_no_other_file_of_the_command(command: str, dropped: str, shop: Path, fails: Fails) -> None:
    before = contents(shop)
    message = fails(*command.split(), "--dropped-rows", dropped)
    assert "the rows left out need a file of their own" in message
    assert contents(shop) == before


def test_rows_left_out_beside_the_log_do_not_go_to_the_output(shop: Path, fails: Fails) -> None:
    asked = "impute", "log.csv", "--drop-bad-rows", "--out", "log.dropped.csv"
    assert "the rows left out need a file of their own" in fails(*asked)
    assert not (shop / "log.dropped.csv").exists()


def test_a_folder_named_as_the_home_is_written_to(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "~").mkdir()
    (shop / "home").mkdir()
    monkeypatch.setenv("HOME", str(shop / "home"))
    run("simulate", "released", "--episodes", 2, "--out", "~/log.csv")
    assert sorted(path.name for path in (shop / "~").iterdir()) == ["log.csv", "log.toml"]
    assert list((shop / "home").iterdir()) == []
