"""FQI without depth: one Q-function on the last observation.

The state is (features, stock, last sales, whether they were a stock-out). Three treatments of the profit of a stock-out
separate the effect of imputation from that of depth: `fqi-observed` takes it as observed, without the cost of lost
sales; `fqi-dropped` leaves such rows out; `fqi-imputed` imputes it. `fqi-plugin` imputes it and replaces the last sales
by the plugged-in demand (Appendix C).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.feature import Feature, feature_count
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.runs import Runs, find_runs, iterations_rule
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import LostSalesError
from lostsales.learn.baselines.plug_in import PlugIn
from lostsales.learn.cfqi.iteration import FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import SafeActions, arrival_of
from lostsales.learn.cfqi.settings import MOST_ITERATIONS, TAIL, TARGETS
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import Learner
from lostsales.learn.training_data import TrainingData
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.history import blocks_of_rows, limits_of_rows
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats

Treatment = Literal["observed", "dropped", "imputed", "plugin"]
WAS_STOCKOUT = Feature(name="the last period was a stock-out")


@dataclass(frozen=True, eq=False)
class LastObservationPolicy(PolicyBase):
    """Greedy in one Q on the last observation."""

    problem: Problem
    q: QPolicy  # of depth 0 alone, on the features and WAS_STOCKOUT
    plug_in: PlugIn | None
    observes: Literal["history"] = "history"

    @property
    def usual_demand(self) -> float:
        """Median of the observed demands."""
        return self.q.usual_demand

    @property
    def may_recommend(self) -> CandidateGrid | None:
        """The candidates of the Q-policy."""
        return self.q.may_recommend

    def summary(self) -> dict[str, Any]:
        """The method."""
        return {"method": self.q.method}

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        return self.q.decide(self._last_observation(view), rng)

    def explain(self, view: View) -> Decision:
        """The decision with its value, runner-up and warnings."""
        return self.q.explain(self._last_observation(view))

    def _last_observation(self, view: View) -> View:
        """The view with the stock-out as a feature and no depth."""
        last = view.last_sales if self.plug_in is None else self.plug_in.of_view(self.problem, view)
        features = (*view.features, view.last_stockout.astype(np.float64))
        return replace(view, features=features, last_sales=last, depth=np.zeros(len(last), dtype=np.int64))

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The last demand, features and price, on which plugged-in demand depends."""
        return {"covariates": 2 + feature_count(saved["problem"].features)}

    def validate(self) -> None:
        """Raise where the Q-policy is for another problem."""
        if self.q.problem != _with_stockout(self.problem) or self.q.costs or len(self.q.q) > 1:
            raise LostSalesError("its Q must be of its own problem and of depth 0 alone")


def _with_stockout(problem: Problem) -> Problem:
    return problem.model_copy(update={"features": (*problem.features, WAS_STOCKOUT)})


