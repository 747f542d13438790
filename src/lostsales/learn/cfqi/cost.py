"""Expected time and memory of C-FQI, from the shape of a log."""

import numpy as np

from lostsales.data.budget import Cost
from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import find_runs, iterations_rule
from lostsales.learn.cfqi.choices import CfqiChoices
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import BYTES_A_ROW

# Measured on the scenario `released`.
VALUE = 2.2e-8  # seconds of the value of an action, or of a feature of Q, in one row and iteration
START = 0.3  # cross-validation of kernels and ridges, by depth
USUAL_RANK = 150  # of Nystrom's approximation, where the effective dimension says so


def cfqi_cost(learner: CfqiChoices, log: SalesLog) -> Cost:
    """Expected time and memory of a fit."""
    ladders = Ladders.of(log, learner.rules.over(log.problem.rules)).coarse()
    actions = len(ladders.prices) * len(ladders.orders)
    rank = learner.function.most_rank if isinstance(learner.function, FunctionClass) else USUAL_RANK
    width = actions + min(USUAL_RANK, rank)
    runs = find_runs(log, learner.max_depth)
    usable = int(np.count_nonzero(runs.usable))
    asked = iterations_rule(usable, log.problem.discount)
    rule = min(asked, learner.most_iterations or asked)
    iterations = rule if learner.iterations is None else learner.iterations
    seconds = START * (runs.max_depth + 1) ** 0.5 + usable * width * (iterations + 10) * VALUE
    return Cost(seconds, 1.5 * 8.0 * usable * (actions + rank) + BYTES_A_ROW * len(log))
