"""Writes docs/leaderboard.md from the stored results of benchmarks: `python -m tools.leaderboard_page`.

`lostsales benchmark NAME [DATA] [--policy MODULE:CLASS] --out DIR` writes NAME.json or NAME-MODULE-CLASS.json; put into
docs/results/boards, it is an entry.
"""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from lostsales.apps.commands.benchmark import BoardName
from lostsales.apps.tables import markdown_table

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "leaderboard.md", DOCS / "results" / "boards"
HEAD = """# Leaderboard

Written by `python -m tools.leaderboard_page` from the results in `docs/results/boards`. The page of the
[public benchmarks](public-benchmarks.md) has the protocols, and how to run a policy of yours. Standard errors are in
brackets. `inventorybench` is measured on the 660 development instances; the published figures are of all 1,320 (version
0.4 scored 0.611 on the other 660).
"""
RULES = {
    "score": "more is better",
    "share of logs whose regime the audit names": "more is better",
    "per cent of sales within the 80 % band": "80 is right",
}


def page() -> str:
    """The whole page: a table for each figure of each board, entries and published figures in order."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    parts = [HEAD]
    for name in BoardName:
        found = [each for each in entries if each["benchmark"] == name]
        if found:
            parts += [f"\n## {name}\n\nSource: {found[0]['source']}.\n", *_tables(found)]
    return "".join(parts)


def _tables(entries: list[dict[str, Any]]) -> list[str]:
    """One table for each part of a board: cases in rows, who measured or published what in columns."""
    rows = [row | {"who": _who(entry)} for entry in entries for row in entry["rows"]]
    rows += [
        row | {"who": row["published_by"], "ours": row["published"], "std_error": None}
        for row in entries[0]["rows"]
        if row["published"] is not None
    ]
    parts = []
    for (board, figure), group in groupby(_in_order(rows), key=lambda row: (row["board"], row["figure"])):
        shown = list(group)
        who = list(dict.fromkeys(row["who"] for row in shown))
        cases = list(dict.fromkeys(row["case"] for row in shown))
        cells = {(row["case"], row["who"]): _figure(row) for row in reversed(shown)}
        lines = [[case, *(cells.get((case, each), "") for each in who)] for case in cases]
        what = board if board == figure else f"{board}: {figure}"
        rule = RULES.get(figure, "less is better")
        table = "\n".join(markdown_table(["", *who], lines))
        parts.append(f"\n{what[0].upper()}{what[1:]} ({rule}).\n\n{table}\n")
    return parts


def _who(entry: dict[str, Any]) -> str:
    return f"lostsales {entry['version']}" if entry["policy"] == "lostsales" else str(entry["policy"])


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a part together, parts in the order of their first row."""
    first = {key: at for at, key in reversed(list(enumerate((row["board"], row["figure"]) for row in rows)))}
    return sorted(rows, key=lambda row: first[row["board"], row["figure"]])


def _figure(row: dict[str, Any]) -> str:
    value = f"{row['ours']:,.0f}" if abs(row["ours"]) >= 1000 else f"{row['ours']:.3f}"
    return value if row["std_error"] is None else f"{value} ({row['std_error']:.3f})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
