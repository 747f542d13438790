"""Planning at the level of demand, where that moves."""

from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.demand.law.selection import fit_demand
from lostsales.errors import warn
from lostsales.learn.planner.learn import learn
from lostsales.learn.planner.levelled_policy import LevelledPolicy
from lostsales.learn.planner.moving_level import at_usual_level, has_quantities, moving_levels
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.training_data import TrainingData

if TYPE_CHECKING:
    from lostsales.learn.planner.planner import Planner

NOT_FOLLOWED = (
    "the level of demand moved in this log and is not followed: {what} names quantities (a capacity, multiples, a "
    "least order), which a plan in units of the level cannot keep. The plan is for the mean level: fit it to recent "
    "rows, or leave those quantities out"
)


def learn_levelled(log: SalesLog, settings: "Planner", progress: Progress | None = None) -> PlanPolicy | LevelledPolicy:
    """`learn`, from demand relative to its level where that moves and neither problem nor rules name quantities."""
    if settings.level == "fixed":
        return learn(log, settings, progress)
    of_problem, of_rules = has_quantities(log.problem), settings.in_units(2.0) != settings
    with single_threaded():
        TrainingData.of(log, settings.rules, least_rows=0)  # or the log is refused
        model = fit_demand(log, settings.families, settings.seed)
        found = moving_levels(log, model, always=settings.level == "follow" and not (of_problem or of_rules))
    if found is not None and (of_problem or of_rules):
        what = "the problem" if of_problem else "a rule"
        warn(NOT_FOLLOWED.format(what=what))
        found = None
    if found is None:
        return learn(log, settings, progress, model)
    states, relative = found
    moved = bool((relative != 1).any())
    policy = (
        learn(at_usual_level(log, relative), settings, progress) if moved else learn(log, settings, progress, model)
    )
    problem = policy.problem.model_copy(update={"orders": log.problem.orders})
    return LevelledPolicy(policy, problem, states, bool((log.sales == np.rint(log.sales)).all()))
