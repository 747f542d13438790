"""Runs of censored periods: depth, anchors, and how deep the log can be learned."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.observed import Observed, observe
from lostsales.errors import SettingError
from lostsales.saved_fields import Count, Depth, NonNegative
from lostsales.types import Bools, Floats, Ints

# A depth with fewer rows than this cannot be learned.
LEAST_ROWS = 20


@dataclass(frozen=True)
class DepthRule:
    """Largest depth that is learned from a log, and the treatment of deeper rows; see `find_runs`."""

    cap: Depth | None = None  # K; that of Theorem 1 where it is None
    pool: bool = True
    a_coordinate: NonNegative = 0.0
    least_rows: Count = LEAST_ROWS


ANY_DEPTH = DepthRule()  # as deep as there are rows


@dataclass(frozen=True, eq=False)
class Runs:
    """The partition of a log by depth (Sections 3.1 and 3.4)."""

    observed: Observed
    depth: Ints  # (rows,) censored periods in a row just before; -1 where no earlier demand is observed
    anchor_demand: Floats  # (rows,) D at the anchor, the last period whose demand is observed; NaN where depth is -1
    longest: int  # the longest censored run in the log
    cap: int  # K, the deepest that may be learned
    max_depth: int  # n: the longest run, not above K, lowered to where every depth has enough rows
    rows_at_depth: Ints  # (longest + 1,)
    left_out: dict[str, int]  # rows that cannot be learned from, by reason
    usable: Bools  # (rows,) the others
    pools: bool  # rows deeper than max_depth are learned from

    @property
    def learned_depth(self) -> Ints:
        """The depth with which each row is learned, (rows,): deeper rows than `max_depth` are pooled with it.

        To leave them out, and with them the stock-outs at `max_depth`, would select rows on their outcome.
        """
        return np.minimum(self.depth, self.max_depth)

    @property
    def pooled(self) -> int:
        """Number of usable rows that are deeper than `max_depth` and learned with it."""
        return int(np.count_nonzero(self.usable & (self.depth > self.max_depth)))

    def run_length(self, rows: Ints, depth: int) -> Floats | None:
        """Run length as a coordinate of histories, if runs of several lengths are pooled at this depth; else None."""
        return self.depth[rows].astype(np.float64)[:, None] if self.pooled and depth == self.max_depth else None


def depth_of_rows(censored: Bools, starts: Ints) -> Ints:
    """Censored periods in a row just before each row, counted from the start of its series.

    >>> depth_of_rows(np.array([True, True, False, True, False]), np.array([0, 3]))
    array([0, 1, 2, 0, 1])
    """
    rows = np.arange(len(censored))
    anchor = np.where(censored, -1, rows)
    anchor[starts[1:] - 1] = starts[1:] - 1  # no run crosses from one series into the next
    return rows - 1 - np.r_[-1, np.maximum.accumulate(anchor)[:-1]] if len(rows) else rows


def iterations_rule(rows: int, discount: float) -> int:
    """K = ceil(ln(NT) / (2 (1 - discount))), the rule of Theorem 1 for window and iterations.

    >>> iterations_rule(2500, 0.9)
    40
    """
    return max(1, int(np.ceil(np.log(max(rows, 2)) / (2 * (1 - discount)))))


def find_runs(
    log: SalesLog, cap: int | None = None, least_rows: int = LEAST_ROWS, pool: bool = True, a_coordinate: float = 0.0
) -> Runs:
    """Depth and anchor of every row; everything that is left out is counted.

    The paper leaves out what is deeper than `max_depth`, and the stock-outs at it; `pool` keeps both. A depth needs
    `least_rows` rows that end, or `a_coordinate` of them for every coordinate of its history where that is more.
    """
    if cap is not None and cap < 0:
        raise SettingError(f"the cap K on depth must not be negative, but {cap} came")
    observed = observe(log)
    rows, starts = np.arange(len(log)), log.starts
    depth = depth_of_rows(~observed.is_observed, starts)
    anchor = rows - 1 - depth
    before_first = anchor < starts[log.series]
    opening_observed = ~np.isnan(log.last_sales) & ~log.last_stockout
    no_history = before_first & ~opening_observed[log.series]
    opening = log.last_sales[log.series]
    anchor_demand = np.where(before_first, opening, observed.demand[np.maximum(anchor, 0)])
    # A run that opens a series without an anchor counts, though its rows have no depth.
    longest = int((depth + 1)[~observed.is_observed].max(initial=0))
    depth = np.where(no_history, -1, depth)
    window = iterations_rule(len(log), log.problem.discount) if cap is None else cap
    at_depth = np.bincount(depth[~no_history], minlength=longest + 1)
    most = min(longest, window)
    features = sum(len(each.levels) if each.levels else 1 for each in log.problem.features)
    coordinates = [1 + (n + 1) * (features + 1) + 2 * n for n in range(most + 1)]
    least = [max(least_rows, int(np.ceil(a_coordinate * each))) for each in coordinates]
    max_depth = _learnable(depth, observed.is_observed, log.has_next, most, least)
    reasons = {"no earlier demand is known": no_history, "last row of its series": ~log.has_next}
    if not pool:
        reasons[f"deeper than max_depth {max_depth}"] = depth > max_depth
        at_most = (depth == max_depth) & ~observed.is_observed & (longest > 0)
        reasons[f"stock-out at max_depth {max_depth}"] = at_most
    usable, left_out = np.ones(len(log), dtype=bool), {}
    for reason, rows_out in reasons.items():
        left_out[reason] = int(np.count_nonzero(rows_out & usable))
        usable &= ~rows_out
    return Runs(
        observed=observed,
        depth=depth,
        anchor_demand=np.where(no_history, np.nan, anchor_demand),
        longest=longest,
        cap=window,
        max_depth=max_depth,
        rows_at_depth=at_depth,
        left_out=left_out,
        usable=usable,
        pools=pool,
    )


def _learnable(depth: Ints, is_observed: Bools, has_next: Bools, most: int, least: list[int]) -> int:
    """The deepest n <= most with enough rows at each depth below it and enough uncensored rows at n itself."""
    rows = np.bincount(depth[has_next & (depth >= 0)], minlength=most + 1)
    ends = np.bincount(depth[has_next & is_observed & (depth >= 0)], minlength=most + 1)
    deepest = 0
    for n in range(1, most + 1):
        if rows[n - 1] < least[n - 1]:
            break
        if ends[n] >= least[n]:
            deepest = n
    return deepest


def run_lengths(log: SalesLog, runs: Runs) -> Ints:
    """Number of censored runs of each length 0, 1, 2, ..., (longest + 1,)."""
    censored = ~runs.observed.is_observed
    goes_on = np.r_[censored[1:] & log.has_next[:-1], False]
    ends = censored & ~goes_on
    return np.bincount(depth_of_rows(censored, log.starts)[ends] + 1, minlength=runs.longest + 1)


def paper_variants(log: SalesLog, runs: Runs, window: int) -> dict[str, int]:
    """The paper's own two definitions of the longest run within K periods, for comparison.

    Section 3.4 looks at runs that start at t <= T - K only and so misses late ones; Definition 8 counts the censored
    periods of a window, consecutive or not.
    """
    censored = ~runs.observed.is_observed
    lengths = np.diff(np.r_[log.starts, len(log)])
    place = np.arange(len(log)) - log.starts[log.series]
    left = lengths[log.series] - place
    backwards = depth_of_rows(censored[::-1], len(log) - log.starts[::-1] - lengths[::-1])[::-1]
    ahead = np.where(censored, backwards + 1, 0)
    early = left >= window
    total = np.r_[0, np.cumsum(censored)]
    rows = np.arange(len(log))
    in_window = total[rows + np.minimum(left, window)] - total[rows]
    return {
        "Section 3.4": int(np.minimum(ahead, window)[early].max(initial=0)),
        "Definition 8": int(in_window.max(initial=0)),
    }


@dataclass(frozen=True)
class RunEnds:
    """Chance that a censored run of at least j periods ends next (alpha_j, Section 4.2.2)."""

    chance: Floats  # (longest,) alpha_1, alpha_2, ...; NaN where no row shows it
    rows: Ints  # (longest,) rows behind each
    falls_at: tuple[int, ...]  # j at which alpha_{j+1} lies below alpha_j beyond chance


def run_ends(runs: Runs, level: float = 0.05) -> RunEnds:
    """Estimate alpha_j and test that it does not fall with j (Assumption 14).

    alpha_j is a mean of the chance at depth j exactly and alpha_{j+1}, so alpha falls at j if and only if the former is
    above the latter; these two come from different rows, and a one-sided z-test compares them, shared over all j.
    """
    deep = runs.depth[runs.depth >= 1]
    is_observed = runs.observed.is_observed[runs.depth >= 1]
    exact = np.bincount(deep, minlength=runs.longest + 2)[1:]
    ended = np.bincount(deep[is_observed], minlength=runs.longest + 2)[1:]
    rows, ends = exact[::-1].cumsum()[::-1], ended[::-1].cumsum()[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        chance, at = ends / rows, ended / exact
        pooled = np.r_[(ended[:-1] + ends[1:]) / (exact[:-1] + rows[1:]), np.nan]
        spread = np.sqrt(pooled * (1 - pooled) * (1 / exact + np.r_[1 / rows[1:], np.nan]))
        z = (at - np.r_[chance[1:], np.nan]) / spread
    from scipy.special import ndtri

    tests = int(np.isfinite(z).sum())
    limit = -ndtri(level / tests) if tests else np.inf
    falls = np.flatnonzero(np.nan_to_num(z, nan=-np.inf) > limit) + 1
    return RunEnds(chance[: runs.longest], rows[: runs.longest], tuple(int(j) for j in falls))
