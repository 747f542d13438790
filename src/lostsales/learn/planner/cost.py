"""Expected time and memory of the planner, from the shape of a log."""

from typing import TYPE_CHECKING

from lostsales.data.budget import Cost
from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.data.scale import like_groups, series_scale
from lostsales.demand.costs import law_cost, model_cost
from lostsales.learn.learner import BYTES_A_ROW
from lostsales.learn.planner.pipeline_grid import has_pipeline

if TYPE_CHECKING:
    from lostsales.learn.planner.planner import Planner

# Seconds of the plan of one demand distribution and group of series, by price, where orders arrive before sales or
# after; measured on the scenarios `released` and `paper`.
PLAN = {"before": 0.15, "after": 0.6}
PLAN_WITH_PIPELINE = 2.5  # the same where orders take longer
REFIT = 0.35  # of a fit from nothing
PLAN_MEMORY = 150e6
MOST_PLANS = 12  # demand distributions times groups: bounds the time of a fit


def planner_cost(learner: "Planner", log: SalesLog) -> Cost:
    """Expected time and memory of a fit."""
    groups = int(like_groups(series_scale(log)[:, None]).max()) + 1
    laws = learner.laws(log.problem)
    count = max(groups, min(laws * groups, MOST_PLANS))
    prices = len(Ladders.of(log, learner.rules.over(log.problem.rules)).coarse().prices)
    own = PLAN_WITH_PIPELINE if has_pipeline(log.problem) else PLAN[log.problem.arrival]
    plans = Cost(count * prices * own, PLAN_MEMORY + BYTES_A_ROW * len(log))
    return model_cost(log) + law_cost(log) * (REFIT * (laws - 1)) + plans
