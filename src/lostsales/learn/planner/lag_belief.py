"""Recent demands, observed or imputed, and the part of them that remains in the lag of the next period."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.memory import lags_of, observed_lag
from lostsales.learn.planner.state_grid import Memory
from lostsales.policy.view import View
from lostsales.types import Bools, Floats, Ints

FURTHER_BACK = 3  # periods before those that matter, whose hidden demands are imputed as well


@dataclass(frozen=True, eq=False)
class PastDemands:
    """Demands of the closed periods, the last one first; those that are hidden are filled in by their means."""

    demand: Floats  # (periods + 1, rows) the oldest one is the demand before the first of these periods
    is_hidden: Bools  # (periods, rows)
    depth: Ints  # (periods, rows) censored periods in a row just before

    def before(self, back: int, lags: int) -> Floats:
        """The `lags` demands before the period `back` before the open one, (lags, rows); the oldest is repeated."""
        at = np.minimum(back + np.arange(lags), len(self.demand) - 1)
        return np.asarray(self.demand[at])


def past_demands(view: View, lags: int) -> PastDemands:
    """The demands that a belief is made of: back to the anchor, and further where several of the last ones matter."""
    closed = list(reversed(view.past))
    depth_now = np.minimum(view.depth.astype(np.int64), len(closed))
    deepest = int(depth_now.max(initial=0))
    periods = deepest if lags == 1 else min(deepest + lags + FURTHER_BACK, len(closed))
    views = [view, *(each.view for each in closed[:periods])]
    demand = np.stack([each.last_sales.astype(np.float64) for each in views])
    depth = np.stack([np.minimum(each.depth.astype(np.int64), periods) for each in views])
    place = np.arange(len(views))[:, None]
    # Past views may lack their depth, so it is counted back from the open period.
    depth = np.where(place <= depth_now, depth_now - place, depth)
    for back in range(1, len(demand)):  # nothing is known before the first period of some series
        demand[back] = np.where(np.isnan(demand[back]), demand[back - 1], demand[back])
    return PastDemands(demand, depth[:-1] > 0, depth[1:])


def plan_memory(evidence: Evidence, law: DemandLaw) -> Memory:
    """Movement of the lag in a plan, in units of scale: the part of earlier demands that stays, by least squares."""
    weights = law.lag_weights
    if len(weights) == 1:
        return Memory()
    scale = law.scale[evidence.series]
    last = evidence.lag[lags_of(evidence, len(weights)).rows] / scale
    lag, stays = observed_lag(evidence, weights) / scale, np.array(weights[1:]) @ last[:-1]
    rows = np.flatnonzero(~np.isnan(lag))
    centre, middle = float(lag[rows].mean()), float(stays[rows].mean())
    square = float(((lag[rows] - centre) ** 2).sum())
    carry = float(((lag[rows] - centre) * (stays[rows] - middle)).sum()) / square if square > 0 else 0.0
    return Memory(weights[0], carry, middle - carry * centre)
