"""`lostsales report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_files, log_source, read_sales
from lostsales.apps.console import print_facts, print_json, progress, screen

if TYPE_CHECKING:
    from lostsales.apps.report.page import ReportOrigin
    from lostsales.data.databases.query import DatabaseQuery
    from lostsales.policy.policy import SavedPolicy


def report(
    policy: options.PolicyFile,
    log: options.Log,
    out: options.Page,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    methods: Annotated[
        str, typer.Option(help="Methods to compare with, such as planner,c-fqi,base-stock; '' for none.")
    ] = "base-stock,newsvendor",
    horizon: options.Horizon = None,
    windows: Annotated[
        int, typer.Option(min=0, max=100, help="Windows of the back-test of its method; 0 for none.")
    ] = 3,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Write one page for a manager: data, policy, what it would change and gain, and how certain that is.

    Example: `lostsales report policy log.parquet --out report.html`
    """
    from lostsales.apps.report.report import check_page, method_of
    from lostsales.apps.report.report import report as write_report
    from lostsales.data.parallel import current_workers
    from lostsales.data.sublogs import EVALUATED_ROWS
    from lostsales.evaluation.compare import check_methods
    from lostsales.evaluation.costs import Q_ESTIMATORS, compare_cost, q_cost
    from lostsales.learn.fit import learner_again, learner_of
    from lostsales.policy.file_format import load

    source = log_source(log, query)
    if options.names(methods):
        check_methods(options.names(methods))
    check_page(out, (policy, *log_files(source, problem)))
    decides = load(policy)
    method = method_of(decides)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="report", others=(policy, out))
    origin = _origin(decides, policy, source, query, out, problem, methods, horizon, seed, sales.notes.dropped_file)
    learners = [learner_of(name, {}) for name in options.names(methods)]
    own, _ = learner_again(decides, sales)
    learners += [] if own is None else [own]
    cost = compare_cost(sales, learners, EVALUATED_ROWS) + q_cost(sales, EVALUATED_ROWS) * len(Q_ESTIMATORS)
    seconds = expect("report", cost, memory, FEWER_ROWS, current_workers())
    with progress("evaluating and drawing", seconds=seconds) as tick:
        found = write_report(
            decides,
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
    screen.print(found.audit.stockout_loss.sentence, highlight=False, soft_wrap=True)
    print_facts(f"{policy} on {source}", [("report", f"{out} ({size / 1e6:.1f} MB; open it in a browser)")])
    if (beside := found.comparison_sentence) is not None:
        screen.print(f"{beside[0].upper()}{beside[1:]}.", highlight=False, soft_wrap=True)
    basis = found.basis_sentence
    screen.print(f"{basis[0].upper()}{basis[1:]}.", highlight=False, soft_wrap=True)
    screen.print(f"{method}: {evaluation.sentence}.", style="bold", highlight=False, soft_wrap=True)


def _origin(
    decides: "SavedPolicy",
    policy: Path,
    log: "Path | DatabaseQuery",
    query: str | None,
    out: Path,
    problem: Path | None,
    methods: str,
    horizon: int | None,
    seed: int,
    dropped: str,
) -> "ReportOrigin":
    """The command as it was given, and its files."""
    import shlex

    from lostsales.apps.report.report import origin_of
    from lostsales.data.reading.table import files_of, problem_beside

    given = {
        "--query": query,
        "--problem": problem,
        "--methods": methods,
        "--horizon": horizon,
        "--seed": seed,
        "--out": out,
        "--dropped-rows": dropped or None,
    }
    spelled = [text for name, value in given.items() if value is not None for text in (name, str(value))]
    beside = problem_beside(log) if problem is None else problem
    files = [*(("log", each) for each in files_of(log)), ("policy", policy)]
    files += [] if beside is None else [("problem", beside)]
    command = shlex.join(["lostsales", "report", str(policy), str(log), *spelled])
    return origin_of(decides, log.name, command, seed, files)
