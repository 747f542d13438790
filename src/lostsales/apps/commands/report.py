"""The command that writes a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.evaluate import Horizon, PolicyFile, Seed
from lostsales.apps.commands.options import Json, Log, ProblemFile
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    from lostsales.apps.report.page import ReportOrigin

KIND_NAMES = {"plan": "planner", "thresholds": "base-stock"}  # what people call a policy that does not name its method


def report(
    policy: PolicyFile,
    log: Log,
    out: Annotated[Path, typer.Option(help="The page to write (.html).")],
    problem: ProblemFile = None,
    methods: Annotated[
        str, typer.Option(help="Compared beside it, such as planner,c-fqi,base-stock; '' for none.")
    ] = "base-stock,newsvendor",
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write one page that a manager can read: the data, the policy, what it would change and gain, and how surely.

    Example: `lostsales report policy log.parquet --out report.html`
    """
    import warnings

    from lostsales.apps.report.page import render
    from lostsales.apps.views.console import out as screen
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.data.writing import replacing
    from lostsales.evaluation.report.contents import report_contents
    from lostsales.policy.file_format import load

    _check(out)
    decides = load(policy)
    named = tuple(methods.replace(",", " ").split())
    with progress("judging and drawing") as tick, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a fit warns of stands in the report
        sales = read_log(log, problem)
        found = report_contents(decides, sales, methods=named, horizon=horizon, seed=seed, progress=tick)
    made = _made(policy, log, out, problem, methods, horizon, seed)
    page = render(found, made)
    with replacing(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    compared = found.comparison
    if as_json:
        facts = {
            "report": str(out),
            "bytes": len(page.encode()),
            "method": made.method,
            "sentence": found.evaluation.sentence,
        }
        print_json(
            facts
            | {"evaluation": found.evaluation.to_json()}
            | ({"comparison": compared.to_json()} if compared else {})
        )
        return
    lines = [("report", f"{out} ({len(page.encode()) / 1e6:.1f} MB; open it in a browser)")]
    print_facts(f"{policy} on {log}", lines)
    beside = found.comparison_sentence
    if beside is not None:
        screen.print(f"{beside[0].upper()}{beside[1:]}.", highlight=False, soft_wrap=True)
    screen.print(f"{made.method}: {found.evaluation.sentence}.", style="bold", highlight=False, soft_wrap=True)


def _check(out: Path) -> None:
    """Refuse a place that no page can be written to, before any work."""
    if out.suffix not in (".html", ".htm"):
        raise LostSalesError(f"a report is a page: --out must end in .html, but {out} came")
    if not out.parent.is_dir():
        raise LostSalesError(f"there is no folder {out.parent} to write {out.name} into")
    if out.is_dir():
        raise LostSalesError(f"{out} is a folder, and a report is one file")


def _made(
    policy: Path, log: Path, out: Path, problem: Path | None, methods: str, horizon: int | None, seed: int
) -> "ReportOrigin":
    """Versions, checksums and the command, so that anyone can make it again."""
    import platform
    import shlex
    from datetime import UTC, datetime
    from hashlib import sha256
    from importlib.metadata import version

    from lostsales.apps.report.page import ReportOrigin
    from lostsales.policy.file_format import read_artefact

    artefact = read_artefact(policy)
    given = {"--problem": problem, "--methods": methods, "--horizon": horizon, "--seed": seed, "--out": out}
    options = [text for name, value in given.items() if value is not None for text in (name, str(value))]
    beside = log.with_suffix(".toml") if problem is None else problem
    files = [("log", log), ("policy", policy)] + ([("problem", beside)] if beside.is_file() else [])
    digests = [(f"{name}, SHA-256", sha256(path.read_bytes()).hexdigest(), True) for name, path in files]
    versions = ", ".join(f"{name} {version(name)}" for name in ("lostsales", "numpy", "scipy"))
    return ReportOrigin(
        method=artefact.settings.get("method") or KIND_NAMES.get(artefact.kind, artefact.kind),
        log=log,
        lines=(
            ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), False),
            ("command", shlex.join(["lostsales", "report", str(policy), str(log), *options]), True),
            ("seed", str(seed), False),
            ("versions", f"{versions}, Python {platform.python_version()}", False),
            *digests,
        ),
    )
