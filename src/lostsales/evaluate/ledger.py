"""A log prepared once for every policy: what its rows earned, and the laws of demand with and without each unit.

What a stock-out lost is hidden, so the profit of its row is an expectation under the learned law. Each unit of series
is left out once and the law learned again without it: how far a figure moves is the unit's contribution to it, and
figures and intervals derive from contributions alone.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lostsales.arrays import Floats
from lostsales.data.economics import period_profit
from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.demand.impute import impute
from lostsales.demand.law import DemandLaw, complete, fit_family
from lostsales.demand.model import DemandModel, fit_demand
from lostsales.demand.runs import Runs, find_runs
from lostsales.errors import LostSalesError
from lostsales.evaluate.results import Earned, Interval
from lostsales.evaluate.rows import Units, units_of

MOST_UNITS = 20  # as often the law of demand is learned again
DRAWS = 20  # of each hidden demand
RIVAL = 2.0  # standard errors behind the best within which a family of laws is not ruled out


@dataclass(frozen=True, eq=False)
class Laws:
    """The demand model of a log, and its law learned again without each unit."""

    model: DemandModel
    without: tuple[DemandLaw, ...]  # by unit
    profit_without: Floats  # (units, rows) what the rows earned under each of these
    others: tuple[DemandLaw, ...]  # of families that the log does not rule out
    profit_others: Floats  # (others, rows)

    @property
    def law(self) -> DemandLaw:
        """From all rows."""
        return self.model.law


@dataclass(frozen=True, eq=False)
class Ledger:
    """What a log earned, and all that is learned from it before any policy is judged."""

    log: SalesLog
    runs: Runs
    units: Units
    profit: Floats  # (rows,) hidden lost sales at their expectation
    laws: Laws | None  # None where no demand model can be learned
    refusal: str = ""  # why there is none
    seed: int = 0
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, log: SalesLog, seed: int = 0, progress: Progress | None = None) -> "Ledger":
        """Check that the log can be judged, and learn from it what every policy needs."""
        if not isinstance(log, SalesLog):
            raise LostSalesError(f"evaluate judges from a log that `read_log` gives, but a {type(log).__name__} came")
        if log.demand_only:
            raise LostSalesError("evaluate needs stock and orders, and this log has none")
        if log.costs is None:
            raise LostSalesError("evaluate needs unit costs: give [costs] lost, order and holding in the problem")
        runs, units = find_runs(log), units_of(log, MOST_UNITS)
        try:
            model = fit_demand(log, seed=seed)
        except LostSalesError as error:
            filled = impute(log, runs=runs, replicates=0, seed=seed).expected_lost
            return cls(log, runs, units, _profit(log, filled), None, str(error), seed)
        beyond = ~runs.observed.known & (runs.depth < 0)  # where no law reaches
        filled = np.zeros(len(log))
        if beyond.any():
            filled[beyond] = impute(log, runs=runs, replicates=0, seed=seed, only=beyond).expected_lost[beyond]
        profit = _profit(log, _lost(log, model, model.law, filled, seed))
        laws, profits = [], []
        for unit in range(len(units)):
            counts = (units.of_row[model.evidence.rows] != unit).astype(np.float64)
            law = fit_family(model.evidence, model.family, model.law.scale, weights=counts, start=model.law, seed=seed)
            laws.append(law)
            profits.append(_profit(log, _lost(log, model, law, filled, seed)))
            if progress:
                progress(unit + 1, len(units))
        rivals = [each.family for each in model.candidates if each.behind <= RIVAL * each.error]
        others = [
            fit_family(model.evidence, each, model.law.scale, seed=seed) for each in rivals if each != model.family
        ]
        other_profits = [_profit(log, _lost(log, model, law, filled, seed)) for law in others]
        known = Laws(
            model, tuple(laws), np.array(profits), tuple(others), np.array(other_profits).reshape(-1, len(log))
        )
        return cls(log, runs, units, profit, known, seed=seed)

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
        who = "Beran's estimator" if self.laws is None else f"a demand model ({self.laws.model.family.name})"
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


def _lost(log: SalesLog, model: DemandModel, law: DemandLaw, otherwise: Floats, seed: int) -> Floats:
    """Expected lost sales of every row: under the law, and where no law reaches as `otherwise`."""
    evidence, lost = model.evidence, otherwise.copy()
    done = complete(evidence, law, seed, DRAWS)
    demand = law.demand(done.latent, law.scale[evidence.series][:, None])
    hidden = evidence.hidden
    rows = evidence.rows[hidden]
    lost[rows] = np.maximum(demand[hidden] - log.available[rows, None], 0.0).mean(axis=1)
    return lost


def _profit(log: SalesLog, lost: Floats) -> Floats:
    assert log.order is not None
    assert log.costs is not None
    return period_profit(log.price, log.order, log.sales, lost, log.available - log.sales, log.costs)
