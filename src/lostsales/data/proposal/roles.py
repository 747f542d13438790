"""Roles of the columns other than keys: quantities, prices, costs and flags, features and attributes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lostsales.data.column_names import fit
from lostsales.data.feature import Feature
from lostsales.data.problem import Columns
from lostsales.data.proposal.keys import Keys, period_sql, series_sql
from lostsales.data.proposal.profile import Column, Profile, Sample

CLOSE = 0.08  # two fits that differ by less are both worth a word
LIKELY = 0.35  # least score of a name that may have a role, see `column_names.fit`
_AFTERWARDS = ("sales", "closing", "stockout", "in_stock", "in_stock_share", "time_out")  # not known before a decision


def _is_quantity(column: Column) -> bool:
    return column.is_amount and not column.is_flag


def _is_price(column: Column) -> bool:
    return column.kind == "number" and column.lowest is not None and column.lowest >= 0 and not column.is_flag


def _is_share(column: Column) -> bool:
    return _is_price(column) and column.highest is not None and column.highest <= 1


# What the content of a column must be for a role, and how that is said.
CONTENT: dict[str, tuple[Callable[[Column], bool], str]] = {
    "sales": (lambda column: column.is_amount, "numbers"),
    "stock": (_is_quantity, "numbers"),
    "closing": (_is_quantity, "numbers"),
    "order": (_is_quantity, "numbers"),
    "received": (_is_quantity, "numbers"),
    "adjustment": (lambda column: column.kind == "number", "numbers"),
    "price": (_is_price, "numbers that are not negative"),
    "order_cost": (_is_price, "numbers that are not negative"),
    "holding_cost": (_is_price, "numbers that are not negative"),
    "lost_cost": (_is_price, "numbers that are not negative"),
    "stockout": (lambda column: column.may_be_flag, "true or false"),
    "in_stock": (lambda column: column.may_be_flag, "true or false"),
    "in_stock_share": (_is_share, "numbers from 0 to 1"),
    "time_out": (lambda column: column.kind == "number" and not column.is_flag, "numbers"),
    "last_sales": (lambda column: column.is_amount, "numbers"),
    "last_stockout": (lambda column: column.may_be_flag, "true or false"),
}
WORDS = {
    "period": "the period", "series": "the series", "sales": "units sold", "stock": "stock when the period opens",
    "closing": "stock at the end of the period", "order": "units ordered", "received": "units that arrived",
    "adjustment": "corrections of the stock", "price": "the price", "order_cost": "the unit cost of an order",
    "holding_cost": "the unit cost of holding", "lost_cost": "the unit cost of a lost sale",
    "stockout": "stock-outs", "in_stock": "stock-outs, inverted",
    "in_stock_share": "the share of the period in stock", "time_out": "time out of stock",
    "revenue": "money taken", "last_sales": "sales before the first row",
    "last_stockout": "a stock-out before the first row",
}  # fmt: skip


@dataclass
class Roles:
    """The column of each role that was found."""

    column: dict[str, str] = field(default_factory=dict)  # role: column
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)  # role: columns that fit nearly as well
    outcomes: set[str] = field(default_factory=set)  # known only afterwards
    counted_at_close: bool = False  # the column of the stock holds what is left at the end of a period
    mismatches: dict[str, str] = field(default_factory=dict)  # columns whose content contradicts their name


def find_roles(found: Profile, keys: tuple[str, ...]) -> Roles:
    """The best pairs of role and column first; the content of a column has a veto."""
    roles = Roles()
    candidates = [column for name, column in found.columns.items() if name not in keys and column.kind != "empty"]
    scores: list[tuple[float, str, str]] = []
    for column in candidates:
        fits = {role: fit(column.name, role) for role in CONTENT}
        suited = {role: score for role, score in fits.items() if score >= LIKELY and CONTENT[role][0](column)}
        scores += [(score, role, column.name) for role, score in suited.items()]
        best = max(fits, key=lambda role: fits[role])
        if fits[best] > 0.9 and not suited and column.kind != "list":
            roles.mismatches[column.name] = (
                f"is named as if it held {WORDS[best]}, but its values are not {CONTENT[best][1]}: {column.shown}"
            )
        if (score := max(fit(column.name, "outcome"), fit(column.name, "revenue"))) >= LIKELY:
            scores.append((score - 0.01, "outcome", column.name))
    if any(role == "sales" and found.columns[name].is_whole for _, role, name in scores):
        # Beside whole numbers, fractions are money.
        scores = [
            (score - 0.15 * (role == "sales" and not found.columns[name].is_whole), role, name)
            for score, role, name in scores
        ]
    taken: dict[str, float] = {}
    for score, role, name in sorted(scores, key=lambda each: -each[0]):
        if name in roles.column.values() or name in roles.outcomes:
            continue
        if role == "outcome":
            roles.outcomes.add(name)
        elif role not in roles.column:
            roles.column[role], taken[role] = name, score
        elif taken[role] - score < CLOSE and found.columns[name].distinct > 1:
            roles.others[role] = (*roles.others.get(role, ()), name)
    _share_as_price(roles, candidates)
    used = set(roles.column.values())
    roles.outcomes |= {
        name for score, role, name in scores if role in _AFTERWARDS and score >= LIKELY and name not in used
    }
    return roles


def _share_as_price(roles: Roles, candidates: list[Column]) -> None:
    """A column called discount that is 1 at most and never 0 is what remains of the price."""
    if "price" in roles.column:
        return
    for column in candidates:
        lowest, highest = column.lowest or 0, column.highest or 0
        if fit(column.name, "discount") and _is_price(column) and lowest > 0 and 0.9 <= highest <= 1.5:
            roles.column["price"] = column.name
            return


PROPOSED_LEVELS = 30  # of a feature that is proposed as categorical: people list fewer
_MOST_COMPARED = 5_000  # values of two columns that may say the same
SAME = 0.98  # correlation with sales from which a column looks like one of hindsight
_OURS = {str(each.default) for each in Columns.model_fields.values() if isinstance(each.default, str)}


ROW_NUMBER = "the number of the row"
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
        elif keys.period is not None and _may_name_periods(column) and _same(sample, found, keys.period.name, name):
            others.left_out.append((name, f"another name of {keys.period.name!r}"))
        elif fit(name, "forecast") or abs(correlation.get(name, 0.0)) >= SAME:
            how = f"correlation {correlation[name]:.2f} with sales" if name in correlation else "a forecast"
            others.left_out.append((name, f"{how}; a feature only if it is known before the decision"))
        elif twin := next((each.name for each, _ in others.features if _same(sample, found, each.name, name)), None):
            others.left_out.append((name, f"says the same as {twin!r}"))
        else:
            others.features.append(_feature(column))
    return others


def _may_name_periods(column: Column) -> bool:
    """True if a column can be another name of the periods; fractions, such as temperatures, are not."""
    return column.distinct > 7 and (column.kind != "number" or column.is_whole)


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
        column.kind == "text" and column.distinct > max(PROPOSED_LEVELS, keys.n_series)
    ):
        return f"{column.distinct:,} different values, such as {column.examples[0]!r}"
    if column.is_whole and column.distinct == rows and (column.highest or 0) - (column.lowest or 0) + 1 == rows:
        return ROW_NUMBER
    if missing:
        return f"missing in {missing:,} of {rows:,} rows: fill the gaps to use it as a feature"
    if column.unread:
        return f"no number in {column.unread:,} of {rows:,} rows"
    return ""


def _feature(column: Column) -> tuple[Feature, str]:
    few = column.distinct <= PROPOSED_LEVELS
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
