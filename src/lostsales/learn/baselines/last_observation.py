"""Ordinary FQI: one Q on the last observation, whatever the number of stock-outs before it.

The state is (features, stock, last sales, whether they were a stock-out). Three treatments of the profit of a stock-out
separate what imputation brings from what depth brings: `fqi-observed` takes it as it was seen, without the cost of lost
sales; `fqi-dropped` leaves such rows out; `fqi-imputed` fills it in. `fqi-plugin` fills it in and puts the plugged-in
demand of lines 1084-1128 in the place of the last sales.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.log import SalesLog
from lostsales.data.problem import Feature, Problem
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.runs import Runs, iterations_rule
from lostsales.demand.survival.imputation import impute
from lostsales.learn.baselines.plug_in import PlugIn
from lostsales.learn.cfqi.iteration import FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition, Period, block
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.fit import MOST_ITERATIONS, grid_of, problem_of, usable_runs
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.options import Options
from lostsales.policy.file_format import Artefact
from lostsales.policy.recommendation import Decision, Deployable
from lostsales.policy.rollout import Action, View
from lostsales.types import Bools, Floats, Ints

Treatment = Literal["observed", "dropped", "imputed", "plugin"]
WAS_STOCKOUT = Feature(name="the last period was a stock-out")


@dataclass(frozen=True)
class ShallowOptions(Options):
    """What ordinary FQI may be told."""

    function: FunctionClass = field(default_factory=FunctionClass)


@dataclass(frozen=True, eq=False)
class ShallowPolicy(Deployable):
    """Greedy in one Q on the last observation."""

    problem: Problem
    q: QPolicy  # of depth 0 alone, on the features and WAS_STOCKOUT
    plug_in: PlugIn | None
    observes: Literal["history"] = "history"
    horizon: None = None

    @property
    def usual_demand(self) -> float:
        """The demand that stands in where nothing is known."""
        return self.q.usual_demand

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        return self.q.decide(self._last_observation(view), rng)

    def explain(self, view: View, last_price: Floats) -> Decision:
        """The decision with its value, runner-up and warnings."""
        return self.q.explain(self._last_observation(view), last_price)

    def _last_observation(self, view: View) -> View:
        """The view with the stock-out as a feature and no depth."""
        last = view.last_sales if self.plug_in is None else self.plug_in.of_view(self.problem, view)
        features = (*view.features, view.last_stockout.astype(np.float64))
        return replace(view, features=features, last_sales=last, depth=np.zeros(len(last), dtype=np.int64))

    def to_artefact(self) -> Artefact:
        """What has to be saved."""
        saved = self.q.to_artefact()
        arrays = dict(saved.arrays)
        if self.plug_in is not None:
            arrays |= {f"plug_in_{name}": each for name, each in vars(self.plug_in).items()}
        return replace(saved, kind="fqi-shallow", problem=self.problem, arrays=arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "ShallowPolicy":
        """The policy again."""
        names = ("slopes", "jumps", "mean_above")
        plugs = "plug_in_slopes" in artefact.arrays
        plug_in = PlugIn(*(artefact.arrays[f"plug_in_{name}"] for name in names)) if plugs else None
        return cls(artefact.problem, QPolicy.from_artefact(replace(artefact, problem=_seen(artefact.problem))), plug_in)


def _seen(problem: Problem) -> Problem:
    return problem.model_copy(update={"features": (*problem.features, WAS_STOCKOUT)})


def _fit(treatment: Treatment, log: SalesLog, **options: Any) -> ShallowPolicy:
    chosen = ShallowOptions.of(f"fqi-{treatment}", options)
    with threadpool_limits(1):
        return _learn(treatment, log, chosen)


fit_observed = partial(_fit, "observed")
fit_dropped = partial(_fit, "dropped")
fit_imputed = partial(_fit, "imputed")
fit_plugin = partial(_fit, "plugin")


def _learn(treatment: Treatment, log: SalesLog, options: ShallowOptions) -> ShallowPolicy:
    runs, grid, problem = usable_runs(log), grid_of(log), problem_of(log)
    known, starts = runs.observed.is_observed, log.starts
    plug_in = PlugIn.fit(log, runs) if treatment == "plugin" else None
    demand = np.where(known, runs.observed.demand, log.sales) if plug_in is None else plug_in.of_log(log, runs)
    last = np.r_[np.nan, demand[:-1]]
    last[starts] = log.last_sales
    was_stockout = np.r_[False, ~known[:-1]]
    was_stockout[starts] = log.last_stockout
    # A run without an anchor has no plugged-in demand.
    told = ~np.isnan(last) & ((runs.depth >= 0) | (plug_in is None))
    told &= log.has_next & (known | (treatment != "dropped"))
    rows = np.flatnonzero(told)
    observe = partial(_observation, log, last, was_stockout)
    part = Partition(
        rows=rows,
        block=observe(rows),
        action=np.column_stack([log.price[rows], np.asarray(log.order)[rows]]),
        profit=_profit(treatment, log, runs, options.seed)[rows],
        known=np.ones(len(rows), dtype=bool),  # none is told apart by its depth
        next_known=observe(rows + 1),
        next_hidden=None,
    )
    rule = min(iterations_rule(len(rows), log.problem.discount), MOST_ITERATIONS)
    settings = FqiSettings(
        iterations=options.iterations or rule,
        discount=log.problem.discount,
        function=options.function,
        seed=options.seed,
    )
    told = log.features_by_name(rows + 1)
    may: Bools | None = options.rules.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], told)
    may = None if np.all(may) else may
    folds = folds_of(hold_out(log, gap=1), rows)
    fitted = iterate([part], [folds], grid.pairs, [(may, None)], settings, options.progress)
    q = QPolicy(
        problem=_seen(problem),
        grid=grid,
        rules=options.rules,
        q=fitted.q,
        safe=SafeActions("learned", None, 0.0, 0, log.problem.arrival),
        beta=0.0,
        ranges=(np.array([part.block.min(axis=0), part.block.max(axis=0)]),),
        usual_demand=float(np.median(runs.observed.demand[known])),
        method=f"fqi-{treatment}",
    )
    return ShallowPolicy(problem, q, plug_in)


def _observation(log: SalesLog, last: Floats, was_stockout: Bools, rows: Ints) -> Floats:
    features = (*log.features[rows].T, was_stockout[rows].astype(np.float64))
    return block(_seen(log.problem), last[rows], [Period(features, np.asarray(log.stock)[rows])])


def _profit(treatment: Treatment, log: SalesLog, runs: Runs, seed: int) -> Floats:
    """What a period earned, (rows,); where demand is known all treatments agree."""
    if treatment in ("observed", "dropped"):
        return log.cash
    filled = impute(log, tail="last", replicates=0, runs=runs, seed=seed).profit_filled
    assert filled is not None  # the log has stock, orders and costs
    return filled
