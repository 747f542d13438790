"""Detection of a level of demand that moves: such a shop is decided on sample paths, which follow levels.

Levels are followed with several forgetting rates, weighted by how likely they made the demands so far. A level moves
where this mixture predicts demand better some periods ahead than the mean so far. Long autocorrelation gives the same
picture, and the last price tells the two apart (common factors: Hendry and Mizon, 1978): demand that depends on its
past knows that price through the last demand alone, while a last demand that is only a sign of the level is one after
the effect of its price is taken out.
"""

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.observed import observe
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.estimation import bounded_below
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.model.counts import log_scores
from lostsales.demand.model.level_loops import level_paths
from lostsales.demand.model.spread import USUAL, Spread, likeliest_spread
from lostsales.types import Bools, Floats, Ints

DECAYS = 0.5 ** (1.0 / np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 416.0]))  # half-lives from days to a year of them
PRIOR, SCORE_DECAY = 0.3, 0.95  # periods that the usual level counts for, and decay of past scores of the rates
# Tuned on shops with Poisson demand whose level rises by half, doubles slowly or stays (decisions/moving-level.md).
LASTING = 10  # periods ahead over which a level must help: autocorrelation of demand does not last so long
LEAST_ROWS = 40  # of a series, for its level to be followed
LEAST_GAIN = 0.01  # of the mean log score so many periods ahead, and
LEAST_T = 1.7  # times its standard error over blocks of rows: where nothing moves the gain is below 0
BLOCK = 20  # rows
# Share of the effect of the last price beside a level: 0 to 0.08 under autocorrelation, 0.1 to 0.5 in drift.
OF_COMMON_FACTOR = 0.2


def level_moves(log: SalesLog, model: DemandModel) -> bool:
    """True where following a level predicts demand better some periods ahead, and no autocorrelation explains it."""
    products = log.products
    if np.median(np.bincount(products.of_row, minlength=len(products))) < LEAST_ROWS:
        return False
    inputs = np.column_stack([log.price, *feature_columns(log.problem.features, log.features.T)])
    order = np.lexsort((log.period, products.of_row))
    index = np.exp((inputs - inputs.mean(axis=0)) @ _slopes(model, inputs))
    rows = _filter_rows(log, index, order, products.of_row[order])
    demand, exposure, censored, product = rows
    seen = (exposure > 0) & ~censored
    mean = np.bincount(product[seen], demand[seen], len(products)) + 1e-9
    usual = mean / np.maximum(np.bincount(product[seen], exposure[seen], len(products)), 1e-9)
    integer = bool(model.law.integer)
    spread, path = Spread(*USUAL, integer), np.zeros((0, 2))
    for _ in range(2):
        shape = len(products), len(DECAYS)
        state = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        path = level_paths(*rows, *state, DECAYS, PRIOR, usual, spread.factors, integer, SCORE_DECAY)
        told = exposure > 0
        spread = likeliest_spread((path[:, 0] * exposure)[told], demand[told], censored[told], integer, spread)
    return _helps(path, rows, spread) and not is_autocorrelation(model)


def is_autocorrelation(model: DemandModel) -> bool:
    """True where the last price moves demand through the last demand alone, beyond two standard errors."""
    evidence, law = model.evidence, model.law
    now = np.flatnonzero(np.diff(evidence.rows) == 1) + 1
    now = now[evidence.series[now] == evidence.series[now - 1]]
    done, price = complete_latents(evidence, law), law.price_input(evidence.price)
    lag = law.memory_input(done.lag[now].mean(axis=1))
    x = np.column_stack([np.ones(len(now)), evidence.market[now], price[now], lag, price[now - 1]])
    y = bounded_below(law, done.latent[now]).mean(axis=1)
    slopes, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    if rank < x.shape[1] or len(now) <= rank:
        return False  # one price, or every price for long
    residual = y - x @ slopes
    error = np.sqrt(residual @ residual / (len(now) - rank) * np.linalg.inv(x.T @ x)[-1, -1])
    beside_level = -slopes[-3] * slopes[-2]  # were the last demand only a sign of the level
    away = np.sign(beside_level) * slopes[-1] + 2 * error
    return bool(away < OF_COMMON_FACTOR * abs(beside_level))


def _filter_rows(log: SalesLog, index: Floats, rows: Ints, product: Ints) -> tuple[Floats, Floats, Bools, Ints]:
    """Demand, exposure and bounds of some rows as the filter takes them, with their products."""
    observed = observe(log)
    least = observed.available + (observed.integer & (observed.censored_above >= observed.available))
    demand = np.where(observed.is_observed, observed.demand, least)[rows]
    tells = (observed.is_observed | (observed.available > 0))[rows] & ~(log.is_partial & ~log.is_share)[rows]
    return demand, np.where(tells, index[rows], 0.0), ~observed.is_observed[rows], product


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
