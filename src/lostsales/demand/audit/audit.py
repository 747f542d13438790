"""Audit of a log: censored runs, identifiability of hidden demand, tests of assumptions, and what data to collect."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from lostsales import plots
from lostsales.data.assortment import is_shop
from lostsales.data.balance import BALANCES, nets_orders, off_balance
from lostsales.data.demand_bounds import demand_bounds
from lostsales.data.log import COSTS, LogNotes, SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.proposal.leaks import copies, leaks
from lostsales.demand.audit.behaviour import BehaviourAudit, audit_behaviour
from lostsales.demand.audit.critical_quantile import CriticalQuantile, critical_quantiles
from lostsales.demand.audit.identifiability import (
    CLOSE_TO_ALL,
    GroupVerdict,
    SeenPrices,
    by_depth,
    find_verdicts,
    price_ranges,
)
from lostsales.demand.audit.memory import DemandMemory, demand_memory
from lostsales.demand.audit.stock_test import StockTest, stock_independence
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs, find_runs, paper_variants, run_ends, run_lengths
from lostsales.demand.imputing import MODEL, impute
from lostsales.demand.model.diagnostics import ResidualTest
from lostsales.demand.shop import LEAST_ROWS as LEAST_KNOWN
from lostsales.demand.shop import ShopDemand
from lostsales.demand.stockout_loss import StockoutLoss, stockout_loss
from lostsales.demand.survival.imputation import Imputation

LEVEL = 0.05  # significance level of the tests
MOST_FILLED = 10_000  # stock-outs whose identification is examined: shares are then good to a hundredth


@dataclass(frozen=True)
class RunEnd:
    """alpha_j: the chance that a run of at least j stock-outs ended in the next period."""

    j: int
    chance: float
    rows: int


@dataclass(frozen=True)
class Verdict:
    """Use that can be made of a log, in one sentence."""

    level: Literal["good", "care", "stop"]
    sentence: str


@dataclass(frozen=True)
class Audit:
    """The facts behind `lostsales audit`, see `audit`.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.audit(log).max_depth
    3

    """

    verdict: Verdict  # whether prices and orders can be learned
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
    price_ranges: tuple[SeenPrices, ...]
    verdicts: tuple[GroupVerdict, ...]
    run_ends: tuple[RunEnd, ...]
    run_ends_fall_at: tuple[int, ...]
    stock_test: StockTest
    imputation: str
    stockout_loss: StockoutLoss  # units, share of demand and margin that stock-outs cost
    collect_next: tuple[str, ...]
    conclusion: str
    memory: DemandMemory
    behaviour: BehaviourAudit  # how prices and orders were set
    residual_tests: tuple[ResidualTest, ...]  # of a shop's demand model, by weekday, month and product
    row_kinds: dict[str, int]  # rows by their information about demand, see `data.demand_bounds.ROW_KINDS`
    critical_quantiles: tuple[CriticalQuantile, ...]  # whether the best order is identified, by price
    doubtful_features: dict[str, str]  # features that copy the price or hold the sales of their own period, and how

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the table and its features."""
        features = (f"the feature {name!r} {how}: leave it out" for name, how in self.doubtful_features.items())
        return (*self.notes.warnings, *features)

    @property
    def fit_sentence(self) -> str:
        """Misfits of the demand model of a shop by weekday, month and product; none for episodes."""
        missed = "; ".join(each.sentence for each in self.residual_tests if each.matters)
        by = ", ".join(each.classes for each in self.residual_tests)
        return missed or (f"no difference of residuals by {by}" if by else "")

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """One row for each situation: rows, stock-outs, and whether its censored demand is identified."""
        import narwhals as nw

        rows = [asdict(each) for each in self.verdicts]
        return nw.from_dict({name: [row[name] for row in rows] for name in rows[0]}, backend=backend).to_native()

    def plot(self) -> Any:
        """Picture of the runs of stock-outs by their length."""
        return plots.draw_bars(self.run_lengths, "Runs of stock-outs", "periods in a row")

    def _repr_html_(self) -> str:
        return plots.html(f"{self.stockout_loss.sentence} {self.conclusion}", self.plot)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        found = asdict(self)
        found["behaviour"]["sentence"] = self.behaviour.sentence
        found["notes"]["warnings"] = self.notes.warnings
        found["stockout_loss"] = self.stockout_loss.as_json()
        return found


