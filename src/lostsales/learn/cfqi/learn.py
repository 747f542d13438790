"""C-FQI, PC-FQI and fusion (Algorithms 1 and 2): runs, imputed profits, partition by depth, iteration, policy."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from lostsales.data.encoding import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.product_table import ProductAttributes
from lostsales.data.progress import Progress
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.runs import DepthRule, Runs, find_runs, iterations_rule
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import warn
from lostsales.learn.cfqi.allowed_actions import allowed_actions, supports_by_depth, warn_of_constants
from lostsales.learn.cfqi.iteration import FittedQ, FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition, partition, single_partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import SafeActions, arrival_of, fit_safe_actions
from lostsales.learn.cfqi.settings import SELECTED_EARLY, CfqiSettings
from lostsales.learn.training_data import TrainingData
from lostsales.types import Floats

FUSION_START = 4  # pessimistic iterations of fusion (Appendix F)


class CFQI(CfqiSettings):
    """C-FQI: fitted Q-iteration with one Q-function per depth and imputed profits (Algorithm 1).

    References
    ----------
    Gundem and Qi, Offline Dynamic Inventory and Pricing Strategy: Addressing Censored and Dependent Demand.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, CFQI(iterations=2, function={"kind": "linear"}))
    >>> policy.summary()
    {'method': 'c-fqi', 'max_depth': 3, 'kernels': ['linear', 'linear', 'linear', 'linear'], 'value': 'Q'}

    """

    method: ClassVar[str] = "c-fqi"
    bytes_a_row: ClassVar[int] = 3_500
    quick_settings: ClassVar[dict[str, Any]] = {"iterations": 10}

    def runs(self, log: SalesLog) -> Runs:
        """The runs of stock-outs of a log as it learns from them."""
        rule = self.depth_rule
        return find_runs(log, rule.cap, rule.least_rows, rule.pool, rule.a_coordinate)

    def left_out(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are not learned from, by reason."""
        last_rows = {"last row of its series": int(np.count_nonzero(~log.has_next))}
        found = last_rows if self.independent else self.runs(log).left_out
        return {reason: rows for reason, rows in found.items() if rows}

    def rows_learned(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are learned from, and how many of them, deeper than the deepest Q, share it.

        >>> import lostsales
        >>> log, _ = lostsales.simulate("released", episodes=12, seed=1)
        >>> CFQI(max_depth=2).rows_learned(log)
        {'rows_kept': 588, 'rows_pooled': 239}
        """
        kept = len(log) - sum(self.left_out(log).values())
        return {"rows_kept": kept, "rows_pooled": 0 if self.independent else self.runs(log).pooled}

    def fit(self, log: SalesLog, progress: Progress | None = None) -> QPolicy:
        """Learn one Q-function per depth from a log."""
        return learn(log, self, progress).policy


class PCFQI(CFQI):
    """PC-FQI: C-FQI with a penalty in every iteration and in the policy (Algorithm 2); the default penalty is ours.

    The default U has a kernel of its own and is on what an action gains over the usual one of the log: it keeps the
    policy from leaving what was done unless that pays, and is no uncertainty quantifier in the paper's sense. With
    `penalty="calibrated"` it is one, at about 90 %, and decisions are the same. The paper's U, the posterior deviation
    of Q's own kernel, is `penalty="paper"`.

    Examples
    --------
    >>> PCFQI(beta=5.0).pessimistic_iterations(10)
    10

    """

    method: ClassVar[str] = "pc-fqi"

    def pessimistic_iterations(self, iterations: int) -> int:
        """All of them."""
        return iterations


class Fusion(CFQI):
    """Fusion: the first iterations as in PC-FQI (default penalty: ours), the others as in C-FQI (Appendix F).

    Examples
    --------
    >>> Fusion().pessimistic_iterations(10)
    4

    """

    method: ClassVar[str] = "fusion"

    def pessimistic_iterations(self, iterations: int) -> int:
        """The first few."""
        return min(FUSION_START, iterations)


STILL_AHEAD = 0.05  # share of the value beyond the cap of K, above which a warning is given


@dataclass(frozen=True, eq=False)
class CfqiResult:
    """A policy with its Q-functions, partition, runs and surrogate profits."""

    policy: QPolicy
    fitted: FittedQ
    parts: tuple[Partition, ...]
    runs: Runs
    profit: Floats  # (rows,) surrogate profit


def learn(log: SalesLog, settings: CfqiSettings, progress: Progress | None = None) -> CfqiResult:
    """C-FQI, PC-FQI or fusion on a log (Algorithms 1 and 2)."""
    # Threads add little to factorisations of this size, cost much where the machine is busy, and change the bits.
    with single_threaded():
        return _learn(log, settings, progress)


def _learn(log: SalesLog, settings: CfqiSettings, progress: Progress | None) -> CfqiResult:
    depths = settings.depth_rule
    data = TrainingData.of(log, settings.rules, settings.least_rows, depths)
    runs, grid, priced = _without_unlogged_orders(data, depths.least_rows), data.grid, costs_as_features(log)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    fqi = _iteration_settings(settings, int(runs.usable.sum()), log.problem.discount)

    profit = imputed_profit(log, runs, settings)
    if settings.independent:
        parts = [single_partition(priced, profit)]
        safe = SafeActions.never(settings.safe, settings.eps, arrival_of(log.problem))
    else:
        parts = partition(priced, runs, profit, settings.lags)
        safe = fit_safe_actions(priced, runs, holdout, fqi, settings.safe, settings.eps, settings.lags)
    on_gains = settings.penalty in ("gains", "calibrated") and fqi.pessimistic_until > 0
    bounded = settings.support == "near"
    supports = supports_by_depth(priced, runs, parts, holdout, settings) if on_gains or bounded else None
    if not bounded:
        warn_of_constants(parts)
    bounds, safe_boundary = supports if bounded else None, settings.boundary == "safe"
    allowed = [allowed_actions(priced, runs, part, grid, safe, data.rules, safe_boundary, bounds) for part in parts]
    folds = [folds_of(holdout, part.rows) for part in parts]
    fitted = iterate(parts, folds, grid.pairs, allowed, fqi, progress, supports if on_gains else None)

    attributes = ProductAttributes.of(log)
    policy = QPolicy(
        problem=data.problem,
        grid=grid,
        rules=data.rules,
        q=fitted.q,
        safe=safe,
        supports=supports if bounded or (on_gains and fitted.pessimistic) else None,
        bounded=bounded,
        on_gains=on_gains and fitted.pessimistic,
        pools=runs.pooled > 0 and not settings.independent,
        beta=fqi.beta if fitted.pessimistic else 0.0,
        margin=fitted.margin,
        ranges=tuple(_range(part.block, settings.independent) for part in parts),
        usual_demand=data.usual_demand,
        method=settings.method,
        attributes=attributes if attributes.columns else None,
        costs=priced.problem.features[len(log.problem.features) :],
        lags=1 if settings.independent else settings.lags,
        depth_rule=DepthRule(cap=0) if settings.independent else depths,
    )
    return CfqiResult(policy, fitted, tuple(parts), runs, profit)


def _without_unlogged_orders(data: TrainingData, least_rows: int) -> Runs:
    """Runs without the rows of products that never ordered, whose stock seems to come for nothing.

    All rows stay where a depth would be left with too few.
    """
    log, runs = data.log.decisions("fit"), data.runs
    orders = log.products.means((log.order > 0).astype(np.float64))
    usable = runs.usable & (orders > 0)[log.products.of_row]
    left = np.bincount(runs.learned_depth[usable], minlength=runs.max_depth + 1)
    return replace(runs, usable=usable) if (left[: runs.max_depth + 1] >= least_rows).all() else runs


def imputed_profit(log: SalesLog, runs: Runs, settings: CfqiSettings) -> Floats:
    """R* of every row, (rows,): lost sales of a stock-out by their conditional mean (Section 3.4)."""
    filled = impute_by_curves(
        log, demand_max=settings.demand_max, tail=settings.tail, replicates=0, runs=runs, seed=settings.seed, quick=True
    ).profit_filled
    assert filled is not None  # the log has stock, orders and costs
    return filled


def _iteration_settings(settings: CfqiSettings, rows: int, discount: float) -> FqiSettings:
    """Settings of the iteration, with K by the rule where it is not given."""
    asked = iterations_rule(rows, discount)
    most = settings.most_iterations or asked
    iterations = min(asked, most) if settings.iterations is None else settings.iterations
    if settings.iterations is None and asked > most and discount**most > STILL_AHEAD:
        warn(
            f"K = {asked} iterations are needed at discount {discount:g}, {most} are made: later rewards are ignored. "
            f"iterations={asked} makes them all"
        )
    return FqiSettings(
        iterations=iterations,
        discount=discount,
        beta=settings.penalty_scale,
        pessimistic_until=settings.pessimistic_iterations(iterations),
        function=settings.penalised_function,
        select_at=SELECTED_EARLY if settings.selection == "early" else None,
        centred=settings.targets == "centred",
        calibrated=settings.penalty == "calibrated",
        seed=settings.seed,
    )


def _range(block: Floats, independent: bool) -> Floats:
    """Range of the histories, (2, coordinates); that of the anchor's demand is infinite where demand is independent."""
    found = np.array([block.min(axis=0), block.max(axis=0)])
    if independent:
        found[:, 0] = -np.inf, np.inf
    return found
