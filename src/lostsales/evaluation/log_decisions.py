"""The decisions of a policy in the rows of a log."""

import numpy as np

from lostsales.data.encoding import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import Policy
from lostsales.types import Floats, Ints

DRAWS = 8  # of a stochastic policy


def log_as_asked(policy: Policy, log: SalesLog) -> SalesLog:
    """The log with the features that a policy asks for, unit costs that vary among them where it uses them."""
    return log if policy.asks == log.problem.features else costs_as_features(log)


def decisions(policy: Policy, log: SalesLog, runs: Runs, rows: Ints, rng: np.random.Generator) -> Floats:
    """Price and order at each row, (draws, rows, 2); one draw where the policy is deterministic."""
    view = view_of_rows(log_as_asked(policy, log), runs, rows)
    drawn = [np.column_stack(policy.decide(view, rng)) for _ in range(2)]
    if np.array_equal(drawn[0], drawn[1]):
        return np.array(drawn[:1])
    return np.array(drawn + [np.column_stack(policy.decide(view, rng)) for _ in range(DRAWS - 2)])
