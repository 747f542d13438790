"""`lostsales methods`."""

from typing import Annotated

import typer

from lostsales.apps.commands.options import Json


def methods(
    method: Annotated[
        str | None, typer.Argument(help="The method whose settings are listed; unless given, all methods are.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods of `fit`, or the settings of one: name, type, default and description.

    Example: `lostsales methods planner`
    """
    from lostsales.apps.views.console import print_json
    from lostsales.apps.views.learning import method_facts, print_method, print_methods
    from lostsales.learn.learner import LEARNERS

    shown = LEARNERS.names if method is None else (method,)
    facts = [method_facts(name) for name in shown]
    if as_json:
        print_json({"methods": [each._asdict() | {"settings": [s._asdict() for s in each.settings]} for each in facts]})
    elif method is None:
        print_methods(facts)
    else:
        print_method(facts[0])
