"""What plans know of the time after today, as it is saved."""

import numpy as np

from lostsales.learn.planner.arrivals import Arrivals
from lostsales.learn.planner.demand_paths import LATER, DemandPaths
from lostsales.learn.planner.projection_loops import FREE_TERMS, GAPS, Ahead
from lostsales.learn.planner.shortfall import POSITIONS, SHARES
from lostsales.policy.file_content import POSITIVE, ArraySpec, numbers
from lostsales.types import Array, Floats

AHEAD_ARRAYS: dict[str, ArraySpec] = {
    "ahead_mean": numbers("groups", "laws", "w", "shapes", "lags", f"{LATER}+horizon"),
    "ahead_covariance": numbers("groups", "laws", "w", "shapes", "lags", "horizon", "horizon"),
    "ahead_shortfall": numbers("groups", "laws", SHARES, POSITIONS, 3, least=0),
    "ahead_knots": numbers("groups", "laws", "knots", rising=True),
    "ahead_weights": numbers("groups", "laws", "phases", f"{FREE_TERMS + 1}+knots"),
    "ahead_range": numbers("groups", "laws", 2, 2),
    "ahead_price": numbers("groups", "laws"),
    "ahead_by_gap": numbers("groups", "laws", GAPS),
    "ahead_gap_step": numbers("groups", "laws", least=POSITIVE),
}


def ahead_sizes(arrivals: Arrivals) -> dict[str, int]:
    """The sizes that the supply of a problem fixes."""
    return {"phases": arrivals.phases, "horizon": max(arrivals.longest, 1)}


def aheads_to_arrays(aheads: tuple[tuple[Ahead, ...], ...]) -> dict[str, Array]:
    """The arrays of all plans, (groups, laws, ...)."""

    def stacked(name: str) -> Floats:
        return np.stack([np.stack([_part(each, name) for each in of_group]) for of_group in aheads])

    arrays: dict[str, Array] = {name: stacked(name.removeprefix("ahead_")) for name in AHEAD_ARRAYS}
    return arrays


def aheads_from_arrays(arrays: dict[str, Array]) -> tuple[tuple[Ahead, ...], ...]:
    """From `aheads_to_arrays`."""
    own = {name.removeprefix("ahead_"): arrays[name] for name in AHEAD_ARRAYS}
    groups, laws = own["price"].shape
    return tuple(tuple(_ahead(own, group, law) for law in range(laws)) for group in range(groups))


def _part(ahead: Ahead, name: str) -> Floats:
    return np.asarray(getattr(ahead.paths if name in DemandPaths._fields else ahead, name), dtype=np.float64)


def _ahead(arrays: dict[str, Array], group: int, law: int) -> Ahead:
    own = {name: np.ascontiguousarray(each[group, law]) for name, each in arrays.items()}
    return Ahead(
        paths=DemandPaths(own["mean"], own["covariance"]),
        shortfall=own["shortfall"],
        knots=own["knots"],
        weights=own["weights"],
        range=own["range"],
        price=float(arrays["price"][group, law]),
        by_gap=own["by_gap"],
        gap_step=float(arrays["gap_step"][group, law]),
    )
