"""The function `impute`: demand that stock-outs hid, by the demand model of a shop or by curves of episodes."""

import numpy as np

from lostsales.data.assortment import is_shop
from lostsales.data.demand_bounds import share_demand
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.shop import LEAST_ROWS, ShopDemand
from lostsales.demand.survival.imputation import Imputation, impute_by_curves, surrogate_profit
from lostsales.demand.survival.tail import Tail
from lostsales.errors import SettingError
from lostsales.types import Bools

MODEL = "model"


def impute(
    log: SalesLog,
    *,
    estimator: str | None = None,
    demand_max: float | None = None,
    tail: Tail | None = None,
    replicates: int = 50,
    seed: int = 0,
    runs: Runs | None = None,
    only: Bools | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> Imputation:
    """Impute the demand that stock-outs hid: E[D_t | stock-out] of every censored row.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns; a demand-only log is enough.
    estimator : str, optional
        "model" (level, season and response to prices; the default where series are products or periods are dates),
        "beran" (conditional Kaplan-Meier; the default of episodes), "marginal" (one curve per depth), "cox" or "aft"
        (proportional hazards, log-normal times), or any name in `IMPUTERS`.
    demand_max : float, optional
        Largest possible demand of a row; by default the model has none, and curves end at the largest sale of the log.
    tail : {"to_max", "exponential", "last", "refuse"}, optional
        Of curves: placement of the mass beyond the observed demands, see `lostsales.demand.survival.tail`.
    replicates : int
        Of curves: bootstrap samples of series behind the standard errors; with 0 these are NaN.
    seed : int
        Seed of the bootstrap and of subsamples.
    runs : Runs, optional
        What `find_runs` returned for this log, if available.
    only : array of bool, optional
        Rows to impute, (rows,); other stock-outs stay NaN and are not identified.
    quick : bool
        Curves from fewer rows, enough to learn a policy.
    progress : callable, optional
        Called with rows done and rows in total.

    Returns
    -------
    Imputation
        Expected demand, lost sales and surrogate profit of every row.

    Raises
    ------
    SettingError
        A setting is negative or unknown, or `demand_max` lies below an observed demand.
    LostSalesError
        Every row is a stock-out, so that no demand is observed.

    Examples
    --------
    >>> import lostsales
    >>> filled = impute(lostsales.load_example("corner-shop"))
    >>> bool((filled.expected_demand >= filled.log.sales).all()), filled.tail
    (True, 'model')

    References
    ----------
    Gundem and Qi, Lemma 4 (conditional mean of censored demand) and Equation 12 (surrogate reward).

    """
    runs = runs or find_runs(log)
    if estimator is None:
        known = int(np.count_nonzero(runs.observed.is_observed | log.is_share))
        estimator = MODEL if is_shop(log) and tail is None and known >= LEAST_ROWS else "beran"
    if estimator != MODEL:
        return impute_by_curves(
            log,
            estimator=estimator,
            demand_max=demand_max,
            tail=tail,
            replicates=replicates,
            seed=seed,
            runs=runs,
            only=only,
            quick=quick,
            progress=progress,
        )
    return imputed_by(ShopDemand.of(log, runs.observed), demand_max, only)


def imputed_by(model: ShopDemand, demand_max: float | None = None, only: Bools | None = None) -> Imputation:
    """Impute the demand of the rows that a demand model was fitted to."""
    log, observed = model.log, model.observed
    hidden = ~observed.is_observed
    if demand_max is not None and not (seen := float(observed.bound.max())) <= demand_max < np.inf:
        raise SettingError(
            f"demand_max must be finite and at least every demand seen, but it is {demand_max:g} and {seen:g} was seen"
        )
    expected, error = model.expected_demand, model.expected_error
    if log.is_share.any():
        whole = share_demand(log)
        expected, error = (
            np.where(log.is_share, part, own) for part, own in ((whole.mean, expected), (whole.error, error))
        )
        hidden = hidden | log.is_share
    expected = expected if demand_max is None else np.minimum(expected, demand_max)
    identified = ~hidden | log.is_share | model.is_identified
    lost = np.where(hidden, expected - observed.available, np.maximum(observed.demand - observed.available, 0.0))
    lost = np.where(log.is_share, expected - log.sales, lost)
    if only is not None:
        out = hidden & ~only
        expected, lost, error = (np.where(out, np.nan, each) for each in (expected, lost, error))
        identified = identified & ~out
    profit, profit_se = surrogate_profit(log, lost, error)
    return Imputation(
        expected_demand=expected,
        expected_lost=lost,
        error=error,
        identified=identified,
        profit_filled=profit,
        profit_filled_se=profit_se,
        tail=MODEL,
        demand_max=float(np.nanmax(expected)) if demand_max is None else demand_max,
        bandwidths={},
        resampled="the model's errors",
        hidden=hidden,
        log=log,
    )
