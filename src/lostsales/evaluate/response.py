"""How demand answers to the price, with an interval, by the law of demand that a ledger has learned."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Floats
from lostsales.demand.calibration import Calibration
from lostsales.demand.law import DemandLaw
from lostsales.evaluate.ledger import Ledger
from lostsales.evaluate.results import Interval

MOST_DAYS = 500  # of the log, whose market and last demand are taken
MOST_PRICES = 15
ATOMS = 30  # equally likely parts of the noise


@dataclass(frozen=True, eq=False)
class PriceResponse:
    """Mean demand, had all days of the log had the same price, one of those that were tried."""

    prices: Floats  # (prices,)
    demand: tuple[Interval, ...]  # a price
    seen_prices: Floats  # (seen,) prices of the log, grouped where they are many
    sales: Floats  # (seen,) what was sold there, a period
    rows: Floats  # (seen,)
    family: str
    calibration: Calibration  # of the law, on rows it has not seen
    warnings: tuple[str, ...]


def price_response(ledger: Ledger) -> PriceResponse | None:
    """Averaged over days whose last demand is known; every unit is left out once. None where there is no law."""
    if ledger.laws is None:
        return None
    log, laws, evidence = ledger.log, ledger.laws, ledger.laws.model.evidence
    days = np.flatnonzero(~np.isnan(evidence.lag))
    if len(days) > MOST_DAYS:
        days = np.sort(np.random.default_rng(ledger.seed).choice(days, MOST_DAYS, replace=False))
    tried = laws.model.prices
    prices = tried if len(tried) <= MOST_PRICES else np.linspace(tried[0], tried[-1], MOST_PRICES)

    def answer(law: DemandLaw) -> Floats:
        """Mean demand at every price."""
        scale, effect = law.scale[evidence.series[days]], law.effect[evidence.series[days]]
        noise = law.residuals.atoms(ATOMS)
        found = []
        for price in prices:
            at = law.inputs(evidence.market[days], np.full(len(days), price), evidence.lag[days] / scale)
            latent = (law.mean(at) + effect)[:, None] + noise
            found.append(law.demand(latent, scale[:, None]).mean())
        return np.array(found)

    whole, without = answer(laws.law), np.array([answer(law) for law in laws.without])
    demand = [
        Interval.of(ledger.units.left_out(float(value), moved)) for value, moved in zip(whole, without.T, strict=True)
    ]
    near = np.abs(log.price[:, None] - prices).argmin(axis=1)
    rows = np.bincount(near, minlength=len(prices))
    sold = np.bincount(near, weights=log.sales, minlength=len(prices))
    seen = rows > 0
    return PriceResponse(
        prices=prices,
        demand=tuple(demand),
        seen_prices=prices[seen],
        sales=sold[seen] / rows[seen],
        rows=rows[seen].astype(np.float64),
        family=laws.model.family.name,
        calibration=laws.model.calibration,
        warnings=laws.model.warnings,
    )
