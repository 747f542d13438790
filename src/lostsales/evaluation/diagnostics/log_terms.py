"""Terms of the log alone: partition shares, max_depth, regret beyond it, imputation, iterations."""

import numpy as np

from lostsales.data.sublogs import series_of, without
from lostsales.demand.censoring.runs import find_runs, iterations_rule, run_ends
from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.types import Ints

RESAMPLES = 40  # of the log, for the stability of max_depth


def partition_shares(prepared: PreparedLog) -> Diagnostic:
    """The shares rho of the rows by depth (Assumption 10)."""
    runs = prepared.runs
    rows = np.bincount(runs.depth[runs.usable], minlength=runs.max_depth + 1)
    share = rows / max(rows.sum(), 1)
    least = int(share.argmin())
    meaning = f"the smallest part of the rows, {share[least]:.1%} ({rows[least]:,} rows), teaches depth {least}"
    advice = "enough rows at every depth" if rows[least] >= 100 else "collect more series: every depth wants 100 rows"
    return Diagnostic("rho", "share of the rows by depth", float(share.min()), share, False, meaning, advice)


def depth_instability(prepared: PreparedLog, seed: int) -> Diagnostic:
    """The share omega of resampled logs with another max_depth (Assumption 8)."""
    log, units = prepared.log, prepared.units
    rng = np.random.default_rng(seed)
    depths = []
    for _ in range(RESAMPLES):
        if units.by == "blocks in time":
            part = without(log, np.isin(units.of_row, np.setdiff1d(np.arange(len(units)), _drawn(rng, len(units)))))
        else:
            part = series_of(log, np.sort(_drawn(rng, len(log.names))))
        depths.append(find_runs(part).max_depth)
    deepest = prepared.runs.max_depth
    omega = float(np.mean(np.array(depths) != deepest))
    meaning = f"max_depth is {deepest}; another log of the same shop would give another in {omega:.0%} of the cases"
    advice = "max_depth can be relied on" if omega <= 0.2 else "more series, or fix max_depth one lower by hand"
    return Diagnostic("omega", "instability of max_depth", omega, None, False, meaning, advice)


def _drawn(rng: np.random.Generator, count: int) -> Ints:
    return np.asarray(rng.integers(0, count, count))


def unidentifiable_regret(prepared: PreparedLog) -> Diagnostic:
    """E_cov (Corollary 1) with the alpha_1 of the behaviour."""
    runs, discount = prepared.runs, prepared.log.problem.discount
    ends = run_ends(runs).chance
    title = "bound on regret that no more data of this shop removes"
    if not len(ends) or np.isnan(ends[0]):
        return Diagnostic("e_cov", title, 0.0, None, True, "there are no runs of stock-outs", "nothing")
    rule = iterations_rule(int(runs.usable.sum()), discount)
    greatest = float(np.abs(prepared.profit).max())
    missed = (1 - float(ends[0])) ** runs.max_depth
    value = max(rule - runs.max_depth + 1, 0) * missed * 2 * greatest / (1 - discount)
    meaning = (
        f"a run ends with a chance of {ends[0]:.0%} a period, and runs beyond depth {runs.max_depth} teach nothing"
    )
    advice = "deeper runs are rare enough" if missed < 0.05 else "a log with longer runs, or safer orders during them"
    return Diagnostic("e_cov", title, value, None, True, meaning, advice)


def imputation_error(prepared: PreparedLog) -> Diagnostic:
    """Jackknife standard error of the mean profit that is due to the demand law alone."""
    title = "error of imputed lost sales, in profit a period"
    if prepared.profit_without is None:
        return Diagnostic(
            "imputation", title, None, None, False, f"no demand model: {prepared.refusal}", "more uncensored rows"
        )
    means = prepared.profit_without.mean(axis=1)  # over all rows: only the law differs
    units = len(means)
    error = float(np.sqrt((units - 1) / units * np.sum((means - means.mean()) ** 2)))
    mean = abs(float(prepared.profit.mean()))
    meaning = f"hidden lost sales leave the mean profit of {prepared.profit.mean():.2f} uncertain by {error:.2f}"
    advice = "small enough" if error <= 0.1 * max(mean, 1.0) else "more periods without stock-out, at several prices"
    return Diagnostic("imputation", title, error, None, False, meaning, advice)


def iterations(prepared: PreparedLog) -> Diagnostic:
    """The number K of iterations (Theorem 1)."""
    runs, discount = prepared.runs, prepared.log.problem.discount
    rows = int(runs.usable.sum())
    rule = iterations_rule(rows, discount)
    meaning = f"with {rows:,} usable rows and discount {discount:g} the paper's rule asks for K = {rule} iterations"
    return Diagnostic(
        "k", "iterations by the rule K", float(rule), None, False, meaning, f"fit with --iterations {rule}"
    )
