"""FreshRetailNet: recovery of demand that stock-outs hid, where it is known.

A fifth of the days in stock is cut as real stock-outs cut other days, filled in by `impute` from what remains and all
other days, and compared with what was sold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lostsales.data.reading.freshretail import CLOSE, OPEN
from lostsales.demand.survival.imputation import impute
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.lab.benchmarks.freshretail_days import (
    CutDays,
    Cutting,
    FreshRetailDays,
    cut_at_hours,
    cut_at_supplies,
    log_of,
    read_days,
)
from lostsales.types import Bools, Floats

SHARE = 0.2  # of the days in stock that are cut
DRAWS = 4  # of the days to cut, and of the cuts
CUTTINGS: dict[str, Cutting] = {"hours": cut_at_hours, "supplies": cut_at_supplies}
NAMES = {"hours": "cut at hours of real stock-outs", "supplies": "cut at supplies of days that sold out"}
ALL_DAYS, OTHER_DAYS = "impute, from all days", "impute, without days of real stock-outs"
OURS = (ALL_DAYS, OTHER_DAYS)
FIGURES = {"bias": "bias, per cent of demand", "error": "mean absolute error"}


@dataclass(frozen=True, eq=False)
class CutRun:
    """One draw of days that are cut."""

    days: FreshRetailDays
    cutting: str
    seed: int
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"{self.cutting}-{self.seed}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the days."""
        days = self.days
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(self.key, by, days.sales.tobytes(), days.hourly.tobytes(), days.sold_out.tobytes())

    def run(self) -> Figures:
        """Bias and mean absolute error of each way to fill in; how many days were cut."""
        days, rng = self.days, np.random.default_rng(self.seed)
        clean = np.flatnonzero(days.clean)
        rows = np.sort(rng.choice(clean, int(SHARE * len(clean)), replace=False))
        cut = CUTTINGS[self.cutting](days, rows, rng)
        truth = days.sales[cut.rows]
        ways = {"sales read as demand": cut.sales} | scaled(days, cut)
        if self.entrant:
            ways[self.entrant.place] = asked(self.entrant, days, cut)
        else:
            kept = {ALL_DAYS: np.ones_like(days.clean), OTHER_DAYS: days.clean}
            ways |= {way: imputed(days, cut, which) for way, which in kept.items()}
        found: Figures = {"days": float(len(truth))}
        for way, filled in ways.items():
            error = filled - truth
            found[f"bias: {way}"] = float(100 * error.mean() / max(truth.mean(), 1e-12))
            found[f"error: {way}"] = float(np.abs(error).mean())
        return found


@dataclass(frozen=True, eq=False)
class FreshRetail:
    """The board."""

    days: FreshRetailDays
    entrant: Entrant | None = None
    name: str = "freshretail"
    source: str = (
        "data: Dingdong-Inc, FreshRetailNet-50K (CC BY 4.0), arXiv 2505.16319; the cuts, and the figures of simple "
        "methods next to ours, are measured here"
    )

    @classmethod
    def read(cls, data: Path) -> "FreshRetail":
        """Read from the publisher's folder or file, or a sample of it."""
        return cls(read_days(data))

    @property
    def parts(self) -> Sequence[CutRun]:
        """Draws of each cut."""
        return [CutRun(self.days, cutting, seed, self.entrant) for cutting in CUTTINGS for seed in range(DRAWS)]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Ours beside each simple way, means over draws."""
        found = []
        entered = (self.entrant.place,) if self.entrant else OURS
        for cutting, name in NAMES.items():
            draws = [measured[CutRun(self.days, cutting, seed).key] for seed in range(DRAWS)]
            by_name = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
            for figure, words in FIGURES.items():
                simple = {
                    way: float(values.mean())
                    for key, values in by_name.items()
                    if key.startswith(f"{figure}: ") and (way := key.removeprefix(f"{figure}: ")) not in entered
                }
                for way in entered:
                    ours = by_name[f"{figure}: {way}"]
                    found += [
                        BoardRow.of(name, way, words, ours, value, f"{by} (measured here)")
                        for by, value in simple.items()
                    ]
        return found


def scaled(days: FreshRetailDays, cut: CutDays) -> dict[str, Floats]:
    """Sales divided by the share of the day until the cut; a day cut before opening has the mean of its series."""
    learned = days.clean.copy()
    learned[cut.rows] = False
    count = np.bincount(days.series, learned, days.series.max() + 1)
    total = np.bincount(days.series, days.sales * learned, len(count))
    usual = np.divide(total, count, out=np.full(len(count), days.sales[learned].mean()), where=count > 0)
    profile = np.r_[0.0, days.hourly[learned].sum(axis=0).cumsum()]
    shares = {
        "scaled by open hours": (cut.hour - OPEN) / (CLOSE - OPEN),
        "scaled by usual sales until then": profile[cut.hour] / max(profile[-1], 1e-12),
    }
    opened, fallback = cut.hour > OPEN, usual[days.series[cut.rows]]
    return {way: np.where(opened, cut.sales / np.where(opened, share, 1.0), fallback) for way, share in shares.items()}


def asked(entrant: Entrant, days: FreshRetailDays, cut: CutDays) -> Floats:
    """Demand of the cut days by an entrant that is shown all days, the cut ones as a shop would see them."""
    sales, until, stockout = days.sales.copy(), np.where(days.clean, CLOSE, days.sold_out.argmax(axis=1)), ~days.clean
    sales[cut.rows], until[cut.rows], stockout[cut.rows] = cut.sales, cut.hour, True
    day = np.arange(len(sales)) - np.searchsorted(days.series, days.series)
    columns = {"series": days.series, "day": day, "sales": sales, "stockout": stockout, "sold_out_from": until}
    return entrant.start({name: values[~stockout] for name, values in columns.items()}, "demand")(columns)[cut.rows]


def imputed(days: FreshRetailDays, cut: CutDays, kept: Bools) -> Floats:
    """Expected demand of the cut days, from a log of the days that are kept."""
    log = log_of(days, cut, kept)
    at = np.searchsorted(np.flatnonzero(kept), cut.rows)
    asked = np.zeros(len(log), dtype=bool)
    asked[at] = True
    return impute(log, replicates=0, only=asked).expected_demand[at]
