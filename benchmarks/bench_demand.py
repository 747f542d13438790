"""The law of demand: one fit beside a censored likelihood, the whole choice beside scikit-learn's, and its growth."""

from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row, best_seconds
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import COEFFICIENTS, RIDGES
from lostsales.demand.law.selection import fit_law
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats

SIZES = 500, 2_500, 25_000
LINEAR = Family("linear", False)


def run() -> list[Row]:
    """Peers use fewer rows than we do: neither handles a hidden last demand."""
    scenario = Scenario.load("steady")
    logs = {rows: simulate(scenario, episodes=rows // scenario.horizon, seed=1)[0] for rows in SIZES}
    fit_law(logs[500])  # compiles
    found, whole = [], {}
    with threadpool_limits(1):
        for rows, log in logs.items():
            evidence = gather_evidence(log)
            one = partial(fit_family, evidence, LINEAR, np.ones(len(log.names)))
            ours, peer = best_seconds(one), best_seconds(partial(_censored_likelihood, evidence))
            shown = f"{ours:.3f} s", f"{peer:.3f} s (censored-normal likelihood by BFGS, rows with an observed lag)"
            found.append(Row(f"one linear law, {rows:,} rows", *shown, peer / ours))
        for rows, log in logs.items():
            whole[rows] = best_seconds(partial(fit_law, log), 2)
            if rows <= 2_500:  # kernel ridge takes the cube of the rows
                peer = best_seconds(partial(_chosen_by_hand, gather_evidence(log)), 1)
                shown = f"{whole[rows]:.2f} s", f"{peer:.2f} s (GridSearchCV of kernel ridge, observed rows)"
                found.append(Row(f"families compared, one chosen, {rows:,} rows", *shown, peer / whole[rows]))
    growth = float(np.log10(whole[25_000] / whole[2_500]))
    shown = f"{whole[25_000]:.2f} s", f"{whole[2_500]:.2f} s for a tenth"
    return [*found, Row("growth exponent up to 25,000 rows", *shown, growth, at_most=1)]


def _rows_with_known_lag(evidence: Evidence) -> tuple[Floats, Evidence]:
    """Inputs of the rows that a regression without hidden lags can use, and these rows."""
    known = evidence.part(evidence.depth == 0)
    inputs = np.column_stack([known.market, known.price, known.lag])
    return inputs, known


def _censored_likelihood(evidence: Evidence) -> Floats:
    """Intercept, slopes and log spread of a normal law of which each row shows an interval or a lower end."""
    inputs, known = _rows_with_known_lag(evidence)
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    design = np.column_stack([np.ones(len(inputs)), (inputs - centre) / scale])
    side = np.where(np.isinf(known.high), -1.0, np.where(np.isinf(known.low), 1.0, 0.0))  # above, below, known
    shown = np.where(side < 0, known.low, np.where(side > 0, known.high, (known.low + known.high) / 2))

    def loss(theta: Floats) -> tuple[float, Floats]:
        spread = np.exp(theta[-1])
        left = (shown - design @ theta[:-1]) / spread
        tail = log_ndtr(side * left)
        hazard = -side * np.exp(-0.5 * left**2 - 0.5 * np.log(2 * np.pi) - tail)
        chance = np.where(side == 0, -0.5 * left**2 - theta[-1], tail)
        by_mean = np.where(side == 0, left, hazard) / spread
        by_spread = np.where(side == 0, left**2 - 1, hazard * left)
        return -float(chance.mean()), -np.r_[by_mean @ design, by_spread.sum()] / len(left)

    start = np.r_[shown.mean(), np.zeros(inputs.shape[1]), np.log(shown.std())]
    theta = minimize(loss, start, jac=True, method="BFGS").x
    return np.asarray(np.r_[theta[0], theta[1:-1] / scale, theta[-1]])


def _chosen_by_hand(evidence: Evidence) -> object:
    """A first version: rows whose demand and lag are known, a grid, five folds."""
    inputs, known = _rows_with_known_lag(evidence)
    seen = ~known.is_censored
    grid = {"gamma": [each / inputs.shape[1] for each in COEFFICIENTS], "alpha": RIDGES}
    standard = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    low, high = known.low[seen], known.high[seen]
    demand = (np.maximum(low, high - 1) + high) / 2  # a demand of 0 has no lower end
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5).fit(standard[seen], demand)
