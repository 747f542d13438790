"""The house: one class, one name."""

import ast
from collections import Counter
from pathlib import Path

import lostsales

HOME = Path(lostsales.__file__).parent
# Names that two classes still share. The list only shrinks: a name that no longer needs to stand here fails the test.
SHARED: set[str] = set()


def test_no_two_classes_share_a_name() -> None:
    found = Counter(
        node.name
        for path in HOME.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, times in found.items() if times > 1} == SHARED


def test_compiled_functions_stand_below_those_that_they_call() -> None:
    """The name under which machine code is kept depends on the functions that are known when one is compiled."""
    wrong = []
    for path in HOME.rglob("*.py"):
        functions = {
            node.name: node
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(each, ast.Name) and each.id == "compiled" for each in node.decorator_list)
        }
        for caller in functions.values():
            named = {each.id for each in ast.walk(caller) if isinstance(each, ast.Name)}
            called = (functions[name] for name in named & functions.keys())
            wrong += [f"{path.name}: {each.name}" for each in called if each.lineno > caller.lineno]
    assert wrong == []
