"""Diagnostics of the log alone: partition shares, max_depth, regret beyond it, imputation, iterations."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.splits import BY_BLOCKS, ResamplingUnits
from lostsales.data.sublogs import series_of, without
from lostsales.demand.censoring.runs import ANY_DEPTH, DepthRule, find_runs, iterations_rule, run_ends
from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.types import Ints

DIVISIONS = 40  # random divisions of the log into halves, for the stability of max_depth


def partition_shares(prepared: PreparedLog) -> Diagnostic:
    """Shares rho of the rows by depth (Assumption 10)."""
    runs = prepared.runs
    rows = np.bincount(runs.learned_depth[runs.usable], minlength=runs.max_depth + 1)
    share = rows / max(rows.sum(), 1)
    least = int(share.argmin())
    meaning = f"the smallest part of the rows, {share[least]:.1%} ({rows[least]:,} rows), is at depth {least}"
    advice = "enough rows at every depth" if rows[least] >= 100 else "collect more series: every depth needs 100 rows"
    return Diagnostic("rho", "share of the rows by depth", float(share.min()), share, False, meaning, advice)


def depth_instability(prepared: PreparedLog, seed: int, rule: DepthRule = ANY_DEPTH) -> Diagnostic:
    """Probability omega that two logs of the shop give different max_depth (Assumption 8), from halves of this one.

    A bootstrap with replacement is not consistent for a maximum: it never shows a longer run than the log does. Two
    disjoint halves are independent logs, so the share of random divisions in which they differ is unbiased for logs of
    half the size (which need half as many rows per depth), whatever the distribution of runs. The most likely max_depth
    has a probability of at least 1 - omega.
    """
    log, units, runs = prepared.log, prepared.units, prepared.runs
    of_row = units.of_row if units.by == BY_BLOCKS else log.series
    count = int(of_row.max()) + 1
    if count < 2:
        meaning = "one series of few periods cannot be divided"
        return Diagnostic("omega", "instability of max_depth", None, None, False, meaning, "more series or periods")
    cap = iterations_rule(len(log), log.problem.discount) if rule.cap is None else rule.cap
    rng, differ = np.random.default_rng(seed), []
    for _ in range(DIVISIONS):
        drawn = rng.permutation(count)
        halves = drawn[: count // 2], drawn[count // 2 : 2 * (count // 2)]
        parts = (_part(log, units, of_row, half) for half in halves)
        first, second = (
            find_runs(part, cap, max(rule.least_rows // 2, 1), rule.pool, rule.a_coordinate / 2).max_depth
            for part in parts
        )
        differ.append(first != second)
    omega = float(np.mean(differ))
    meaning = f"max_depth is {runs.max_depth}; two halves of the log disagree on it in {omega:.0%} of the divisions"
    advice = "max_depth can be relied on" if omega <= 0.2 else "more series, or fix max_depth one lower by hand"
    return Diagnostic("omega", "instability of max_depth", omega, None, False, meaning, advice)


def _part(log: SalesLog, units: ResamplingUnits, of_row: Ints, chosen: Ints) -> SalesLog:
    """Rows of the chosen resampling units."""
    return without(log, ~np.isin(of_row, chosen)) if units.by == BY_BLOCKS else series_of(log, np.sort(chosen))


def unidentifiable_regret(prepared: PreparedLog) -> Diagnostic:
    """Coverage regret E_cov (Corollary 1) with the alpha_1 of the behaviour."""
    runs, discount = prepared.runs, prepared.log.problem.discount
    ends = run_ends(runs).chance
    title = "bound on regret that more data of this shop does not reduce"
    if not len(ends) or np.isnan(ends[0]):
        return Diagnostic("e_cov", title, 0.0, None, True, "there are no runs of stock-outs", "nothing")
    greatest = float(np.abs(prepared.profit).max())
    missed = (1 - float(ends[0])) ** runs.max_depth
    value = longer_runs(prepared) * 2 * greatest / (1 - discount)
    meaning = (
        f"a run ends with probability {ends[0]:.0%} per period, and runs beyond depth {runs.max_depth} share its Q"
    )
    advice = "deeper runs are rare enough" if missed < 0.05 else "a log with longer runs, or safer orders during them"
    return Diagnostic("e_cov", title, value, None, True, meaning, advice)


def longer_runs(prepared: PreparedLog) -> float:
    """Bound (K - n + 1) (1 - alpha_1)^n on the probability of a run beyond max_depth within K periods (Corollary 1)."""
    runs, ends = prepared.runs, run_ends(prepared.runs).chance
    if not len(ends) or np.isnan(ends[0]):
        return 0.0
    window = iterations_rule(int(runs.usable.sum()), prepared.log.problem.discount)
    return max(window - runs.max_depth + 1, 0) * float((1 - ends[0]) ** runs.max_depth)


def imputation_error(prepared: PreparedLog) -> Diagnostic:
    """Jackknife standard error of the mean profit that is due to the demand model alone."""
    title = "error of imputed lost sales, in profit per period"
    if prepared.profit_without is None:
        return Diagnostic(
            "imputation", title, None, None, False, f"no demand model: {prepared.refusal}", "more uncensored rows"
        )
    means = prepared.profit_without.mean(axis=1)  # over all rows: only the demand model differs
    units = len(means)
    error = float(np.sqrt((units - 1) / units * np.sum((means - means.mean()) ** 2)))
    mean = abs(float(prepared.profit.mean()))
    meaning = (
        f"censored lost sales add a standard error of {error:.2f} to the mean profit of {prepared.profit.mean():.2f}"
    )
    advice = "small enough" if error <= 0.1 * max(mean, 1.0) else "more periods without stock-out, at several prices"
    return Diagnostic("imputation", title, error, None, False, meaning, advice)


def iterations(prepared: PreparedLog) -> Diagnostic:
    """Number K of iterations (Theorem 1)."""
    runs, discount = prepared.runs, prepared.log.problem.discount
    rows = int(runs.usable.sum())
    rule = iterations_rule(rows, discount)
    meaning = f"with {rows:,} usable rows and discount {discount:g} the paper's rule asks for K = {rule} iterations"
    return Diagnostic(
        "k", "iterations by the rule K", float(rule), None, False, meaning, f"fit with --iterations {rule}"
    )
