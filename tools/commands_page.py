"""Writes docs/commands.md and a page for each group of commands: `python -m tools.commands_page`."""

import inspect
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from typer.models import ArgumentInfo

from lostsales.apps.cli import GROUPS, app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
FOLDER = PAGE.with_suffix("")
HEAD = """# Every command

Written by `python -m tools.commands_page`. `lostsales COMMAND --help` shows the same.

An error is one message with exit code 2. The ending of a file (`.csv`, `.parquet`, `.xlsx`) determines its format.
With `--json` the standard output holds one JSON object and nothing else. Progress is shown on the standard error.
"""
SHARED = """## Options of every command that reads a log

They are not repeated on the pages of the commands.
"""
OFTEN = 10  # commands with the same option, from which on it is described once


class Parameter(NamedTuple):
    """An argument or an option as its row shows it."""

    text: str  # SCENARIO or --seed NUMBER
    about: str
    default: str
    is_argument: bool

    @property
    def row(self) -> str:
        """Row of a table."""
        return f"| `{self.text}` | {self.about} | {self.default} |"


def commands() -> dict[str, Callable[..., Any]]:
    """Every command by name."""
    return {name: command for group in grouped().values() for name, command in group.items()}


def grouped() -> dict[str, dict[str, Callable[..., Any]]]:
    """Commands by name, in the groups of `lostsales --help`."""
    found = {title: {each.__name__: each for each in group} for title, group in GROUPS.items()}
    for each in app.registered_groups:
        if (inner := each.typer_instance) is not None:
            inner_commands = ((one, one.callback) for one in inner.registered_commands)
            found[str(each.rich_help_panel)] |= {
                f"{inner.info.name} {one.name or callback.__name__}": callback
                for one, callback in inner_commands
                if callback is not None
            }
    return found


def pages() -> dict[Path, str]:
    """The text of every page by its path."""
    shared = _shared()
    found = {PAGE: _index(shared)}
    for title, group in grouped().items():
        sections = (_section(name, command, shared) for name, command in group.items())
        found[FOLDER / f"{_slug(title)}.md"] = "\n".join([f"# {title}\n", *sections])
    return found


def examples(command: Callable[..., Any]) -> list[str]:
    """The commands that a docstring shows."""
    lines = inspect.cleandoc(command.__doc__ or "").splitlines()
    return [line.split("`")[1] for line in lines if line.startswith("Example: ")]


def _index(shared: list[Parameter]) -> str:
    lines = [HEAD, "| command | what it does |", "|---|---|"]
    for title, group in grouped().items():
        for name, command in group.items():
            link = f"commands/{_slug(title)}.md#{name.replace(' ', '-')}"
            lines.append(f"| [`{name}`]({link}) | {_paragraphs(command)[0]} |")
    lines += ["", SHARED, "| option | meaning | default |", "|---|---|---|", *(each.row for each in shared), ""]
    lines += ["```{toctree}", ":hidden:", "", *(f"commands/{_slug(title)}" for title in GROUPS), "```"]
    return "\n".join(lines) + "\n"


def _shared() -> list[Parameter]:
    """Parameters that many commands have in the same words."""
    counts = Counter(each for command in commands().values() for each in _parameters(command))
    return [each for each, count in counts.items() if count >= OFTEN]


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def _paragraphs(command: Callable[..., Any]) -> list[str]:
    return [part.replace("\n", " ") for part in inspect.cleandoc(command.__doc__ or "").split("\n\n")]


def _section(name: str, command: Callable[..., Any], shared: list[Parameter]) -> str:
    parameters = _parameters(command)
    arguments = [each.text for each in parameters if each.is_argument]
    needed = [each.text for each in parameters if not each.is_argument and each.default == "needed"]
    usage = " ".join(["lostsales", name, *arguments, *needed, "[OPTIONS]"])
    rows = [each.row for each in parameters if each not in shared]
    also = ", ".join(f"`{each.text.split()[0]}`" for each in parameters if each in shared)
    text = [f"## {name}", *_paragraphs(command), f"```text\n{usage}\n```"]
    if rows:
        text.append("\n".join(["| option | meaning | default |", "|---|---|---|", *rows]))
    if also:
        text.append(f"Also, [as everywhere](../commands.md#options-of-every-command-that-reads-a-log): {also}.")
    return "\n\n".join([*text, ""])


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
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
