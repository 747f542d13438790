"""The built wheel and source distribution: contents, size, and that they work when installed outside the tree."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST_WHEEL = 2_000_000  # bytes


def run(*words: str | Path, folder: Path) -> str:
    """Output of a command, which must succeed."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the tree."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, TREE, folder=TREE)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"lostsales", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert not [name for name in names if re.search(r"(^|/)(tests?|conftest|__pycache__)(/|\.|$)", name)]
    assert "lostsales/py.typed" in names
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    tracked = run("git", "ls-files", "src/lostsales", folder=TREE).split("\n")
    assert {each.removeprefix("src/") for each in tracked if each} <= set(zipfile.ZipFile(wheel).namelist())


def test_twine_and_check_wheel_contents_accept_it(wheel: Path) -> None:
    source = next(wheel.parent.glob("*.tar.gz"))
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source, folder=wheel.parent)
    run(sys.executable, "-m", "check_wheel_contents", wheel, folder=wheel.parent)


def test_the_version_is_that_of_the_tag_or_a_development_one(wheel: Path) -> None:
    assert re.search(r"-\d+\.\d+\.\d+(\.dev\d+)?-py3", wheel.name), wheel.name


def lowest(requirements: list[str]) -> list[str]:
    """The lowest version that each requirement allows."""
    return [each.split(";")[0].replace(">=", "==") for each in requirements]


def test_requirements_have_a_lowest_version_and_no_highest() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    outside = [each for group in groups for each in group if not each.startswith("lostsales[")]
    assert all(re.fullmatch(r"[\w.\[\]-]+>=[\d.]+(;.*)?", each) for each in outside)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.13", "lowest"])
def test_installed_from_the_wheel_it_goes_from_a_table_to_decisions(wheel: Path, tmp_path: Path, version: str) -> None:
    python = sys.executable if version == "lowest" else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"no Python {version} at hand")
    run(python, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    installed = tmp_path / "empty" / "bin"
    pins = lowest(PROJECT["dependencies"]) if version == "lowest" else []
    run(installed / "python", "-m", "pip", "install", "--quiet", wheel, *pins, folder=tmp_path)
    for words in ("example corner-shop --out sales.csv", "fit sales.csv --out policy"):
        run(installed / "lostsales", *words.split(), folder=tmp_path)
    run(installed / "python", "-m", "lostsales", "recommend", "policy", "--log", "sales.csv", folder=tmp_path)
