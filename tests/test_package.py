"""What `import lostsales` offers, and that it is documented."""

import ast
import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from pydantic import BaseModel

import lostsales
from lostsales.data.setting_fields import described_fields
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.presets import ALIASES, environment_id, preset_names
from tools.public_names import SNAPSHOT, public_names

NAMES = [name for name in dir(lostsales) if name != "__version__"]


def sections(text: str) -> set[str]:
    """The headings of a numpydoc docstring."""
    return set(re.findall(r"^(\w+)\n-+$", inspect.cleandoc(text), flags=re.MULTILINE))


def takes_arguments(item: Any) -> bool:
    return any(name not in ("self", "args", "kwargs") for name in inspect.signature(item).parameters)


def is_error(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, Exception)


def is_ours(method: str) -> bool:
    """Not one that another installed package offers."""
    return LEARNERS.get(method).__module__.startswith("lostsales.")


def test_every_name_is_there_and_is_no_module() -> None:
    assert dir(lostsales) == sorted(dir(lostsales))
    assert isinstance(lostsales.__version__, str)
    for name in NAMES:
        assert callable(getattr(lostsales, name)), name


def test_the_stub_lists_every_public_name_once() -> None:
    stub = ast.parse(Path(str(lostsales.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(map(str, imported)) == NAMES


def test_public_names_parameters_and_file_formats_are_those_of_the_snapshot() -> None:
    """A wanted change is a line in the changelog, and `python -m tools.public_names`."""
    assert public_names() == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("method", [name for name in LEARNERS.names if is_ours(name)])
def test_every_learner_of_the_registry_is_a_public_name(method: str) -> None:
    learner = LEARNERS.get(method)
    assert getattr(lostsales, learner.__name__) is learner


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_numpydoc_docstring(name: str) -> None:
    item = getattr(lostsales, name)
    text = item.__doc__ or ""
    assert text.splitlines()[:1] != [], f"{name} has no docstring"
    assert text.splitlines()[0].strip().endswith("."), f"the first line of {name} is no sentence"
    if is_error(item):
        return
    found = sections(text)
    if inspect.isfunction(item):
        wanted = {"Parameters"} if takes_arguments(item) else set()
        assert found >= wanted | (set() if item.__annotations__["return"] is None else {"Returns"}), name
    elif issubclass(item, BaseModel):  # the fields of a result are described by comments
        missing = [field for field, description in described_fields(item).items() if not description]
        assert not missing, f"{name} does not describe {', '.join(missing)}"


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example_that_runs(name: str) -> None:
    """Running it is the work of the doctests in src; here it must exist and not be skipped."""
    item = getattr(lostsales, name)
    if is_error(item):
        return
    examples = [each for test in doctest.DocTestFinder(recurse=False).find(item, name) for each in test.examples]
    assert any(not each.options.get(doctest.SKIP) for each in examples), f"{name} shows no example"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lostsales.nonsense  # type: ignore[attr-defined]


def test_one_environment_a_preset() -> None:
    ours = {name for name in gymnasium.registry if name.startswith("lostsales/")}
    assert ours == {environment_id(preset) for preset in (*preset_names(hidden_state=False), *ALIASES)}
    assert "lostsales/ReferencePrice-v0" in ours
