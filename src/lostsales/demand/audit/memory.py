"""Autocorrelation of demand: effect of the last demands on the next, by a linear model of censored rows."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.assortment import is_shop
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import MOST_LAGS, DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.evidence_sample import sample_blocks
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.shop import ShopDemand
from lostsales.errors import LostSalesError

MOST_ROWS = 4_000  # of a sample
LEAST_ROWS = 60  # with known demand
HARDLY = 0.05  # of a unit of demand that comes back


@dataclass(frozen=True)
class DemandMemory:
    """Autocorrelation of demand: units of the next periods per additional unit of demand now."""

    lags: int  # of demand that predict the next, by the Bayesian information criterion; 0: unknown
    carried: tuple[float, ...]  # by lag, the last period first
    sentence: str


def demand_memory(log: SalesLog, seed: int = 0, model: ShopDemand | None = None) -> DemandMemory:
    """Lags that held-out rows of a shop support beyond its moving level; of episodes those of linear laws.

    Laws with one, two and three lags are fitted to the log, or to a sample of it.
    """
    if is_shop(log):
        return _of_shop(log, model)
    evidence = sample_blocks(gather_evidence(log), MOST_ROWS, seed)
    rows = int(np.count_nonzero(np.isfinite(evidence.high) & evidence.is_informative))
    if rows < LEAST_ROWS:
        return DemandMemory(0, (), f"unknown: {rows:,} rows have known demand, and {LEAST_ROWS} are needed")
    scale = series_scale(log)
    informative = int(np.count_nonzero(evidence.is_informative))

    def fitted(lags: int) -> tuple[float, DemandLaw]:
        law = fit_family(evidence, Family("linear", False, lags=lags), scale, seed=seed)
        score = float(complete_latents(evidence, law, seed).score.sum())
        return lags * np.log(informative) - 2 * score, law

    laws = [fitted(lags) for lags in range(1, MOST_LAGS + 1)]
    law = min(laws, key=lambda each: each[0])[1]
    assert isinstance(law.mean, LinearMean)
    carried = tuple(float(weight * law.mean.slopes[-1]) for weight in law.lag_weights)
    return DemandMemory(len(carried), carried, _sentence(carried))


def _of_shop(log: SalesLog, model: ShopDemand | None) -> DemandMemory:
    try:
        carried = (ShopDemand.of(log) if model is None else model).own_past.lags
    except LostSalesError as error:
        return DemandMemory(0, (), f"unknown: {error}")
    sentence = _sentence(carried) if carried else "none beyond the moving level of demand"
    return DemandMemory(len(carried), carried, sentence)


def _sentence(carried: tuple[float, ...]) -> str:
    if max(abs(each) for each in carried) < HARDLY:
        return "hardly any: the last demand hardly predicts the next"
    shares = ", ".join(f"{each:+.2f}" for each in carried)
    periods = "the last demand" if len(carried) == 1 else f"the last {len(carried)} demands"
    order = "" if len(carried) == 1 else ", the newest first"
    return f"{periods}: one unit more moves the next demand by {shares}{order}"