def audit(log: SalesLog, *, cap: int | None = None, seed: int = 0, progress: Progress | None = None) -> Audit:
    """Examine what can be learned from a log before anything is fitted.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns; a demand-only log will do.
    cap : int, optional
        K, the deepest that may be learned; by default the rule of Theorem 1.
    seed : int
        Of subsamples.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Audit
        What stock-outs cost, runs and depths, which balance the stock follows, where hidden demand is identified, tests
        of the assumptions, and in words what to collect next and what the log is fit for.

    Raises
    ------
    SettingError
        The cap is negative.

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=10, seed=1)
    >>> found = audit(log)
    >>> found.longest_run, found.conclusion
    (3, 'Fit for C-FQI to depth 3.')

    """
    runs = find_runs(log, cap)
    filling, losing = stages(progress, (1, 6))  # of the time, measured on `steady`
    filled, sentence = _impute(log, runs, seed, filling)
    ends = run_ends(runs)
    balance, follows = _balance(log)
    verdicts = find_verdicts(log, runs, filled)
    model = _model(log, runs)
    behaviour = audit_behaviour(log, model=model)
    leaking, copied = _doubtful_features(log)
    lengths = run_lengths(log, runs)
    return Audit(
        verdict=_verdict(log, runs, behaviour, leaking),
        periods=len(log),
        series=len(log.names),
        censored_share=float(1 - runs.observed.is_observed.mean()),
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
        price_ranges=price_ranges(log, runs),
        verdicts=verdicts,
        run_ends=tuple(
            RunEnd(j + 1, float(p), int(n)) for j, (p, n) in enumerate(zip(ends.chance, ends.rows, strict=True)) if n
        ),
        run_ends_fall_at=ends.falls_at,
        stock_test=stock_independence(log, runs, seed),
        imputation=sentence,
        stockout_loss=stockout_loss(log, seed=seed, runs=runs, model=model, progress=losing),
        collect_next=_collect_next(log, runs, filled, verdicts, follows, behaviour),
        conclusion=_conclusion(log, runs, behaviour),
        behaviour=behaviour,
        memory=demand_memory(log, seed, model),
        residual_tests=() if model is None else model.residual_tests,
        row_kinds=demand_bounds(log).counts,
        critical_quantiles=critical_quantiles(log, runs.observed),
        doubtful_features=leaking | copied,
    )


def _doubtful_features(log: SalesLog) -> tuple[dict[str, str], dict[str, str]]:
    """Numeric columns that hold the sales of their own period, and those that copy the price, with how."""
    columns = {
        feature.name: log.features[:, at]
        for at, feature in enumerate(log.problem.features)
        if feature.kind == "numeric" and feature.calendar is None and feature.name not in log.problem.instruments
    }
    leaking = leaks(columns, log.sales, log.has_next)
    rest = {name: values for name, values in columns.items() if name not in leaking}
    return leaking, copies(rest, log.price, log.has_next)


def _model(log: SalesLog, runs: Runs) -> ShopDemand | None:
    """The demand model of a shop, None of episodes and where too few demands are known."""
    known = int(np.count_nonzero(runs.observed.is_observed | log.is_share))
    return ShopDemand.of(log, runs.observed) if is_shop(log) and known >= LEAST_KNOWN else None


