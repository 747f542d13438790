"""Figures of the documentation say what they were measured on, and are renewed where that has changed."""

import subprocess
from pathlib import Path

import pytest

from tools.figures import ROOT, Figures, differs, figures_of, renew

PAGE = """# Figures
Recorded at commit {commit} by `python measure.py`. <!-- of: measure.py; 1 min -->

| what | figure |
|---|---|
| answer | 1 |

| another | table |
|---|---|
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A page whose figures were measured at the only commit."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "measure.py").write_text("print('| what | figure |\\n|---|---|\\n| answer | 2 |')")
    (tmp_path / "unrelated.py").write_text("")
    commit_all(tmp_path)
    (tmp_path / "page.md").write_text(PAGE.format(commit=git(tmp_path, "rev-parse", "HEAD")[:7]))
    return tmp_path


def git(folder: Path, *words: str) -> str:
    named = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(named, cwd=folder, check=True, capture_output=True, text=True).stdout  # noqa: S603


def commit_all(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")


def is_stale(project: Path) -> bool:
    (found,) = figures_of(project / "page.md")
    return differs(project, found.commit, found.paths)


def test_figures_are_stale_where_the_code_that_they_describe_changed(project: Path) -> None:
    assert not is_stale(project)
    (project / "unrelated.py").write_text("1")
    commit_all(project)
    assert not is_stale(project)
    (project / "measure.py").write_text((project / "measure.py").read_text() + "\n")
    assert is_stale(project)


def test_an_unknown_commit_is_stale(project: Path) -> None:
    (project / "page.md").write_text(PAGE.format(commit="abcdef0"))
    assert is_stale(project)


def test_stale_figures_are_measured_again(project: Path) -> None:
    (project / "measure.py").write_text((project / "measure.py").read_text() + "\n")
    (found,) = figures_of(project / "page.md")
    with pytest.raises(SystemExit, match=r"commit measure\.py first"):
        renew(found, project)
    commit_all(project)
    renew(found, project)
    head = git(project, "rev-parse", "HEAD")[:7]
    assert (project / "page.md").read_text() == PAGE.format(commit=head).replace("Recorded", "Measured").replace(
        "| 1 |", "| 2 |"
    )
    assert not is_stale(project)


def test_every_table_that_a_command_prints_takes_its_place_in_order(project: Path) -> None:
    (project / "measure.py").write_text("print('| a |\\n|---|\\n| 2 |\\n\\n| b |\\n|---|\\n| 3 |\\n\\n| c |\\n|---|')")
    commit_all(project)
    (found,) = figures_of(project / "page.md")
    with pytest.raises(SystemExit, match="more tables than there are below it"):
        renew(found, project)
    (project / "measure.py").write_text("print('| a |\\n|---|\\n| 2 |\\n\\n| b |\\n|---|\\n| 3 |')")
    commit_all(project)
    renew(found, project)
    assert (project / "page.md").read_text().endswith("| a |\n|---|\n| 2 |\n\n| b |\n|---|\n| 3 |\n")


def test_a_table_below_the_next_heading_belongs_to_another_block(project: Path) -> None:
    text = (project / "page.md").read_text().replace("| another |", "## Further\n| another |")
    (project / "page.md").write_text(text)
    (project / "measure.py").write_text("print('| a |\\n|---|\\n| 2 |\\n\\n| b |\\n|---|\\n| 3 |')")
    commit_all(project)
    (found,) = figures_of(project / "page.md")
    with pytest.raises(SystemExit, match="more tables than there are below it"):
        renew(found, project)
    assert (project / "page.md").read_text() == text


def test_a_command_that_fails_leaves_its_page(project: Path) -> None:
    (project / "measure.py").write_text("raise SystemExit(3)")
    commit_all(project)
    before = (project / "page.md").read_text()
    (found,) = figures_of(project / "page.md")
    assert renew(found, project) == "failed with exit code 3"
    assert (project / "page.md").read_text() == before


def test_data_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    found = Figures(tmp_path / "page.md", "abcdef0", "make study DATA=DATA/sales.csv", ("measure.py",), 1)
    assert found.words(None) is None
    assert found.words(tmp_path) is None
    assert renew(found, tmp_path) == "needs data (DATA=FOLDER)"
    (tmp_path / "sales.csv").write_text("")
    assert found.words(tmp_path) == ["make", "study", f"DATA={tmp_path.resolve()}/sales.csv"]


def test_every_commit_that_a_page_names_is_one_that_make_figures_reads() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        named = page.read_text(encoding="utf-8").count(" at commit ")
        assert len(figures_of(page)) == named, f"{page.name}: see tools/figures.py for the form of the line"
        for each in figures_of(page):
            assert all((ROOT / path).exists() for path in each.paths), page.name
