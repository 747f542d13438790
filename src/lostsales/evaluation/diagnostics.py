"""The terms of the paper's regret bound, measured for a log and a given policy, each with what to do about it.

What depends on the unknown best policy is computed for the given one, and marked as a plug-in.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lostsales.data.sublogs import series_of, without
from lostsales.demand.censoring.runs import find_runs, iterations_rule, run_ends
from lostsales.evaluation.estimators.fqe import DepthSpace, FqeSettings, histories
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import plain
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import boundary_depth, boundary_loss, q_functions
from lostsales.policy.history import view_of_rows
from lostsales.types import Floats, Ints

RESAMPLES = 40  # behind the stability of max_depth
MOST_ROWS = 1_000  # of a depth, from which dimensions and coverage are measured


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """One term."""

    key: str
    title: str
    value: float | None  # None where it cannot be told
    by_depth: Floats | None  # (depths,)
    plug_in: bool  # computed for the given policy or behaviour in place of the unknown best one
    meaning: str  # what it says of this log
    advice: str  # what to do about it


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """All terms, in the order of the bound."""

    items: tuple[Diagnostic, ...]

    def by(self, key: str) -> Diagnostic:
        """The term of a key."""
        return next(each for each in self.items if each.key == key)

    def to_json(self) -> list[Any]:
        """As JSON can hold it."""
        found: list[Any] = plain(self.items)
        return found


def diagnose(case: EvaluationTask) -> Diagnostics:
    """Measure every term for a policy and a log."""
    ledger = case.ledger
    measured = [_measure(case, depth) for depth in range(ledger.runs.max_depth + 1)]
    discrepancy = _discrepancy(case)
    return Diagnostics(
        (
            _shares(ledger),
            _stability(ledger, case.seed),
            _coverage_ratio(measured),
            _unidentifiable(ledger),
            _dimension(measured),
            _boundary(case, discrepancy),
            _termination(case, discrepancy),
            _imputation(ledger),
            _iterations(ledger),
        )
    )


def _shares(ledger: PreparedLog) -> Diagnostic:
    runs = ledger.runs
    rows = np.bincount(runs.depth[runs.usable], minlength=runs.max_depth + 1)
    share = rows / max(rows.sum(), 1)
    least = int(share.argmin())
    meaning = f"the smallest part of the rows, {share[least]:.1%} ({rows[least]:,} rows), teaches depth {least}"
    advice = "enough rows at every depth" if rows[least] >= 100 else "collect more series: every depth wants 100 rows"
    return Diagnostic("rho", "share of the rows by depth", float(share.min()), share, False, meaning, advice)


def _stability(ledger: PreparedLog, seed: int) -> Diagnostic:
    log, units = ledger.log, ledger.units
    rng = np.random.default_rng(seed)
    depths = []
    for _ in range(RESAMPLES):
        if units.by == "blocks in time":
            part = without(log, np.isin(units.of_row, np.setdiff1d(np.arange(len(units)), _drawn(rng, len(units)))))
        else:
            part = series_of(log, np.sort(_drawn(rng, len(log.names))))
        depths.append(find_runs(part).max_depth)
    deepest = ledger.runs.max_depth
    omega = float(np.mean(np.array(depths) != deepest))
    meaning = f"max_depth is {deepest}; another log of the same shop would give another in {omega:.0%} of the cases"
    advice = "max_depth can be relied on" if omega <= 0.2 else "more series, or fix max_depth one lower by hand"
    return Diagnostic("omega", "instability of max_depth", omega, None, False, meaning, advice)


def _drawn(rng: np.random.Generator, count: int) -> Ints:
    return np.asarray(rng.integers(0, count, count))


@dataclass(frozen=True, eq=False)
class _Measured:
    """The eigenvalues of a depth's features, and how unusual the policy's actions are against those of the log."""

    eigenvalues: Floats
    ridge: float
    ratio: float
    kernel: str


def _measure(case: EvaluationTask, depth: int) -> _Measured:
    log, runs = case.ledger.log, case.ledger.runs
    level = np.minimum(runs.depth[case.known], runs.max_depth)
    at = np.flatnonzero(level == depth)
    if len(at) > MOST_ROWS:
        at = np.sort(np.random.default_rng(case.seed).choice(at, MOST_ROWS, replace=False))
    rows = case.known[at]
    done = np.column_stack([log.price[rows], np.asarray(log.order)[rows]])
    settings = _settings(case, depth)
    blocks = histories(log, runs, rows, depth)
    space = DepthSpace.of(blocks, done, settings)
    history, scale, mapped = space.scaler(blocks), space.action_scaler, space.map
    kernel, ridge = settings.kernel, settings.ridge
    phi = mapped.features(history, scale(done))
    gram = phi.T @ phi
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))

    def unusual(action: Floats, own: bool = False) -> float:
        """Mean of k_post / ridge, had the log's own rows not been seen themselves."""
        asked = mapped.features(history, scale(action))
        leverage = np.einsum("ij,jk,ik->i", asked, inverse, asked)
        leverage = leverage / np.maximum(1 - leverage, 1e-3) if own else leverage
        return float(np.mean(leverage + mapped.left_over(history, scale(action)) / ridge))

    ratio = float(np.mean([unusual(each[at]) for each in case.decided])) / max(unusual(done, own=True), 1e-12)
    named = "linear" if kernel is None else f"{kernel.kind} {kernel.coefficient:g}"
    return _Measured(np.asarray(np.linalg.eigvalsh(gram)[::-1], dtype=np.float64), ridge, ratio, named)