def _impute(log: SalesLog, runs: Runs, seed: int, progress: Progress | None) -> tuple[Imputation | None, str]:
    if not runs.observed.any_observed:
        return None, "skipped: every row is a stock-out, so lost sales are not identified"
    if runs.observed.is_observed.all():
        return None, "not needed: no demand is hidden"
    if log.costs is not None and not np.any(log.costs.lost):
        return None, "skipped: a lost sale costs nothing, so what stock-outs hid does not change the profit"
    rows = np.flatnonzero(~runs.observed.is_observed)
    if len(rows) > MOST_FILLED:
        rows = np.random.default_rng(seed).choice(rows, MOST_FILLED, replace=False)
    only = np.zeros(len(log), dtype=bool)
    only[rows] = True
    filled = impute(log, replicates=0, runs=runs, only=only, seed=seed, progress=progress)
    hidden = int(np.count_nonzero(~runs.observed.is_observed))
    sampled = f" (judged from {len(rows):,} of {hidden:,}, drawn at random)" if len(rows) < hidden else ""
    share = f"{filled.identified[only].mean():.0%} of the hidden demands are identified by similar periods{sampled}"
    if filled.tail == MODEL:
        return filled, f"{share}; the others are extrapolated by the demand model"
    return filled, f"{share}; the others lie between what was sold and demand_max = {filled.demand_max:g}"


def _balance(log: SalesLog) -> tuple[dict[str, float] | None, str]:
    """The share of next stocks that each balance explains, and which one the log follows.

    Netted explains all that lost sales does, as it bounds the stock after a stock-out from above only. So it is taken
    where the stock after most stock-outs lies below what arrived.
    """
    if log.order is None or not log.notes.balance_rows:
        return None, "unknown: no stock, or no row with a next row"
    counts: dict[str, tuple[int, int]] = {balance: off_balance(log, balance) for balance in BALANCES}
    explained = {balance: 1 - off / rows for balance, (rows, off) in counts.items()}
    best = "netted" if nets_orders(log) else "lost-sales"
    if explained[best] < CLOSE_TO_ALL:
        found = f"it follows in {log.notes.follows_if_share:.0%} of rows if {log.notes.follows_if}"
        why = found if log.notes.follows_if else "check arrival, receipts and corrections of the stock"
        return explained, f"neither: {why}"
    if log.problem.arrival == "before":
        return explained, "lost-sales (with arrival 'before' the two balances are the same)"
    declared = log.problem.balance
    return explained, best if best == declared else f"{best}, but the problem declares {declared}"


def _collect_next(
    log: SalesLog,
    runs: Runs,
    filled: Imputation | None,
    verdicts: tuple[GroupVerdict, ...],
    follows: str,
    behaviour: BehaviourAudit,
) -> tuple[str, ...]:
    advice = []
    if behaviour.evening:
        advice.append(f"nothing before the table is read as it was written: {behaviour.evening}")
    if not runs.observed.any_observed:
        advice.append("periods with ample stock: so far every one was a stock-out")
    if not log.records_stockouts:
        advice.append("a stock-out flag: without it every period that sold out is treated as a stock-out")
    if unbounded := int(np.count_nonzero(~runs.observed.is_learnable)):
        pace = "how fast demand ran while out of stock (out_of_stock, open_time and out_of_stock_pace)"
        advice.append(f"{pace}: {unbounded:,} rows were out for part of the period and only bound demand from below")
    if np.isnan(log.last_sales).any():
        advice.append("the sales before the first period (last_sales): without them a series loses its first rows")
    if len(np.unique(log.price)) == 1:
        advice.append("periods at another price: it never varied, so its effect cannot be learned")
    if filled is not None:
        advice += _advice_on_stock(log, runs, filled, verdicts)
    if runs.max_depth < min(runs.longest, runs.cap):
        deeper = runs.max_depth + 1
        shown = int(np.count_nonzero((runs.depth == deeper) & runs.observed.is_observed & log.has_next))
        advice.append(
            f"demand after {deeper} stock-out{'s' if deeper > 1 else ''} in a row: it was observed in {shown} rows, "
            f"and {LEAST_ROWS} are needed"
        )
    if behaviour.is_hidden and not behaviour.evening:
        advice.append(
            "what the manager looked at when prices and orders were set (as a feature), a cost that moved prices "
            "(instruments), or a few weeks of prices drawn at random (a pilot)"
        )
    if follows.startswith("neither"):
        advice.append("receipts and stock corrections (columns received, adjustment), so that the stock adds up")
    return tuple(advice) or ("more of the same: nothing is missing, and more rows narrow the errors",)


