"""The gain of a fleet from those of its shards, all of them or some that were drawn.

Shards hold different products, so their errors are treated as independent. If shards were drawn at random, the total
of those that were evaluated is scaled up by the number of products, with the error of drawing them: the variance of the
gain of a product between shards.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lostsales.data.confidence import margin
from lostsales.evaluation.interval import Interval
from lostsales.types import Floats


@dataclass(frozen=True)
class ShardGain:
    """The gain of a shard; money is a period, of all its products."""

    products: int
    judged: int  # products whose gain has a figure
    proven: int
    gain: Interval  # in profit, over what was logged
    cash_gain: Interval
    earned: Interval  # logged profit


@dataclass(frozen=True)
class FleetGain:
    """The gain of a fleet; money is a period, of all its products."""

    products: int
    shards: int
    shards_judged: int
    products_judged: int
    products_proven: int
    gain: Interval
    cash_gain: Interval
    earned: Interval

    @property
    def proven_share(self) -> float:
        """Share of the evaluated products with a proven gain."""
        return self.products_proven / self.products_judged if self.products_judged else float("nan")


def fleet_gain(found: Sequence[ShardGain], products: int, shards: int) -> FleetGain:
    """Gain of all products in all shards, from those that were evaluated.

    >>> one = ShardGain(10, 10, 4, Interval(5.0, 2.0, 8.0), Interval(4.0, 1.0, 7.0), Interval(50.0, 49.0, 51.0))
    >>> both = fleet_gain([one, one], products=20, shards=2)
    >>> both.gain.value, round(both.gain.low, 2), both.proven_share
    (10.0, 5.76, 0.4)
    """
    sizes = np.array([each.products for each in found], dtype=np.float64)

    def total(of_shards: Sequence[Interval]) -> Interval:
        return _total(of_shards, sizes, products, shards)

    return FleetGain(
        products=products,
        shards=shards,
        shards_judged=len(found),
        products_judged=sum(each.judged for each in found),
        products_proven=sum(each.proven for each in found),
        gain=total([each.gain for each in found]),
        cash_gain=total([each.cash_gain for each in found]),
        earned=total([each.earned for each in found]),
    )


def _total(of_shards: Sequence[Interval], sizes: Floats, products: int, shards: int) -> Interval:
    """The sum over shards, scaled up to all products where not all shards were evaluated."""
    value = np.array([each.value for each in of_shards])
    reach = np.array([each.reach for each in of_shards])
    factor = products / float(sizes.sum())
    error = factor * float(np.sqrt((reach**2).sum()))
    if len(value) < shards:
        spread = float(np.std(value / sizes, ddof=1)) if len(value) > 1 else np.inf
        error = float(np.hypot(error, margin(products * spread * np.sqrt((1 - len(value) / shards) / len(value)))))
    return Interval.around(factor * float(value.sum()), error)
