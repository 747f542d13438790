"""How long a change of policy takes to show in full: orders on the way, stock to sell, and the memory of demand."""

import numpy as np

from lostsales.evaluation.pilot.estimators import centred
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.types import Floats

FADED = 0.2  # of a shock to demand that may be left
MOST_PERIODS = 14


def settling_periods(panel: PilotPanel, outcomes: Outcomes) -> int:
    """Periods after a change of policy that say nothing of it yet: lead time, cover of the stock, memory of demand."""
    log = panel.log
    sold = max(float(log.sales.mean()), 1e-9)
    cover = float((log.available - log.sales).mean()) / sold
    memory = demand_memory(panel.table(outcomes.demand))
    fades = np.log(FADED) / np.log(memory) if memory > FADED else 0.0
    wanted = log.problem.lead_times.longest + int(np.ceil(cover)) + int(np.ceil(fades))
    return int(np.clip(wanted, 1, MOST_PERIODS))


def demand_memory(demand: Floats) -> float:
    """Correlation of a period's demand with the next one's, (series, periods), around the means of both."""
    own = centred(demand)
    own = own - np.nanmean(own, axis=1, keepdims=True)
    spread = float(np.nanmean(own**2)) if own.size else 0.0
    product = own[:, 1:] * own[:, :-1]
    if spread <= 0 or not np.isfinite(product).any():
        return 0.0
    return float(np.clip(np.nanmean(product) / spread, 0.0, 0.95))
