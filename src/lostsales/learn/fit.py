"""`fit`: from a log to a policy, by the name of a learner."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, Literal, cast, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.cost_features import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.splits import Folds, Holdout, folds_of, hold_out
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs, find_runs, iterations_rule
from lostsales.demand.survival.imputation import impute
from lostsales.demand.survival.tail import Tail
from lostsales.errors import LostSalesError, SettingError
from lostsales.learn.cfqi.iteration import FittedQ, FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition, block_of_log, partition, whole
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import Safe, SafeActions
from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.learn.cfqi.targets import CHUNK
from lostsales.learn.function.depth_regression import HyperparameterSearch, build
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QFunction, Scaler
from lostsales.learn.function.regressors import Regressor
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.recommendation import Deployed
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats

MOST_ITERATIONS = 40
NEVER = 1_000_000  # a depth that no run reaches
PESSIMISTIC_START = 4  # fusion's pessimistic iterations (line 1237)
METHODS = ("c-fqi", "pc-fqi", "fusion")
Boundary = Literal["safe", "paper"]
Learner = Callable[..., Deployed]
_LEARNERS: dict[str, Learner | str] = {}
# Learners of other modules, "module:function", imported when they are asked for.
ELSEWHERE = {
    "planner": "lostsales.learn.planner.planner:fit_planner",
    "behaviour": "lostsales.learn.baselines.behaviour:fit_behaviour",
    "base-stock": "lostsales.learn.baselines.threshold_tuning:fit_base_stock",
    "s-S-p": "lostsales.learn.baselines.threshold_tuning:fit_s_s_p",
    "newsvendor": "lostsales.learn.baselines.threshold_tuning:fit_newsvendor",
    "fqi-observed": "lostsales.learn.baselines.last_observation:fit_observed",
    "fqi-dropped": "lostsales.learn.baselines.last_observation:fit_dropped",
    "fqi-imputed": "lostsales.learn.baselines.last_observation:fit_imputed",
    "fqi-plugin": "lostsales.learn.baselines.last_observation:fit_plugin",
}


def register_learner(name: str, learner: Learner | str) -> None:
    """Make a learner of one's own known to `fit`: called with the log and the options, it returns a policy.

    A text "module:function" names one that is imported when it is asked for.
    """
    _LEARNERS[name] = learner


def learners() -> tuple[str, ...]:
    """The names of all learners that `fit` knows.

    >>> learners()[:3]
    ('c-fqi', 'pc-fqi', 'fusion')
    """
    return tuple(_LEARNERS)


def fit(log: SalesLog, method: str = "c-fqi", **options: Any) -> Deployed:
    """Learn a policy from a log by the method's name; options are those of the learner (see `CensoredFqi`)."""
    if method not in _LEARNERS:
        raise SettingError(f"no method {method!r}; the methods are {', '.join(learners())}")
    if not isinstance(log, SalesLog):
        raise LostSalesError(f"fit learns from a log that `read_log` gives, but a {type(log).__name__} came")
    learner = _LEARNERS[method]
    if isinstance(learner, str):
        module, _, name = learner.partition(":")
        learner = cast(Learner, getattr(import_module(module), name))
    return learner(log, **options)


