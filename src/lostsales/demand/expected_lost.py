"""Lost sales of censored rows under a demand law: their expectation, draws of them, and the laws to take them from."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.types import Floats

DRAWS = 20  # of each censored demand
RIVAL_ERRORS = 2.0  # standard errors behind the best within which a kind of noise is not ruled out
SMOOTHED_MEANS = ("linear", "kernel")  # means that are replaced by the under-smoothed one


def undersmoothed_law(model: DemandModel, seed: int) -> DemandLaw:
    """The law that profits are computed under: that of the model, or an under-smoothed one in its place."""
    if model.family.mean not in SMOOTHED_MEANS or model.instrumented is not None:
        return model.law
    return model.fit_law(replace(model.family, mean="undersmoothed", noise="smooth"), seed=seed)


def alternative_laws(model: DemandModel, law: DemandLaw, seed: int) -> tuple[DemandLaw, ...]:
    """Laws that the log does not rule out: the model's own, and one of another kind of noise."""
    found, own = [] if law is model.law else [model.law], model.family
    for each in model.candidates:
        other_noise = (each.family.multiplicative, each.family.link) != (own.multiplicative, own.link)
        if other_noise and each.behind <= RIVAL_ERRORS * each.error:
            found.append(model.fit_law(each.family, seed=seed))
    return tuple(found)


def lost_outside(log: SalesLog, runs: Runs, model: DemandModel, seed: int) -> Floats:
    """Expected lost sales of censored rows that the law does not cover, 0 in others."""
    outside = ~runs.observed.is_observed
    outside[model.evidence.rows] = False
    lost = np.zeros(len(log))
    if outside.any():
        lost[outside] = impute_by_curves(log, runs=runs, replicates=0, seed=seed, only=outside).expected_lost[outside]
    return lost


def expected_lost(log: SalesLog, model: DemandModel, law: DemandLaw, otherwise: Floats, seed: int) -> Floats:
    """Expected lost sales of every row: under the law, and `otherwise` in rows that it does not cover."""
    lost = otherwise.copy()
    lost[model.evidence.rows[model.evidence.is_censored]] = drawn_lost(log, model, law, seed).mean(axis=1)
    return lost


def drawn_lost(log: SalesLog, model: DemandModel, law: DemandLaw, seed: int) -> Floats:
    """Draws of the lost sales of the censored rows that a law covers, given their series, (censored rows, draws)."""
    evidence = model.evidence
    done = complete_latents(evidence, law, seed, DRAWS)
    demand = law.demand(done.latent, law.scale[evidence.series][:, None])
    rows = evidence.rows[evidence.is_censored]
    return np.asarray(np.maximum(demand[evidence.is_censored] - log.censoring_level[rows, None], 0.0))
