"""A log prepared once for every policy: what its rows earned, and the laws of demand with and without each unit.

What a stock-out lost is hidden, so the profit of its row is an expectation under the learned law. Each unit of series
is left out once and the law learned again without it: how far a figure moves is the unit's contribution to it, and
figures and intervals derive from contributions alone.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lostsales.data.economics import period_profit
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.splits import ResamplingUnits, units_of
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import complete_latents, fit_family
from lostsales.demand.law.selection import DemandModel, fit_demand
from lostsales.demand.survival.imputation import impute
from lostsales.errors import LostSalesError
from lostsales.evaluation.results import Earned, Interval
from lostsales.types import Floats

MOST_UNITS = 20  # as often the law of demand is learned again
DRAWS = 20  # of each hidden demand
RIVAL = 2.0  # standard errors behind the best within which a kind of noise is not ruled out
SIMPLE = ("linear", "kernel")  # means that are held more loosely here


@dataclass(frozen=True, eq=False)
class LeaveOneOutLaws:
    """The law of a log, learned again without each unit.

    It is held more loosely than the demand model, whose law predicts a day best but, added up over many days, leans to
    the simple side; how far figures move under the model's own law is a doubt.
    """

    model: DemandModel
    law: DemandLaw
    without: tuple[DemandLaw, ...]  # by unit
    profit_without: Floats  # (units, rows) what the rows earned under each of these
    others: tuple[DemandLaw, ...]  # the model's own, and that of another kind of noise where the log rules out none
    profit_others: Floats  # (others, rows)


@dataclass(frozen=True, eq=False)
class PreparedLog:
    """What a log earned, and all that is learned from it before any policy is judged."""

    log: SalesLog
    runs: Runs
    units: ResamplingUnits
    profit: Floats  # (rows,) hidden lost sales at their expectation
    laws: LeaveOneOutLaws | None  # None where no demand model can be learned
    refusal: str = ""  # why there is none
    seed: int = 0
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, log: SalesLog, seed: int = 0, progress: Progress | None = None) -> "PreparedLog":
        """Check that the log can be judged, and learn from it what every policy needs."""
        check_log(log)
        runs, units = find_runs(log), units_of(log, MOST_UNITS)
        choosing, leaving_out = stages(progress, (1, 1))
        try:
            model = fit_demand(log, seed=seed, progress=choosing)
        except LostSalesError as error:
            filled = impute(log, runs=runs, replicates=0, seed=seed).expected_lost
            return cls(log, runs, units, _profit(log, filled), None, str(error), seed)
        beyond = ~runs.observed.is_observed & (runs.depth < 0)  # where no law reaches
        filled = np.zeros(len(log))
        if beyond.any():
            filled[beyond] = impute(log, runs=runs, replicates=0, seed=seed, only=beyond).expected_lost[beyond]
        evidence, scale = model.evidence, model.law.scale

        def profit(law: DemandLaw) -> Floats:
            return _profit(log, _lost(log, model, law, filled, seed))

        law = model.law
        if model.family.mean in SIMPLE:
            law = fit_family(evidence, Family("undersmoothed", model.family.multiplicative), scale, seed=seed)
        parts = []
        for unit in range(len(units)):
            counts = (units.of_row[evidence.rows] != unit).astype(np.float64)
            parts.append(fit_family(evidence, law.family, scale, weights=counts, start=law, seed=seed))
            leaving_out(unit + 1, len(units))
        others = [] if law is model.law else [model.law]
        for each in model.candidates:
            other_noise = each.family.multiplicative != model.family.multiplicative
            if other_noise and each.behind <= RIVAL * each.error:
                others.append(fit_family(evidence, each.family, scale, seed=seed))
        known = LeaveOneOutLaws(
            model=model,
            law=law,
            without=tuple(parts),
            profit_without=np.array([profit(each) for each in parts]),
            others=tuple(others),
            profit_others=np.array([profit(each) for each in others]).reshape(-1, len(log)),
        )
        return cls(log, runs, units, profit(law), known, seed=seed)

    @cached_property
    def contributions(self) -> Floats:
        """Of the units to the mean profit of a row, the learning of hidden lost sales included."""
        own = self.units.mean(self.profit)
        if self.laws is None:
            return own
        kept = self.units.of_row != np.arange(len(self.units))[:, None]  # (units, rows)
        moved = (self.laws.profit_without * kept).sum(axis=1) / kept.sum(axis=1)
        return self.units.left_out(float(self.profit.mean()), moved)

    @cached_property
    def earned(self) -> Earned:
        """The mean of a period, with intervals over units."""
        cash = self.units.mean(self.log.cash)
        who = "Beran's estimator" if self.laws is None else f"a law of demand ({self.laws.law.family.name})"
        return Earned(Interval.of(self.contributions, self.doubt), Interval.of(cash), self.contributions, who)

    @cached_property
    def moved_by_others(self) -> Floats:
        """How far the mean profit moves under each other law, (others,)."""
        others = np.zeros((0, 1)) if self.laws is None else self.laws.profit_others
        return np.asarray(others.mean(axis=1) - self.profit.mean())

    @property
    def doubt(self) -> float:
        """What not knowing the family of the law leaves open of the mean profit."""
        return root_mean_square(self.moved_by_others)


def root_mean_square(moved: Floats) -> float:
    """Of how far a figure moves under other laws, 0 where there are none."""
    return float(np.sqrt(np.mean(moved**2))) if len(moved) else 0.0


def check_log(log: SalesLog) -> None:
    """Refuse a log from which nothing can be judged."""
    if not isinstance(log, SalesLog):
        raise LostSalesError(f"evaluate judges from a log that `read_log` gives, but a {type(log).__name__} came")
    if log.demand_only:
        raise LostSalesError("evaluate needs stock and orders, and this log has none")
    if log.costs is None:
        raise LostSalesError("evaluate needs unit costs: give [costs] lost, order and holding in the problem")


def _lost(log: SalesLog, model: DemandModel, law: DemandLaw, otherwise: Floats, seed: int) -> Floats:
    """Expected lost sales of every row: under the law, and where no law reaches as `otherwise`."""
    evidence, lost = model.evidence, otherwise.copy()
    done = complete_latents(evidence, law, seed, DRAWS)
    demand = law.demand(done.latent, law.scale[evidence.series][:, None])
    hidden = evidence.is_censored
    rows = evidence.rows[hidden]
    lost[rows] = np.maximum(demand[hidden] - log.available[rows, None], 0.0).mean(axis=1)
    return lost


def _profit(log: SalesLog, lost: Floats) -> Floats:
    assert log.order is not None
    assert log.costs is not None
    return period_profit(log.price, log.order, log.sales, lost, log.available - log.sales, log.costs)
