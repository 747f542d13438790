"""A log prepared once for every policy: the profit of its rows, and the demand laws with and without each unit.

Lost sales of a stock-out are censored, so the profit of its row is an expectation under the learned law. A grouped
jackknife fits the law again without each resampling unit: how far a figure moves is the unit's contribution to it, and
figures and intervals derive from contributions alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.assortment import is_assortment, is_shop
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress, stages
from lostsales.data.splits import ResamplingUnits, units_of
from lostsales.demand.audit.behaviour import BehaviourAudit, audit_behaviour, behaviour_of
from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.expected_lost import alternative_laws, expected_lost, lost_outside, undersmoothed_law
from lostsales.demand.imputing import impute
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.selection import fit_law
from lostsales.demand.shop import RealisedDemand, ShopDemand
from lostsales.errors import LostSalesError
from lostsales.evaluation.assortment import ProductFigures, root_mean_square
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import Earned
from lostsales.evaluation.sensitivity import hidden_slope
from lostsales.types import Bools, Floats

MOST_UNITS = 20  # the demand law is fitted again without each
QUICK_UNITS = 10  # ... in quick runs
DRAWS = 3  # of the demands that stock-outs of a shop hide


@dataclass(frozen=True, eq=False)
class LeaveOneOutLaws:
    """The demand law of a log, fitted again without each unit.

    The law is under-smoothed: that of the demand model predicts one period best, but its bias adds up over many
    periods. How far figures move under the model's own law is model uncertainty.
    """

    model: DemandModel
    law: DemandLaw
    without: tuple[DemandLaw, ...]  # by unit
    alternatives: tuple[DemandLaw, ...]  # the model's own law, and another kind of noise where it is not ruled out

    @classmethod
    def of(cls, model: DemandModel, units: ResamplingUnits, seed: int, progress: Progress) -> "LeaveOneOutLaws":
        """Fit all laws, each from the evidence of the demand model."""
        law = undersmoothed_law(model, seed)
        unit_of = units.of_row[model.evidence.rows]

        def fit_without(unit: int) -> DemandLaw:
            return model.fit_law(law.family, weights=(unit_of != unit).astype(np.float64), start=law, seed=seed)

        without = in_parallel(fit_without, range(len(units)), progress)
        return cls(model, law, tuple(without), alternative_laws(model, law, seed))


@dataclass(frozen=True, eq=False)
class PreparedLog:
    """A log with the profit of every row and its demand laws, shared by all policies that are evaluated on it."""

    log: DecisionLog
    runs: Runs
    units: ResamplingUnits
    profit: Floats  # (rows,) censored lost sales at their expectation
    laws: LeaveOneOutLaws | None  # None of a shop, and where no demand model can be learned
    refusal: str = ""  # why there is none
    seed: int = 0
    profit_without: Floats | None = None  # (units, rows) profit under the law without each unit
    profit_alternatives: Floats | None = None  # (alternatives, rows)
    quick: bool = False  # fewer units, and fewer episodes of a replay
    is_part: bool = False  # of a larger log
    realised: RealisedDemand | None = None  # of a shop: its demand by the model whose level moves
    products_in_log: int = 0  # where the log is an assortment: its products, those that were not drawn included
    lost: Floats | None = None  # (rows,) lost sales, those of stock-outs at their expectation

    @classmethod
    def of(cls, log: SalesLog, seed: int = 0, progress: Progress | None = None, quick: bool = False) -> "PreparedLog":
        """Check that the log can be used, fit its demand laws and fill in lost sales."""
        log = check_log(log)
        runs, units = find_runs(log), units_of(log, QUICK_UNITS if quick else MOST_UNITS)
        if is_shop(log) and runs.observed.any_observed:
            realised = ShopDemand.of(log, runs.observed).realised(DRAWS, seed)
            number, lost = len(log.products) if is_assortment(log) else 0, realised.lost
            return cls(
                log=log,
                runs=runs,
                units=units,
                profit=log.profit(lost),
                laws=None,
                seed=seed,
                quick=quick,
                realised=realised,
                products_in_log=number,
                lost=lost,
            )
        choosing, leaving_out, filling = stages(progress, (2, 2, 1))
        try:
            model = fit_law(log, seed=seed, progress=choosing)
        except LostSalesError as error:
            lost = impute(log, runs=runs, replicates=0, seed=seed).expected_lost
            return cls(log, runs, units, log.profit(lost), None, str(error), seed, quick=quick, lost=lost)
        outside = lost_outside(log, runs, model, seed)
        laws = LeaveOneOutLaws.of(model, units, seed, leaving_out)

        def filled(law: DemandLaw) -> Floats:
            return expected_lost(log, model, law, outside, seed)

        lost, *others = in_parallel(filled, (laws.law, *laws.without, *laws.alternatives), filling)
        found = np.array([log.profit(each) for each in others]).reshape(-1, len(log))
        without, alternatives = np.split(found, [len(laws.without)])
        return cls(log, runs, units, log.profit(lost), laws, "", seed, without, alternatives, quick, lost=lost)

    @cached_property
    def panel(self) -> DecisionPanel | None:
        """Decisions with what explains them, None where there is no model of demand or one price."""
        if not self.has_model or np.ptp(self.log.price) == 0:
            return None
        return DecisionPanel.of(self.log, model=None if self.realised is None else self.realised.shop)

    @property
    def has_model(self) -> bool:
        """True where a demand model was learned."""
        return self.laws is not None or self.realised is not None

    @cached_property
    def behaviour(self) -> BehaviourAudit:
        """Audit of the price and order decisions."""
        return audit_behaviour(self.log) if self.panel is None else behaviour_of(self.panel)

    @cached_property
    def price_slope_error(self) -> float:
        """One standard error of the price response by instruments, or of the bias by a hidden cause without them."""
        by_instruments = None if self.laws is None else self.laws.model.instrumented
        return hidden_slope(self.behaviour.price_link) if by_instruments is None else by_instruments.price.error

    @cached_property
    def memory_error(self) -> float:
        """One standard error of the memory by instruments, 0 without them."""
        by_instruments = None if self.laws is None else self.laws.model.instrumented
        return 0.0 if by_instruments is None or by_instruments.memory is None else by_instruments.memory.error

    @cached_property
    def contributions(self) -> Floats:
        """Contributions of units to the mean profit of a row, with estimated censored lost sales, (units,)."""
        if self.profit_without is None:
            return self.units.mean(self.profit)
        kept = self.units.of_row != np.arange(len(self.units))[:, None]  # (units, rows)
        left_out = (self.profit_without * kept).sum(axis=1) / kept.sum(axis=1)
        return self.units.left_out(float(self.profit.mean()), left_out)

    @cached_property
    def earned(self) -> Earned:
        """The logged mean of a period, with intervals over units."""
        cash = self.units.mean(self.log.cash)
        by = "Beran's estimator" if self.laws is None else f"a demand model ({self.laws.law.family.name})"
        by = by if self.realised is None else "a demand model (level, season, prices)"
        return Earned(
            Interval.of(self.contributions, self.model_uncertainty), Interval.of(cash), self.contributions, by
        )

    @cached_property
    def alternative_shifts(self) -> Floats:
        """Difference in mean profit under each alternative law, (alternatives,)."""
        if self.profit_alternatives is None:
            return np.zeros(0)
        return np.asarray(self.profit_alternatives.mean(axis=1) - self.profit.mean())

    @cached_property
    def earned_by_product(self) -> ProductFigures | None:
        """Logged profit of each product, None where there are no products."""
        if not self.products_in_log:
            return None
        return self.by_product(self.profit, np.ones(len(self.log), dtype=bool))

    def by_product(self, values: Floats, counted: Bools) -> ProductFigures:
        """Means of products over the rows that count, and without each unit."""
        products, values = self.log.products, np.where(counted, values, 0.0)
        without = [products.means(values, counted & (self.units.of_row != unit)) for unit in range(len(self.units))]
        return ProductFigures(products.means(values, counted), np.array(without), np.zeros((0, len(products))))

    @property
    def model_uncertainty(self) -> float:
        """Root mean square difference of the mean profit under the alternative laws."""
        return float(root_mean_square(self.alternative_shifts))


def earned_profit(log: SalesLog, seed: int = 0) -> float:
    """Mean logged profit of a period with the expected cost of lost sales, as every evaluation has it."""
    log = check_log(log)
    runs = find_runs(log)
    if is_shop(log) and runs.observed.any_observed:
        return float(log.profit(ShopDemand.of(log, runs.observed).realised(DRAWS, seed).lost).mean())
    try:
        model = fit_law(log, seed=seed)
    except LostSalesError:
        return float(log.profit(impute(log, runs=runs, replicates=0, seed=seed).expected_lost).mean())
    lost = lost_outside(log, runs, model, seed)
    return float(log.profit(expected_lost(log, model, undersmoothed_law(model, seed), lost, seed)).mean())


def check_log(log: SalesLog) -> DecisionLog:
    """The log as one of decisions; raises where a policy cannot be evaluated on it."""
    if not isinstance(log, SalesLog):
        raise LostSalesError(f"evaluate needs a log as `read_log` returns it, but a {type(log).__name__} came")
    return log.decisions("evaluate")
