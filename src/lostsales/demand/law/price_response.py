"""Price response of a fitted demand model with a confidence band, and slopes with standard errors."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.candidate_grid import apart
from lostsales.data.confidence import margin
from lostsales.data.encoding import market_names
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.splits import hold_out
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel, bootstrap_laws
from lostsales.demand.law.evidence_sample import sample_blocks
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.types import Floats, Ints

MOST_PRICES = 9  # of a response; quantiles of the prices if there are more
MOST_RESAMPLED = 4_000  # rows of a bootstrap behind standard errors, which are scaled to all rows
MOST_ROWS = 4_000  # of the log, over which the response is averaged
ATOMS = 32  # of the distribution of residuals in an expectation
LAGS = 5  # draws of hidden last demands behind the response itself
COVERAGE = 0.95  # of the confidence band


@dataclass(frozen=True)
class Slope:
    """Change of demand per unit of an input."""

    name: str
    change: float  # units of demand, or a share of it where noise multiplies; for the last demand then an elasticity
    error: float  # standard error


@dataclass(frozen=True, eq=False)
class PriceResponse:
    """Expected demand by price, the same markets and last demands of the log under each, with a pointwise 95 % band."""

    prices: Floats  # (prices,) of the log, or quantiles of them where they are many
    rows: Ints  # (prices,) of the log whose price is nearest to it
    sales: Floats  # (prices,) what these rows sold, a period
    demand: Floats  # (prices,) mean over rows of the log
    low: Floats  # (prices,)
    high: Floats  # (prices,)
    elasticity: float  # between the lowest and the highest price; NaN where the price never varied
    elasticity_error: float
    slopes: tuple[Slope, ...]  # empty where the mean is not linear
    draws: int  # laws behind band and errors
    resampled_rows: int  # behind each of these laws; errors are scaled to all rows
    relative: bool = False  # prices are relative to the usual price of each series


def price_response(
    log: SalesLog, model: DemandModel, draws: int = 20, seed: int = 0, progress: Progress | None = None
) -> PriceResponse:
    """Expected demand by price, with a band from laws fitted to resampled series.

    Each of these laws draws the hidden last demands again: their uncertainty is a large part of the band.

    Parameters
    ----------
    log : SalesLog
        The log that the model was fitted to.
    model : DemandModel
        What `fit_demand` returned.
    draws : int
        Bootstrap samples behind band and standard errors.
    seed : int
        Of the bootstrap and of the draws of hidden demands.
    progress : callable, optional
        Called with samples done and samples in total.

    Returns
    -------
    PriceResponse
        By price: rows, mean sales, expected demand and its band; the elasticity, and slopes of a linear mean.

    Examples
    --------
    >>> from lostsales.demand.law.demand_law import Family
    >>> from lostsales.demand.law.selection import fit_law
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=8, seed=1)
    >>> model = fit_law(log, families=(Family("linear", False),))
    >>> found = price_response(log, model, draws=2)
    >>> found.prices.tolist(), bool((np.diff(found.demand) < 0).all())
    ([2.0, 4.0, 6.0], True)

    """
    held = hold_out(log, gap=1)
    sample = sample_blocks(model.sample, MOST_RESAMPLED, seed)
    laws = bootstrap_laws(log, model, draws, seed, progress, fresh=True, sample=sample)
    price = log.price / model.law.usual_price[log.series]
    relative = model.law.is_relative
    prices = apart(np.unique(price)) if relative else np.unique(price)
    if len(prices) > MOST_PRICES:
        prices = np.unique(np.quantile(price, np.linspace(0, 1, MOST_PRICES), method="nearest"))
    demand = expected_demand(model.sample, model.law, prices, LAGS, seed)
    own = [expected_demand(sample, law, prices, 1, seed + 1 + number) for number, law in enumerate(laws)]
    others = np.array(own).reshape(-1, len(prices))
    # Of m out of n units the variance is n / m times that of all; the sample is drawn in blocks, not in units, so that
    # where it holds a part of every series the errors are too wide.
    drawn, of_all = (len(np.unique(held.unit[each.rows])) for each in (sample, model.evidence))
    units, shrunk = round(held.units * drawn / of_all), float(np.sqrt(drawn / of_all))
    freedom = max(min(len(laws), units) - 1, 1)  # few laws and few series both make the error itself uncertain
    half = margin(shrunk * _spread(others, units), freedom, COVERAGE)
    nearest = np.searchsorted((prices[1:] + prices[:-1]) / 2, price)
    rows = np.bincount(nearest, minlength=len(prices))
    elasticity_error = float(shrunk * _spread(_elasticity(prices, others), units))
    return PriceResponse(
        prices=prices,
        rows=rows,
        sales=np.bincount(nearest, weights=log.sales, minlength=len(prices)) / rows,
        demand=demand,
        low=np.maximum(demand - half, 0.0),
        high=demand + half,
        elasticity=float(_elasticity(prices, demand)),
        elasticity_error=elasticity_error,
        slopes=_slopes(log, model.law, laws, units, shrunk),
        draws=len(laws),
        resampled_rows=len(sample),
        relative=relative,
    )


def expected_demand(evidence: Evidence, law: DemandLaw, prices: Floats, draws: int, seed: int) -> Floats:
    """Mean of E[D | market, price, last demand] over rows, with every price in each, (prices,).

    Hidden last demands are drawn from the law.
    """
    at = np.linspace(0, len(evidence) - 1, min(len(evidence), MOST_ROWS)).astype(np.int64)
    lags = complete_latents(evidence, law, seed).lag[at, :draws]
    series, same = evidence.series[at], np.ones(len(at))
    scale = law.scale[series]
    found = np.empty((lags.shape[1], len(prices)))
    for draw, lag in enumerate(lags.T):
        for index, price in enumerate(prices):
            mean = law.mean_of(law.inputs(evidence.market[at], price * same, lag), series)
            atoms = law.atoms(mean, scale, ATOMS)
            found[draw, index] = law.demand_of_atoms(atoms, scale[:, None]).mean()
    return np.asarray(found.mean(axis=0))


def _spread(values: Floats, units: int) -> Floats:
    """Standard error from the standard deviation over laws, NaN where there are too few.

    The variance over resamples of n units is (n - 1) / n of the true one.
    """
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) * np.sqrt(units / max(units - 1, 1)))


def _elasticity(prices: Floats, demand: Floats) -> Floats:
    """Change of log demand over change of log price, from the lowest to the highest price above 0."""
    positive = np.flatnonzero(prices > 0)
    if len(positive) < 2:
        return np.full(demand.shape[:-1], np.nan)
    first, last = positive[[0, -1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(demand[..., last] / demand[..., first]) / np.log(prices[last] / prices[first]))


def _slopes(log: SalesLog, law: DemandLaw, laws: list[DemandLaw], units: int, shrunk: float) -> tuple[Slope, ...]:
    if not isinstance(law.mean, LinearMean):
        return ()
    changes = _changes(law)
    errors = shrunk * _spread(np.array([_changes(each) for each in laws]).reshape(-1, len(changes)), units)
    names = (*market_names(log), "price", "last demand")
    return tuple(
        Slope(name, float(change), float(error)) for name, change, error in zip(names, changes, errors, strict=True)
    )


def _changes(law: DemandLaw) -> Floats:
    """Change of demand per unit of each input; the last demand of a multiplicative model is already a logarithm."""
    assert isinstance(law.mean, LinearMean)
    slopes = law.mean.slopes
    return np.r_[np.expm1(slopes[:-1]), slopes[-1]] if law.family.is_log else slopes
