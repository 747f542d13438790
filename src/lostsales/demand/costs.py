"""Cost of audit, imputation and the law of demand, from the shape of a log. Constants were measured."""

from importlib.util import find_spec

import numpy as np

from lostsales.data.budget import Cost
from lostsales.data.log import SalesLog
from lostsales.data.splits import FEW_SERIES, FOLDS, hold_out
from lostsales.demand.audit.audit import MOST_FILLED
from lostsales.demand.audit.stock_test import MOST_ROWS as TESTED_ROWS
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.law.latents import DRAWS, PARTICLES
from lostsales.demand.law.means import LANDMARKS
from lostsales.demand.law.price_response import MOST_RESAMPLED
from lostsales.demand.law.selection import BOOSTED_ROWS, MOST_FITTED, SCORED_ROWS
from lostsales.demand.stockout_loss import MOST_ROWS as LOSS_ROWS
from lostsales.demand.stockout_loss import REPLICATES
from lostsales.demand.survival.depth_groups import depth_groups
from lostsales.demand.survival.imputation import BATCH
from lostsales.demand.survival.neighbourhood import BANDWIDTHS, MOST_SCORED

# Seconds of a reference core.
START = 1.0  # machine code is read from its cache, tables are made
PAIR = 15e-9  # of a row and a possible neighbour ...
PAIR_AND_COVARIATE = 0.7e-9  # ... for each covariate
PAIR_AND_RESAMPLE = 0.5e-9  # ... for each bootstrap sample
LINEAR_DRAW = 4.5e-6  # of a draw of a row in a fit of a linear law
KERNEL_DRAW = 1.0e-5  # ... and of a kernel mean
BOOSTED_DRAW = 5.0e-5  # ... and of boosted trees
COLUMNS = 20  # arrays as long as the log


def impute_cost(log: SalesLog, replicates: int = 50, runs: Runs | None = None, most_filled: int | None = None) -> Cost:
    """Cost of `impute`, with a limit on the number of stock-outs filled."""
    runs = find_runs(log) if runs is None else runs
    if not runs.observed.any_observed or runs.observed.is_observed.all():
        return Cost(START, 8.0 * COLUMNS * len(log))
    hidden = int(np.count_nonzero(~runs.observed.is_observed))
    share = 1.0 if most_filled is None else min(1.0, most_filled / hidden)
    seconds, memory = START, 0.0
    for group in depth_groups(log, runs):
        covariates = group.covariates(group.learn[:1]).shape[1]
        learn, fill = len(group.learn), share * len(group.fill)
        pair = PAIR + PAIR_AND_COVARIATE * covariates
        seconds += learn * pair * (len(BANDWIDTHS) + 1) * min(learn, MOST_SCORED)
        seconds += learn * fill * (2 * pair + PAIR_AND_RESAMPLE * replicates)
        memory = max(memory, 8.0 * covariates * (4 * learn + 2 * min(fill, BATCH)))
    units = hold_out(log, gap=1).units
    return Cost(seconds, memory + 16.0 * units * replicates + 8.0 * COLUMNS * len(log))


def audit_cost(log: SalesLog) -> Cost:
    """Cost of `audit`."""
    runs = find_runs(log)
    filling = impute_cost(log, 0, runs, MOST_FILLED)
    tested = min(TESTED_ROWS, int(np.count_nonzero(runs.depth == 0)))
    pair = PAIR + PAIR_AND_COVARIATE * (log.features.shape[1] + 2)
    scored = (len(BANDWIDTHS) + 1) * min(tested, MOST_SCORED)
    return filling + Cost(tested * pair * (scored + tested), 8.0 * COLUMNS * len(log)) + loss_cost(log)


def loss_cost(log: SalesLog) -> Cost:
    """Cost of `stockout_loss`: a demand model, and a refit for each sample of its bootstrap."""
    if not log.censored.any():
        return Cost(0.0, 0.0)
    rows = min(len(log), LOSS_ROWS)
    share = rows / max(len(log), 1)
    return model_cost(log) * share + law_cost(log, rows) * REPLICATES


def law_cost(log: SalesLog, rows: int | None = None) -> Cost:
    """Cost of one fit of a demand model with a kernel mean, in proportion to the rows that it is learned from."""
    rows = min(len(log), MOST_FITTED) if rows is None else rows
    draws = rows * int(np.clip(PARTICLES // max(rows, 1), *DRAWS))
    memory = 8.0 * draws * (LANDMARKS + 2 * log.features.shape[1] + 16)
    return Cost(draws * (LINEAR_DRAW + KERNEL_DRAW), memory)


def model_cost(log: SalesLog) -> Cost:
    """Cost of `fit_demand`: every family without every fold, then the chosen one."""
    scored = int(min(len(log), np.clip(len(log) // 10, *SCORED_ROWS)))
    draws = scored * int(np.clip(PARTICLES // max(scored, 1), *DRAWS))
    trees = len(log) >= BOOSTED_ROWS and find_spec("sklearn") is not None
    a_draw = 2 * LINEAR_DRAW + 1.5 * KERNEL_DRAW + (1.5 * BOOSTED_DRAW if trees else 0.0)
    comparing = FOLDS * draws * a_draw + START
    # Effects of series outside the sample are fitted to all rows.
    all_rows = 5 * len(log) * (LANDMARKS + 16) * 8.0 if len(log) > MOST_FITTED and len(log.names) >= FEW_SERIES else 0.0
    fitting = law_cost(log)
    return Cost(comparing, 8.0 * COLUMNS * len(log)) + Cost(fitting.seconds, max(fitting.memory, all_rows))


def demand_cost(log: SalesLog, replicates: int = 20) -> Cost:
    """Cost of `fit_demand` and `price_response`."""
    resampled = law_cost(log, min(len(log), MOST_RESAMPLED))
    return model_cost(log) + resampled * replicates
