"""The function `fit_demand`: the demand model of a shop, or the law of demand of episodes of one shop."""

from lostsales.data.assortment import is_shop
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.selection import fit_law
from lostsales.demand.shop import ShopDemand


def fit_demand(
    log: SalesLog, families: tuple[Family, ...] | None = None, seed: int = 0, progress: Progress | None = None
) -> ShopDemand | DemandModel:
    """Learn the demand of a log.

    Where series are products or periods are dates, demand is a moving level times a season times a response to prices
    and features. Where series are episodes of one shop in plain periods, it is a law given features, price and the last
    demands, of the family that predicts held-out rows best.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns; a demand-only log will do.
    families : tuple of Family, optional
        Candidates of a law, also for a shop; by default those that apply.
    seed : int
        Of the rows that are scored and of the draws of hidden demands.
    progress : callable, optional
        Called with work done and work in total.

    Returns
    -------
    ShopDemand or DemandModel
        Of a shop: drivers, elasticities with bands, forecasts, tests of fit; else the law and its calibration.

    Raises
    ------
    LostSalesError
        Too few rows have an observed demand.
    SettingError
        No family is given, or the mean of one is unknown.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=8, seed=1)
    >>> fit_demand(log).family.mean
    'linear'
    >>> fit_demand(lostsales.load_example("corner-shop")).distribution
    'negative binomial counts'

    """
    if families is None and is_shop(log):
        return ShopDemand.of(log)
    return fit_law(log, families, seed, progress)
