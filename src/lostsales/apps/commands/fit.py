"""`lostsales fit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from lostsales.apps.commands import options
from lostsales.apps.commands.methods import chosen_learner
from lostsales.apps.commands.reading import LogInput, print_left_out, reads_log
from lostsales.apps.console import print_facts, progress, show, warn

if TYPE_CHECKING:
    from lostsales.data.describe import GridFacts

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


class FitCommand(TyperCommand):
    """Lists the methods of the registry when help is shown, and not before, because that takes time."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Help with the names of all methods, those of other packages among them."""
        from lostsales.learn.learner import LEARNERS

        for parameter in self.params:
            if isinstance(parameter, TyperOption) and parameter.name == "method":
                parameter.help = f"One of {', '.join(LEARNERS.names)}; lostsales methods describes them."
        super().format_help(ctx, formatter)


@reads_log
def fit(
    log: LogInput,
    out: Annotated[Path, typer.Option(help="The file to save the policy in.")],
    method: options.Method = "planner",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the method, such as pessimism=0.5 or rules.multiple=6; overrides --config.",
        ),
    ] = None,
    config: options.MethodConfig = None,
    faithful: Annotated[
        bool,
        typer.Option("--faithful", help="Everything as in the paper (c-fqi, pc-fqi, fusion); --set changes one thing."),
    ] = False,
    iterations: Annotated[
        int | None, typer.Option(min=1, max=options.MOST, help="Iterations (K); by default the rule of the method.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=options.MOST_SEED, help="The same seed gives the same policy; by default 0."),
    ] = None,
    quick: options.Quick = False,
    as_json: options.Json = False,
) -> None:
    """Learn a policy (prices and orders) from a log, and save it. `lostsales methods METHOD` lists the settings.

    Example: `lostsales fit log.parquet --out policy`

    Example: `lostsales fit log.parquet --method c-fqi --set beta=5 --set rules.multiple=3 --out policy`
    """
    import warnings

    from lostsales.apps.gains import policy_verdict_json, print_policy_verdict
    from lostsales.data.describe import GridFacts
    from lostsales.data.output_files import check_output
    from lostsales.evaluation.replayed_value import with_replayed_value
    from lostsales.learn.fit import fit as learn
    from lostsales.policy.provenance import met_targets

    check_output(out, (*log.files, config))
    learner = chosen_learner(
        method, config, settings, quick, faithful=faithful or None, iterations=iterations, seed=seed
    )
    sales = log.read_decisions("fit", (config, out), learner.bytes_a_row)
    left = learner.left_out(sales)
    print_left_out(sales, {method: left})
    with progress("learning") as report, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        policy = learn(sales, learner, progress=report)
        if not quick:
            policy = with_replayed_value(policy, sales, learner.seed)
    for warning in warned:
        warn(str(warning.message))
    policy.save(out)
    facts = {"method": method} | policy.summary() | learner.rows_learned(sales)
    facts |= {"method": method, "policy": str(out)}
    if met := met_targets(policy):
        facts["targets"] = [each.sentence for each in met]
    if quick:
        facts["quick"] = " and ".join(learner.quick_settings) or "no setting of this method is quicker"
    candidates = None if policy.may_recommend is None else GridFacts.of(policy.may_recommend, sales)
    details = {
        "may_recommend": None if candidates is None else candidates.as_json(),
        "left_out": left,
        "unused_columns": sales.notes.unused_columns,
    }

    def text() -> None:
        print_policy_verdict(policy, f"{method} is learned and saved in {out}. ")
        print_fit(f"{method} on {log}", facts, candidates)

    show(as_json, lambda: policy_verdict_json(policy) | facts | details, text)


def print_fit(title: str, facts: dict[str, Any], candidates: "GridFacts | None") -> None:
    """Facts of a fitted policy, and the prices and orders that it may recommend."""
    texts = {key: ", ".join(value) if isinstance(value, list) else str(value) for key, value in facts.items()}
    lines = [] if candidates is None else candidates.as_lines()
    print_facts(title, [*((NAMES.get(key, key), text) for key, text in texts.items()), *lines])
