"""Models that hold the true law of a scenario, and views of one series."""

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from lostsales.data.log import SalesLog
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.policy.view import ClosedPeriod, View

LINEAR = (Family("linear", False),)
TRUTH = {"paper": (15.35, [2.0, -0.6, -3.0, 0.8]), "released": (3.5, [5.0, -5.0, -1.5, 1.2])}


def true_model(log: SalesLog, name: str) -> DemandModel:
    """A fitted model whose law is replaced by the scenario's own."""
    level, slopes = TRUTH[name]
    if name == "paper":
        residuals = Residuals.normal(3.0)
    else:
        grid = np.linspace(-1.0, 5.0, 601)
        residuals = Residuals(grid, np.clip(2 * norm.cdf(grid) - 1, 0, 1) / (2 * norm.cdf(5) - 1))
    model = fit_law(log, LINEAR)
    return replace(model, law=replace(model.law, mean=LinearMean(level, np.array(slopes)), residuals=residuals))


def view_of(features: list[float], stock: float, last: float, depth: int, past: tuple[ClosedPeriod, ...] = ()) -> View:
    """An open period of one series."""
    columns = tuple(np.array([each]) for each in features)
    one = np.array([stock]), np.array([last]), np.array([depth > 0]), np.array([depth], dtype=np.int16)
    return View(0, columns, *one, None, past)
