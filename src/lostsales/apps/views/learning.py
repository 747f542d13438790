"""A fitted policy and the methods to choose from, as a person reads them."""

import inspect
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out, print_facts
from lostsales.data.ladder_facts import LadderFacts
from lostsales.data.setting_fields import SettingField, setting_fields
from lostsales.learn.fit import DEFAULT
from lostsales.learn.learner import LEARNERS

NAMES = {
    "max_depth": "learned to depth",
    "kernels": "functions by depth",
    "rows_kept": "rows learned from",
    "rows_pooled": "rows pooled in deepest Q",
    "value": "values shown are of",
    "penalty": "penalty U",
    "order_at": "orders at a stock of",
    "order_up_to": "orders up to",
    "price": "price where it orders",
    "waiting_price": "price where not",
}


class MethodFacts(NamedTuple):
    """A method with its settings."""

    method: str
    about: str
    settings: list[SettingField]


def print_fit(title: str, facts: dict[str, Any], ladders: LadderFacts | None) -> None:
    """What `fit` reports of a policy."""
    texts = {key: ", ".join(value) if isinstance(value, list) else str(value) for key, value in facts.items()}
    lines = [] if ladders is None else ladders.as_lines()
    print_facts(title, [*((NAMES.get(key, key), text) for key, text in texts.items()), *lines])


def method_facts(name: str) -> MethodFacts:
    """The first line of a learner's docstring, and its fields."""
    learner = LEARNERS.get(name)
    return MethodFacts(name, inspect.cleandoc(learner.__doc__ or "").split("\n\n")[0], setting_fields(learner))


def print_methods(facts: list[MethodFacts]) -> None:
    """One line a method."""
    print_facts("Methods of fit", [(each.method, each.about) for each in facts])
    out.print(f"Default: {DEFAULT}. Settings of one: lostsales methods METHOD", highlight=False)


def print_method(facts: MethodFacts) -> None:
    """The settings of a method as a table."""
    out.print(Text(facts.about, style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    for column in ("setting", "type", "default"):
        table.add_column(column, no_wrap=column == "setting", overflow="fold")
    table.add_column("meaning", ratio=1)
    for each in facts.settings:
        table.add_row(*map(Text, each))
    out.print(table)
    out.print("Set one with: lostsales fit LOG --set KEY=VALUE, or all in a TOML file with --config", highlight=False)
