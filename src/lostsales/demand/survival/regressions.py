"""Cox and accelerated-failure-time models of censored demand, with weights and a ridge penalty.

No maintained library has both for the Python and pandas of today: statsmodels, against which Cox is tested, has neither
weights nor a log-normal model.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from lostsales.data.progress import Progress
from lostsales.demand.survival.tail import TAIL_CODES, TAIL_EXPONENTIAL, TAIL_LAST, TAIL_REFUSE, Bound
from lostsales.errors import LostSalesError
from lostsales.types import Bools, Floats, Ints

PENALTY = 0.01  # ridge penalty on standardised covariates, besides covariates / rows
MOST_STEPS, CLOSE = 50, 1e-9  # of Newton's method
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
        used, penalty = weights > 0, PENALTY + learn.shape[1] / len(learn)
        rows = learn[used], self._times()[used], self.is_event[used], weights[used]
        if self.model == "cox":
            return _cox_curve(*rows, penalty), float(self.demand[used].max())
        if not (used & self.is_event).any():
            raise LostSalesError(f"the estimator {self.model!r} does not fit {used.sum()} rows: none shows its demand")
        return self._aft_curve(*fit_lognormal(*rows, penalty)), self.bound.demand_max

    @property
    def _shift(self) -> float:
        """Shift that makes failure times positive; an integer demand d represents the times from d to d + 1."""
        return 1.0 if self.bound.integer else 1e-3 * max(self.bound.demand_max, 1e-9)

    def _times(self) -> Floats:
        if self.model == "cox":
            return self.demand
        middle = 0.5 if self.bound.integer else 0.0
        return np.maximum(self.demand + self._shift - np.where(self.is_event, middle, 0.0), 1e-9)

    def _aft_curve(self, centre: float, slopes: Floats, sigma: float) -> Survival:
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


def _cox_curve(covariates: Floats, times: Floats, is_event: Bools, weights: Floats, penalty: float) -> Survival:
    """Survival curve SF(c | x) = prod over z <= c of (1 - h(z))^risk(x); without covariates it is Kaplan-Meier's.

    h is Breslow's baseline hazard. The usual exp(-H(c) risk(x)) leaves too much mass if many demands are tied.
    """
    levels, at = np.unique(times, return_inverse=True)
    slopes = fit_cox(covariates, times, is_event, weights, penalty)
    risk = weights * np.exp(covariates @ slopes)
    at_risk = np.cumsum(np.bincount(at, risk)[::-1])[::-1]
    hazard = np.bincount(at, weights * is_event) / at_risk
    steps = np.r_[0.0, np.cumsum(-np.log1p(-np.minimum(hazard, 1 - 1e-15)))]

    def survival(covariates: Floats, level: Floats) -> Floats:
        risk = np.exp(covariates @ slopes)[:, None]
        return np.asarray(np.exp(-risk * steps[np.searchsorted(levels, level, side="right")]))

    return survival


def fit_cox(covariates: Floats, times: Floats, is_event: Bools, weights: Floats, penalty: float) -> Floats:
    """Slopes of proportional hazards: the partial likelihood with Efron's ties and a ridge penalty, by Newton steps.

    Efron: the l-th of d tied events, l = 0, ..., d - 1, leaves the share l / d of all d out of those at risk. Weights
    count rows. The mean over rows is penalised by penalty / 2 times the squared slopes.
    """
    levels, at = np.unique(times, return_inverse=True)
    slopes, total = np.zeros(covariates.shape[1]), float(weights.sum())
    count = np.bincount(at, weights * is_event)  # d, by level
    tied, rank = np.repeat(np.arange(len(levels)), count.astype(int)), _ranks(count.astype(int))
    share = rank / count[tied]
    for _ in range(MOST_STEPS):
        risk = weights * np.exp(covariates @ slopes)
        # Sums over those at risk at each level, and over its events, of 1 and of the covariates.
        sums = [np.bincount(at, risk * x) for x in (np.ones_like(risk), *covariates.T)]
        of_events = [np.bincount(at, risk * is_event * x) for x in (np.ones_like(risk), *covariates.T)]
        s, d = (np.stack(each, axis=1) for each in ([np.cumsum(each[::-1])[::-1] for each in sums], of_events))
        left = s[tied] - share[:, None] * d[tied]  # (events, 1 + covariates)
        mean = left[:, 1:] / left[:, :1]
        gradient = (weights * is_event) @ covariates - mean.sum(axis=0) - total * penalty * slopes
        # How often each row counts in the sums: while it is at risk, less its share of its own ties.
        times_counted = np.cumsum(np.bincount(tied, 1 / left[:, 0], len(levels)))
        counted = times_counted[at] - is_event * np.bincount(tied, share / left[:, 0], len(levels))[at]
        hessian = (covariates * (risk * counted)[:, None]).T @ covariates - mean.T @ mean
        step = np.linalg.solve(hessian + total * penalty * np.eye(len(slopes)), gradient)
        slopes = slopes + np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    return slopes


def _ranks(count: Ints) -> Ints:
    """0, ..., d - 1 for each d."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


def fit_lognormal(
    covariates: Floats, times: Floats, is_event: Bools, weights: Floats, penalty: float
) -> tuple[float, Floats, float]:
    """Mean, slopes and standard deviation of the logarithm: the censored likelihood with a ridge penalty on slopes."""
    logs, design = np.log(times), np.column_stack([np.ones(len(times)), covariates])
    share = weights / weights.sum()

    def loss(at: Floats) -> tuple[float, Floats]:
        sigma = np.exp(at[-1])
        z = (logs - design @ at[:-1]) / sigma
        density, above = -0.5 * z**2 - at[-1], log_ndtr(-z)
        hazard = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - above)
        by_z = np.where(is_event, -z, -hazard)
        value = -float(share @ np.where(is_event, density, above)) + penalty / 2 * float(at[1:-1] @ at[1:-1])
        gradient = np.r_[(share * by_z / sigma) @ design, float(share @ (by_z * z + is_event))]
        gradient[1:-1] += penalty * at[1:-1]
        return value, gradient

    start = np.r_[np.average(logs, weights=weights), np.zeros(covariates.shape[1]), np.log(max(logs.std(), 1e-3))]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[*[(None, None)] * (len(start) - 1), (-10, 10)])
    return float(found.x[0]), found.x[1:-1], float(np.exp(found.x[-1]))
