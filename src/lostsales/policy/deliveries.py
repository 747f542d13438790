"""Orders on the way: which of them arrive in a period, as a pure function of the pipeline, the order and the draws."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.economics import advanced, whole_delivery
from lostsales.data.shop import Shop
from lostsales.data.supply import LeadTimes
from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Orders that were placed and did not arrive, of many series."""

    units: Floats  # (series, longest lead time - 1) column k was ordered (columns - k) periods ago
    is_lost: Bools | None = None  # the same shape, hidden from a retailer; None where lead times are fixed

    @classmethod
    def of(cls, shop: Shop, units: Floats | None, series: int, rng: np.random.Generator) -> "Pipeline":
        """The pipeline of an opening, empty by default; whether an order in it is lost is drawn."""
        length, law = shop.pipeline_length, shop.lead_times
        units = np.zeros((series, length)) if units is None else units
        if law.is_fixed:
            return cls(units)
        waited = length - np.arange(length)
        return cls(units, rng.random((series, length)) < law.lost_after[waited])

    @property
    def seen(self) -> Floats | None:
        """Pipeline as a `View` shows it."""
        return self.units if self.units.shape[1] else None


def deliver(pipeline: Pipeline, order_t: Floats, shop: Shop, rng: np.random.Generator) -> tuple[Floats, Pipeline]:
    """Arrivals of a period, (series,), and the pipeline that the next period opens with.

    An order that has waited a periods and is not lost arrives with the chance `LeadTimes.hazards[a]`, a from 1 (in the
    period in which it is placed) on. Orders that may cross have draws of their own; of those that may not, all that
    have waited long enough arrive together (Kaplan, 1970), by one draw a series.

    >>> shop = Shop(supply={"lead_time": 3})
    >>> arrived, later = deliver(Pipeline(np.array([[4.0, 5.0]])), np.array([6.0]), shop, np.random.default_rng(0))
    >>> arrived, later.units
    (array([4.]), array([[5., 6.]]))
    """
    law, entries = shop.lead_times, pipeline.units.shape[1] + 1
    outstanding = np.column_stack([pipeline.units, order_t])
    if law.is_fixed:
        arrived, kept = (
            outstanding[:, 0],
            Pipeline(outstanding[:, 1:]),
        )  # as `advanced` would, in a fraction of its time
    else:
        series = len(order_t)
        new = rng.random(series) < law.lost
        before = np.zeros((series, entries - 1), dtype=bool) if pipeline.is_lost is None else pipeline.is_lost
        is_lost = np.column_stack([before, new])
        drawn = rng.random((series, entries if shop.supply.crossing else 1))
        arrived, units = advanced(outstanding, (drawn < law.hazards[waiting_times(law)]) & ~is_lost)
        kept = Pipeline(units, is_lost[:, 1:])
    return _short(arrived, shop.supply.share, rng), kept


def waiting_times(law: LeadTimes) -> Ints:
    """Periods that the orders of a pipeline have waited, oldest first, the order of today the last one."""
    return np.arange(law.longest, 0, -1) if law.longest else np.zeros(1, dtype=np.int64)


def _short(arrived: Floats, share: float, rng: np.random.Generator) -> Floats:
    """The share of a delivery that comes, rounded to whole units at random."""
    if share == 1:
        return arrived
    whole, more = whole_delivery(arrived, share)
    return whole + (rng.random(len(arrived)) >= 1 - more)