@dataclass(frozen=True)
class CensoredFqi:
    """The settings of C-FQI, PC-FQI and fusion."""

    method: str = "c-fqi"
    iterations: int | None = None  # K; the paper's rule (line 834) up to MOST_ITERATIONS unless given
    beta: float = FqiSettings.beta  # scale of the penalty
    safe: Safe = "learned"  # or "paper": the highest price with the largest order
    eps: float = 0.05  # a learned safe action ends the run with a chance of at least 1 - eps
    boundary: Boundary = "safe"  # V at max_depth over safe actions; "paper": over all
    max_depth: int | None = None  # learn no deeper than this
    independent: bool = False  # demand does not remember: every row is at depth 0, stock-outs hide only profit
    rules: Rules = field(default_factory=Rules)
    # Or any regressor with `fit` and `predict`; pc-fqi and fusion need an ensemble, whose spread is the penalty.
    function: FunctionClass | Regressor = field(default_factory=FunctionClass)
    demand_max: float | None = None
    tail: Tail = "last"  # where hidden demand cannot be told; a lower bound serves learning best
    seed: int = 0
    progress: Progress | None = None

    def fit(self, log: SalesLog) -> QPolicy:
        """Learn from a log."""
        return self.learn(log).policy

    def learn(self, log: SalesLog) -> "Learned":
        """Learn from a log and keep what a researcher wants to see."""
        # Threads add little to factorisations of this size, cost much where the machine is busy, and change the bits.
        with threadpool_limits(1):
            return self._learn(log)

    def _learn(self, log: SalesLog) -> "Learned":
        self._check()
        runs = usable_runs(log, self.max_depth)
        facts = SeriesCoordinates.of(log, runs)
        filled = impute(
            log, demand_max=self.demand_max, tail=self.tail, replicates=0, runs=runs, seed=self.seed, quick=True
        ).profit_filled
        assert filled is not None  # the log has stock, orders and costs
        rule = min(iterations_rule(int(runs.usable.sum()), log.problem.discount), MOST_ITERATIONS)
        iterations = rule if self.iterations is None else self.iterations
        shy = {"c-fqi": 0, "pc-fqi": iterations, "fusion": min(PESSIMISTIC_START, iterations)}[self.method]
        settings = FqiSettings(
            iterations=iterations,
            discount=log.problem.discount,
            beta=self.beta,
            pessimistic_until=shy,
            function=self.function,
            seed=self.seed,
        )
        seen = costs_as_features(log)
        parts = [whole(seen, filled, facts)] if self.independent else partition(seen, runs, filled, facts)
        holdout = hold_out(log, gap=runs.max_depth + 1)
        grid = grid_of(log)
        safe = _safe_actions(seen, runs, holdout, facts, settings, self)
        allowed = [_allowed(seen, runs, part, depth, grid, safe, self) for depth, part in enumerate(parts)]
        folds = [folds_of(holdout, part.rows) for part in parts]
        fitted = iterate(parts, folds, grid.pairs, allowed, settings, self.progress)
        known = runs.observed.is_observed
        policy = QPolicy(
            problem=problem_of(log),
            grid=grid,
            rules=self.rules,
            q=fitted.q,
            safe=safe,
            beta=self.beta if fitted.pessimistic else 0.0,
            ranges=tuple(_range(part.block, self.independent) for part in parts),
            usual_demand=float(np.median(runs.observed.demand[known])),
            method=self.method,
            facts=facts if facts.matter else None,
            costs=seen.problem.features[len(log.problem.features) :],
        )
        return Learned(policy, fitted, tuple(parts), runs, filled)

    def _check(self) -> None:
        for name, value, known in (
            ("method", self.method, METHODS),
            ("safe", self.safe, get_args(Safe)),
            ("boundary", self.boundary, get_args(Boundary)),
        ):
            if value not in known:
                raise SettingError(f"{name} must be one of {', '.join(known)}, but {value!r} came")
        if not isinstance(self.function, FunctionClass | Regressor):
            raise SettingError(
                f"function must be a FunctionClass or have fit and predict, but a {type(self.function).__name__} came"
            )
        if self.iterations is not None and self.iterations < 1:
            raise SettingError(f"iterations must be at least 1, but {self.iterations} came")
        if not 0 <= self.eps <= 1:
            raise SettingError(f"eps must lie between 0 and 1, but {self.eps:g} came")
        if not 0 <= self.beta < np.inf:
            raise SettingError(f"beta must be a number that is not negative, but {self.beta:g} came")


@dataclass(frozen=True, eq=False)
class Learned:
    """A policy with everything that led to it."""

    policy: QPolicy
    fitted: FittedQ
    parts: tuple[Partition, ...]
    runs: Runs
    profit: Floats  # (rows,) surrogate profit


def _learner(method: str) -> Learner:
    def learn(log: SalesLog, **options: Any) -> QPolicy:
        known = [each.name for each in fields(CensoredFqi) if each.name != "method"]
        if unknown := [name for name in options if name not in known]:
            raise SettingError(f"no option {unknown[0]!r}; the options of {method} are {', '.join(known)}")
        return CensoredFqi(method, **options).fit(log)

    return learn


_LEARNERS.update({_method: _learner(_method) for _method in METHODS})
_LEARNERS.update(ELSEWHERE)


def usable_runs(log: SalesLog, max_depth: int | None = None, least: int = LEAST_ROWS) -> Runs:
    """The runs of a log that can be learned from; any other is refused with a reason."""
    if log.demand_only:
        raise LostSalesError("fit needs stock and orders, and this log has none; audit, impute and demand can use it")
    if log.costs is None:
        raise LostSalesError("fit needs unit costs: give [costs] lost, order and holding in the problem")
    runs = find_runs(log, max_depth)
    rows = int(np.count_nonzero(runs.usable & (runs.depth == 0)))
    if rows < least:
        wanted = f"fit needs at least {least} rows that follow a known demand and have a next row"
        raise LostSalesError(f"{wanted}, but there are {rows}")
    return runs


