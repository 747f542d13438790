"""A policy as a map: its action at every stock and last observed demand, one panel per depth."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.labels import spelled
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.history import log_as_asked, view_of_rows
from lostsales.policy.policy import Policy
from lostsales.policy.view import ClosedPeriod, View
from lostsales.types import Bools, Floats, Ints

STEPS = 12  # of stock, and of last demand
FEW_VALUES = 4  # of a feature that are shown one by one
MOST_FEATURES = 3  # that get maps of their own
USUAL = 0.95  # of the stocks and demands lie below the largest shown


@dataclass(frozen=True, eq=False)
class DepthMap:
    """One depth; every array is (stocks, demands)."""

    depth: int
    rows: int  # of the log at this depth
    stocks: Floats  # that occur at this depth
    demands: Floats
    price: Floats
    order: Floats
    outside: Bools  # the history lies outside the training data of the policy


@dataclass(frozen=True, eq=False)
class PolicyMap:
    """All depths in one market."""

    market: str  # which features differ from the usual, empty where none does
    panels: tuple[DepthMap, ...]


@dataclass(frozen=True, eq=False)
class PolicyMaps:
    """The map of the usual market first, then of markets that differ from it in one feature."""

    usual: str  # the features of the usual market
    maps: tuple[PolicyMap, ...]


def draw_maps(policy: Policy, log: DecisionLog, runs: Runs) -> PolicyMaps:
    """The policy's decisions on a grid; the history of each depth is that of its most typical row."""
    asked = log_as_asked(policy, log)
    names = [feature.name for feature in log.problem.features]
    usual = [_usual(log, index) for index in range(len(names))]
    markets: list[tuple[str, list[float]]] = [("", usual)]
    for index in range(min(len(names), MOST_FEATURES)):
        for value in _values(log, index):
            if value != usual[index]:
                text = f"{names[index]} {_text(log, index, value)}"
                markets.append((text, [*usual[:index], value, *usual[index + 1 :]]))
    maps = tuple(PolicyMap(market, _panels(policy, asked, runs, features)) for market, features in markets)
    return PolicyMaps(", ".join(f"{name} {_text(log, at, usual[at])}" for at, name in enumerate(names)), maps)


def even_steps(values: Floats) -> Floats:
    """A rising grid of round numbers that spans nearly all values; a few large ones may lie above it.

    >>> even_steps(np.arange(24.0))
    array([ 0.,  2.,  4.,  6.,  8., 10., 12., 14., 16., 18., 20., 22.])
    """
    low, high = float(values.min()), float(np.quantile(values, USUAL))
    whole = bool((values == np.rint(values)).all())
    step = max((high - low) / STEPS, 1e-9)
    power = 10.0 ** np.floor(np.log10(step))
    step = power * next(each for each in (1, 2, 2.5, 5, 10) if each * power >= step * (1 - 1e-9))
    step = max(np.ceil(step), 1.0) if whole else step
    grid = step * np.arange(np.floor(low / step), np.ceil(high / step) + 1)
    inside = (grid >= low) & (grid <= values.max())
    return np.asarray(grid[inside] if inside.any() else [low])


def _panels(policy: Policy, log: DecisionLog, runs: Runs, features: list[float]) -> tuple[DepthMap, ...]:
    return tuple(_panel(policy, log, runs, depth, features) for depth in range(runs.max_depth + 1))


def _panel(policy: Policy, log: DecisionLog, runs: Runs, depth: int, features: list[float]) -> DepthMap:
    rows = np.flatnonzero(runs.depth == depth)
    stocks, demands = even_steps(log.stock[rows]), even_steps(runs.anchor_demand[rows])
    shape = len(stocks), len(demands)
    stock, demand = np.repeat(stocks, len(demands)), np.tile(demands, len(stocks))
    view = _view(log, runs, rows[typical(_history(log, runs, rows, depth))], depth, stock, demand, features)
    decided = policy.explain(view)
    price, order, outside = decided.price.reshape(shape), decided.order.reshape(shape), decided.outside.reshape(shape)
    return DepthMap(depth, len(rows), stocks, demands, price, order, outside)


def map_of_view(policy: Policy, view: View, stocks: Floats, demands: Floats) -> DepthMap:
    """The decisions for one product (a view of one row) at other stocks and last observed demands."""
    depth, shape = int(view.depth[0]), (len(stocks), len(demands))
    many = view.take(np.zeros(len(stocks) * len(demands), dtype=np.int64))
    seen = _at(replace(many, stock=np.repeat(stocks, len(demands))), depth, np.tile(demands, len(stocks)))
    decided = policy.explain(seen)
    price, order, outside = decided.price.reshape(shape), decided.order.reshape(shape), decided.outside.reshape(shape)
    return DepthMap(depth, 0, stocks, demands, price, order, outside)


def _view(
    log: SalesLog, runs: Runs, row: int, depth: int, stock: Floats, demand: Floats, features: list[float]
) -> View:
    """The open period of a row at other stocks, last observed demands and features."""
    view = view_of_rows(log, runs, np.full(len(stock), row))
    today = tuple(np.full(len(stock), value) for value in features)
    return _at(replace(view, stock=stock, features=(*today, *view.features[len(today) :])), depth, demand)


def _at(view: View, depth: int, demand: Floats) -> View:
    """A view at other last observed demands, which lie before the stock-outs of a run."""
    if depth == 0:
        return replace(view, last_sales=demand)
    anchor = len(view.past) - depth  # the first stock-out of the run, which follows the last observed demand
    then = view.past[anchor]
    first = ClosedPeriod(replace(then.view, last_sales=demand), then.action)
    return replace(view, past=(*view.past[:anchor], first, *view.past[anchor + 1 :]))


def _history(log: SalesLog, runs: Runs, rows: Ints, depth: int) -> Floats:
    """Histories of rows of a depth: the last observed demand, and prices and available units of the run."""
    back = [rows - each for each in range(1, depth + 1)]
    columns = [runs.anchor_demand[rows], *(log.price[at] for at in back), *(log.available[at] for at in back)]
    return np.column_stack(columns)


def typical(points: Floats) -> int:
    """The index of the point nearest to the median of all.

    >>> typical(np.array([[0.0], [9.0], [4.0]]))
    2
    """
    middle, spread = np.median(points, axis=0), points.std(axis=0)
    return int((np.abs(points - middle) / np.where(spread > 0, spread, 1.0)).sum(axis=1).argmin())


def _usual(log: SalesLog, index: int) -> float:
    """The commonest of few values, else the median."""
    found, rows = np.unique(log.features[:, index], return_counts=True)
    few = len(found) <= FEW_VALUES or log.problem.features[index].kind == "categorical"
    return float(found[rows.argmax()] if few else np.median(log.features[:, index]))


def _values(log: SalesLog, index: int) -> list[float]:
    """Values of a feature that get a map: the commonest, or the 10 % and 90 % quantiles."""
    found, rows = np.unique(log.features[:, index], return_counts=True)
    if len(found) <= FEW_VALUES or log.problem.features[index].kind == "categorical":
        return sorted(found[np.argsort(-rows, kind="stable")[:FEW_VALUES]].tolist())
    return [float(value) for value in np.quantile(log.features[:, index], [0.1, 0.9])]


def _text(log: SalesLog, index: int, value: float) -> str:
    """A level by its name, a number to two digits of its spread."""
    levels = log.problem.features[index].levels
    if levels is not None:
        return spelled(levels[int(value)])
    spread = float(log.features[:, index].std())
    decimals = max(0, 1 - int(np.floor(np.log10(spread)))) if spread > 0 else 2
    text = f"{round(value, decimals) + 0.0:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
