"""When the shop of a table is closed, and which periods are missing otherwise."""

from typing import Any, NamedTuple

import numpy as np

from lostsales.data.calendar.clock import Clock
from lostsales.data.calendar.openings import ClockRows, find_openings
from lostsales.data.calendar.words import closing_lines, closings
from lostsales.data.proposal.sample import Sample
from lostsales.types import Array


class ClockFacts(NamedTuple):
    """Closed days and gaps of all series together."""

    holes: int = 0
    closed: str = ""  # in words; empty where the shop never is


def clock_facts(sample: Sample, series: tuple[str, ...], period: str, *, is_date: bool) -> ClockFacts:
    """Find closed days and gaps from the SQL expressions of the columns."""
    parts = [f"regexp_replace(CAST({each} AS VARCHAR), '\\.0$', '')" for each in series]
    moment = f"epoch_us({period})" if is_date else f"TRY_CAST({period} AS BIGINT)"
    asked = "".join(f", {each} AS part{index}" for index, each in enumerate(parts))
    table = sample.connection.execute(
        f"SELECT DISTINCT concat_ws(' / ', '', {', '.join(parts) or '1'}) AS name, {moment} AS period{asked} FROM log "
        f"WHERE {moment} IS NOT NULL ORDER BY name, period"
    ).fetchnumpy()
    time = np.ma.filled(np.ma.asarray(table["period"], dtype=np.int64), 0)
    if len(time) < 2:
        return ClockFacts()
    names, first, codes = np.unique(_texts(table["name"]), return_index=True, return_inverse=True)
    shared = {
        each: np.unique(_texts(table[f"part{index}"])[first], return_inverse=True)[::-1]
        for index, each in enumerate(parts if len(parts) > 1 else ())
    }
    shown = np.char.replace(names, " / ", "", count=1).tolist()
    rows = ClockRows(codes, shown, time.astype("datetime64[us]") if is_date else time, shared)
    found = find_openings(Clock(), rows)
    lines = closing_lines(closings(found.calendars, np.array(shown, dtype=object)))
    return ClockFacts(int(np.count_nonzero(found.is_hole)), "; ".join(lines))


def _texts(column: Any) -> Array:
    return np.ma.filled(np.ma.asarray(column, dtype=object), "").astype(str)
