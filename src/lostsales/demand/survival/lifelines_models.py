"""Cox and accelerated-failure-time models of censored demand, by the survival library lifelines."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from lostsales.data.progress import Progress
from lostsales.demand.survival.tail import TAIL_CODES, TAIL_EXPONENTIAL, TAIL_LAST, TAIL_REFUSE, Bound
from lostsales.errors import LostSalesError
from lostsales.types import Bools, Floats

PENALTY = 0.01  # ridge penalty on standardised covariates, besides covariates / rows
GRID = 1_000  # cells in which a smooth curve is integrated
CELLS = 4_000_000  # rows times cells in memory at a time

# SF at levels (rows, 1) or (cells,), broadcast over rows with the given covariates.
Survival = Callable[[Floats, Floats], Floats]


class Regression:
    """Regression model of the survival curve of demand, fitted to the sample and each resample; a call imputes rows."""

    def __init__(
        self,
        model: Literal["cox", "aft"],
        covariates: Floats,
        demand: Floats,
        is_event: Bools,
        bound: Bound,
        counts: Floats,  # (replicates, rows) how often each resample draws a row
    ) -> None:
        scale = covariates.std(axis=0)
        self.varies = scale > 1e-12 * (1 + np.abs(covariates.mean(axis=0)))
        self.centre, self.scale = covariates.mean(axis=0)[self.varies], scale[self.varies]
        self.model, self.bound = model, bound
        self.demand, self.is_event = demand, is_event
        learn = self._columns(covariates)
        self.whole = self._fit(learn, np.ones(len(demand)))
        self.drawn = []
        for weights in counts:
            with suppress(LostSalesError):  # a resample that cannot be fitted is left out
                self.drawn.append(self._fit(learn, weights))

    def __call__(
        self, covariates: Floats, point: Floats, least: Floats, progress: Progress | None = None
    ) -> tuple[Floats, Floats]:
        """Mean excess of censored demands and its standard error over the resamples."""
        columns = self._columns(covariates)
        excess = self._excess(*self.whole, columns, point, least)
        values = []
        for number, curve in enumerate(self.drawn, start=1):
            values.append(self._excess(*curve, columns, point, least))
            if progress:
                progress(number, len(self.drawn))
        return excess, np.std(values, axis=0, ddof=1) if len(values) > 1 else np.full(len(excess), np.nan)

    def _columns(self, covariates: Floats) -> Floats:
        return np.asarray((covariates[:, self.varies] - self.centre) / self.scale)

    def _fit(self, learn: Floats, weights: Floats) -> tuple[Survival, float]:
        """Survival curve given covariates, and the level up to which it is identified."""
        try:
            import pandas as pd
            from lifelines import CoxPHFitter, LogNormalAFTFitter
        except ImportError:
            raise LostSalesError(
                f"the estimator {self.model!r} needs the survival library: pip install 'lostsales[survival]'"
            ) from None
        used = weights > 0
        names = [f"x{index}" for index in range(learn.shape[1])]
        frame = pd.DataFrame(learn, columns=names)
        frame = frame.assign(demand=self._times(), is_event=self.is_event, weight=weights)[used]
        penalty = PENALTY + learn.shape[1] / len(learn)
        fitter: Any = CoxPHFitter(penalizer=penalty) if self.model == "cox" else LogNormalAFTFitter(penalizer=penalty)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # those that matter end in an exception
                fitter.fit(frame, "demand", "is_event", weights_col="weight", robust=False)
        except Exception as error:  # noqa: BLE001, the library raises many kinds
            reason = str(error).strip().splitlines()[0]
            raise LostSalesError(f"the estimator {self.model!r} does not fit {used.sum()} rows: {reason}") from None
        if self.model == "cox":
            return _cox_curve(fitter), float(self.demand[used].max())
        return self._aft_curve(fitter), self.bound.demand_max

    @property
    def _shift(self) -> float:
        """Shift that makes failure times positive; an integer demand d represents the times from d to d + 1."""
        return 1.0 if self.bound.integer else 1e-3 * max(self.bound.demand_max, 1e-9)

    def _times(self) -> Floats:
        if self.model == "cox":
            return self.demand
        middle = 0.5 if self.bound.integer else 0.0
        return np.maximum(self.demand + self._shift - np.where(self.is_event, middle, 0.0), 1e-9)

    def _aft_curve(self, fitter: Any) -> Survival:
        centre, slopes = fitter.params_["mu_"]["Intercept"], fitter.params_["mu_"].drop("Intercept").to_numpy()
        sigma = float(np.exp(fitter.params_["sigma_"]["Intercept"]))

        def survival(covariates: Floats, level: Floats) -> Floats:
            time = np.log(np.maximum(level + self._shift, 1e-300))
            return np.asarray(ndtr(((covariates @ slopes + centre)[:, None] - time) / sigma))

        return survival

    def _excess(self, survival: Survival, end: float, columns: Floats, point: Floats, least: Floats) -> Floats:
        excess, size = np.empty(len(columns)), max(1, CELLS // GRID)
        for start in range(0, len(columns), size):
            part = slice(start, start + size)
            excess[part] = self._excess_of(survival, end, columns[part], point[part, None], least[part, None])
        return excess

    def _excess_of(self, survival: Survival, end: float, columns: Floats, point: Floats, least: Floats) -> Floats:
        """Integral of SF from `least` to demand_max over SF(point), with the tail rule beyond `end`."""
        most, integer, tail = self.bound.demand_max, self.bound.integer, TAIL_CODES[self.bound.tail]
        cells = int(np.ceil(most)) if integer and most <= GRID else GRID
        edges = np.arange(cells + 1.0) if integer and most <= GRID else np.linspace(0, most, cells + 1)
        low, high = np.maximum(edges[:-1], least), np.maximum(np.minimum(edges[1:], most), least)
        # A step function is evaluated at the left edge of a step, a smooth one in the middle.
        level = np.broadcast_to(edges[:-1], low.shape) if integer else (low + high) / 2
        left = survival(columns, np.array([[end]]))
        rate = -np.log(np.clip(left, 1e-300, 1.0)) / max(end, 1e-300) if tail == TAIL_EXPONENTIAL else 0.0 * left
        tailed = 0.0 * left if tail == TAIL_LAST else left * np.exp(-rate * (level - end))
        curve = np.where(level > end, tailed, survival(columns, np.minimum(level, end)))
        above = np.where(point < 0, 1.0, survival(columns, np.maximum(point, 0.0)))[:, 0]
        area = np.sum(curve * (high - low), axis=1)
        without_mass = 0.0 if tail == TAIL_LAST else most - least[:, 0]
        excess = np.where(above > 1e-12, area / np.maximum(above, 1e-12), without_mass)
        refused = (tail == TAIL_REFUSE) & (left[:, 0] > 1e-12) & (end < most)
        return np.where(refused, np.nan, excess)


def _cox_curve(fitter: Any) -> Survival:
    """Survival curve SF(c | x) = prod over z <= c of (1 - h(z))^risk(x); without covariates it is Kaplan-Meier's.

    The library's own exp(-H(c) risk(x)) leaves too much mass if many demands are tied.
    """
    baseline = fitter.baseline_hazard_
    times, hazard = baseline.index.to_numpy(dtype=np.float64), baseline.iloc[:, 0].to_numpy()
    steps = np.r_[0.0, np.cumsum(-np.log1p(-np.minimum(hazard, 1 - 1e-15)))]
    slopes = fitter.params_.to_numpy()
    centre = float(fitter._norm_mean.to_numpy() @ slopes)

    def survival(covariates: Floats, level: Floats) -> Floats:
        risk = np.exp(covariates @ slopes - centre)[:, None]
        return np.asarray(np.exp(-risk * steps[np.searchsorted(times, level, side="right")]))

    return survival
