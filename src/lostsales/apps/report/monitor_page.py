"""The page of a monitored pilot, which needs no other file."""

from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from markupsafe import Markup

from lostsales.apps.console import sentence
from lostsales.apps.gains import bounds_text
from lostsales.apps.report.html import write_page
from lostsales.apps.report.svg import LETTER, Frame, path, ticks
from lostsales.evaluation.assortment import amount
from lostsales.evaluation.pilot.monitor import GainSequence, Monitoring, changes

WIDE, NARROW = 930.0, 350.0  # pixels
MOST_LINES = 50  # of a table
TITLES = {
    "success": ("gain", "Stop: the new policy earns more"),
    "harm": ("loss", "Stop: the new policy earns less"),
    "undecided": ("", "The planned end is past, without a verdict"),
    "go on": ("", "Go on"),
}


def write_monitor_page(found: Monitoring, out: Path, files: list[tuple[str, Path]]) -> None:
    """Write the page, which takes its place only when it is whole."""
    kind, title = TITLES[found.verdict]
    write_page(
        "monitor.html",
        {"money": lambda value: "-" if not np.isfinite(value) else amount(value, signed=False)},
        out,
        found=found,
        pilot=found.pilot,
        kind=kind,
        title=title,
        sentence=sentence(found.sentence),
        gains=[
            (name, bounds_text(None if each is None else each.last))
            for name, each in (("profit", found.profit), ("cash", found.cash))
        ],
        share=found.gain_share,
        figure=None if found.profit is None else [draw_sequence(found.profit, width) for width in (WIDE, NARROW)],
        changes=changes(found.alarms),
        most_lines=MOST_LINES,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=version("lostsales"),
        digests=[(name, each.name, sha256(each.read_bytes()).hexdigest()) for name, each in files],
    )


def draw_sequence(gain: GainSequence, width: float) -> Markup:
    """The gain after every look, and its bounds as far as there are any."""
    found, looks = gain.sequence, len(gain.periods)
    bounded = np.isfinite(found.low) & np.isfinite(found.high)
    shown = np.r_[0.0, found.value[looks // 4 :], found.low[bounded], found.high[bounded]]
    low, high = float(np.quantile(shown, 0.02)), float(np.quantile(shown, 0.98))
    reach = 0.1 * (high - low or 1.0)
    frame = Frame(width, 300, (-0.5, looks - 0.5), (low - reach, high + reach))
    step = max(1, int(np.ceil(looks * (LETTER * max(map(len, gain.periods)) + 22) / width)))
    names = [(float(at), gain.periods[at]) for at in range(0, looks, step)]
    inside = [np.clip(each, *frame.y_range) for each in (found.value, found.low, found.high)]
    parts = [frame.axes(names, ticks(*frame.y_range), "period", "gain per period and series")]
    at = np.arange(looks, dtype=np.float64)
    if looks > 1:
        parts.append(frame.band(at, inside[1], inside[2], "band"))
        parts.append(frame.line(at, inside[0], "demand"))
    else:
        parts.append(frame.dot(0.0, float(inside[0][0]), "known", 4))
    parts.append(path(f"M{frame.left:.1f} {frame.y(0.0):.1f}H{frame.width - frame.right:.1f}", "zero"))
    return frame.svg("The gain so far and its bounds by period", parts)
