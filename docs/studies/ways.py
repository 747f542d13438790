"""Ways of ordering, and what each earns in the same periods: ours, and a forecast of sales with a safety stock."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import lostsales
from docs.studies.replay import Books, Decide, Shop, play, profit, rows, today
from lostsales.errors import LostSalesError
from lostsales.types import Floats

MANAGER = "the manager goes on"
LONGEST_ETS_SEASON = 24  # beyond which the library models none


def models(season: int) -> dict[str, Any]:
    """The models of statsforecast that are tried, by name; those without a long season and two with it."""
    try:
        from statsforecast import models as library
    except ImportError:
        raise LostSalesError("the baseline needs statsforecast; `make study` runs a study with it") from None
    short = season if season <= LONGEST_ETS_SEASON else 1
    found = {
        "AutoETS": library.AutoETS(season_length=short),
        "AutoCES": library.AutoCES(season_length=short),
        "Theta": library.DynamicOptimizedTheta(season_length=short),
        "Croston": library.CrostonOptimized(),
        "smoothing": library.SimpleExponentialSmoothingOptimized(),
    }
    if season > short:
        found[f"Theta, season {season}"] = library.Theta(season_length=season)
        found[f"MSTL, season {season}"] = library.MSTL(season_length=season)
    return found


def usual_way(shop: Shop, model: Any) -> Decide:
    """A forecast of sales until the next order arrives, and a safety stock by the critical fractile."""
    from statsforecast import StatsForecast

    covered, count = shop.lead_time + 1, len(shop.series)
    safety = norm.ppf(shop.fractile) * np.sqrt(covered)

    def decide(books: Books, now: int) -> Floats:
        sales = books.sales[:, :now]
        keys = {"unique_id": np.repeat(np.arange(count), now), "ds": np.tile(np.arange(now), count)}
        library: Any = StatsForecast(models=[model], freq=1)
        ahead = library.forecast(df=pd.DataFrame({**keys, "y": sales.ravel()}), h=covered, fitted=True)
        fitted = library.forecast_fitted_values().iloc[:, -1].to_numpy().reshape(sales.shape)
        level = np.maximum(ahead.iloc[:, -1].to_numpy().reshape(count, covered), 0.0).sum(axis=1)
        level = level + safety * np.nanstd(sales - fitted, axis=1)
        return np.asarray(level - books.stock[:, now] - books.on_way(shop, now).sum(axis=1))

    return decide


def ours(shop: Shop, policy: lostsales.SavedPolicy) -> Decide:
    """The orders that a policy recommends, from all that was written down so far."""

    def decide(books: Books, now: int) -> Floats:
        found = policy.recommend(recent=rows(shop, books, range(now)), today=today(shop, books, now))
        return np.asarray(found.set_index("series")["order"].reindex(shop.series), dtype=np.float64)

    return decide


@dataclass(frozen=True)
class Row:
    """One way; figures are means over series and the counted periods of all windows."""

    way: str
    profit: float  # of a series in a period
    behind_best_usual: float | None = None  # profit less that of the best usual way, paired by series
    std_error: float | None = None  # of that difference, over series
    lost: float = 0.0  # share of demand
    left: float = 0.0  # units at the end of a period


@dataclass(frozen=True, eq=False)
class Outcome:
    """Profits of every way; tables are (series, counted periods of all windows) with NaN where not counted."""

    shop: Shop
    windows: tuple[range, ...]
    books: dict[str, list[Books]]  # by way, one a window

    @property
    def best_usual(self) -> str:
        """The usual way that earned most, known afterwards only."""
        usual = [way for way in self.books if way.startswith("statsforecast")]
        return max(usual, key=lambda way: float(np.nanmean(self.profits(way))))

    def profits(self, way: str) -> Floats:
        """Profits of a way by series and period."""
        tables = [profit(self.shop, books) for books in self.books[way]]
        return self._counted(tables)

    def rows(self) -> list[Row]:
        """Best first; differences to the best usual way, paired by series."""
        base = np.nanmean(self.profits(self.best_usual), axis=1)
        found = []
        for way, books in self.books.items():
            by_series = np.nanmean(self.profits(way), axis=1)
            gap = by_series - base
            lost = self._counted([self.shop.demand - each.sales for each in books])
            wanted = self._counted([self.shop.demand for _ in books])
            left = self._counted([each.stock - each.sales for each in books])
            error = float(np.nanstd(gap, ddof=1) / np.sqrt(np.isfinite(gap).sum()))
            is_base = way == self.best_usual
            found.append(
                Row(
                    way,
                    float(np.nanmean(by_series)),
                    None if is_base else float(np.nanmean(gap)),
                    None if is_base else error,
                    float(np.nansum(lost) / np.nansum(wanted)),
                    float(np.nanmean(left)),
                )
            )
        return sorted(found, key=lambda row: -row.profit)

    def by_window(self, way: str) -> list[float]:
        """Profit less that of the best usual way, of a series in a period of each window."""
        one, other = ([profit(self.shop, books) for books in self.books[each]] for each in (way, self.best_usual))
        gaps = zip(one, other, self.windows, strict=True)
        return [float(np.mean((a - b)[:, window][self.shop.is_known[:, window]])) for a, b, window in gaps]

    def _counted(self, tables: Sequence[Floats]) -> Floats:
        known = np.where(self.shop.is_known, 1.0, np.nan)
        return np.concatenate(
            [(table * known)[:, window] for table, window in zip(tables, self.windows, strict=True)], axis=1
        )


def try_ways(
    shop: Shop, books: Books, windows: Sequence[range], methods: Sequence[str], season: int
) -> tuple[Outcome, dict[str, lostsales.SavedPolicy]]:
    """Go on from the manager's books in every window; also the policies of the last one, by method."""
    found: dict[str, list[Books]] = {MANAGER: [books for _ in windows]}
    policies: dict[str, lostsales.SavedPolicy] = {}
    usual = models(season)
    for window in windows:
        log = lostsales.read_log(rows(shop, books, range(window.start)), shop.problem)
        policies = {method: lostsales.fit(log, method) for method in methods}
        deciding = {f"lostsales, {method}": ours(shop, policy) for method, policy in policies.items()}
        deciding |= {f"statsforecast, {name}": usual_way(shop, model) for name, model in usual.items()}
        for way, decide in deciding.items():
            found.setdefault(way, []).append(play(shop, books, window, decide))
            print(f"{shop.periods[window.start]}: {way}", file=sys.stderr, flush=True)
    return Outcome(shop, tuple(windows), found), policies


def as_records(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Plain values, rounded to what their errors allow."""
    return [
        {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(row).items()}
        for row in found
    ]
