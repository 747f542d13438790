"""Conditional distributions of demand of any shape: a mean that aligns demands, and local residuals around it."""

from dataclasses import replace
from typing import Literal

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.local_estimation import LocalFit, fit_local_residuals
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import FAMILIES, RELATIVE_FAMILIES
from lostsales.learn.planner.market_states import market_states
from lostsales.types import Ints

Alignment = Literal["learn", "shift", "scale"]


def aligning_families(alignment: Alignment) -> tuple[Family, ...]:
    """Means by which demands are aligned: their residuals may have any law, so counts need no families of their own."""
    kinds = {"learn": (False, True), "shift": (False,), "scale": (True,)}[alignment]
    return tuple(each for each in FAMILIES + RELATIVE_FAMILIES if each.is_log in kinds)


def realigned(
    log: SalesLog, model: DemandModel, families: tuple[Family, ...], bandwidths: tuple[float, ...], seed: int
) -> tuple[DemandModel, LocalResiduals]:
    """The model by whose mean demands are aligned, and local residuals around it, which calibrate it.

    The model was chosen with one law of residuals for all rows. Once residuals are local, another alignment by the same
    kind of mean may do better.
    """
    law = model.law
    found = localised(log, model, law, bandwidths, seed)
    others = [each for each in families if each.mean == model.family.mean and each != model.family]
    for family in others if model.instrumented is None else ():
        other = model.fit_law(family, seed=seed)
        trial = localised(log, model, other, bandwidths, seed)
        if trial.is_better_than(found):
            law, found = other, trial
    return replace(model, law=law, calibration=found.calibration), found.residuals


def localised(log: SalesLog, model: DemandModel, law: DemandLaw, bandwidths: tuple[float, ...], seed: int) -> LocalFit:
    """Local residuals around the mean of a law."""
    sample = model.sample
    folds = folds_of(hold_out(log, gap=0), sample.rows)
    fold: Ints = np.asarray(np.argmax([held_out for held_out, _ in folds], axis=0))  # whole series, or blocks in time
    states = market_states(model.evidence, law, seed, log.problem.features)
    z = states.z(sample.market, law.level[sample.series])
    return fit_local_residuals(sample, law, z, fold, bandwidths, seed)