class FQI(Learner):
    """FQI on the last observation, without depth: an ablation of C-FQI. Stock-outs are treated in one of four ways.

    Examples
    --------
    >>> FQI(treatment="dropped").treatment
    'dropped'

    """

    method: ClassVar[str] = "fqi"

    treatment: Treatment = Field(
        "imputed",
        description="Profit of a stock-out as observed, without the cost of lost sales; such rows dropped; profit "
        "imputed; or profit imputed and a censored last demand replaced by its conditional mean (`plugin`).",
    )
    function: FunctionClass = Field(FunctionClass(), description="Function class of Q.")

    def left_out(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are not learned from, by reason."""
        return {reason: rows for reason, rows in find_runs(log).left_out.items() if rows}

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> LastObservationPolicy:
        """Learn one Q-function from a log."""
        with single_threaded():
            return _learn(log, self, progress)


class FQIObserved(FQI):
    """FQI on the last observation; the profit of a stock-out as observed, without the cost of lost sales.

    Examples
    --------
    >>> FQIObserved(iterations=10).treatment
    'observed'

    """

    method: ClassVar[str] = "fqi-observed"
    treatment: Literal["observed"] = Field("observed", description="That of the name.")


class FQIDropped(FQI):
    """FQI on the last observation; stock-outs are left out.

    Examples
    --------
    >>> FQIDropped(iterations=10).treatment
    'dropped'

    """

    method: ClassVar[str] = "fqi-dropped"
    treatment: Literal["dropped"] = Field("dropped", description="That of the name.")


class FQIImputed(FQI):
    """FQI on the last observation; the profit of a stock-out is imputed.

    Examples
    --------
    >>> FQIImputed(iterations=10).treatment
    'imputed'

    """

    method: ClassVar[str] = "fqi-imputed"
    treatment: Literal["imputed"] = Field("imputed", description="That of the name.")


class FQIPlugin(FQI):
    """FQI on the last observation; profit is imputed, and a censored last demand replaced by its conditional mean.

    Examples
    --------
    >>> FQIPlugin(iterations=10).treatment
    'plugin'

    """

    method: ClassVar[str] = "fqi-plugin"
    treatment: Literal["plugin"] = Field("plugin", description="That of the name.")


def _learn(log: SalesLog, learner: FQI, progress: Progress | None) -> LastObservationPolicy:
    data = TrainingData.of(log, learner.rules)
    treatment, seed = learner.treatment, learner.seed
    runs, grid, starts = data.runs, data.grid, log.starts
    is_observed = runs.observed.is_observed
    plug_in = PlugIn.fit(log, runs) if treatment == "plugin" else None
    demand = np.where(is_observed, runs.observed.demand, log.sales) if plug_in is None else plug_in.of_log(log, runs)
    last = np.r_[np.nan, demand[:-1]]
    last[starts] = log.last_sales
    was_stockout = np.r_[False, ~is_observed[:-1]]
    was_stockout[starts] = log.last_stockout
    # A run without an anchor has no plugged-in demand.
    usable = ~np.isnan(last) & ((runs.depth >= 0) | (plug_in is None))
    usable &= log.has_next & (is_observed | (treatment != "dropped"))
    rows = np.flatnonzero(usable)
    features = np.column_stack([log.features, was_stockout.astype(np.float64)])
    seen = replace(log, problem=_with_stockout(log.problem), features=features)
    part = Partition(
        rows=rows,
        block=blocks_of_rows(seen, last[rows], rows, 0),
        action=np.column_stack([log.price[rows], np.asarray(log.order)[rows]]),
        profit=_profit(treatment, log, runs, seed)[rows],
        is_observed=np.ones(len(rows), dtype=bool),  # depth is not part of the state
        next_observed=blocks_of_rows(seen, last[rows + 1], rows + 1, 0),
    )
    rule = min(iterations_rule(len(rows), log.problem.discount), MOST_ITERATIONS)
    settings = FqiSettings(
        iterations=learner.iterations or rule,
        discount=log.problem.discount,
        function=learner.function,
        centred=TARGETS == "centred",
        seed=seed,
    )
    named = log.features_by_name(rows + 1)
    own = data.rules.of_names(log.names[log.series[rows]])
    limit = limits_of_rows(log, rows + 1)
    may: Bools | None = own.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], named, limit)
    may = None if np.all(may) else may
    folds = folds_of(hold_out(log, gap=1), rows)
    fitted = iterate([part], [folds], grid.pairs, [(may, None)], settings, progress)
    q = QPolicy(
        problem=_with_stockout(data.problem),
        grid=grid,
        rules=data.rules,
        q=fitted.q,
        safe=SafeActions("learned", None, 0.0, 0, arrival_of(log.problem)),
        beta=0.0,
        ranges=(np.array([part.block.min(axis=0), part.block.max(axis=0)]),),
        usual_demand=data.usual_demand,
        method=learner.method,
    )
    return LastObservationPolicy(data.problem, q, plug_in)


def _profit(treatment: Treatment, log: SalesLog, runs: Runs, seed: int) -> Floats:
    """Profit of each row by treatment, the same where demand is observed, (rows,)."""
    if treatment in ("observed", "dropped"):
        return log.cash
    return log.profit(impute_by_curves(log, tail=TAIL, replicates=0, runs=runs, seed=seed).expected_lost)
