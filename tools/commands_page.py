"""Writes docs/commands.md from the commands themselves: `python -m tools.commands_page`."""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from typer.models import ArgumentInfo

from lostsales.apps.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
HEAD = """# Every command

Written by `python -m tools.commands_page`; `lostsales COMMAND --help` says the same.

A mistake ends in one message that says what was wanted and what came, and exit code 2. Tables are CSV or Parquet, by
their ending. With `--json` the standard output holds one JSON object and nothing else. Work of more than a second
shows a bar with the time left on the standard error.
"""


class Parameter(NamedTuple):
    """An argument or an option as its row shows it."""

    text: str  # SCENARIO or --seed NUMBER
    about: str
    default: str
    is_argument: bool


def commands() -> dict[str, Callable[..., Any]]:
    """Every command by name."""
    groups = [
        ("", app),
        *(
            (f"{each.typer_instance.info.name} ", each.typer_instance)
            for each in app.registered_groups
            if each.typer_instance
        ),
    ]
    return {
        f"{before}{each.name or each.callback.__name__}": each.callback
        for before, group in groups
        for each in group.registered_commands
        if each.callback is not None
    }


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name, command) for name, command in sorted(commands().items()))])


def examples(command: Callable[..., Any]) -> list[str]:
    """The commands that a docstring shows."""
    lines = inspect.cleandoc(command.__doc__ or "").splitlines()
    return [line.split("`")[1] for line in lines if line.startswith("Example: ")]


def _section(name: str, command: Callable[..., Any]) -> str:
    about = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    parameters = _parameters(command)
    arguments = [each.text for each in parameters if each.is_argument]
    needed = [each.text for each in parameters if not each.is_argument and each.default == "needed"]
    usage = " ".join(["lostsales", name, *arguments, *needed, "[OPTIONS]"])
    rows = [f"| `{each.text}` | {each.about} | {each.default} |" for each in parameters]
    text = [part.replace("\n", " ") for part in about]
    return "\n\n".join(
        [f"## {name}", *text, f"```text\n{usage}\n```", "\n".join(["| | | default |", "|---|---|---|", *rows]), ""]
    )


def _parameters(command: Callable[..., Any]) -> list[Parameter]:
    found = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = get_args(parameter.annotation)
        default = "needed" if parameter.default is inspect.Parameter.empty else _default(parameter.default)
        about = str(info.help).replace("|", "\\|")
        if isinstance(info, ArgumentInfo):
            found.append(Parameter(name.upper(), about, default, is_argument=True))
            continue
        given = [each for each in (info.default, *(info.param_decls or ())) if str(each).startswith("--")]
        flag = given[0] if given else f"--{name.replace('_', '-')}"
        found.append(Parameter(f"{flag} {info.metavar or _value(kind)}".strip(), about, default, is_argument=False))
    return found


def _value(kind: Any) -> str:
    """Placeholder after an option of this type."""
    kinds = [each for each in get_args(kind) if each is not NoneType] if get_origin(kind) is not Literal else [kind]
    one = kinds[0] if kinds else kind
    if get_origin(one) is Literal:
        return "/".join(get_args(one))
    return {bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH"}.get(one, "TEXT")


def _default(value: Any) -> str:
    return "" if value is None or value is False else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
