"""Forecasts of demand by the law that a policy knows: simulated from today's belief on, at prices that are given."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.policy.policy import Policy
from lostsales.policy.view import EARLIER_PERIODS, Action, ClosedPeriod, Features, View
from lostsales.types import Floats, Ints

PATHS = 400  # a quantile of 5 or 95 % then has a standard error of about 1 %
NO_LAW = "this policy has no demand model: the planner has one (`lostsales fit LOG --method planner`)"


class DemandForecast(NamedTuple):
    """Demand, not sales, of the coming periods."""

    mean: Floats  # (rows, periods)
    quantiles: Floats  # (levels, rows, periods)


def forecast_demand(
    policy: Policy,
    view: View,
    price: Floats,
    features: Sequence[Features],
    levels: Sequence[float],
    seed: int = 0,
    paths: int = PATHS,
) -> DemandForecast:
    """Demand of today and of one more period for each of `features`, at one price (rows,) throughout.

    Where the policy does not sample futures itself, every path draws a demand from the law given the demand before;
    that of today given the belief. Its mean is exact for today; later each atom of every path counts.
    """
    futures = policy.demand_futures(view, price, features)
    if futures is not None:
        return DemandForecast(futures.mean(axis=1), np.quantile(futures, levels, axis=1))
    rng, rows = np.random.default_rng(seed), len(view.stock)
    again = np.repeat(np.arange(rows, dtype=np.int64), paths)
    prices, means, quantiles = price[again], [], []
    atoms = np.repeat(_atoms(policy, view, price), paths, axis=0)
    opened: View | None = None
    for period in range(len(features) + 1):
        own = atoms.reshape(rows, -1)
        means.append(own.mean(axis=1))
        quantiles.append(np.quantile(own, levels, axis=1))
        if period < len(features):
            # Each atom is taken by as many paths as any other, give or take one.
            chances = np.argsort(rng.random((rows, paths)), axis=1).reshape(-1)
            place = ((chances + rng.random(len(chances))) * atoms.shape[1] / paths).astype(np.int64)
            demand = atoms[np.arange(len(atoms)), np.minimum(place, atoms.shape[1] - 1)]
            last = ClosedPeriod(view.take(again) if opened is None else opened, Action(prices, np.zeros(len(again))))
            past = ((*last.view.past, last) if opened is None else (*opened.past, last))[-EARLIER_PERIODS:]
            opened = _opened(view, again, features[period], demand, past)
            atoms = _atoms(policy, opened, prices)
    return DemandForecast(np.stack(means, axis=1), np.stack(quantiles, axis=2))


def _opened(view: View, again: Ints, features: Features, demand: Floats, past: tuple[ClosedPeriod, ...]) -> View:
    """The next period of every path, after a demand that is known."""
    none = np.zeros(len(again), dtype=np.int64)
    return View(
        period=0,
        features=tuple(each[again] for each in features),
        stock=view.stock[again],
        last_sales=demand,
        last_stockout=none.astype(bool),
        depth=none,
        last_demand=None,
        past=past,
        names=None if view.names is None else view.names[again],
        context=None if view.context is None else view.context.take(again),
    )


def _atoms(policy: Policy, view: View, price: Floats) -> Floats:
    atoms = policy.demand_atoms(view, price)
    if atoms is None:
        raise LostSalesError(NO_LAW)
    return atoms
