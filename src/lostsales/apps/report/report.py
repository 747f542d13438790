"""`report`: the page on a policy and a log, written as one file."""

import platform
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from lostsales.apps.gains import store_verdict
from lostsales.apps.report.page import ReportOrigin, write_report_page
from lostsales.data.log import SalesLog
from lostsales.data.output_files import check_output
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.evaluation.report.contents import ReportContents, report_contents
from lostsales.policy.file_format import load
from lostsales.policy.policy import POLICIES, SavedPolicy

METHODS = ("base-stock", "newsvendor")


def report(
    policy: SavedPolicy | str | Path,
    log: SalesLog,
    path: str | Path,
    *,
    methods: Sequence[str] = METHODS,
    horizon: int | None = None,
    windows: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
    origin: Callable[[SavedPolicy], ReportOrigin] | None = None,
) -> ReportContents:
    """Write one page for a manager: data, policy, what it would change and gain, and how certain that is.

    Parameters
    ----------
    policy : SavedPolicy, str or Path
        A policy or its file.
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    path : str or Path
        The page to write, which ends in .html; it needs no other file, and takes its place only when it is whole.
    methods : sequence of str
        Methods compared with the policy on held-out rows; none where it is empty.
    horizon : int, optional
        Horizon in periods; by default the usual length of a series.
    windows : int
        Windows of a back-test of the policy's method in time, as by `back_test`; by default none.
    seed : int
        The same seed gives the same page.
    progress : callable, optional
        Called with (done, total).
    origin : callable, optional
        Called with the policy for the origin of the page, once the verdict is in its file; by default this call.

    Returns
    -------
    ReportContents
        The findings behind the page.

    Raises
    ------
    LostSalesError
        If the path cannot be written, or the log or the policy cannot be evaluated.

    Examples
    --------
    >>> import lostsales
    >>> log = lostsales.read_log("sales.csv")  # doctest: +SKIP
    >>> found = lostsales.report("policy", log, "report.html")  # doctest: +SKIP
    >>> found.evaluation.sentence  # doctest: +SKIP
    'a proven gain, +3.21 per period (95 % interval +1.87 to +4.55)'
    >>> lostsales.report("policy", log=None, path="report.pdf")
    Traceback (most recent call last):
    lostsales.errors.LostSalesError: a report is a page: its name must end in .html, but report.pdf came

    """
    page = Path(path)
    check_page(page, (Path(policy),) if isinstance(policy, str | Path) else ())
    decides = load(policy) if isinstance(policy, str | Path) else policy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has the warnings of a fit
        found = report_contents(
            decides, log, methods=tuple(methods), horizon=horizon, windows=windows, seed=seed, progress=progress
        )
    if isinstance(policy, str | Path):
        store_verdict(decides, found.evaluation.policy_verdict(held_out=found.held_out is not None), Path(policy))
    if origin is None:
        given = "".join(
            f", {name}={value!r}"
            for name, value in {"methods": tuple(methods), "horizon": horizon, "windows": windows}.items()
        )
        call = f"lostsales.report(policy, log, {str(path)!r}{given}, seed={seed})"
        files = [("policy", Path(policy))] if isinstance(policy, str | Path) else []
        made = origin_of(decides, None, call, seed, files)
    else:
        made = origin(decides)
    write_report_page(found, made, page)
    return found


def check_page(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse a path that no page can be written to, before any work."""
    if path.suffix not in (".html", ".htm"):
        raise LostSalesError(f"a report is a page: its name must end in .html, but {path} came")
    check_output(path, inputs)


def method_of(policy: SavedPolicy) -> str:
    """The method that learned a policy, or what kind of policy it is where that says it."""
    method: str | None = policy.summary().get("method")
    return method or POLICIES.name_of(type(policy))


def origin_of(
    policy: SavedPolicy, log: str | None, command: str, seed: int, files: list[tuple[str, Path]]
) -> ReportOrigin:
    """Versions, checksums and the command, so that anyone can make the page again."""
    digests = [(f"{name}, SHA-256", sha256(path.read_bytes()).hexdigest(), True) for name, path in files]
    versions = ", ".join(f"{name} {version(name)}" for name in ("lostsales", "numpy", "scipy"))
    return ReportOrigin(
        method=method_of(policy),
        penalty=policy.summary().get("penalty"),
        log=log,
        lines=(
            ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), False),
            ("command", command, True),
            ("seed", str(seed), False),
            ("versions", f"{versions}, Python {platform.python_version()}", False),
            *digests,
        ),
    )
