"""Rows of a log as tests of its decisions need them: decisions, what a manager could see, and unexplained demand."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.assortment import is_shop
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.data.splits import hold_out
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.evidence_sample import sample_blocks
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.shop import ShopDemand
from lostsales.types import Floats, Ints

MOST_ROWS = 10_000  # that decisions are examined on: chance is far below what matters
WEEK = 7  # periods of the weekly pattern
DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class DecisionPanel:
    """Some rows of a log; prices relative to the usual one of a series, quantities in units of its scale.

    The residual is demand less its mean; where demand is censored, its expectation given that. The mean is that of the
    demand model of a shop, or of a linear law given features, price and last demand: of episodes, and of shops whose
    demand depends on its own past (stock and orders follow that past). Under it the residual has mean 0 whatever was
    available.
    """

    log: SalesLog
    evidence: Evidence
    scale_of: Floats  # (series,)
    usual_price: Floats  # (series,)
    demand: Floats  # (rows,) latent, its expectation where it is censored
    residual: Floats  # (rows,) of the latent

    @classmethod
    def of(cls, log: SalesLog, seed: int = 0, model: ShopDemand | None = None) -> "DecisionPanel":
        """Build from the rows of a log with a last demand, or from blocks of them if they are many."""
        evidence, scale = sample_blocks(gather_evidence(log), MOST_ROWS, seed), series_scale(log)
        model = ShopDemand.of(log) if model is None and is_shop(log) else model
        if model is not None and not model.own_past.lags:
            rows, own = evidence.rows, scale[evidence.series]
            demand = np.where(model.fitted.is_seen, model.expected_demand, np.nan)[rows] / own
            return cls(log, evidence, scale, evidence.usual_price, demand, demand - model.mean[rows] / own)
        law = fit_family(evidence, Family("linear", False), scale, seed=seed)
        return cls(log, evidence, scale, evidence.usual_price, *_expected(evidence, law, seed))

    @property
    def rows(self) -> Ints:
        """Rows of the log, (rows,)."""
        return self.evidence.rows

    @cached_property
    def unit(self) -> Ints:
        """Independent unit of each row, (rows,): a series, or a block of one if series are few."""
        return hold_out(self.log, gap=1).unit[self.rows]

    @cached_property
    def scale(self) -> Floats:
        """Scale of the series of each row, (rows,)."""
        return self.scale_of[self.evidence.series]

    @property
    def price(self) -> Floats:
        """Price of each row."""
        return self.evidence.price

    def price_at(self, periods: int) -> Floats:
        """Price some periods later (earlier if negative), NaN if the series has no such row."""
        return self.at(self.log.price, periods) / self.usual_price[self.evidence.series]

    @cached_property
    def order(self) -> Floats | None:
        """Order of each row in units of scale, None in a demand-only log."""
        return None if self.log.order is None else self.log.order[self.rows] / self.scale

    @cached_property
    def stock(self) -> Floats | None:
        """Stock when the period opened, None in a demand-only log."""
        return None if self.log.stock is None else self.log.stock[self.rows] / self.scale

    def sales_at(self, periods: int) -> Floats:
        """Sales some periods later or earlier; before the first row the last sales of the series, if given."""
        sales = self.at(self.log.sales, periods) / self.scale
        if periods == -1:
            first = self.log.starts[self.evidence.series] == self.rows
            sales = np.where(first, self.log.last_sales[self.evidence.series] / self.scale, sales)
        return sales

    def demand_at(self, periods: int) -> Floats:
        """Observed demand some periods later or earlier, NaN if it is hidden."""
        return self.at(self._observed_demand, periods) / self.scale

    def residual_at(self, periods: int) -> Floats:
        """Residual some periods later or earlier."""
        wanted = self.rows + periods
        place = np.clip(np.searchsorted(self.rows, wanted), 0, len(self.rows) - 1)
        same = (self.rows[place] == wanted) & (self.evidence.series[place] == self.evidence.series)
        return np.where(same, self.residual[place], np.nan)

    def at(self, column: Floats, periods: int) -> Floats:
        """Column of the log some periods later or earlier, (rows,)."""
        wanted = self.rows + periods
        place = np.clip(wanted, 0, len(self.log) - 1)
        return np.where((wanted == place) & (self.log.series[place] == self.evidence.series), column[place], np.nan)

    @cached_property
    def features(self) -> Floats:
        """Features and attributes as the law takes them, instruments apart, (rows, columns)."""
        return self.evidence.market

    @cached_property
    def instruments(self) -> Floats:
        """(rows, instruments)."""
        names = self.log.problem.instruments
        at = [index for index, each in enumerate(self.log.problem.features) if each.name in names]
        return self.log.features[self.rows][:, at]

    @cached_property
    def calendar(self) -> Floats:
        """Days of the week as indicators (of whole numbers: their place in seven), (rows, 6); none of other periods."""
        period = self.log.period
        if np.issubdtype(period.dtype, np.datetime64):
            steps = np.diff(period)[np.diff(self.log.series) == 0]
            if not len(steps) or np.median(steps) != DAY:
                return np.zeros((len(self.rows), 0))
            day = (period[self.rows].astype("datetime64[D]").astype(np.int64)) % WEEK
        else:
            day = period[self.rows] % WEEK
        return np.asarray(day[:, None] == np.arange(1, WEEK), dtype=np.float64)

    @cached_property
    def _observed_demand(self) -> Floats:
        observed = find_runs(self.log).observed
        return np.where(observed.is_observed, observed.demand, np.nan)


def _expected(evidence: Evidence, law: DemandLaw, seed: int) -> tuple[Floats, Floats]:
    """Expected latent and residual of each row given what it shows, (rows,); NaN where it shows nothing."""
    done = complete_latents(evidence, law, seed)
    draws = done.latent.shape[1]
    market, price = (np.repeat(each, draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, done.lag.reshape(-1))
    mean = law.mean_of(inputs, np.repeat(evidence.series, draws)).reshape(-1, draws)
    latent = np.where(evidence.is_informative, done.latent.mean(axis=1), np.nan)
    return latent, np.asarray(latent - mean.mean(axis=1))