def problem_of(log: SalesLog) -> Problem:
    """The problem of a log with the grid spelled out, as a policy keeps it."""
    return log.problem.model_copy(update={"prices": tuple(log.prices), "orders": tuple(log.orders)})


def grid_of(log: SalesLog) -> ActionGrid:
    """The grid of the problem, or of what the log shows."""
    forbids = log.problem.capacity_rule == "forbid" and log.problem.capacity is not None
    return ActionGrid(log.prices, log.orders, float(log.problem.capacity or np.inf) if forbids else np.inf)


def _safe_actions(
    log: SalesLog, runs: Runs, holdout: Holdout, facts: SeriesCoordinates, settings: FqiSettings, asked: CensoredFqi
) -> SafeActions:
    """At max_depth, the chance that the run ends, from every row at that depth; None where it always did."""
    if asked.independent:
        return SafeActions(asked.safe, None, asked.eps, NEVER, log.problem.arrival)
    chance: QFunction | None = None
    depth = runs.max_depth
    rows = np.flatnonzero((runs.depth == depth) & log.has_next)
    ends = runs.observed.is_observed[rows].astype(np.float64)
    if asked.safe == "learned" and depth and not ends.all():
        block = block_of_log(log, runs.anchor_demand[rows], rows, depth, facts)
        # What arrives after sales cannot end the run, and a chance that followed it would be noise.
        order = np.asarray(log.order)[rows] if log.problem.arrival == "before" else np.zeros(len(rows))
        action = np.column_stack([log.price[rows], order / facts.scale[log.series[rows]]])
        chance = _chance_to_end(block, action, ends, folds_of(holdout, rows), settings)
    return SafeActions(asked.safe, chance, asked.eps, depth, log.problem.arrival)


def _range(block: Floats, independent: bool) -> Floats:
    """Least and most of the data; the anchor's demand does not count where demand does not remember."""
    found = np.array([block.min(axis=0), block.max(axis=0)])
    if independent:
        found[:, 0] = -np.inf, np.inf
    return found


def _chance_to_end(block: Floats, action: Floats, ends: Floats, folds: Folds, settings: FqiSettings) -> QFunction:
    """Regression of whether a run ended, kept within [0, 1]."""
    scaler, action_scaler, mean = Scaler.of(block), ActionScaler.of(action), float(ends.mean())
    history, acted = scaler(block), action_scaler(action)
    function = settings.function if isinstance(settings.function, FunctionClass) else FunctionClass()
    choice = HyperparameterSearch.of(history, acted, folds, function, settings.seed).choose(ends - mean)
    return build(scaler, action_scaler, history, acted, choice, function, settings.seed).q(ends, 0.0, 1.0)[0]


def _allowed(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    depth: int,
    grid: ActionGrid,
    safe: SafeActions,
    asked: CensoredFqi,
) -> tuple[Bools | None, Bools | None]:
    """Actions that may follow the known and the censored rows of a depth, as the deployed policy will have them."""
    if asked.rules == Rules() and np.isinf(grid.room) and (asked.boundary == "paper" or runs.max_depth == 0):
        return None, None
    masks: list[Bools | None] = []
    for chosen, next_depth, block in ((part.known, 0, part.next_known), (~part.known, depth + 1, part.next_hidden)):
        if block is None:
            masks.append(None)
            continue
        rows = part.rows[chosen]
        told = log.features_by_name(rows + 1)
        may = asked.rules.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], told)
        if asked.boundary == "safe":
            may = _safe_mask(safe, next_depth, block, may, grid, np.asarray(part.scale)[chosen])
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _safe_mask(safe: SafeActions, depth: int, block: Floats, may: Bools, grid: ActionGrid, scale: Floats) -> Bools:
    """What is feasible and safe, rows of one scale together and not too many at a time."""
    found = may.copy()
    for each in np.unique(scale):
        at = np.flatnonzero(scale == each)
        for start in range(0, len(at), CHUNK):
            some = at[start : start + CHUNK]
            found[some] = safe.mask(depth, block[some], may[some], grid, float(each))[0]
    return found
