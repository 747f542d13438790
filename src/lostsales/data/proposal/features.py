"""Roles of the other columns: features, attributes of a series, or none."""

from dataclasses import dataclass, field

import numpy as np

from lostsales.data.column_names import fit
from lostsales.data.feature import Feature
from lostsales.data.problem import Columns
from lostsales.data.proposal.keys import Keys, period_sql, series_sql
from lostsales.data.proposal.profile import Column, Profile
from lostsales.data.proposal.sample import Sample

MOST_LEVELS = 30  # of a categorical feature
_MOST_COMPARED = 5_000  # values of two columns that may say the same
SAME = 0.98  # correlation with sales from which a column looks like one of hindsight
_OURS = {str(each.default) for each in Columns.model_fields.values() if isinstance(each.default, str)}


OWN_AMOUNT = "one number in each series; a unit cost belongs in [costs]"


@dataclass
class Others:
    """Columns that are neither key nor role, each with the reason for what it becomes."""

    features: list[tuple[Feature, str]] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def find_others(sample: Sample, found: Profile, keys: Keys, taken: set[str], outcomes: set[str], sales: str) -> Others:
    """Sort the columns that are not `taken` by a role or a comment of their own."""
    columns = [each for name, each in found.columns.items() if name not in taken]
    others = Others()
    within, with_time, correlation = _facts(sample, found, keys, columns, sales)
    for column in columns:
        name = column.name
        if reason := _useless(column, sample.rows, keys) or (name in _OURS and "has a name that means another role"):
            others.left_out.append((name, reason))
        elif fit(name, "period") >= 0.9 and fit(name, "calendar") < 0.9 and column.kind == "text":
            others.left_out.append((name, f"named as a period, but no date and no whole number: {column.shown}"))
        elif name in outcomes:
            others.left_out.append((name, "known only when the period is over"))
        elif within[name] <= 1 < keys.n_series:
            if column.distinct >= keys.n_series:
                is_amount = column.kind == "number" and not column.is_whole
                others.left_out.append((name, OWN_AMOUNT if is_amount else "another name of the series"))
            else:
                others.attributes.append((name, f"constant in every series, {column.distinct:,} values"))
        elif name in with_time:
            others.left_out.append((name, "rises with time: its later values are not in the log"))
        elif keys.period is not None and column.distinct > 7 and _same(sample, found, keys.period.name, name):
            others.left_out.append((name, f"another name of {keys.period.name!r}"))
        elif fit(name, "forecast") or abs(correlation.get(name, 0.0)) >= SAME:
            how = f"correlation {correlation[name]:.2f} with sales" if name in correlation else "a forecast"
            others.left_out.append((name, f"{how}; a feature only if it is known before the decision"))
        elif twin := next((each.name for each, _ in others.features if _same(sample, found, each.name, name)), None):
            others.left_out.append((name, f"says the same as {twin!r}"))
        else:
            others.features.append(_feature(column))
    return others


def _useless(column: Column, rows: int, keys: Keys) -> str:
    """Reason why a column carries no information, empty if it may."""
    missing = rows - column.present
    if column.kind == "empty" or not column.present:
        return "empty"
    if column.distinct <= 1 and not missing:
        return f"always {column.shown}"
    if column.kind == "list":
        return "a list in every row"
    if column.kind == "date":
        return "a date; the period is " + repr(keys.period.name if keys.period else "")
    if fit(column.name, "document") >= 0.9 or (
        column.kind == "text" and column.distinct > max(MOST_LEVELS, keys.n_series)
    ):
        return f"{column.distinct:,} different values, such as {column.examples[0]!r}"
    if column.is_whole and column.distinct == rows and (column.highest or 0) - (column.lowest or 0) + 1 == rows:
        return "the number of the row"
    if missing:
        return f"missing in {missing:,} of {rows:,} rows: fill the gaps to use it as a feature"
    if column.unread:
        return f"no number in {column.unread:,} of {rows:,} rows"
    return ""


def _feature(column: Column) -> tuple[Feature, str]:
    few = column.distinct <= MOST_LEVELS
    named = column.kind == "text" or (fit(column.name, "calendar") >= 0.9 and column.is_whole and few)
    if named:
        return Feature(name=column.name, kind="categorical"), f"{column.distinct} values: {column.shown}"
    if column.kind == "flag" or column.is_flag:
        return Feature(name=column.name), "yes or no"
    return Feature(name=column.name), f"numbers from {column.lowest:g} to {column.highest:g}"


def _facts(
    sample: Sample, found: Profile, keys: Keys, columns: list[Column], sales: str
) -> tuple[dict[str, int], set[str], dict[str, float]]:
    """Values within a series at most; columns that rise with the period; correlations with sales."""
    group = series_sql(found, keys.series)
    if not columns:
        return {}, set(), {}
    counts = ", ".join(f"count(DISTINCT {each.sql}) AS n{index}" for index, each in enumerate(columns))
    most = ", ".join(f"max(n{index})" for index in range(len(columns)))
    values = sample.query(f"SELECT {most} FROM (SELECT {counts} FROM log GROUP BY {group})")[0]
    within = {each.name: int(value or 0) for each, value in zip(columns, values, strict=True)}
    numbers = [each for each in columns if each.kind == "number" and not each.is_flag]
    if not numbers:
        return within, set(), {}
    rising = set()
    if keys.period is not None:
        limits = ", ".join(f"min({each.sql}), max({each.sql})" for each in numbers)
        by_period = f"SELECT {limits} FROM log GROUP BY {period_sql(keys.period)} ORDER BY {period_sql(keys.period)}"
        table = np.array(sample.query(by_period), dtype=np.float64)
        for index, each in enumerate(numbers):
            low, high = table[:, 2 * index], table[:, 2 * index + 1]
            if each.distinct > 2 and (low == high).all() and (np.diff(low) >= 0).all():
                rising.add(each.name)
    correlation = {}
    if sales:
        asked = ", ".join(f"corr({each.sql}, {found.columns[sales].sql})" for each in numbers)
        found_values = sample.query(f"SELECT {asked} FROM log")[0]
        pairs = zip(numbers, found_values, strict=True)
        correlation = {each.name: float(value) for each, value in pairs if value is not None and value == value}
    return within, rising, correlation


def _same(sample: Sample, found: Profile, first: str, second: str) -> bool:
    """True if two columns of few values correspond one to one."""
    one, two = found.columns[first], found.columns[second]
    if one.distinct != two.distinct or one.distinct > _MOST_COMPARED:
        return False
    return bool(sample.query(f"SELECT count(DISTINCT ({one.sql}, {two.sql})) FROM log")[0][0] == one.distinct)
