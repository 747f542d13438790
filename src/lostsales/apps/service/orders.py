"""Orders of the day by supplier: what was decided, in units, cases and money, and what is short."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lostsales.apps.service.decisions import StoredDecision
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.doubts import case_sizes
from lostsales.apps.service.morning import LIKELY
from lostsales.data.format import Format
from lostsales.data.labels import coded, texts_of
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.table import open_table
from lostsales.errors import LogError
from lostsales.types import Array, Floats, Ints, exceeds

NO_SUPPLIER = "no supplier"


class SupplierTerms(NamedTuple):
    """Terms of a supplier, in money; NaN where there are none."""

    minimum: float = np.nan  # smallest order
    budget: float = np.nan  # largest order


@dataclass(frozen=True, eq=False)
class OrderLines:
    """Products of today's list that were decided to be ordered; every array is (lines,)."""

    name: Array
    period: Array
    units: Floats
    case_size: Floats  # 0 for any quantity
    unit_cost: Floats  # NaN where it is not known
    who: Array

    @property
    def cases(self) -> Floats:
        """Number of cases, NaN where single units or any quantity may be ordered."""
        in_cases = self.case_size > 1
        return np.where(in_cases, self.units / np.where(in_cases, self.case_size, 1.0), np.nan)

    @property
    def value(self) -> Floats:
        """Cost of the lines."""
        return np.asarray(self.units * self.unit_cost)

    def __len__(self) -> int:
        return len(self.name)


class SupplierOrder(NamedTuple):
    """Order of a supplier, and what keeps it from being sent."""

    supplier: str
    lines: OrderLines
    terms: SupplierTerms
    open_products: int  # not decided yet, though an order is recommended
    open_value: float
    running_out: int  # products that nothing is ordered of and that are likely to run out

    @property
    def units(self) -> float:
        """Units of all lines."""
        return float(self.lines.units.sum())

    @property
    def cases(self) -> float:
        """Cases of the lines that come in cases."""
        return float(np.nansum(self.lines.cases))

    @property
    def value(self) -> float:
        """Cost of all lines, NaN where that of one is not known."""
        return float(self.lines.value.sum())

    @property
    def below_minimum(self) -> float:
        """Money that an order lacks to the smallest one, 0 if nothing is ordered."""
        return _excess(self.terms.minimum, self.value) if len(self.lines) else 0.0

    @property
    def above_budget(self) -> float:
        """Money by which an order exceeds the budget."""
        return _excess(self.value, self.terms.budget)


def _excess(amount: float, limit: float) -> float:
    return amount - limit if exceeds(np.asarray(amount), limit) else 0.0


def supplier_orders(
    desk: Desk, latest: Mapping[str, StoredDecision], terms: Mapping[str, SupplierTerms]
) -> list[SupplierOrder]:
    """Orders of today's list by supplier, in the order of their names; `latest` has the decision on each product."""
    if desk.day is None:
        return []
    listed, view = desk.morning, desk.day.view
    decided = [latest.get(name) for name in listed.name.tolist()]
    units = np.array([each.order or 0.0 if each is not None and each.is_order else 0.0 for each in decided])
    is_open = np.array([each is None for each in decided], dtype=bool) & (listed.order > 0)
    who = np.array(["" if each is None else each.who for each in decided], dtype=object)
    cost, case = desk.unit_cost(view), case_sizes(desk, view)
    suppliers = desk.data.suppliers
    codes, texts = coded(np.array([suppliers.get(name, NO_SUPPLIER) for name in listed.name.tolist()], dtype=object))
    short = (listed.chance > LIKELY) & (units == 0) & ~is_open

    def lines(rows: Ints) -> OrderLines:
        return OrderLines(listed.name[rows], listed.period[rows], units[rows], case[rows], cost[rows], who[rows])

    def order(code: int) -> SupplierOrder:
        own = codes == code
        return SupplierOrder(
            supplier=str(texts[code]),
            lines=lines(np.flatnonzero(own & (units > 0))),
            terms=terms.get(str(texts[code]), SupplierTerms()),
            open_products=int(np.count_nonzero(own & is_open)),
            open_value=float((listed.order * cost)[own & is_open].sum()),
            running_out=int(np.count_nonzero(own & short)),
        )

    return [order(code) for code in sorted(range(len(texts)), key=lambda code: str(texts[code]).casefold())]


def read_terms(path: Path | None) -> dict[str, SupplierTerms]:
    """Terms by supplier, from a table with the columns supplier, minimum and budget."""
    if path is None:
        return {}
    table = open_table(path)
    findings = Findings(table.name, table.place)
    if "supplier" not in table.columns or not {"minimum", "budget"} & set(table.columns):
        wanted = "a table of suppliers must have the columns supplier and minimum, budget or both"
        raise LogError(table.name, (f"{wanted}; it has {listed(table.columns)}",))
    reader = ColumnReader(table, findings, Format())
    labels = findings.series_of = reader.labels("supplier")
    figures = [
        reader.number(name, gaps=True) if name in table.columns else np.full(table.rows, np.nan)
        for name in SupplierTerms._fields
    ]
    findings.check((np.bincount(labels[0] + 1, minlength=1)[labels[0] + 1] > 1), "supplier must come once")
    findings.raise_if_any()
    rows = zip(texts_of(labels).tolist(), *(each.tolist() for each in figures), strict=True)
    return {name: SupplierTerms(minimum, budget) for name, minimum, budget in rows}
