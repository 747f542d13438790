"""The built wheel and source distribution: contents, size, and that they work when installed outside the tree."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
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


def test_the_source_distribution_holds_what_builds_the_wheel(wheel: Path) -> None:
    source = next(wheel.parent.glob("*.tar.gz"))
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    outside = {name for name in names if not name.startswith("src/lostsales/")}
    assert outside == {".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert source.stat().st_size < LARGEST_WHEEL


def test_twine_and_check_wheel_contents_accept_it(wheel: Path) -> None:
    source = next(wheel.parent.glob("*.tar.gz"))
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source, folder=wheel.parent)
    run(sys.executable, "-m", "check_wheel_contents", wheel, folder=wheel.parent)


def test_the_version_is_that_of_the_tag_or_a_development_one(wheel: Path) -> None:
    assert re.search(r"-\d+\.\d+\.\d+(\.dev\d+)?-py3", wheel.name), wheel.name


def lowest() -> list[str]:
    """The lowest version that each requirement of the package and its extra `all` allows."""
    extras = PROJECT["optional-dependencies"]
    named = re.search(r"\[(.*)\]", extras["all"][0])
    assert named is not None
    groups = [PROJECT["dependencies"], *(extras[each] for each in named[1].split(","))]
    outside = {each for group in groups for each in group if not each.startswith("lostsales[")}
    return sorted(each.split(";")[0].replace(">=", "==") for each in outside)


def interpreter(version: str) -> str | None:
    """A Python of a version that runs: on the path, or one of pyenv's."""
    places = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    works = (each for each in places if each and not subprocess.run([each, "-c", ""], check=False).returncode)  # noqa: S603
    return next(works, None)


def test_requirements_have_a_lowest_version_and_no_highest() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    outside = [each for group in groups for each in group if not each.startswith("lostsales[")]
    assert all(re.fullmatch(r"[\w.\[\]-]+>=[\d.]+(;.*)?", each) for each in outside)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.13", "lowest"])
def test_installed_from_the_wheel_it_goes_from_a_table_to_decisions(wheel: Path, tmp_path: Path, version: str) -> None:
    """With everything, into an empty environment outside the tree; with the lowest versions in this Python."""
    python = sys.executable if version == "lowest" else interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} at hand")
    run(python, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    installed = tmp_path / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    pins = lowest() if version == "lowest" else []
    run(installed / "python", "-m", "pip", "install", "--quiet", f"{wheel}[all]", *pins, folder=tmp_path)
    commands = (
        "example corner-shop --out sales.csv",
        "init sales.csv --out log.toml",
        "fit sales.csv --out policy",
        "recommend policy --log sales.csv",
        "serve policy --log sales.csv --check",
        "mcp policy --log sales.csv --check",
    )
    for words in commands:
        run(installed / "lostsales", *words.split(), folder=tmp_path)
    assert "lostsales" in run(installed / "python", "-m", "lostsales", "--help", folder=tmp_path)


def processor_seconds(*words: str) -> float:
    """The best of five: seconds of the processor that a command takes."""
    times = []
    for _ in range(5):
        before = os.times()
        run(*words, folder=TREE)
        after = os.times()
        times.append(sum(after[2:4]) - sum(before[2:4]))
    return min(times)


def test_help_and_import_are_quick() -> None:
    """An import takes 0.1 s more than Python itself; help takes 0.5 s, and a half more where others use the machine."""
    python = processor_seconds(sys.executable, "-c", "")
    assert processor_seconds(sys.executable, "-c", "import lostsales") < python + 0.1
    assert processor_seconds(str(Path(sys.executable).parent / "lostsales"), "--help") < 0.75
