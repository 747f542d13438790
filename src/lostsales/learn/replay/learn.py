"""From a log to the policy of Replay-FQI: how demands are aligned, which rows count where, and Q-iteration."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.local_estimation import LocalFit, fit_local_residuals
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import FAMILIES, RELATIVE_FAMILIES, fit_demand
from lostsales.learn.planner.learn import plan
from lostsales.learn.planner.market_states import market_effects, market_states
from lostsales.learn.planner.planner import Planner
from lostsales.learn.replay.policy import ReplayPolicy
from lostsales.learn.training_data import TrainingData
from lostsales.types import Ints

if TYPE_CHECKING:
    from lostsales.learn.replay.replay_fqi import ReplayFQI

COORDINATES = ("market", "price", "last demand", "mean")  # of `Points`


def learn(log: SalesLog, settings: "ReplayFQI", progress: Progress | None = None) -> ReplayPolicy:
    """Align demands, weigh rows, and iterate Q on the replayed transitions."""
    with single_threaded():
        data = TrainingData.of(log, settings.rules, least_rows=0)
        model = fit_demand(log, _families(settings), settings.seed)
        model, local = _replayed(log, model, settings)
        for message in model.warnings:
            warnings.warn(message, stacklevel=4)
        data = data.priced("free" if model.is_causal else settings.pricing)
        iterating = Planner(
            iterations=settings.iterations,
            rules=settings.rules,
            seed=settings.seed,
            draws=1,
            discount=settings.discount,
        )
        return ReplayPolicy.of(plan(data, model, iterating, progress, local), _in_words(model.family, local))


def _families(settings: "ReplayFQI") -> tuple[Family, ...]:
    """Means by which demands are aligned: their residuals may have any law, so counts need no families of their own."""
    kinds = {"learn": (False, True), "shift": (False,), "scale": (True,)}[settings.alignment]
    return tuple(each for each in FAMILIES + RELATIVE_FAMILIES if each.is_log in kinds)


def _replayed(log: SalesLog, model: DemandModel, settings: "ReplayFQI") -> tuple[DemandModel, LocalResiduals]:
    """The model by whose mean demands are aligned, and local residuals around it, which calibrate it.

    The model was chosen with one law of residuals for all rows. Once residuals are local, another alignment by the same
    kind of mean may do better.
    """
    folds, law = _folds(log, model), model.law
    found = _localised(log, model, law, folds, settings)
    others = [each for each in _families(settings) if each.mean == model.family.mean and each != model.family]
    for family in others if model.instrumented is None else ():
        other = model.fit_law(family, seed=settings.seed)
        trial = _localised(log, model, other, folds, settings)
        if trial.is_better_than(found):
            law, found = other, trial
    return replace(model, law=law, calibration=found.calibration), found.residuals


def _localised(log: SalesLog, model: DemandModel, law: DemandLaw, folds: Ints, settings: "ReplayFQI") -> LocalFit:
    sample = model.sample
    states = market_states(model.evidence, law, settings.seed, log.problem.features)
    z = states.z(sample.market, market_effects(sample, law))
    return fit_local_residuals(sample, law, z, folds, settings.bandwidths, settings.seed)


def _folds(log: SalesLog, model: DemandModel) -> Ints:
    """The fold of each row of the sample, (rows,): whole series, or blocks in time."""
    folds = folds_of(hold_out(log, gap=0), model.sample.rows)
    return np.asarray(np.argmax([held_out for held_out, _ in folds], axis=0))


def _in_words(family: Family, local: LocalResiduals) -> str:
    """How rows are replayed."""
    moved = "scaled" if family.is_log else "shifted"
    near = [f"{name} ({own:g})" for name, own in zip(COORDINATES, local.bandwidth, strict=True) if np.isfinite(own)]
    weighed = f"rows near in {', '.join(near)}" if near else "all rows alike"
    return f"demand {moved} by a {family.mean} mean, {weighed}"
