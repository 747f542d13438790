"""Detection of a moving level of demand, and the log relative to it.

The planner's demand model holds for demand relative to its level; `policy/moving_level.py` follows the level on.
"""

from dataclasses import replace

import numpy as np

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.data.products import Products
from lostsales.data.relative import has_whole_sales, names_quantities
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.model.counts import log_scores
from lostsales.demand.model.level_loops import level_paths
from lostsales.demand.model.spread import USUAL, Spread, likeliest_spread
from lostsales.policy.moving_level import (
    DECAYS,
    PRIOR,
    RANGE,
    SCORE_DECAY,
    LevelStates,
    deviation,
    filter_rows,
    level_inputs,
)
from lostsales.types import Bools, Floats, Ints

# Tuned on the shops of benchmarks/moving_level.py (docs/decisions/moving-level.md).
LASTING = 10  # periods ahead over which a level must help: autocorrelation of demand does not last so long
LEAST_ROWS = 40  # of a series, for its level to be followed
LEAST_GAIN = 0.01  # of the mean log score so many periods ahead, and
LEAST_T = 1.7  # times its standard error over blocks of rows: where nothing moves the gain is below 0
BLOCK = 20  # rows
MIN_LEVEL_CHANGE = 0.2  # relative change up to which a level that never moved is chance, and so do changes up to
LEVEL_CHANGE_QUANTILE = 0.99  # ... this quantile of those that the filter made of the log, in which none moved
FIRST_ROWS = 15  # of a product, until its filter has settled


def has_quantities(problem: Problem) -> bool:
    """True where a problem names quantities other than the orders that may be made: then its unit cannot move."""
    bare = problem.model_copy(update={"orders": None, "costs": problem.costs.model_copy(update={"fixed_order": 0.0})})
    return names_quantities(bare)


def moving_levels(log: DecisionLog, model: DemandModel, *, always: bool = False) -> tuple[LevelStates, Floats] | None:
    """The levels of a log, and that of each row before it was seen (rows,), relative to the usual one of its product.

    None where following a level does not forecast demand better some periods ahead than the mean so far does; or, where
    they are `always` wanted, levels that count only once they have moved by more than chance from that of the log.
    """
    products = log.products
    counts = np.bincount(products.of_row, minlength=len(products))
    if np.median(counts) < LEAST_ROWS:
        return None
    inputs = level_inputs(log)
    centre, slopes = inputs.mean(axis=0), _slopes(model, inputs)
    index = np.exp((inputs - centre) @ slopes)
    order = np.lexsort((log.period, products.of_row))
    rows = filter_rows(log, index, order, products.of_row[order])
    demand, exposure, censored, product = rows
    seen = (exposure > 0) & ~censored
    mean = np.bincount(product[seen], demand[seen], len(products)) + 1e-9
    usual = mean / np.maximum(np.bincount(product[seen], exposure[seen], len(products)), 1e-9)
    integer = bool(model.law.integer)
    spread, path = Spread(*USUAL, integer), np.zeros((0, 2))
    for _ in range(2):
        shape = (len(products), len(DECAYS))
        state = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        path = level_paths(*rows, *state, DECAYS, PRIOR, usual, spread.factors, integer, SCORE_DECAY)
        told = exposure > 0
        spread = likeliest_spread((path[:, 0] * exposure)[told], demand[told], censored[told], integer, spread)
    helps = _helps(path, rows, spread)
    if not helps and not always:
        return None
    last = np.full(len(products), np.iinfo(np.int64).min)
    np.maximum.at(last, products.of_row, log.period.astype(np.int64))
    mean_level = np.bincount(product, path[:, 0], len(products)) / counts
    states = LevelStates(products.names, last, mean_level, *state, slopes, centre, spread, has_whole_sales(log))
    if not helps:
        chance = _chance(path[:, 0] / mean_level[product], product, deviation(mean_level, spread))
        return replace(states, still=MIN_LEVEL_CHANGE, chance=chance, step=_step(log, products)), np.ones(len(log))
    relative = np.empty(len(log))
    relative[order] = np.clip(path[:, 0] / mean_level[product], *RANGE)
    return states, relative


def _step(log: SalesLog, products: Products) -> int:
    """The least difference between two periods of a product."""
    order = np.lexsort((log.period, products.of_row))
    later = np.diff(log.period[order].astype(np.int64))[np.diff(products.of_row[order]) == 0]
    return int(later[later > 0].min(initial=np.iinfo(np.int64).max)) if (later > 0).any() else 0


def _chance(relative: Floats, product: Ints, by: Floats) -> float:
    """Quantile of the changes of levels of rows (rows,) where none moved, in units of a deviation of each product."""
    first = np.searchsorted(product, product)  # rows are in the order of products
    settled = np.arange(len(product)) - first >= FIRST_ROWS
    moved = np.abs(np.log(np.maximum(relative, 1e-9)))[settled] / by[product[settled]]
    return float(np.quantile(moved, LEVEL_CHANGE_QUANTILE)) if len(moved) else np.inf


def _slopes(model: DemandModel, inputs: Floats) -> Floats:
    """Slopes of the logarithm of what the law expects at the usual last demand, (1 + columns,)."""
    evidence, law = model.evidence, model.law
    scale = law.scale[evidence.series]
    lag = np.full(len(evidence), np.nanmean(evidence.lag / scale))
    latent = law.mean_of(law.inputs(evidence.market, evidence.price, lag), evidence.series)
    expected = np.maximum(law.expected(latent, 1.0), 0.05)
    x = inputs[evidence.rows]
    varied = x - x.mean(axis=0)
    found, *_ = np.linalg.lstsq(varied, np.log(expected) - np.log(expected).mean(), rcond=None)
    return np.asarray(found)


def _helps(path: Floats, rows: tuple[Floats, Floats, Bools, Ints], spread: Spread) -> bool:
    """True where the mixture of rates scores better than the mean so far, some periods ahead and beyond chance."""
    demand, exposure, censored, product = rows
    target = np.arange(LASTING, len(demand))
    origin = target - LASTING
    kept = (product[target] == product[origin]) & (exposure[target] > 0)
    target, origin = target[kept], origin[kept]
    if len(target) < 2 * BLOCK:
        return False
    scores = []
    for level in path[origin].T:
        mean = level * exposure[target]
        every = np.ones(len(mean), dtype=bool)
        variance = spread.variance(mean, 1.0)
        scores.append(log_scores(demand[target], mean, variance, every, censored[target], spread.integer))
    gain = scores[0] - scores[1]
    blocks = np.add.reduceat(gain, np.arange(0, len(gain), BLOCK))
    error = float(np.std(blocks) * np.sqrt(len(blocks))) / len(gain)
    return bool(gain.mean() > max(LEAST_GAIN, LEAST_T * error))
