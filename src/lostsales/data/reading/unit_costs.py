"""Unit costs of a log: numbers, columns, shares of the order cost, or a small table by product or supplier."""

from pathlib import Path

import numpy as np

from lostsales.data.column_names import fit
from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import listed
from lostsales.data.reading.table import Table, open_table
from lostsales.types import Floats, Ints

ROLES = ("lost", "order", "holding")
SURE = 0.9  # fit of a name that means the cost of a role, see `column_names.fit`


def read_costs(reader: ColumnReader, problem: Problem) -> tuple[UnitCosts | None, tuple[str, ...], Costs]:
    """The unit costs, or None; the names of those that are not known; and the costs that rows of such a log have.

    Of the last, figures from a table or a share of another cost are columns of the log.
    """
    given, names = problem.costs, problem.columns
    by_table = {} if given.table is None else _by_table(reader, problem, Path(given.table))
    found: dict[str, Floats | float] = {}
    for role, column in zip(ROLES, (names.lost_cost, names.order_cost, names.holding_cost), strict=True):
        cost = getattr(given, role)
        if isinstance(cost, float):
            found[role] = cost
        elif isinstance(cost, str) and given.share_of(role) is None:
            found[role] = reader.number(cost)
        elif role in by_table:
            found[role] = by_table[role]
        elif column in reader.table.columns:
            found[role] = reader.number(column)
    shares = {role: share for role in ("lost", "holding") if (share := given.share_of(role)) is not None}
    found |= {role: share * found["order"] for role, share in shares.items() if "order" in found}
    derived = {
        role: cost if isinstance(cost, float) else None
        for role, cost in found.items()
        if role in shares or role in by_table
    }
    missing = tuple(role for role in ROLES if role not in found)
    costs = None if missing else UnitCosts(**found, fixed_order=given.fixed_order)
    return costs, missing, given.model_copy(update={"table": None, **derived})


def _by_table(reader: ColumnReader, problem: Problem, path: Path) -> dict[str, Floats]:
    """The costs of each row by role, from the row of a table that names its product, supplier or the like."""
    table, findings = open_table(path), reader.findings
    keys = [name for name in (*problem.columns.series_parts, *problem.attributes) if name in table.columns]
    columns = {role: column for role in ROLES if (column := _column(table, role)) is not None}
    if not keys or not columns:
        wanted = "a column of the series or an attribute, and a column of unit costs such as order_cost"
        findings.add(f"{path} must have {wanted}, but it has {listed(table.columns)}")
        return {}
    row_of = {key: row for row, key in enumerate(_keys(table, keys, table.rows))}
    rows: Ints = np.array([row_of.get(key, -1) for key in _keys(reader.table, keys, reader.table.rows)], dtype=np.int64)
    findings.check(rows < 0, f"{' and '.join(keys)} must have a row in {path}", verb="has none")
    costs = ColumnReader(table, findings, problem.format)
    return {role: np.r_[costs.number(column), np.nan][rows] for role, column in columns.items()}


def _column(table: Table, role: str) -> str | None:
    scores = {name: 1.0 if name == role else fit(name, f"{role}_cost") for name in table.columns}
    best = max(scores, key=lambda name: scores[name], default="")
    return best if scores.get(best, 0.0) >= SURE else None


def _keys(table: Table, columns: list[str], rows: int) -> list[tuple[str, ...]]:
    parts = [(codes, np.append(texts, "")) for codes, texts in map(table.labels, columns)]
    return [tuple(str(texts[codes[row]]) for codes, texts in parts) for row in range(rows)]
