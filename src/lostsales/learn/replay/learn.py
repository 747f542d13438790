"""From a log to the policy of Replay-FQI: how demands are aligned, which rows count where, and Q-iteration."""

from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import fit_demand
from lostsales.errors import warn
from lostsales.learn.planner.learn import plan
from lostsales.learn.planner.planner import Planner
from lostsales.learn.replay.local_demand import aligning_families, realigned
from lostsales.learn.replay.policy import ReplayPolicy
from lostsales.learn.training_data import TrainingData

if TYPE_CHECKING:
    from lostsales.learn.replay.replay_fqi import ReplayFQI

COORDINATES = ("market", "price", "last demand", "mean")  # of `Points`


def learn(log: SalesLog, settings: "ReplayFQI", progress: Progress | None = None) -> ReplayPolicy:
    """Align demands, weigh rows, and iterate Q on the replayed transitions."""
    with single_threaded():
        data = TrainingData.of(log, settings.rules, least_rows=0)
        families = aligning_families(settings.alignment)
        model = fit_demand(log, families, settings.seed)
        model, local = realigned(log, model, families, settings.bandwidths, settings.seed)
        for message in model.warnings:
            warn(message)
        data = data.with_all_prices() if model.is_causal else data
        iterating = Planner(
            iterations=settings.iterations,
            rules=settings.rules,
            seed=settings.seed,
            draws=1,
            discount=settings.discount,
        )
        return ReplayPolicy.of(plan(data, model, iterating, progress, local), _in_words(model.family, local))


def _in_words(family: Family, local: LocalResiduals) -> str:
    """How rows are replayed."""
    moved = "scaled" if family.is_log else "shifted"
    near = [f"{name} ({own:g})" for name, own in zip(COORDINATES, local.bandwidth, strict=True) if np.isfinite(own)]
    weighed = f"rows near in {', '.join(near)}" if near else "all rows alike"
    return f"demand {moved} by a {family.mean} mean, {weighed}"
