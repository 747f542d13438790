"""Forecasts as a person and a program read them."""

from pathlib import Path
from typing import Any

from lostsales.apps.views.console import out, print_facts
from lostsales.apps.views.figures import rounded
from lostsales.apps.views.wide_table import print_wide
from lostsales.data.labels import spelled
from lostsales.demand.forecasting.forecast import Forecast

MOST_ROWS = 20


def forecast_json(found: Forecast, written: Path) -> dict[str, Any]:
    """How it was made, and one object a row."""
    columns = {
        name: [spelled(each) for each in values] if name in found.keys else values.tolist()
        for name, values in found.text_table.items()
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"written": str(written), "how": found.how.model_dump(), "forecast": rows}


def print_forecast(name: str, found: Forecast, written: Path) -> None:
    """What it rests on, and its first rows."""
    how = found.how
    cycles = " and ".join(f"{length} periods" for length in how.season)
    own = "of each series, shrunk towards a common one" if how.own_season else "common to all series"
    earlier = (
        f"forecasts from {how.origins} earlier periods" if how.origins else "no earlier forecasts: too few periods"
    )
    print_facts(
        name,
        [
            ("demand of", f"{how.series:,} series over {how.periods:,} periods"),
            ("stock-outs", f"{how.stockouts:,} rows: demand is censored or unknown"),
            ("season", f"of {cycles}, {own}" if how.season else "none"),
            ("level", f"half of its weight is on the last {how.half_life:.0f} periods"),
            ("spread and weights from", earlier),
            *(("WARNING", warning) for warning in how.warnings),
        ],
    )
    table = {column: values[:MOST_ROWS] for column, values in found.text_table.items()}
    print_wide(
        "Forecast demand",
        keys={key: [spelled(each) for each in table[key]] for key in found.keys},
        figures={column: rounded(values) for column, values in table.items() if column not in found.keys},
        texts={},
    )
    if (more := len(found.mean) - MOST_ROWS) > 0:
        out.print(f"... and {more:,} more rows")
    out.print(f"written to {written}", soft_wrap=True, highlight=False)
