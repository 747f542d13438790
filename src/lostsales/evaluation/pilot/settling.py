"""Wash-out after a change of policy: lead time, stock to sell off, and autocorrelation of demand."""

import numpy as np

from lostsales.evaluation.pilot.estimators import centred
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.types import Floats

FADED = 0.2  # share of a demand shock that may remain after the wash-out
MOST_PERIODS = 14  # longest wash-out by default


def settling_periods(panel: PilotPanel, outcomes: Outcomes) -> int:
    """Periods of wash-out after a change of policy: lead time, stock cover and decay of the autocorrelation."""
    log = panel.log
    sold = max(float(log.sales.mean()), 1e-9)
    cover = float((log.available - log.sales).mean()) / sold
    autocorrelation = demand_autocorrelation(panel.table(outcomes.demand))
    fades = np.log(FADED) / np.log(autocorrelation) if autocorrelation > FADED else 0.0
    wanted = log.problem.lead_times.longest + int(np.ceil(cover)) + int(np.ceil(fades))
    return int(np.clip(wanted, 1, MOST_PERIODS))


def demand_autocorrelation(demand: Floats) -> float:
    """Autocorrelation of demand (series, periods) at lag 1, around the means of series and periods."""
    own = centred(demand)
    own = own - np.nanmean(own, axis=1, keepdims=True)
    spread = float(np.nanmean(own**2)) if own.size else 0.0
    product = own[:, 1:] * own[:, :-1]
    if spread <= 0 or not np.isfinite(product).any():
        return 0.0
    return float(np.clip(np.nanmean(product) / spread, 0.0, 0.95))
