"""Slopes of the latent demand of episodes on the price, by the estimators of `lostsales.demand.law.slopes`.

All regress the latent demand on the price beside features and last demand. If it is censored, it is its expectation
given these, the instruments and what was available: what was ordered, and a cost, predict demand where a hidden cause
moves decisions.

A hidden market that lasts bends the slope on the last demand too: it passes for memory. The innovations of the period
before moved the price then, and by it the last demand: they identify that slope as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.splits import Holdout, folds_of, hold_out
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.slopes import (
    SlopeData,
    SlopeEstimate,
    instrument_innovations,
    least_squares,
    orthogonalised,
    two_stage,
)
from lostsales.types import Floats, Ints

MOST_DRAWS = 10  # of hidden demands, by which errors are judged
ALL_DRAWS = slice(None)


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """The rows of some evidence with their latents; NaN where a value is not known."""

    demand: Floats  # (rows, draws) latent
    price: Floats  # (rows,) as the law takes it
    market: Floats  # (rows, columns)
    memory: Floats  # (rows, draws) the last demand, as the law takes it
    memory_before: Floats  # (rows, draws) that of the row before
    innovations: Floats  # (rows, instruments)
    innovations_before: Floats  # (rows, instruments) those of the row before
    rows: Ints  # (rows,) of the log
    held: Holdout

    @classmethod
    def of(cls, log: SalesLog, evidence: Evidence, law: DemandLaw, seed: int = 0) -> "CompletedRows":
        """Complete hidden demands by a linear model with the same noise and all predictors of demand."""
        innovations = instrument_innovations(log, evidence.rows)
        before = _row_before(log, evidence, innovations)
        columns = [evidence.market, *map(np.nan_to_num, (innovations, before)), log.features[evidence.rows]]
        if not log.demand_only:
            columns.append((log.available[evidence.rows] / law.scale[evidence.series])[:, None])
        foretells = replace(evidence, market=np.column_stack(columns))
        family = replace(law.family, mean="linear")
        done = complete_latents(foretells, fit_family(foretells, family, law.scale, seed=seed), seed)
        memory = law.memory_input(done.lag)
        return cls(
            demand=np.where(evidence.is_informative[:, None], done.latent, np.nan),
            price=law.price_input(evidence.price),
            market=evidence.market,
            memory=memory,
            memory_before=_row_before(log, evidence, memory),
            innovations=innovations,
            innovations_before=before,
            rows=evidence.rows,
            held=hold_out(log, gap=1),
        )

    def for_price(self, draws: slice = ALL_DRAWS) -> SlopeData:
        """Demand on the price, beside features and last demand; both are means of some of their draws."""
        memory = self.memory[:, draws].mean(axis=1)
        demand = self.demand[:, draws].mean(axis=1)
        return self._data(demand, self.price, np.column_stack([self.market, memory]), self.innovations)

    def for_memory(self, slope: float, draws: slice = ALL_DRAWS) -> SlopeData:
        """Demand less what the price does on the last demand, beside features and the demand before it."""
        demand, memory, before = (
            each[:, draws].mean(axis=1) for each in (self.demand, self.memory, self.memory_before)
        )
        beside = np.column_stack([self.market, before])
        return self._data(demand - slope * self.price, memory, beside, self.innovations_before)

    def estimated(self, by: Callable[[SlopeData], SlopeEstimate], of: Callable[[slice], SlopeData]) -> SlopeEstimate:
        """A slope of the mean draws, with what hidden demands add to its error (Rubin, 1987, Multiple imputation)."""
        single = [by(of(slice(draw, draw + 1))) for draw in range(min(self.demand.shape[1], MOST_DRAWS))]
        within = np.mean([each.error**2 for each in single])
        between = np.var([each.value for each in single], ddof=1) if len(single) > 1 else 0.0
        return replace(by(of(ALL_DRAWS)), error=float(np.sqrt(within + (1 + 1 / len(single)) * between)))

    def _data(self, demand: Floats, regressor: Floats, controls: Floats, instruments: Floats) -> SlopeData:
        kept = np.isfinite(np.column_stack([demand, regressor, controls, instruments])).all(axis=1)
        rows = self.rows[kept]
        unit, folds = self.held.unit[rows], folds_of(self.held, rows)
        return SlopeData(demand[kept], regressor[kept], controls[kept], instruments[kept], unit, folds)


def _row_before(log: SalesLog, evidence: Evidence, values: Floats) -> Floats:
    """Values of the row before of the same series, NaN where the evidence has none, (rows, columns)."""
    every = np.full((len(log) + 1, values.shape[1]), np.nan)
    every[evidence.rows] = values
    has_before = np.r_[False, log.series[1:] == log.series[:-1]][evidence.rows]
    return np.asarray(every[np.where(has_before, evidence.rows - 1, len(log))])


def price_slopes(log: SalesLog, evidence: Evidence, law: DemandLaw, seed: int = 0) -> tuple[SlopeEstimate, ...]:
    """Slopes by all estimators that apply; none if the price never varied or the model multiplies a mean."""
    if law.family.log_link or np.ptp(evidence.price) == 0:
        return ()
    rows = CompletedRows.of(log, evidence, law, seed)
    estimators = (least_squares, orthogonalised, *([two_stage] if rows.innovations.shape[1] else []))
    return tuple(rows.estimated(by, rows.for_price) for by in estimators)
