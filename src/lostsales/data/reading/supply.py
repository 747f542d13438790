"""Columns of the supply: what is on the way, and multiples and least orders by series."""

import json
from dataclasses import dataclass

import numpy as np

from lostsales.data.business_rules import BusinessRules, OwnRules
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, PlainText
from lostsales.data.supply import LONGEST, Supply
from lostsales.errors import SettingError
from lostsales.types import Array, Floats, Ints, exceeds

LOTS = ("multiple", "minimum")


def read_on_order(reader: ColumnReader, problem: Problem) -> Floats | None:
    """Units on the way by remaining periods, (rows, pipeline length); None where the table does not say.

    From columns `on_order_1`, `on_order_2`, ..., or from lists in the column `on_order`. What would arrive later than
    any order of the past can is a finding.
    """
    columns, length, table = problem.columns, problem.pipeline_length, reader.table
    given = [at for at in range(1, LONGEST + 1) if columns.on_order_in(at) in table.columns]
    if not given:
        return _lists(reader, problem) if columns.on_order in table.columns else None
    if missing := [columns.on_order_in(at) for at in range(1, length + 1) if at not in given]:
        reader.findings.add(f"missing column {', '.join(map(repr, missing))}: lead times reach {length + 1} periods")
        return None
    units = np.column_stack([reader.number(columns.on_order_in(at)) for at in given])
    late = units[:, [at > length for at in given]]
    _check_late(reader.findings, problem, late.max(axis=1, initial=0.0))
    return units[:, :length]


def _lists(reader: ColumnReader, problem: Problem) -> Floats | None:
    """Units on the way as lists of numbers, `[4, 0, 6]` in a table of text."""
    column, length, table = problem.columns.on_order, problem.pipeline_length, reader.table
    reader.used.add(column)
    units, wrong = np.zeros((table.rows, length)), np.zeros(table.rows, dtype=bool)
    late = np.zeros(table.rows)
    shown = table.shown(column, np.arange(table.rows))
    for row, value in enumerate(shown):
        numbers = _numbers(value)
        wrong[row] = numbers is None
        if numbers is not None:
            units[row, : min(len(numbers), length)] = numbers[:length]
            late[row] = max(numbers[length:], default=0.0)
    reader.findings.check(wrong, f"{column} must be a list of what arrives in 1, 2, ... periods, such as [4, 0]", shown)
    _check_late(reader.findings, problem, late)
    return units


def _numbers(value: object) -> list[float] | None:
    """A list of numbers that are not negative, None where it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, list | tuple | np.ndarray):
        return None
    try:
        numbers = [float(each) for each in value if not isinstance(each, bool | str)]
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == len(value) and all(0 <= each < np.inf for each in numbers) else None


def _check_late(findings: Findings, problem: Problem, late: Floats) -> None:
    length = problem.pipeline_length
    wanted = f"what is on the way must arrive within {length} periods, as lead times reach {length + 1}"
    if not length:
        wanted = "nothing may be on the way when a period opens, as orders arrive within their own period"
    findings.check(late > 0, wanted, late, verb="has, later,")


def pipeline_texts(units: Floats) -> Array:
    """Pipelines as messages show them."""
    texts = np.empty(len(units), dtype=object)
    texts[:] = [PlainText("[" + ", ".join(f"{each:g}" for each in row) + "]") for row in units]
    return texts


@dataclass(frozen=True, eq=False)
class LotColumns:
    """Multiples and least orders by row, those that a column has."""

    columns: dict[str, tuple[str, Floats]]  # by rule: the name of the column and its values

    @classmethod
    def read(cls, reader: ColumnReader, supply: Supply) -> "LotColumns":
        """Read the columns that the supply names."""
        named = {rule: name for rule in LOTS if isinstance(name := getattr(supply, rule), str)}
        found = {rule: (name, reader.number(name)) for rule, name in named.items()}
        for rule, (name, values) in found.items():
            if rule == "multiple":
                reader.findings.check(values == 0, f"{name} must be positive", values)
        return cls(found)

    def with_rules(self, problem: Problem, findings: Findings, codes: Ints, texts: Array) -> Problem:
        """The problem whose rules have these instead of columns, and the multiple and minimum of all series."""
        rules = lot_rules(problem.rules, problem.supply)
        own = list(rules.own)
        for rule, (name, values) in self.columns.items():
            first = np.unique(codes, return_index=True)[1]
            by_code = dict(zip(codes[first].tolist(), values[first].tolist(), strict=True))
            of_series = np.array([by_code.get(code, np.nan) for code in codes.tolist()])
            differs = exceeds(values, of_series) | exceeds(of_series, values)
            findings.check(differs, f"{name} must be the same in all rows of a series", values)
            if findings.reasons:
                return problem
            for value in np.unique(values[first]).tolist():
                meant = tuple(sorted(str(texts[code]) for code, each in by_code.items() if each == value))
                own.append(OwnRules(where={"series": meant}, **{rule: value}))
        if rules is problem.rules and not self.columns:
            return problem
        supply = problem.supply.model_copy(update=dict.fromkeys(self.columns))
        rules = rules.model_copy(update={"own": tuple(own)}) if self.columns else rules
        return problem.model_copy(update={"rules": rules, "supply": supply})


def lot_rules(rules: BusinessRules, supply: Supply) -> BusinessRules:
    """Rules with the multiple, the minimum and the order days of a supply; those of both must be the same."""
    update: dict[str, object] = {rule: value for rule in LOTS if isinstance(value := getattr(supply, rule), float)}
    if isinstance(supply.order_days, str):
        update["order_days"] = supply.order_days
    for rule, value in update.items():
        if getattr(rules, rule) not in (None, value):
            raise SettingError(f"rules.{rule} is {getattr(rules, rule)!r}, but supply.{rule} is {value!r}: say it once")
    merged = {name: getattr(rules, name) for name in rules.model_fields_set}
    return type(rules)(**merged | update) if update else rules
