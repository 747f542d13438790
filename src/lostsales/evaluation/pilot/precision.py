"""Standard errors of the estimates of a pilot, from variance and autocorrelation of the log's profits.

Profits of a series around the mean of all series are a level plus a stationary autoregression. Its autocovariances give
the variance of any mean over periods, the covariance of past and pilot included, and so the standard error of the
estimators that `monitor` uses.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_toeplitz

from lostsales.evaluation.pilot.estimators import centred
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.types import Floats

LEAST_SERIES = 4  # with more series a slope on past profit is removed
MOST_LAGS = 8  # of the autoregression
LEAST_PERIODS_A_LAG = 6  # past periods per lag of the autoregression
CORRECTIONS = 10  # iterations of the correction for estimated means
MOST_SUM = 0.98  # bound of the sum of coefficients, so that the autoregression is stationary
FORGOTTEN = 1e-6  # share of the variance below which autocovariances are treated as 0
FADED = 0.2  # share of a demand shock that may remain after the wash-out
MOST_WASH_OUT = 14  # longest wash-out by default
PAST_SHARES = (1.0, 0.5, 0.25)  # candidates: last part of the past whose mean is the covariate


@dataclass(frozen=True, eq=False)
class ProfitModel:
    """Variance model of profits: levels of series plus an autoregression."""

    series: int
    periods: int  # of the past
    between: Floats  # (past shares,) variance of mean profits between series, by share of the past
    coefficients: Floats  # (lags,) of the autoregression
    autocovariance: Floats  # (lags + 1,)

    @classmethod
    def of(cls, profit: Floats, by_series: bool = True) -> "ProfitModel":
        """Estimate from past profits (series, periods), NaN if there is no row.

        Shocks that all series share are removed, and in a split by series also those proportional to past profit, as
        its covariate does.
        """
        series, periods = profit.shape
        own = centred(profit)
        level = np.nanmean(own, axis=1, keepdims=True)
        within = own - level
        within = _less_proportional(within, level) if by_series and series > LEAST_SERIES else within
        left = (2 if by_series and series > LEAST_SERIES else 1) if series > 1 else 0  # degrees of freedom removed
        within = within * np.sqrt(series / (series - left))
        lags = int(np.clip(periods // LEAST_PERIODS_A_LAG, 0, MOST_LAGS))
        coefficients, autocovariance = _autoregression(_autocovariances(within, lags), periods, np.isfinite(own).sum())
        between = [
            float(np.nanvar(np.nanmean(own[:, -window:], axis=1), ddof=1)) if series > 1 else 0.0
            for window in past_windows(periods)
        ]
        return cls(series, periods, np.array(between), coefficients, autocovariance)

    def autocovariances(self, lags: int) -> Floats:
        """Autocovariances up to a lag, (lags,): beyond the estimated ones they follow the autoregression."""
        return _extended(self.coefficients, self.autocovariance, lags)

    def past_window(self, wash_in: int, planned: int) -> int:
        """Number of last periods whose mean is the best covariate."""
        windows = past_windows(self.periods)
        variances = [self._variance(at, window, wash_in, planned) for at, window in enumerate(windows)]
        return windows[int(np.argmin(variances))]

    def error_by_series(self, wash_in: int, planned: int) -> float:
        """Standard error of the gain after `planned` counted periods of a split by series."""
        variance = min(
            self._variance(at, window, wash_in, planned) for at, window in enumerate(past_windows(self.periods))
        )
        half = self.series // 2
        slope = 1 + 1 / max(self.series - 3, 1)  # the slope on the past is estimated too
        return float(np.sqrt(variance * slope * (1 / half + 1 / (self.series - half))))

    def _variance(self, at: int, window: int, wash_in: int, planned: int) -> float:
        """Variance of the mean of a series over the pilot, given its past mean."""
        gamma = self.autocovariances(window + wash_in + planned)
        of_past, of_pilot = (_variance_of_mean(gamma, length) for length in (window, planned))
        pairs = np.arange(1, window + planned)  # of a past and a pilot period, by their distance
        pairs = np.minimum(np.minimum(pairs, pairs[::-1]), min(window, planned))
        both = float(pairs @ gamma[wash_in + 1 : wash_in + window + planned]) / (window * planned)
        level = max(float(self.between[at]) - of_past, 0.0)
        explained = (level + both) ** 2 / max(level + of_past, 1e-300)
        return max(level + of_pilot - explained, 0.0)

    def error_by_switches(self, wash_out: int, block: int, pairs: int) -> float:
        """Standard error of the gain after `pairs` pairs of blocks of a switchback."""
        weights = np.zeros(2 * block)
        weights[wash_out:block] = -1 / (block - wash_out)
        weights[block + wash_out :] = 1 / (block - wash_out)
        gamma = self.autocovariances(2 * block)
        variance = float(weights @ gamma[np.abs(np.subtract.outer(*2 * [np.arange(2 * block)]))] @ weights)
        left = pairs if self.series == 1 else (self.series - 1) * pairs  # with several series their mean is removed
        return float(np.sqrt(max(variance, 0.0) / left))


def _variance_of_mean(gamma: Floats, periods: int) -> float:
    """Variance of the mean over successive periods with these autocovariances.

    >>> _variance_of_mean(np.array([1.0, 0.5]), 2)
    0.75
    """
    weights = 1 - np.arange(1, periods) / periods
    return (float(gamma[0]) + 2 * float(weights @ gamma[1:periods])) / periods


def past_windows(periods: int) -> tuple[int, ...]:
    """Lengths of the past that may serve as the covariate."""
    return tuple(max(int(periods * share), 1) for share in PAST_SHARES)


def _less_proportional(values: Floats, level: Floats) -> Floats:
    """Residuals of values (series, periods) after a regression of each period on the level of series (series, 1).

    >>> values, level = np.array([[2.0, 1.0], [4.0, 0.0], [6.0, 1.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> _less_proportional(values, level).round(3).tolist()
    [[0.0, 0.333], [0.0, -0.667], [0.0, 0.333]]
    """
    there = np.isfinite(values)
    count = np.maximum(there.sum(axis=0), 1)
    own = np.where(there, level, 0.0)
    spread = np.where(there, level - own.sum(axis=0) / count, 0.0)
    around = values - np.nansum(values, axis=0) / count
    size = (spread**2).sum(axis=0)
    slope = np.divide((spread * np.nan_to_num(around)).sum(axis=0), size, out=np.zeros(len(size)), where=size > 0)
    return np.asarray(around - slope * spread)


def _autocovariances(within: Floats, lags: int) -> Floats:
    """Mean products of residuals (series, periods) at each lag, (lags + 1,)."""
    periods = within.shape[1]
    return np.array([np.nanmean(within[:, : periods - lag] * within[:, lag:]) for lag in range(lags + 1)])


def _autoregression(measured: Floats, periods: int, rows: int) -> tuple[Floats, Floats]:
    """Coefficients by the Yule-Walker equations, and autocovariances, of the order with the least AIC.

    Autocovariances around an estimated mean are too small by the variance of that mean, which follows from the
    autoregression itself: the correction is iterated.
    """
    best = np.inf, np.zeros(0), measured[:1]
    for order in range(len(measured)):
        gamma = measured.copy()
        phi = np.zeros(0)
        for _ in range(CORRECTIONS):
            phi = _stable(solve_toeplitz(gamma[:order], gamma[1 : order + 1])) if order else phi
            of_mean = _variance_of_mean(_extended(phi, gamma[: order + 1], periods), periods)
            gamma = measured + max(of_mean, 0.0)
        noise = max(float(gamma[0] - phi @ gamma[1 : order + 1]), 1e-300)
        score = rows * np.log(noise) + 2 * order
        if score < best[0]:
            best = score, phi, gamma[: order + 1]
        if measured[0] <= 0:
            break
    return best[1], best[2]


def _stable(phi: Floats) -> Floats:
    """Coefficients scaled so that their sum stays below 1: a mean exists."""
    total = float(np.abs(phi).sum()) if phi.sum() < 0 else float(phi.sum())
    return np.asarray(phi * (MOST_SUM / total) if total > MOST_SUM else phi)


def _extended(phi: Floats, gamma: Floats, lags: int) -> Floats:
    order = len(phi)
    found = np.zeros(max(lags, order + 1))
    found[: len(gamma)] = gamma
    for lag in range(order + 1, lags if order else 0):
        found[lag] = phi @ found[lag - order : lag][::-1]
        if np.abs(found[lag - order + 1 : lag + 1]).max() < FORGOTTEN * found[0]:
            break
    return found[:lags]


def settling_periods(panel: PilotPanel, outcomes: Outcomes) -> int:
    """Periods of wash-out after a change of policy: lead time, stock cover and decay of the autocorrelation."""
    log = panel.log
    sold = max(float(log.sales.mean()), 1e-9)
    cover = float((log.available - log.sales).mean()) / sold
    autocorrelation = demand_autocorrelation(panel.table(outcomes.demand))
    fades = np.log(FADED) / np.log(autocorrelation) if autocorrelation > FADED else 0.0
    wanted = log.problem.lead_times.longest + int(np.ceil(cover)) + int(np.ceil(fades))
    return int(np.clip(wanted, 1, MOST_WASH_OUT))


def demand_autocorrelation(demand: Floats) -> float:
    """Autocorrelation of demand (series, periods) at lag 1, around the means of series and periods."""
    own = centred(demand)
    own = own - np.nanmean(own, axis=1, keepdims=True)
    spread = float(np.nanmean(own**2)) if own.size else 0.0
    product = own[:, 1:] * own[:, :-1]
    if spread <= 0 or not np.isfinite(product).any():
        return 0.0
    return float(np.clip(np.nanmean(product) / spread, 0.0, 0.95))