def _advice_on_stock(
    log: SalesLog, runs: Runs, filled: Imputation, verdicts: tuple[GroupVerdict, ...]
) -> Iterator[str]:
    """Advise how much more stock would reveal hidden demand, and in which situations."""
    weak = {each.what: each for each in verdicts if each.verdict in ("not", "only partly")}
    for what, rows in by_depth(runs):
        unclear = rows & filled.hidden & ~filled.identified & ~np.isnan(filled.expected_lost)
        if what in weak and unclear.any() and not log.demand_only:
            seen = np.quantile(runs.observed.available[unclear], 0.95)
            share = weak[what].identified_share or 0.0
            part = f"only {share:.0%}" if share >= 0.005 else "none"
            units = f"{seen:.0f}" if seen >= 10 else f"{seen:.2g}"
            yield f"stock of more than {units} units now and then, {what}: {part} of the demand above it is identified"
    others = [what for what, each in weak.items() if each.verdict == "not" and not what.startswith(("after", "before"))]
    if others:
        yield f"periods with ample stock at {', '.join(others)}"


def _verdict(log: SalesLog, runs: Runs, behaviour: BehaviourAudit, leaking: dict[str, str]) -> Verdict:
    if log.demand_only:
        use = "demand, its response to prices and forecasts can"
        return Verdict("stop", f"Orders cannot be learned from this table, as it has no stock and no orders; {use}.")
    if not runs.observed.any_observed:
        return Verdict(
            "stop", "Nothing can be learned from this table: every row is a stock-out, so no demand is known."
        )
    if log.notes.balance_broken:
        return Verdict("stop", f"Not ready to decide from: {log.notes.balance_finding}.")
    for name, how in leaking.items():
        return Verdict("care", f"Take {name!r} out of the features first: it {how}.")
    if behaviour.is_hidden:
        return Verdict("care", f"Prove decisions in a pilot first: {behaviour.sentence}.")
    if log.costs is None:
        keys = ", ".join(log.notes.missing_costs or COSTS)
        return Verdict("care", f"The records are fit to decide from once costs are known: set [costs] {keys}.")
    if len(np.unique(log.price)) == 1:
        return Verdict("care", "Orders can be learned from this table, prices cannot: the price never varied.")
    return Verdict("good", "Prices and orders can be learned from this table.")


def _conclusion(log: SalesLog, runs: Runs, behaviour: BehaviourAudit) -> str:
    depth_0 = int(np.count_nonzero(runs.usable & (runs.depth == 0)))
    if log.demand_only:
        return "Not fit for C-FQI: the log has no stock and no orders. Audit, impute and demand can use it."
    if not runs.observed.any_observed:
        return "Not fit for C-FQI: every row is a stock-out, so no demand is known."
    if depth_0 < LEAST_ROWS:
        return f"Not fit for C-FQI: {depth_0} usable rows follow a known demand, and {LEAST_ROWS} are needed."
    if log.costs is None:
        return "Not fit for C-FQI: the unit costs are unknown. Give [costs] lost, order and holding in the problem."
    if log.notes.balance_broken:
        use = "Audit, impute and demand can use it"
        return f"Not fit for C-FQI: {log.notes.balance_finding}, and profits would be computed from it. {use}."
    if behaviour.is_hidden:
        trial = "What is learned from it must be proved in a pilot first"
        return f"Not fit to promise a gain: {behaviour.sentence}. {trial}."
    why = ""
    if runs.max_depth == runs.cap < runs.longest:
        why = f" (the longest run of stock-outs is {runs.longest}, but the cap K is {runs.cap})"
    elif runs.max_depth < runs.longest:
        beyond = f"too few rows show the demand after more than {runs.max_depth}"
        why = f" (the longest run of stock-outs is {runs.longest}, but {beyond})"
    return f"Fit for C-FQI to depth {runs.max_depth}{why}."
