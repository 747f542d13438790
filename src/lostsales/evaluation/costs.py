"""Cost of evaluation, and how many rows fit into a limit of memory. Constants were measured."""

from collections.abc import Iterable, Sequence

import numpy as np

from lostsales.data.budget import Cost
from lostsales.data.log import SalesLog
from lostsales.data.memory import size
from lostsales.data.splits import FOLDS
from lostsales.data.sublogs import series_of, without
from lostsales.demand.costs import law_cost, model_cost
from lostsales.demand.expected_lost import DRAWS
from lostsales.demand.law.means import LANDMARKS
from lostsales.evaluation.cross_fitted import LARGE_FOLDS, QUICK_FOLDS
from lostsales.evaluation.estimators.own_error import DRAWN_LOGS, PART
from lostsales.evaluation.prepared_log import MOST_UNITS, QUICK_UNITS
from lostsales.learn.learner import Learner

LEAST_ROWS = 1_000  # to evaluate on, however little memory there is
FILLED_DRAW = 1.1e-7  # seconds of a draw of a row whose lost sales are filled
DECISION = 2.0e-5  # seconds of a decision of a replayed episode
REFIT = 0.35  # of a fit from nothing: a law without one unit starts at the law of all
PERIODS = 100 * 300  # replayed at least for each law
Q_ROW = 1.7e-4  # seconds of a row in fitted Q-evaluation, the decisions of policy and behaviour there included
DRAWN_PERIOD = 1.0e-3  # seconds of a period of a drawn log, however few series it has
Q_ESTIMATORS = ("fqe", "dr")


def evaluate_cost(log: SalesLog, rows: int, quick: bool = False, estimators: Sequence[str] = Q_ESTIMATORS) -> Cost:
    """Cost of `evaluate` with a limit on the rows."""
    return model_based_cost(log, rows, quick) + q_cost(log, rows) * len({*estimators} & {*Q_ESTIMATORS})


def q_cost(log: SalesLog, rows: int) -> Cost:
    """Cost of an estimator by fitted Q-evaluation, on the log and on those that are drawn to find its error."""
    part = first_series(log, rows)
    periods = min(PART, int(np.diff(np.r_[part.starts, len(part)]).max()))
    return Cost((DRAWN_LOGS + 1) * (len(part) * Q_ROW + periods * DRAWN_PERIOD), 0.0)


def model_based_cost(log: SalesLog, rows: int, quick: bool = False) -> Cost:
    """Cost of the demand models, and of the replays of a policy under each."""
    part = first_series(log, rows)
    laws = (QUICK_UNITS if quick else MOST_UNITS) + 3
    refits = law_cost(part) * (REFIT * laws + 1)
    filled = len(part) * DRAWS
    inputs = 8.0 * filled * (LANDMARKS + 2 * log.features.shape[1] + 8)  # of rows in a run of stock-outs, at worst
    filling = Cost(laws * filled * FILLED_DRAW, 8.0 * 8 * filled + 0.3 * inputs + 8.0 * laws * len(part))
    replaying = Cost(_replay_seconds(part, quick), 8.0 * 8 * PERIODS)
    return model_cost(part) + refits + filling + replaying


def _replay_seconds(log: SalesLog, quick: bool) -> float:
    laws = (QUICK_UNITS if quick else MOST_UNITS) + 3
    return laws * (PERIODS + len(log)) * DECISION / (3 if quick else 1)


def compare_cost(log: SalesLog, learners: Iterable[Learner], rows: int, quick: bool = False) -> Cost:
    """Cost of `compare` with a limit on the rows: every method fitted without every fold, and replayed."""
    part = first_series(log, rows)
    folds = QUICK_FOLDS if quick else LARGE_FOLDS if len(part) < len(log) else FOLDS
    every = list(learners)
    share = (folds - 1) / folds
    fitting = sum(((each.quick() if quick else each).cost(part) * (folds * share) for each in every), Cost(0.0, 0.0))
    replaying = Cost(max(len(every) - 1, 0) * _replay_seconds(part, quick), 0.0)
    return model_based_cost(log, rows, quick) + fitting + replaying


def rows_within(log: SalesLog, rows: int, limit: float, workers: int, quick: bool) -> tuple[int, tuple[str, ...]]:
    """Number of rows that the limit of memory allows, and a note if these are fewer."""
    fewer = rows
    while fewer > LEAST_ROWS and workers * evaluate_cost(log, fewer, quick).memory > limit:
        fewer = max(LEAST_ROWS, fewer // 2)
    if fewer == rows or fewer >= len(log):
        return rows, ()
    return fewer, (f"evaluated on at most {fewer:,} rows, as memory is limited to {size(limit)}",)


def first_series(log: SalesLog, rows: int) -> SalesLog:
    """First series of the log, up to about a number of rows, whose cost represents that of any other part."""
    if len(log) <= rows:
        return log
    lengths = np.diff(np.r_[log.starts, len(log)])
    part = series_of(log, np.arange(max(1, int(np.searchsorted(np.cumsum(lengths), rows)))))
    return without(part, np.arange(len(part)) >= rows)
