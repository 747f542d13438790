"""Identifiability of hidden demand by depth, price and feature."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.scale import usual_price
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.survival.imputation import Imputation
from lostsales.types import Bools, Floats

MOST_GROUPS = 8  # values of a price or a feature that are shown one by one
CLOSE_TO_ALL = 0.9  # identified share of hidden demands that is called "identified"


@dataclass(frozen=True)
class GroupVerdict:
    """Verdict on the identifiability of the demand hidden in a group of rows."""

    what: str  # such as "price 4", "economy 1" or "after 2 stock-outs"
    rows: int
    stockouts: int
    identified_share: float | None  # of the stock-outs; None where imputation was skipped or nothing was hidden
    verdict: str  # identified, only partly, not, nothing hidden, or skipped


@dataclass(frozen=True)
class SeenPrices:
    """Range of demand that could be observed at a price."""

    what: str
    largest_known: float | None
    never_seen_above: float | None  # the most that was ever available; None in a demand-only log


def _by_value(values: Floats, name: str, levels: tuple[object, ...] | None = None) -> list[tuple[str, Bools]]:
    """A column in a few groups: its values, or of too many values the commonest levels or thirds of the rows."""
    found, rows = np.unique(values, return_counts=True)
    if len(found) > MOST_GROUPS and levels is None:
        low, high = np.quantile(values, [1 / 3, 2 / 3])
        parts = [
            (f"{name} up to {low:.4g}", values <= low),
            (f"{name} to {high:.4g}", (values > low) & (values <= high)),
            (f"{name} above {high:.4g}", values > high),
        ]
        return [(what, where) for what, where in parts if where.any()]
    shown = found if len(found) <= MOST_GROUPS else np.sort(found[np.argsort(-rows, kind="stable")[: MOST_GROUPS - 1]])
    texts = [f"{value:g}" if levels is None else str(levels[int(value)]) for value in shown]
    groups = [(f"{name} {text}", values == value) for text, value in zip(texts, shown, strict=True)]
    rest = len(found) - len(shown)
    return [*groups, (f"{name}: {rest} others", ~np.isin(values, shown))] if rest else groups


def by_price(log: SalesLog) -> list[tuple[str, Bools]]:
    """Prices in a few groups; relative to the usual price of each series where series differ in price."""
    usual = usual_price(log)
    if (usual == usual[:1]).all():
        return _by_value(log.price, "price")
    return _by_value(np.round(log.price / usual[log.series], 4), "price over usual price")


def by_depth(runs: Runs) -> list[tuple[str, Bools]]:
    """The depths that can be learned one by one, the deeper ones together."""
    groups = [("after a known demand", runs.depth == 0)]
    groups += [
        (f"after {depth} stock-out{'s' if depth > 1 else ''}", runs.depth == depth)
        for depth in range(1, min(runs.max_depth, MOST_GROUPS) + 1)
    ]
    groups.append((f"after more than {len(groups) - 1} stock-outs", runs.depth >= len(groups)))
    groups.append(("before the first known demand", runs.depth < 0))
    return [(what, rows) for what, rows in groups if rows.any()]


def price_ranges(log: SalesLog, runs: Runs) -> tuple[SeenPrices, ...]:
    """The largest observed demand at each price, and the largest that could have been observed."""
    observed, ranges = runs.observed, []
    for what, rows in by_price(log):
        shown = observed.demand[rows & observed.is_observed]
        seen = None if log.demand_only else float(observed.available[rows].max())
        ranges.append(SeenPrices(what, float(shown.max()) if len(shown) else None, seen))
    return tuple(ranges)


def find_verdicts(log: SalesLog, runs: Runs, filled: Imputation | None) -> tuple[GroupVerdict, ...]:
    """A verdict on each depth, price and level of a feature; `filled` is None where imputation was skipped."""
    groups = by_depth(runs) + by_price(log)
    for index, feature in enumerate(log.problem.features):
        groups += _by_value(log.features[:, index], feature.name, feature.levels)
    verdicts = []
    for what, rows in groups:
        hidden = rows & ~runs.observed.is_observed
        share, verdict = None, "not"
        if not hidden.any():
            verdict = "nothing hidden"
        elif filled is not None and (examined := hidden & ~np.isnan(filled.expected_lost)).any():
            share = float(filled.identified[examined].mean())
            verdict = "identified" if share >= CLOSE_TO_ALL else "only partly" if share > 1 - CLOSE_TO_ALL else "not"
        elif runs.observed.any_observed:
            verdict = "skipped"
        verdicts.append(GroupVerdict(what, int(rows.sum()), int(hidden.sum()), share, verdict))
    return tuple(verdicts)
