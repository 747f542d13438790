"""`lostsales methods`."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from lostsales.apps.commands.options import Json
from lostsales.apps.console import print_facts, print_json, screen

if TYPE_CHECKING:
    from lostsales.data.setting_fields import SettingField
    from lostsales.learn.learner import Learner


def methods(
    method: Annotated[
        str | None, typer.Argument(help="The method whose settings are listed; by default all methods are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods of `fit`, or the settings of one: name, type, default and description.

    Example: `lostsales methods planner`
    """
    from lostsales.learn.learner import LEARNERS

    shown = LEARNERS.names if method is None else (method,)
    facts = [method_facts(name) for name in shown]
    if as_json:
        print_json({"methods": [each._asdict() | {"settings": [s._asdict() for s in each.settings]} for each in facts]})
    elif method is None:
        print_methods(facts)
    else:
        print_method(facts[0])


class MethodFacts(NamedTuple):
    """A method with its settings."""

    method: str
    about: str
    settings: "list[SettingField]"


def method_facts(name: str) -> MethodFacts:
    """The first line of a learner's docstring, and its fields."""
    from lostsales.data.setting_fields import setting_fields
    from lostsales.learn.learner import LEARNERS

    learner = LEARNERS.get(name)
    return MethodFacts(name, inspect.cleandoc(learner.__doc__ or "").split("\n\n")[0], setting_fields(learner))


def chosen_learner(
    method: str, config: Path | None, settings: list[str] | None, quick: bool, **given: int | None
) -> "Learner":
    """Learner of a method with the settings of --config, --set and other options, the later ones overriding."""
    from lostsales.data.settings import checked_json, read_toml, with_settings
    from lostsales.learn.learner import LEARNERS

    keys = with_settings({} if config is None else read_toml(config), settings or (), "rules.multiple=6")
    keys |= {key: value for key, value in given.items() if value is not None}
    learner = checked_json(LEARNERS.get(method), keys, f"method {method}")
    return learner.quick() if quick else learner


def print_methods(facts: list[MethodFacts]) -> None:
    """One line a method."""
    from lostsales.learn.fit import DEFAULT

    print_facts("Methods of fit", [(each.method, each.about) for each in facts])
    screen.print(f"Default: {DEFAULT}. Settings of one: lostsales methods METHOD", highlight=False)


def print_method(facts: MethodFacts) -> None:
    """The settings of a method as a table."""
    screen.print(Text(facts.about, style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    for column in ("setting", "type", "default"):
        table.add_column(column, no_wrap=column == "setting", overflow="fold")
    table.add_column("meaning", ratio=1)
    for each in facts.settings:
        table.add_row(*map(Text, each))
    screen.print(table)
    screen.print(
        "Set one with: lostsales fit LOG --set KEY=VALUE, or all in a TOML file with --config", highlight=False
    )
