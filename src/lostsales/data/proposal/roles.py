"""Roles of the columns other than keys: quantities, prices, costs and flags, by name and by content."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lostsales.data.column_names import fit
from lostsales.data.proposal.profile import Column, Profile

CLOSE = 0.08  # two fits that differ by less are both worth a word
_LIKELY = 0.35  # least score of a name that may have a role, see `column_names.fit`
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
    "last_sales": "sales before the first row", "last_stockout": "a stock-out before the first row",
}  # fmt: skip


@dataclass
class Roles:
    """The column of each role that was found."""

    column: dict[str, str] = field(default_factory=dict)  # role: column
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)  # role: columns that fit nearly as well
    outcomes: set[str] = field(default_factory=set)  # known only afterwards
    mismatches: dict[str, str] = field(default_factory=dict)  # columns whose content contradicts their name


def find_roles(found: Profile, keys: tuple[str, ...]) -> Roles:
    """The best pairs of role and column first; the content of a column has a veto."""
    roles = Roles()
    candidates = [column for name, column in found.columns.items() if name not in keys and column.kind != "empty"]
    scores: list[tuple[float, str, str]] = []
    for column in candidates:
        fits = {role: fit(column.name, role) for role in CONTENT}
        suited = {role: score for role, score in fits.items() if score >= _LIKELY and CONTENT[role][0](column)}
        scores += [(score, role, column.name) for role, score in suited.items()]
        best = max(fits, key=lambda role: fits[role])
        if fits[best] > 0.9 and not suited and column.kind != "list":
            roles.mismatches[column.name] = (
                f"is named as if it held {WORDS[best]}, but its values are not {CONTENT[best][1]}: {column.shown}"
            )
        if (score := fit(column.name, "outcome")) >= _LIKELY:
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
        name for score, role, name in scores if role in _AFTERWARDS and score >= _LIKELY and name not in used
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
