"""The function `forecast`: demand of the coming periods by series, with quantiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from lostsales import plots
from lostsales.data.labels import SERIES_SEPARATOR, beside
from lostsales.data.log import LogNotes, SalesLog
from lostsales.data.problem import Columns
from lostsales.data.progress import Progress
from lostsales.data.reading.gate import read_log
from lostsales.data.settings import Settings
from lostsales.demand.model.future import changed_plan, describe, price_warning, read_plan
from lostsales.demand.model.model import StructuralDemand
from lostsales.demand.model.season import LEAST_CYCLES
from lostsales.errors import SettingError
from lostsales.types import Array, Floats

MOST_AHEAD = 1_000  # largest horizon, in periods


class ForecastFacts(Settings):
    """Facts about how a forecast was made."""

    series: int
    periods: int  # length of the history used
    stockouts: int  # rows whose demand is at least their sales, or unknown
    origins: int  # earlier origins at which the forecast was repeated
    season: tuple[int, ...]  # lengths of the cycles, in periods
    own_season: bool  # series have indices of their own
    half_life: float  # periods, the usual one of the mixture
    coming: str = ""  # assumption about prices and features of the coming periods
    warnings: tuple[str, ...] = ()  # what makes it doubtful


@dataclass(frozen=True, eq=False)
class Forecast:
    """Forecast of demand, not sales, one row per series and period.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("newsvendor", episodes=5, seed=1)
    >>> found = lostsales.forecast(log, horizon=2, levels=(10, 90))
    >>> list(found.table), len(found.mean)
    (['series', 'period', 'mean', 'q10', 'q90'], 10)

    """

    columns: Columns  # names of the key columns
    names: Array  # (rows,) text, series
    period: Array  # (rows,)
    mean: Floats  # (rows,)
    quantiles: dict[float, Floats]  # by probability in per cent, each (rows,)
    how: ForecastFacts

    @property
    def keys(self) -> dict[str, Array]:
        """Key columns of a row, under their names in the log."""
        parts = self.columns.series_parts
        split = [str(name).split(SERIES_SEPARATOR, len(parts) - 1) for name in self.names]
        named = {name: np.array([each[at] for each in split], dtype=object) for at, name in enumerate(parts)}
        return named | {self.columns.period: self.period}

    @property
    def table(self) -> dict[str, Array]:
        """Columns of a long table: keys, mean and one column per quantile, such as q90."""
        keys = self.keys
        found = {"mean": self.mean} | {f"q{level:g}": values for level, values in self.quantiles.items()}
        return keys | beside(found, keys, "forecast_")

    @property
    def text_table(self) -> dict[str, Array]:
        """Table for a text file or a screen; timestamps at midnight are written as dates."""
        if self.period.dtype.kind != "M":
            return self.table
        days = self.period.astype("datetime64[D]")
        return self.table | ({self.columns.period: days} if (days == self.period).all() else {})

    def plot(self, name: str | None = None) -> Any:
        """Picture of the demand expected of a product, by default of the first."""
        return plots.draw_forecast(self, name)

    def _repr_html_(self) -> str:
        return plots.html(f"Demand of {self.how.series} products, the first:", self.plot)

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Table as a pandas, polars or pyarrow frame."""
        import narwhals as nw

        return nw.from_dict(self.table, backend=backend).to_native()


