"""The law of demand on nodes of market state, price and last demand."""

from typing import NamedTuple

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.local_residuals import LocalResiduals, Points
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.memory import observed_lag
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.physics import BELIEF_SHAPES
from lostsales.types import Floats

ATOMS = 32  # equally likely demands in a plan: its time grows in proportion
BELIEF_ATOMS = 16  # after a stock-out, where the demand before is uncertain as well
INTERACTION_ROWS = 64  # at which interactions of the features are averaged


class LatentTable(NamedTuple):
    """Latents on nodes, and how a latent becomes a demand."""

    latents: Floats  # (belief shapes, z nodes, prices, lags, atoms) equally likely, rising
    lag_step: float
    multiplicative: bool
    integer: bool
    rounded: bool  # latents become whole demands; atoms of counts are means over a share of the law
    demand_max: float


def latent_atoms(
    evidence: Evidence,
    law: DemandLaw,
    states: MarketStates,
    prices: Floats,
    lags: Floats,
    local: LocalResiduals | None = None,
) -> Floats:
    """Equally likely latents for every node, price and last demand, (belief shapes, z nodes, prices, lags, atoms).

    The last demand is observed, or hidden by one stock-out, or by several. A belief with mean mu is taken to be mu
    plus the centred upper half of a law: after one stock-out of the residual law, after several of the law after one.
    If residuals are `local`, each node has those of its own.
    """
    observed = _mean_latents(evidence, law, states, prices, lags)
    residuals = None if local is None else _residual_atoms(local, observed, states, prices, lags)
    tables = [_atoms_around(observed, law, residuals)]
    for _ in range(BELIEF_SHAPES - 1):
        middle = tables[-1][tuple(each // 2 for each in observed.shape)]
        upper = np.interp(_levels(BELIEF_ATOMS), _levels(ATOMS // 2), middle[ATOMS // 2 :])
        own = law.lag_weights[0]  # of the hidden demand in the lag
        if law.family.multiplicative:
            belief = lags[:, None] * (1 + own * (np.exp(upper) / np.exp(upper).mean() - 1))
        else:
            belief = np.maximum(lags[:, None] + own * (upper - upper.mean()), 0.0)
        means = _mean_latents(evidence, law, states, prices, belief.reshape(-1))
        means = means.reshape(*observed.shape, BELIEF_ATOMS)
        drawn = _atoms_around(means, law, None if residuals is None else _at_lags(residuals, lags, belief))
        mixture = np.sort(drawn.reshape(*observed.shape, -1), axis=-1)
        tables.append(mixture.reshape(*observed.shape, ATOMS, BELIEF_ATOMS).mean(axis=-1))
    return np.ascontiguousarray(np.stack(tables))


def _atoms_around(mean: Floats, law: DemandLaw, residuals: Floats | None) -> Floats:
    """Equally likely latents around means, (..., atoms), with the residuals of the law or with those given."""
    if residuals is None:
        return law.atoms(mean, 1.0, ATOMS)
    return np.asarray(mean[..., None] + law.spread_of(mean, 1.0)[..., None] * residuals)


def _residual_atoms(local: LocalResiduals, mean: Floats, states: MarketStates, prices: Floats, lags: Floats) -> Floats:
    """Equally likely local residuals at nodes, (z nodes, prices, lags, atoms)."""
    z, price, lag = (each.reshape(-1) for each in np.meshgrid(states.z_nodes, prices, lags, indexing="ij"))
    return local.atoms(Points(z, price, lag, mean.reshape(-1)), ATOMS).reshape(*mean.shape, ATOMS)


def _at_lags(residuals: Floats, lags: Floats, wanted: Floats) -> Floats:
    """Residuals at nodes (..., lags, atoms) between the nodes of the lag, (..., *wanted, atoms)."""
    low = np.clip(np.searchsorted(lags, wanted, side="right") - 1, 0, len(lags) - 2)
    weight = np.clip((wanted - lags[low]) / (lags[low + 1] - lags[low]), 0.0, 1.0)[..., None]
    return np.asarray(residuals[:, :, low] * (1 - weight) + residuals[:, :, low + 1] * weight)


def memory_reach(evidence: Evidence, law: DemandLaw) -> float:
    """Reach of the mean over the last demands of the log, in standard deviations of demand."""
    rows = np.linspace(0, len(evidence) - 1, min(len(evidence), INTERACTION_ROWS)).astype(np.int64)
    series, ones = evidence.series[rows], np.ones(len(rows))
    observed = observed_lag(evidence, law.lag_weights) / law.scale[evidence.series]
    low, high = np.nanquantile(observed, [0.01, 0.99])
    means = [
        law.mean_of(law.inputs(evidence.market[rows], evidence.price[rows], lag * ones), series) for lag in (low, high)
    ]
    middle = (means[0] + means[1]) / 2
    spread = law.spread_of(middle, law.scale[series]) * law.residuals.spread
    return float(np.quantile(np.abs(means[1] - means[0]) / np.maximum(spread, 1e-9), 0.9))


def _levels(count: int) -> Floats:
    """Middles of equal shares of probability."""
    return (np.arange(count) + 0.5) / count


def _mean_latents(evidence: Evidence, law: DemandLaw, states: MarketStates, prices: Floats, lags: Floats) -> Floats:
    """The mean of the latent, (z nodes, prices, lags); interactions of the features are averaged near each node."""
    nodes = len(states.z_nodes), len(prices), len(lags)
    price, lag = (each.reshape(-1) for each in np.meshgrid(prices, lags, indexing="ij"))
    if isinstance(law.mean, LinearMean):
        # z is that of the fitted law. Another one, with slopes of its own on the features, has its own mean at their
        # middle: at features of 0 its intercept would have to be that of the fitted one.
        middle = evidence.market.mean(axis=0)
        same = np.repeat(middle[None], len(price), axis=0)
        shared = law.mean(law.inputs(same, price, lag)) - states.index(middle[None])
        return law.linked(states.z_nodes[:, None] + shared).reshape(nodes)
    rows = np.linspace(0, len(evidence) - 1, min(len(evidence), INTERACTION_ROWS)).astype(np.int64)
    z = states.index(evidence.market[rows])
    without_z = np.empty((len(rows), len(price)))
    for row, (features, own_z) in enumerate(zip(evidence.market[rows], z, strict=True)):
        same = np.repeat(features[None], len(price), axis=0)
        without_z[row] = law.mean(law.inputs(same, price, lag)) - own_z
    width = max(float(np.std(z)), 1e-9) / 2
    near = np.exp(-0.5 * ((states.z_nodes[:, None] - z) / width) ** 2) + 1e-9
    return np.reshape(law.linked(states.z_nodes[:, None] + near / near.sum(axis=1, keepdims=True) @ without_z), nodes)
