"""Cost of `fit` by method, from the shape of a log. Constants were measured."""

import numpy as np

from lostsales.data.budget import Cost
from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.data.scale import like_groups, series_scale
from lostsales.demand.censoring.runs import find_runs, iterations_rule
from lostsales.demand.costs import START, law_cost, model_cost
from lostsales.learn.cfqi.learn import MOST_ITERATIONS
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import Learner
from lostsales.learn.planner.arrivals import has_pipeline
from lostsales.learn.planner.learn import MOST_PLANS
from lostsales.learn.planner.planner import Planner

VALUE = 2.2e-8  # seconds of the value of an action, or of a feature of Q, in one row and iteration
CFQI_START = 0.3  # cross-validation of kernels and ridges, by depth
USUAL_RANK = 150  # of Nystrom's approximation, where the effective dimension says so
# Seconds of the plan of one law and group of series, by price, where orders arrive before sales or after.
PLAN = {"before": 0.15, "after": 0.6}
PLAN_WITH_PIPELINE = 2.5  # the same where orders take longer
REFIT = 0.35  # of a fit from nothing
TUNED = 2e-6  # seconds of a baseline, by row
PLAN_MEMORY = 150e6


def fit_cost(learner: Learner, log: SalesLog) -> Cost:
    """Of `fit` with a method; of those of other packages nothing is known but that they read the log."""
    columns = 8.0 * 40 * len(log)
    if isinstance(learner, Planner):
        groups = int(like_groups(series_scale(log)[:, None]).max()) + 1
        laws = learner.laws(log.problem)
        count = max(groups, min(laws * groups, MOST_PLANS))
        prices = len(Ladders.of(log, learner.rules.over(log.problem.rules)).coarse().prices)
        own = PLAN_WITH_PIPELINE if has_pipeline(log.problem) else PLAN[log.problem.arrival]
        plans = Cost(count * prices * own, PLAN_MEMORY + columns)
        return model_cost(log) + law_cost(log) * (REFIT * (laws - 1)) + plans
    if isinstance(learner, CFQI):
        ladders = Ladders.of(log, learner.rules.over(log.problem.rules)).coarse()
        actions = len(ladders.prices) * len(ladders.orders)
        rank = learner.function.most_rank if isinstance(learner.function, FunctionClass) else USUAL_RANK
        width = actions + min(USUAL_RANK, rank)
        runs = find_runs(log, learner.max_depth)
        usable = int(np.count_nonzero(runs.usable))
        rule = min(iterations_rule(usable, log.problem.discount), MOST_ITERATIONS)
        iterations = rule if learner.iterations is None else learner.iterations
        seconds = CFQI_START * (runs.max_depth + 1) ** 0.5 + usable * width * (iterations + 10) * VALUE
        return Cost(seconds, 1.5 * 8.0 * usable * (actions + rank) + columns)
    return Cost(0.1 * START + TUNED * len(log), columns)
