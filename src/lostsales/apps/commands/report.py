"""`lostsales report`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_facts, print_json, print_verdict, progress, screen, sentence

if TYPE_CHECKING:
    from lostsales.apps.report.page import ReportOrigin
    from lostsales.policy.policy import SavedPolicy


@reads_log
def report(
    policy: options.PolicyFile,
    log: LogInput,
    out: options.Page,
    methods: Annotated[
        str, typer.Option(help="Methods to compare with, such as planner,c-fqi,base-stock; '' for none.")
    ] = "base-stock,newsvendor",
    horizon: options.Horizon = None,
    windows: Annotated[
        int, typer.Option(min=0, max=100, help="Windows of the back-test of its method; 0 for none.")
    ] = 3,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Write one page for a manager: data, policy, what it would change and gain, and how certain that is.

    The verdict is stored in the policy file, for `recommend` and `serve` to show.

    Example: `lostsales report policy log.parquet --out report.html`
    """
    from lostsales.apps.gains import LEVELS
    from lostsales.apps.report.report import check_page, method_of
    from lostsales.apps.report.report import report as write_report
    from lostsales.evaluation.compare import check_methods
    from lostsales.policy.file_format import load

    if options.names(methods):
        check_methods(options.names(methods))
    check_page(out, (policy, *log.files))
    method = method_of(load(policy))
    sales = log.read_decisions("report", (policy, out))
    origin = partial(_origin, policy, log, out, methods, horizon, seed, sales.notes.dropped_file)
    with progress("evaluating and drawing") as tick:
        found = write_report(
            policy,
            sales,
            out,
            methods=options.names(methods),
            horizon=horizon,
            windows=windows,
            seed=seed,
            progress=tick,
            origin=origin,
        )
    size = out.stat().st_size
    evaluation, compared = found.evaluation, found.comparison
    if as_json:
        facts = {"report": str(out), "bytes": size, "method": method, "sentence": evaluation.sentence}
        facts |= {"stockout_loss": found.audit.stockout_loss.as_json()}
        facts |= {"held_out": found.held_out, "in_sample_reason": found.in_sample_reason}
        facts |= {"evaluation": evaluation.to_json()} | ({"comparison": compared.to_json()} if compared else {})
        print_json(facts)
        return
    verdict = evaluation.policy_verdict(held_out=found.held_out is not None)
    print_verdict(LEVELS[verdict.advice], verdict.sentence)
    screen.print(found.audit.stockout_loss.sentence, highlight=False, soft_wrap=True)
    print_facts(f"{policy} on {log}", [("report", f"{out} ({size / 1e6:.1f} MB; open it in a browser)")])
    if (beside := found.comparison_sentence) is not None:
        screen.print(sentence(beside), highlight=False, soft_wrap=True)
    screen.print(sentence(found.basis_sentence), highlight=False, soft_wrap=True)


def _origin(
    policy: Path,
    log: LogInput,
    out: Path,
    methods: str,
    horizon: int | None,
    seed: int,
    dropped: str,
    decides: "SavedPolicy",
) -> "ReportOrigin":
    """The command as it was given, and its files."""
    import shlex

    from lostsales.apps.report.report import origin_of
    from lostsales.data.reading.table import files_of

    given = {
        "--query": log.query,
        "--problem": log.problem,
        "--methods": methods,
        "--horizon": horizon,
        "--seed": seed,
        "--out": out,
        "--dropped-rows": dropped or None,
    }
    spelled = [text for name, value in given.items() if value is not None for text in (name, str(value))]
    files = [*(("log", each) for each in files_of(log.source)), ("policy", policy)]
    files += [] if log.problem_file is None else [("problem", log.problem_file)]
    command = shlex.join(["lostsales", "report", str(policy), str(log), *spelled])
    return origin_of(decides, log.source.name, command, seed, files)
