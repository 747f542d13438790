"""Columns that copy the price or contain the sales of their own period, found by what explains them."""

import numpy as np

from lostsales.types import Bools, Floats

COPY = 0.98  # share of a column's variance that price and other features explain, from which it is a copy of them
LEAK = 0.9  # of what the past leaves unexplained of a column, explained by the sales of the same period
BACK = 7  # periods of the past
LEAST_ROWS = 40  # that regressions on up to sixteen columns are trusted from
MOST_ROWS = 20_000  # that are looked at: bounds time


def copies(columns: dict[str, Floats], price: Floats | None, has_next: Bools) -> dict[str, str]:
    """Reasons against columns that follow from the price and the columns before them, within products.

    >>> price = np.tile([2.0, 3.0, 4.0, 2.5], 15)
    >>> copies({"cost": 0.7 * price}, price, np.ones(60, dtype=bool))
    {'cost': 'follows from the price (100 % of its moves)'}
    """
    if price is None or len(price) < LEAST_ROWS:
        return {}
    kept, found = [_within(price, has_next)], {}
    for name, values in columns.items():
        own = _within(values, has_next)
        by_price, by_all = (
            max(_explained(own[scaled], [each[scaled] for each in others]) for scaled in (0, 1))
            for others in (kept[:1], kept)
        )
        if by_all >= COPY:
            others = "" if by_price >= COPY else " and other features"
            found[name] = f"follows from the price{others} ({100 * by_all:.0f} % of its moves)"
        else:
            kept.append(own)
    return found


def leaks(columns: dict[str, Floats], sales: Floats | None, has_next: Bools) -> dict[str, str]:
    """Reasons against columns that hold the sales of their own period, such as an average up to and with today."""
    if sales is None:
        return {}
    series = np.r_[0, np.cumsum(~has_next[:-1])]
    at = np.arange(BACK, len(sales))
    at = at[series[at] == series[at - BACK]][:MOST_ROWS]
    if len(at) < LEAST_ROWS:
        return {}
    past = [sales[at - back] for back in range(1, BACK + 1)]
    found = {}
    for name, values in columns.items():
        before = [*past, *(values[at - back] for back in (1, 2))]
        left = 1 - _explained(values[at], before)
        after = 1 - _explained(values[at], [*before, sales[at]])
        if left > 1e-9 and 1 - after / left >= LEAK:
            found[name] = "contains the sales of its own period, which are not known before the decision"
    return found


def _within(values: Floats, has_next: Bools) -> tuple[Floats, Floats]:
    """Deviations from the mean of each product, and relative to their standard deviation."""
    series = np.r_[0, np.cumsum(~has_next[:-1])][:MOST_ROWS]
    values = values[:MOST_ROWS]
    known = np.isfinite(values)
    rows = np.maximum(np.bincount(series, known), 1)
    moves = np.where(known, values - (np.bincount(series, np.where(known, values, 0.0)) / rows)[series], 0.0)
    spread = np.sqrt(np.bincount(series, moves**2) / rows)[series]
    return moves, np.divide(moves, spread, out=np.zeros_like(moves), where=spread > 0)


def _explained(target: Floats, columns: list[Floats]) -> float:
    """Share of the variance of a column that others explain by least squares."""
    design = np.column_stack([*columns, np.ones(len(target))])
    usable = np.isfinite(design).all(axis=1) & np.isfinite(target)
    design, target = design[usable], target[usable]
    total = float(np.sum((target - target.mean()) ** 2)) if len(target) else 0.0
    if len(target) < LEAST_ROWS or total <= 0:
        return 0.0
    residual = target - design @ np.linalg.lstsq(design, target, rcond=1e-10)[0]
    return 1 - float(residual @ residual) / total
