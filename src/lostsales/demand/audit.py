"""What a log can teach: stock-out runs, what they hide, which assumptions hold, and what data to collect next."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lostsales.arrays import Array, Bools, Floats
from lostsales.data.checks import off_balance
from lostsales.data.gate import Progress
from lostsales.data.log import LogNotes, SalesLog
from lostsales.demand.assumptions import StockTest, stock_independence
from lostsales.demand.impute import Imputation, impute
from lostsales.demand.runs import LEAST_ROWS, Runs, find_runs, paper_variants, run_ends, run_lengths

MOST_GROUPS = 8  # values of a price or a feature that are shown one by one
CLOSE_TO_ALL = 0.9
LEVEL = 0.05


@dataclass(frozen=True)
class GroupVerdict:
    """Whether the demand hidden in a group of rows can be told from the log."""

    what: str  # such as "price 4", "economy 1" or "after 2 stock-outs"
    rows: int
    stockouts: int
    identified_share: float | None  # of the stock-outs; None where imputation was skipped or nothing was hidden
    verdict: str  # identified, only partly, not, or nothing hidden


@dataclass(frozen=True)
class PriceRange:
    """How far demand could be seen at a price."""

    what: str
    largest_known: float | None
    never_seen_above: float | None  # the most that was ever available; None in a demand-only log


@dataclass(frozen=True)
class RunEnd:
    """alpha_j: the chance that a run of at least j stock-outs ended in the next period."""

    j: int
    chance: float
    rows: int


@dataclass(frozen=True)
class Audit:
    """The facts behind `lostsales audit`."""

    periods: int
    series: int
    censored_share: float
    run_lengths: dict[int, int]
    rows_at_depth: dict[int, int]
    longest_run: int
    max_depth: int
    cap: int
    paper_max_depth: dict[str, int]
    left_out: dict[str, int]
    usable_rows: int
    notes: LogNotes
    balance: dict[str, float] | None  # share of next stocks that each balance explains
    follows: str
    price_ranges: tuple[PriceRange, ...]
    verdicts: tuple[GroupVerdict, ...]
    run_ends: tuple[RunEnd, ...]
    run_ends_fall_at: tuple[int, ...]
    stock_test: StockTest
    imputation: str
    collect_next: tuple[str, ...]
    conclusion: str

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def audit(log: SalesLog, *, cap: int | None = None, seed: int = 0, progress: Progress | None = None) -> Audit:
    """Look at everything that decides what can be learned from a log."""
    runs = find_runs(log, cap)
    filled, said = _impute(log, runs, seed, progress)
    ends = run_ends(runs)
    balance, follows = _balance(log)
    verdicts = _verdicts(log, runs, filled)
    lengths = run_lengths(log, runs)
    return Audit(
        periods=len(log),
        series=len(log.names),
        censored_share=float(1 - runs.observed.known.mean()),
        run_lengths={length: int(lengths[length]) for length in range(1, len(lengths)) if lengths[length]},
        rows_at_depth={depth: int(rows) for depth, rows in enumerate(runs.rows_at_depth) if rows},
        longest_run=runs.longest,
        max_depth=runs.max_depth,
        cap=runs.cap,
        paper_max_depth=paper_variants(log, runs, runs.cap),
        left_out={reason: rows for reason, rows in runs.left_out.items() if rows},
        usable_rows=int(runs.usable.sum()),
        notes=log.notes,
        balance=balance,
        follows=follows,
        price_ranges=_price_ranges(log, runs),
        verdicts=verdicts,
        run_ends=tuple(
            RunEnd(j + 1, float(p), int(n)) for j, (p, n) in enumerate(zip(ends.chance, ends.rows, strict=True)) if n
        ),
        run_ends_fall_at=ends.falls_at,
        stock_test=stock_independence(log, runs, seed),
        imputation=said,
        collect_next=_collect_next(log, runs, verdicts, follows),
        conclusion=_conclusion(log, runs),
    )


def _impute(log: SalesLog, runs: Runs, seed: int, progress: Progress | None) -> tuple[Imputation | None, str]:
    if not runs.observed.any_known:
        return None, "skipped: every row is a stock-out, so nothing tells how much was lost"
    if runs.observed.known.all():
        return None, "not needed: no demand is hidden"
    if log.costs is not None and not np.any(log.costs.lost):
        return None, "skipped: a lost sale costs nothing, so what stock-outs hid does not change the profit"
    filled = impute(log, replicates=0, runs=runs, seed=seed, progress=progress)
    hidden = ~runs.observed.known
    said = f"{filled.identified[hidden].mean():.0%} of the hidden demands can be told from similar periods"
    return filled, f"{said}; the others lie between what was sold and demand_max = {filled.demand_max:g}"


def _balance(log: SalesLog) -> tuple[dict[str, float] | None, str]:
    if log.demand_only or not log.notes.balance_rows:
        return None, "unknown: no stock, or no row with a next row"
    explained: dict[str, float] = {}
    for balance in ("lost-sales", "netted"):
        rows, off = off_balance(replace(log, problem=log.problem.model_copy(update={"balance": balance})))
        explained[balance] = 1 - off / rows
    if explained["lost-sales"] >= CLOSE_TO_ALL or explained["lost-sales"] >= explained["netted"]:
        best = "lost-sales"
    else:
        best = "netted"
    if explained[best] < CLOSE_TO_ALL:
        return explained, "neither: check arrival, receipts and corrections of the stock"
    told = " (with arrival 'before' the two balances are the same)" if log.problem.arrival == "before" else ""
    differs = best != log.problem.balance and not told
    return explained, f"{best}{told}" + (f", but the problem declares {log.problem.balance}" if differs else "")


def _groups(values: Floats, name: str, levels: tuple[object, ...] | None = None) -> list[tuple[str, Bools]]:
    """A column in a few groups: its values one by one, or thirds of its range of ranks."""
    found = np.unique(values)
    if len(found) <= MOST_GROUPS:
        shown: Array = found if levels is None else np.array(levels, dtype=object)[found.astype(np.int64)]
        return [(f"{name} {_short(each)}", values == value) for value, each in zip(found, shown, strict=True)]
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    parts = [
        (f"{name} up to {low:.4g}", values <= low),
        (f"{name} to {high:.4g}", (values > low) & (values <= high)),
        (f"{name} above {high:.4g}", values > high),
    ]
    return [(what, rows) for what, rows in parts if rows.any()]


def _depth_groups(runs: Runs) -> list[tuple[str, Bools]]:
    """The depths that can be learned one by one, the deeper ones together."""
    groups = [("after a known demand", runs.depth == 0)]
    for depth in range(1, min(runs.max_depth, MOST_GROUPS) + 1):
        groups.append((f"after {depth} stock-out{'s' if depth > 1 else ''}", runs.depth == depth))
    groups.append((f"after more than {len(groups) - 1} stock-outs", runs.depth >= len(groups)))
    groups.append(("before the first known demand", runs.depth < 0))
    return [(what, rows) for what, rows in groups if rows.any()]


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _price_ranges(log: SalesLog, runs: Runs) -> tuple[PriceRange, ...]:
    observed, ranges = runs.observed, []
    for what, rows in _groups(log.price, "price"):
        known = observed.demand[rows & observed.known]
        seen = None if log.demand_only else float(observed.least[rows].max())
        ranges.append(PriceRange(what, float(known.max()) if len(known) else None, seen))
    return tuple(ranges)


def _verdicts(log: SalesLog, runs: Runs, filled: Imputation | None) -> tuple[GroupVerdict, ...]:
    groups = _depth_groups(runs) + _groups(log.price, "price")
    for index, feature in enumerate(log.problem.features):
        groups += _groups(log.features[:, index], feature.name, feature.levels)
    verdicts = []
    for what, rows in groups:
        hidden = rows & ~runs.observed.known
        share, verdict = None, "not"
        if not hidden.any():
            verdict = "nothing hidden"
        elif filled is not None:
            share = float(filled.identified[hidden].mean())
            verdict = "identified" if share >= CLOSE_TO_ALL else "only partly" if share > 1 - CLOSE_TO_ALL else "not"
        elif runs.observed.any_known:
            verdict = "skipped"
        verdicts.append(GroupVerdict(what, int(rows.sum()), int(hidden.sum()), share, verdict))
    return tuple(verdicts)


def _collect_next(log: SalesLog, runs: Runs, verdicts: tuple[GroupVerdict, ...], follows: str) -> tuple[str, ...]:
    advice = []
    if log.stockout is None:
        advice.append("a stock-out flag: without it a day that sold exactly what was there counts as a stock-out")
    if np.isnan(log.last_sales).any():
        advice.append("the sales before the first period (last_sales): without them every series loses its first row")
    if len(np.unique(log.price)) == 1:
        advice.append("periods at another price: it never varied, so its effect cannot be learned")
    weak = {each.what: each for each in verdicts if each.verdict in ("not", "only partly")}
    for what, rows in _depth_groups(runs):
        if what in weak and not log.demand_only:
            usual = np.quantile(runs.observed.least[rows], 0.95)
            told = weak[what].identified_share or 0.0
            advice.append(f"more than {usual:g} units {what}: {told:.0%} of the demand hidden there can be told")
    others = [what for what, each in weak.items() if each.verdict == "not" and not what.startswith("after")]
    if others:
        advice.append(f"periods with ample stock at {', '.join(others)}")
    if runs.max_depth < min(runs.longest, runs.cap):
        deeper = runs.max_depth + 1
        rows = int(np.count_nonzero((runs.depth == deeper) & runs.observed.known & log.has_next))
        advice.append(
            f"runs of {deeper} stock-outs that end: {rows} rows show what follows one, {LEAST_ROWS} are needed"
        )
    if follows.startswith("neither"):
        advice.append("receipts and stock corrections (columns received, adjustment), so that the stock adds up")
    return tuple(advice) or ("more of the same: nothing is missing, and more rows narrow the errors",)


def _conclusion(log: SalesLog, runs: Runs) -> str:
    depth_0 = int(np.count_nonzero(runs.usable & (runs.depth == 0)))
    if log.demand_only:
        return "Not fit for C-FQI: the log has no stock and no orders. Audit, impute and demand can use it."
    if not runs.observed.any_known:
        return "Not fit for C-FQI: every row is a stock-out, so no demand is known."
    if depth_0 < LEAST_ROWS:
        return f"Not fit for C-FQI: {depth_0} usable rows follow a known demand, and {LEAST_ROWS} are needed."
    if log.costs is None:
        return "Not fit for C-FQI: the unit costs are unknown. Give [costs] lost, order and holding in the problem."
    lowered = f" (the longest run is {runs.longest}, but deeper than {runs.max_depth} too few rows show what follows)"
    return f"Fit for C-FQI to depth {runs.max_depth}{lowered if runs.max_depth < runs.longest else ''}."