def forecast(
    log: Any,
    horizon: int = 1,
    levels: Sequence[float] = (10, 50, 90),
    *,
    future: Any = None,
    changes: Sequence[str] = (),
    season: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Forecast:
    """Forecast the demand of every series, with quantiles.

    Demand is a moving level times a seasonal index times a response to the price, to the prices of competing products
    and to features (`StructuralDemand`). The level is estimated with several forgetting rates; a stock-out updates it
    by the conditional mean demand. The weights of the rates and the spread around the mean are those that forecast best
    from earlier origins of the log.

    Parameters
    ----------
    log : SalesLog, path or table
        What `read_log` returns, or what it reads; a table needs no more than `series`, `period` and `sales`, or
        `unique_id`, `ds` and `y`.
    horizon : int
        Periods to forecast, from the last one of each series on; closed periods are left out.
    levels : sequence of float
        Quantiles, in per cent.
    future : path or table, optional
        Prices and features of coming periods, one row per product and period under the column names of the log;
        products that it does not list, and by default all, have their usual prices and features.
    changes : sequence of str
        Changes of the coming prices or features of all products, such as `price=-10%` or `promotion=1`.
    season : int, optional
        Length of the seasonal cycle in periods, 1 for none. By default weekdays, weeks of the year and months follow
        from the dates, and there is no season if periods are plain numbers.
    seed : int
        Seed of the sample of forecasts on which seasons and spreads are chosen.
    progress : callable, optional
        Called with work done and work in total.

    Returns
    -------
    Forecast
        Mean and quantiles; quantiles are whole numbers if demand is.

    Raises
    ------
    SettingError
        A setting is out of range, or a change names no price or feature.
    LogError
        The table, or that of the future, cannot be used.

    Examples
    --------
    >>> import pandas as pd
    >>> weeks = pd.date_range("2026-01-05", periods=8, freq="7D")
    >>> table = pd.DataFrame({"unique_id": "milk", "ds": weeks, "y": [3, 4, 2, 5, 3, 4, 3, 4]})
    >>> forecast(table, horizon=1, levels=(50,)).to_frame()[["unique_id", "ds", "q50"]].values.tolist()
    [['milk', Timestamp('2026-03-02 00:00:00'), 3.0]]

    """
    _check_settings(horizon, levels, season)
    sales = log if isinstance(log, SalesLog) else read_log(log, sales_only=True)
    model = StructuralDemand.fit(sales, horizon, season=season, seed=seed, progress=progress)
    plan, known = (model.usual_plan, ()) if future is None else read_plan(future, sales.problem, model)
    panel = model.panel
    plan = changed_plan(plan, changes, sales.problem, panel.market.names)
    ahead = model.ahead(plan)
    assumed = Assumed(describe(known, changes, model), price_warning(plan, panel))
    found = {level: ahead.quantile(level / 100).reshape(-1) for level in sorted(set(map(float, levels)))}
    return Forecast(
        columns=sales.problem.columns,
        names=np.repeat(panel.names, horizon),
        period=panel.coming_period.reshape(-1),
        mean=ahead.mean.reshape(-1),
        quantiles={level: np.rint(values) if panel.whole else values for level, values in found.items()},
        how=_facts(model, sales.notes, assumed),
    )


class Assumed(NamedTuple):
    """Assumption about the prices and features of coming periods, and a warning about it."""

    text: str
    warning: str


def _facts(model: StructuralDemand, notes: LogNotes, assumed: Assumed) -> ForecastFacts:
    panel, learned = model.panel, model.learned
    hidden = panel.censored | panel.silent
    return ForecastFacts(
        series=len(panel.names),
        periods=panel.demand.shape[1],
        stockouts=int(np.count_nonzero(hidden)),
        origins=model.origins,
        season=tuple(each.columns for each in panel.cycles if panel.demand.shape[1] >= LEAST_CYCLES * each.columns),
        own_season=learned.seasons is not None,
        half_life=learned.half_life,
        coming=assumed.text,
        warnings=(*notes.record_warnings, *filter(None, [assumed.warning])),
    )


def _check_settings(horizon: int, levels: Sequence[float], season: int | None) -> None:
    if not 1 <= horizon <= MOST_AHEAD:
        raise SettingError(f"horizon must be from 1 to {MOST_AHEAD:,} periods, but {horizon} came")
    if season is not None and season < 1:
        raise SettingError(f"season must be at least 1 period, but {season} came")
    if wrong := [level for level in levels if not 0 < level < 100]:
        raise SettingError(f"levels must lie between 0 and 100 per cent, but {wrong[0]:g} came")
    if not len(levels):
        raise SettingError("levels must have at least one, such as 50, but none came")
