"""Cox and accelerated-failure-time models of hidden demand, by the survival library lifelines."""

from typing import Any, Literal

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.demand.groups import Group
from lostsales.demand.holdout import Holdout
from lostsales.demand.impute import LEAST_ABOVE, MOST_TAIL, Bound, Filled
from lostsales.demand.observed import Observed
from lostsales.errors import LostSalesError

PENALTY = 0.01
GRID = 1_000  # levels of demand at which a continuous curve is integrated


def fill_by_library(
    group: Group, observed: Observed, holdout: Holdout, model: Literal["cox", "aft"], bound: Bound, counts: Floats
) -> Filled:
    """Mean excess of every hidden demand of a group under a regression model of its survival curve.

    The bootstrap refits the model with each resample's counts as weights.
    """
    frame = _Regression(group, observed, bound, model)
    excess, share = frame.excess(np.ones(len(group.learn)))
    drawn = [frame.excess(count[holdout.unit[group.learn]])[0] for count in counts]
    error = np.std(drawn, axis=0, ddof=1) if len(drawn) > 1 else np.full(len(excess), np.nan)
    known = np.sort(observed.demand[group.learn][observed.known[group.learn]])
    above = len(known) - np.searchsorted(known, observed.least[group.fill], side="right")
    return Filled(excess, error, np.asarray((share <= MOST_TAIL) & (above >= LEAST_ABOVE)), float("nan"))


class _Regression:
    """The data of a group in the library's layout."""

    def __init__(self, group: Group, observed: Observed, bound: Bound, model: Literal["cox", "aft"]) -> None:
        scale = group.learn_covariates.std(axis=0)
        self.varies = scale > 1e-12
        self.centre, self.scale = group.learn_covariates.mean(axis=0)[self.varies], scale[self.varies]
        self.bound, self.model = bound, model
        self.learn, self.fill = self._columns(group.learn_covariates), self._columns(group.fill_covariates)
        self.demand, self.known = observed.demand[group.learn], observed.known[group.learn]
        self.point, self.least = observed.point[group.fill], observed.least[group.fill]
        # A failure time must be positive; whole demands are moved to the middle of their step.
        self.shift = 0.5 if bound.integer else 1e-3 * max(bound.demand_max, 1e-9)
        most = bound.demand_max
        self.grid = np.arange(np.ceil(most)) if bound.integer else np.linspace(0, most, GRID, endpoint=False)

    def _columns(self, covariates: Floats) -> dict[str, Floats]:
        kept = (covariates[:, self.varies] - self.centre) / self.scale
        return {f"x{index}": kept[:, index] for index in range(kept.shape[1])}

    def excess(self, weights: Floats) -> tuple[Floats, Floats]:
        """Mean excess of the rows to fill, and the share of it that only the tail rule places."""
        used = weights > 0
        survival_at, end = self._fit(used, self.known, weights)
        curve = survival_at(self.grid)
        at_point = np.take_along_axis(curve, self._step(self.point)[:, None], axis=1)[:, 0]
        at_point = np.where(self.point < 0, 1.0, at_point)
        share = np.zeros(len(self.point))
        if self.model == "cox":
            left = survival_at(np.array([end]))[:, 0]
            share = left / at_point
            beyond = self.grid > end
            rate = (
                -np.log(np.clip(left, 1e-300, 1.0)) / max(end, 1e-300) if self.bound.tail == "exponential" else 0 * left
            )
            curve[:, beyond] = left[:, None] * np.exp(-rate[:, None] * (self.grid[beyond] - end))
        edges = np.r_[self.grid, self.bound.demand_max]
        widths = np.clip(edges[1:] - np.maximum(edges[:-1], self.least[:, None]), 0, None)
        excess = (curve * widths).sum(axis=1) / at_point
        if self.bound.tail == "refuse":
            excess = np.where(share > 1e-12, np.nan, excess)
        return excess, share

    def _step(self, level: Floats) -> Any:
        return np.clip(np.searchsorted(self.grid, level, side="right") - 1, 0, len(self.grid) - 1)

    def _fit(self, used: Bools, known: Bools, weights: Floats) -> tuple[Any, float]:
        try:
            import pandas as pd
            from lifelines import CoxPHFitter, LogNormalAFTFitter
        except ImportError:
            raise LostSalesError(
                f"the estimator {self.model!r} needs the survival library: pip install 'lostsales[survival]'"
            ) from None
        moved = 0.0 if self.model == "cox" else self.shift
        frame = pd.DataFrame(self.learn | {"demand": self.demand + moved, "known": known, "weight": weights})[used]
        fitter = CoxPHFitter(penalizer=PENALTY) if self.model == "cox" else LogNormalAFTFitter(penalizer=PENALTY)
        fitter.fit(frame, "demand", "known", weights_col="weight", robust=False)
        asked = pd.DataFrame(self.fill)

        def survival_at(levels: Floats) -> Floats:
            # Whole demand exceeds c where the continuous one exceeds the upper edge of its step, c + 1 after the shift.
            times = levels if self.model == "cox" else levels + (2 * moved if self.bound.integer else moved)
            predicted = fitter.predict_survival_function(asked, times=times)
            return np.array(predicted.to_numpy().T, dtype=np.float64)

        return survival_at, float(self.demand[used].max())
