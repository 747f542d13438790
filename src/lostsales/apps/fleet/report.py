"""Page of a fleet: where the profit is made, the worst products, and warnings."""

from math import isfinite
from pathlib import Path
from typing import Any

from lostsales.apps.figures_shown import number
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.overview import FleetAudit, FleetComparison
from lostsales.apps.report.html import write_page
from lostsales.evaluation.interval import Interval

MOST_GROUPS, MOST_PRODUCTS, MOST_LINES = 40, 25, 12  # rows of the tables: the page does not grow with the fleet


def write_report(fleet: Fleet, audit: FleetAudit, comparison: FleetComparison | None, path: Path, command: str) -> None:
    """Write the page, which needs no other file; its size does not grow with the number of products."""
    currency = fleet.problem.format.currency
    gains = [] if comparison is None else [each for each in comparison.products if each["gain"]]
    write_page(
        "fleet.html",
        {"money": _money, "range": _range},
        path,
        version=fleet.name,
        manifest=fleet.version.manifest,
        audit=audit,
        found=comparison,
        verdict=_verdict(comparison, currency),
        currency=currency or "",
        groups=_groups(audit, comparison),
        most_groups=MOST_GROUPS,
        best=gains[:MOST_PRODUCTS],
        worst=gains[::-1][:MOST_PRODUCTS],
        flags=audit.findings,
        most_lines=MOST_LINES,
        command=command,
    )


def _groups(audit: FleetAudit, comparison: FleetComparison | None) -> list[dict[str, Any]]:
    """Groups sorted by cash, each with its share of the total, and its gain if known."""
    gains = {} if comparison is None else comparison.by
    total = sum(max(each["cash"], 0.0) for each in audit.by.values()) or 1.0
    return [
        {"name": name, **each, "share": max(each["cash"], 0.0) / total, "gain": gains.get(name)}
        for name, each in audit.by.items()
    ]


def _verdict(comparison: FleetComparison | None, currency: str | None) -> dict[str, str]:
    if comparison is None:
        text = "No gain is known yet: `lostsales fleet compare` evaluates the policies on held-out rows."
        return {"kind": "", "title": "What the fleet earns now", "text": text}
    total = comparison.total
    doubtful = comparison.verdict != "deploy"
    proven = "a gain that is not proven, run a pilot first" if doubtful else "a proven gain"
    sure = proven if total.gain.low > 0 else "a proven loss" if total.gain.high < 0 else "no proven gain"
    money = f" {currency}" if currency else ""
    judged = f"Evaluated on {total.products_judged:,} products in {total.shards_judged:,} of {total.shards:,} shards"
    return {
        "kind": "gain" if total.gain.low > 0 and not doubtful else "loss" if total.gain.high < 0 else "",
        "title": f"{sure.capitalize()}: {_money(total.gain.value, signed=True)}{money} per period over all products",
        "text": f"{judged}; 95 % interval {_range(total.gain)}. In cash, without the cost of lost sales: "
        f"{_money(total.cash_gain.value, signed=True)} ({_range(total.cash_gain)}). "
        f"{total.proven_share:.0%} of the evaluated products have a proven gain of their own.",
    }


def _money(value: float | None, signed: bool = False) -> str:
    if value is None or not isfinite(value):
        return "unknown"
    return f"{'+' if signed and value > 0 else ''}{number(value)}"


def _range(interval: Interval | dict[str, float]) -> str:
    low, high = (interval["low"], interval["high"]) if isinstance(interval, dict) else (interval.low, interval.high)
    return f"{_money(low, signed=True)} to {_money(high, signed=True)}"