def _settings(case: EvaluationTask, depth: int) -> FqeSettings:
    """Kernel and ridge of the policy's own Q where it has one, else those of fitted Q-evaluation."""
    own = q_functions(case.policy)
    if depth >= len(own):
        return FqeSettings(seed=case.seed)
    chosen = own[depth].form.choice
    return FqeSettings(chosen.kernel, chosen.ridge, seed=case.seed)


def _coverage_ratio(measured: list[_Measured]) -> Diagnostic:
    ratio = np.array([each.ratio for each in measured])
    worst = int(ratio.argmax())
    meaning = (
        f"at depth {worst} what the policy does is {ratio[worst]:.1f} times as far from the log as what was done there"
    )
    advice = "the log covers the policy" if ratio[worst] <= 3 else "try the policy's prices and orders on a few series"
    return Diagnostic("coverage", "coverage ratio by depth", float(ratio.max()), ratio, True, meaning, advice)


def _unidentifiable(ledger: PreparedLog) -> Diagnostic:
    runs, discount = ledger.runs, ledger.log.problem.discount
    ends = run_ends(runs).chance
    title = "bound on regret that no more data of this shop removes"
    if not len(ends) or np.isnan(ends[0]):
        return Diagnostic("e_cov", title, 0.0, None, True, "there are no runs of stock-outs", "nothing")
    rule = iterations_rule(int(runs.usable.sum()), discount)
    greatest = float(np.abs(ledger.profit).max())
    missed = (1 - float(ends[0])) ** runs.max_depth
    value = max(rule - runs.max_depth + 1, 0) * missed * 2 * greatest / (1 - discount)
    meaning = (
        f"a run ends with a chance of {ends[0]:.0%} a period, and runs beyond depth {runs.max_depth} teach nothing"
    )
    advice = "deeper runs are rare enough" if missed < 0.05 else "a log with longer runs, or safer orders during them"
    return Diagnostic("e_cov", title, value, None, True, meaning, advice)


def _dimension(measured: list[_Measured]) -> Diagnostic:
    d_star = np.array([effective_dimension(each.eigenvalues, each.ridge) for each in measured], dtype=np.float64)
    meaning = (
        f"the Q of {measured[0].kernel} at depth 0 bends in about {d_star[0]:.0f} directions that the data can tell"
    )
    crowded = any(d > len(each.eigenvalues) / 2 for d, each in zip(d_star, measured, strict=True))
    advice = "a simpler kernel or a larger ridge" if crowded else "the kernel is simple enough for the rows"
    return Diagnostic("d_star", "effective dimension by depth", float(d_star.max()), d_star, False, meaning, advice)


