"""`lostsales recommend`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands.options import Full, Json, PolicyFile
from lostsales.apps.commands.reading import rows_source
from lostsales.apps.console import print_notes, screen, show
from lostsales.apps.tables import json_rows, key_texts, print_wide, write_result

if TYPE_CHECKING:
    from lostsales.data.databases.address import DatabaseAddress
    from lostsales.policy.limits import AppliedLimit
    from lostsales.policy.recommendation import Recommendation

TEXTS = ("price_reason", "order_reason", "expected_arrivals", "flag")
MOST_LIMITS = 10  # of groups of products that are shown
MOST_ROWS = 50  # shown in a table
BRIEF = "expected_demand", "stockout_chance", "periods_of_cover"


def recommend(
    policy: PolicyFile,
    recent: Annotated[
        str | None,
        typer.Option("--log", "--recent", help="Completed rows of each series: the log, or its last weeks."),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(
            help="One open row per series: series, period, features, stock; rows of later periods give their features. "
            "By default the period after the log, with the stock that it leaves and features as usual."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write the recommendations as .parquet, .csv or .xlsx, or a database as for LOG, in one transaction."
        ),
    ] = None,
    today_query: Annotated[
        str | None, typer.Option(metavar="SQL", help="The open rows, where --today is a database.")
    ] = None,
    recent_query: Annotated[
        str | None, typer.Option(metavar="SQL", help="The completed rows, where --recent is a database.")
    ] = None,
    table: Annotated[str, typer.Option(help="The table of a database that --out writes to.")] = "lostsales_decisions",
    run: Annotated[
        str | None, typer.Option(help="Name of the run in that table; by default derived from the decisions.")
    ] = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Recommend today's price and order of every series.

    Example: `lostsales recommend policy --log recent.csv --out orders.xlsx`
    """
    from lostsales.apps.gains import policy_verdict_json, print_policy_verdict
    from lostsales.data.databases.address import DatabaseAddress, is_address
    from lostsales.data.reading.table import files_of
    from lostsales.data.writing import check_table
    from lostsales.errors import LostSalesError
    from lostsales.policy.file_format import load
    from lostsales.policy.recommendation import recommendation

    if today is None and recent is None:
        raise LostSalesError("give --log, the completed rows, or --today, the rows to decide for")
    open_rows = None if today is None else rows_source(today, today_query)
    closed_rows = None if recent is None else rows_source(recent, recent_query)
    database = DatabaseAddress.of(out) if out is not None and is_address(out) else None
    file = Path(out) if out is not None and database is None else None
    if file is not None:
        read = [path for rows in (open_rows, closed_rows) if rows is not None for path in files_of(rows)]
        check_table(file, (policy, *read))
    decides = load(policy)
    found = recommendation(decides, closed_rows, open_rows)
    if file is not None:
        write_result(found, file)
    added = None if database is None else _stored(found, policy, database, table, run)

    def text() -> None:
        print_policy_verdict(decides)
        written = file if database is None else f"{table} of {database}"
        print_recommendation(f"Today by {policy}", found, written, full=full)

    show(
        as_json,
        lambda: (
            policy_verdict_json(decides)
            | {"recommendations": json_rows(found)}
            | limits_json(found.limits)
            | ({} if added is None else {"rows_added": added})
        ),
        text,
    )


def limits_json(limits: "Sequence[AppliedLimit]") -> dict[str, Any]:
    """Limits and their prices for JSON, nothing without limits."""
    return {"limits": [asdict(each) for each in limits]} if limits else {}


def _limit_sentences(limits: "Sequence[AppliedLimit]") -> list[str]:
    """Use and price of limits in words, the dearest first, and how near the orders are to the best."""
    if not limits:
        return []
    shown = [each.sentence for each in sorted(limits, key=lambda each: -each.price)[:MOST_LIMITS]]
    more = [f"and {len(limits) - MOST_LIMITS:,} more limits"] if len(limits) > MOST_LIMITS else []
    return [*shown, *more, f"orders within these limits are at most {limits[0].gap:.2%} below the best"]


def _stored(found: "Recommendation", policy: Path, database: "DatabaseAddress", table: str, run: str | None) -> int:
    """Number of decisions that were new to the table of a database."""
    from lostsales.data.databases.decisions import run_name, write_decisions

    return write_decisions(database, found.table, tuple(found.keys), run or run_name(policy, found.table), table)


def print_recommendation(
    title: str, found: "Recommendation", written: Path | str | None, *, full: bool = False
) -> None:
    """The first rows as tables that fit the screen: what to do and what to look at; `full` adds the rest."""
    import numpy as np

    from lostsales.apps.figures_shown import exact, percentages, rounded, tenths

    shown = {  # next to price and order, if the policy gives them
        "expected_demand": rounded,
        "demand_level": percentages,
        "season_factor": percentages,
        "price_units": rounded,
        "price_margin": rounded,
        "stockout_chance": percentages,
        "stockout_before_delivery": percentages,
        "periods_of_cover": tenths,
        "expected_lost": rounded,
        "expected_fill_rate": percentages,
        "expected_profit": rounded,
        "value": rounded,
        "advantage": rounded,
        "depth": exact,
        "on_order": exact,
    }
    columns = {name: values[:MOST_ROWS] for name, values in found.text_table.items()}
    names, prices = found.problem.columns, np.array(found.problem.prices or ())
    figures = {names.price: exact(columns[names.price], prices), names.order: exact(columns[names.order])}
    free = columns.keys() - found.keys - {names.price, names.order}
    figures |= {
        _said(name): text(columns[name])
        for name, text in shown.items()
        if name in free
        and not np.isnan(columns[name]).all()
        and (name != "depth" or columns[name].any())
        and (full or name in BRIEF)
    }
    print_wide(
        title,
        keys=key_texts(found, MOST_ROWS),
        figures=figures,
        texts={
            _said(name): columns[name].tolist()
            for name in TEXTS
            if name in free and (full or (name == "flag" and any(columns[name])))
        },
    )
    if (more := len(found.columns[names.price]) - MOST_ROWS) > 0:
        screen.print(f"... and {more:,} more series")
    if not full:
        screen.print("--full adds the other figures, and the reasons for each price and order.", style="dim")
    print_notes(_limit_sentences(found.limits))
    if written is not None:
        screen.print(f"written to {written}", soft_wrap=True, highlight=False)


def _said(column: str) -> str:
    """Name of a column in words."""
    return column.replace("_", " ")