def effective_dimension(eigenvalues: Floats, noise: float) -> int:
    """The least j with j >= sum over k > j of eigenvalue_k / noise, of a Gram matrix (the paper's line 4737).

    >>> effective_dimension(np.array([5.0, 1.0, 0.5, 0.1]), 1.0)
    2
    """
    tail = np.r_[np.cumsum(eigenvalues[::-1])[::-1], 0.0]
    return int(np.flatnonzero(np.arange(len(tail)) >= tail / noise)[0])


def _discrepancy(case: EvaluationTask) -> Floats | None:
    """AD (the paper's line 4880) of every row of the log: what the action at max_depth gives away, 0 elsewhere."""
    log, runs, deepest = case.ledger.log, case.ledger.runs, boundary_depth(case.policy)
    if deepest is None:
        return None  # series of different scale have no one Q to compare actions by
    given_up = np.zeros(len(log))
    at = np.flatnonzero(runs.depth[case.known] == deepest)
    rows = case.known[at]
    if deepest and len(rows):
        given_up[rows] = boundary_loss(case.policy, view_of_rows(log, runs, rows), case.decided[0][at])
    return given_up


def _penalty(case: EvaluationTask, key: str, title: str, mean: float | None, good: str, bad: str) -> Diagnostic:
    """(1 - discount^n) / (1 - discount)^2 times a mean discrepancy (lines 912 and 935)."""
    if mean is None:
        meaning = "only a policy with one Q per depth, for series of one scale, has this term"
        return Diagnostic(key, title, None, None, True, meaning, "nothing")
    discount = case.ledger.log.problem.discount
    value = (1 - discount**case.ledger.runs.max_depth) / (1 - discount) ** 2 * mean
    scale = abs(float(case.ledger.profit.mean())) / (1 - discount)
    meaning = f"{mean:.3g} of value a row is given up by its own Q, {value:.3g} in the bound"
    return Diagnostic(key, title, value, None, True, meaning, good if value <= 0.1 * scale else bad)


def _boundary(case: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    mean = None if discrepancy is None else float(discrepancy[case.known].mean())
    return _penalty(
        case, "bap", "boundary action penalty", mean,
        "the safe action costs little", "another safe action, or a larger eps: the present one costs much",
    )  # fmt: skip


def _termination(case: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    """The discounted discrepancies that still follow each row along the log."""
    mean = None
    if discrepancy is not None:
        log, discount = case.ledger.log, case.ledger.log.problem.discount
        # A discrepancy k periods into its series is ahead of k rows: discounted, discount + ... + discount^k in all.
        place = np.arange(len(log)) - log.starts[log.series]
        ahead = discrepancy * discount * (1 - discount**place) / (1 - discount)
        mean = float(ahead.sum() / len(case.known))
    return _penalty(
        case, "tap", "termination action penalty", mean,
        "runs seldom reach the boundary", "end runs earlier: dearer prices or larger orders during stock-outs",
    )  # fmt: skip


def _imputation(ledger: PreparedLog) -> Diagnostic:
    title = "error of imputed lost sales, in profit a period"
    if ledger.laws is None:
        return Diagnostic(
            "imputation", title, None, None, False, f"no demand model: {ledger.refusal}", "more uncensored rows"
        )
    means = ledger.laws.profit_without.mean(axis=1)  # all rows: only what is learned differs
    units = len(means)
    error = float(np.sqrt((units - 1) / units * np.sum((means - means.mean()) ** 2)))
    mean = abs(float(ledger.profit.mean()))
    meaning = f"hidden lost sales leave the mean profit of {ledger.profit.mean():.2f} uncertain by {error:.2f}"
    advice = "small enough" if error <= 0.1 * max(mean, 1.0) else "more periods without stock-out, at several prices"
    return Diagnostic("imputation", title, error, None, False, meaning, advice)


def _iterations(ledger: PreparedLog) -> Diagnostic:
    runs, discount = ledger.runs, ledger.log.problem.discount
    rows = int(runs.usable.sum())
    rule = iterations_rule(rows, discount)
    meaning = f"with {rows:,} usable rows and discount {discount:g} the paper's rule asks for K = {rule} iterations"
    return Diagnostic(
        "k", "iterations by the rule K", float(rule), None, False, meaning, f"fit with --iterations {rule}"
    )
