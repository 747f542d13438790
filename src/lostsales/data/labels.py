"""Labels as codes: series, categories and attributes, of columns of any type."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from lostsales.types import Array, Floats, Ints

SERIES_SEPARATOR = " / "
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def coded(values: Array) -> tuple[Ints, Array]:
    """Codes in order of first appearance (-1 where missing) and the text behind each code.

    Only the starts of runs are converted one by one, so that a sorted column is quick.

    >>> coded(np.array([1.0, 1.0, np.nan, 0.5]))
    (array([ 0,  0, -1,  1]), array(['1', '0.5'], dtype=object))
    """
    if values.dtype.kind in "iu":
        codes, found = by_appearance(values)
        return codes, found.astype(str).astype(object)
    starts = _run_starts(values)
    code_of: dict[str, int] = {}
    run_codes = np.fromiter(
        (-1 if (text := _text(values[i])) is None else code_of.setdefault(text, len(code_of)) for i in starts),
        dtype=np.int64,
        count=len(starts),
    )
    return np.repeat(run_codes, np.diff(np.r_[starts, len(values)])), np.array(list(code_of), dtype=object)


def joined(first: tuple[Ints, Array], second: tuple[Ints, Array]) -> tuple[Ints, Array]:
    """The labels of two columns that form one name together.

    >>> labels = coded(np.array(["x", "x", "y"], dtype=object)), coded(np.array([1, 2, 1]))
    >>> joined(*labels)
    (array([0, 1, 2]), array(['x / 1', 'x / 2', 'y / 1'], dtype=object))
    """
    (first_codes, first_texts), (second_codes, second_texts) = first, second
    width = max(len(second_texts), 1)
    pairs = np.where((first_codes < 0) | (second_codes < 0), -1, first_codes * width + second_codes)
    codes, found = by_appearance(pairs, missing=-1)
    texts = [f"{first_texts[pair // width]}{SERIES_SEPARATOR}{second_texts[pair % width]}" for pair in found]
    return codes, np.array(texts, dtype=object)


def texts_of(labels: tuple[Ints, Array]) -> Array:
    """The text of each row; None where missing."""
    codes, texts = labels
    shown = np.empty(len(codes), dtype=object)
    shown[codes >= 0] = texts[codes[codes >= 0]]
    return shown


def beside(columns: dict[str, Array], taken: Iterable[str], prefix: str) -> dict[str, Array]:
    """Columns to add to others: one whose name is taken gets the prefix, as often as it takes.

    >>> list(beside({"value": np.zeros(1), "flag": np.zeros(1)}, ["flag"], "recommended_"))
    ['value', 'recommended_flag']
    """
    names, found = set(taken), {}
    for name, values in columns.items():
        while name in names:
            name = f"{prefix}{name}"
        names.add(name)
        found[name] = values
    return found


def spelled(value: object) -> str:
    """A label as text: whole numbers without a decimal point, truth values in lower case, days without a time.

    >>> spelled(2.0), spelled(True), spelled("2.0")
    ('2', 'true', '2.0')
    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, np.datetime64):
        return str(value).removesuffix(".000000").removesuffix("T00:00:00")
    return str(value)


def by_appearance(values: Array, missing: int | None = None) -> tuple[Ints, Array]:
    """Codes of whole numbers by first appearance, and the number behind each code; `missing` gets the code -1.

    >>> by_appearance(np.array([7, 7, 3, -1, 7]), missing=-1)
    (array([ 0,  0,  1, -1,  0]), array([7, 3]))
    """
    starts = _run_starts(values)
    unique, first, inverse = np.unique(values[starts], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    by_first = by_first if missing is None else by_first[unique[by_first] != missing]
    code = np.full(len(unique), -1)
    code[by_first] = np.arange(len(by_first))
    return np.repeat(code[inverse], np.diff(np.r_[starts, len(values)])), unique[by_first]


def _run_starts(values: Array) -> Ints:
    try:
        changes = np.asarray(values[1:] != values[:-1], dtype=bool)
    except Exception:  # noqa: BLE001, objects that cannot be compared, whatever they raise
        changes = np.ones(max(len(values) - 1, 0), dtype=bool)
    return np.flatnonzero(np.r_[True, changes]) if len(values) else np.zeros(0, dtype=np.int64)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and their like, which do not equal themselves.

    >>> is_missing(None), is_missing(float("nan")), is_missing([1])
    (True, True, False)
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except Exception:  # noqa: BLE001, pandas' NA, arrays, a signalling NaN, and objects that raise what they like
        return type(value).__name__ == "NAType"


def plain_number(text: str) -> float:
    """The number that a text writes in plain digits, else NaN.

    >>> plain_number("1.50"), plain_number("1_000"), plain_number("nan")
    (1.5, nan, nan)
    """
    return float(text) if _PLAIN_NUMBER.fullmatch(text) else float("nan")


def _text(value: Any) -> str | None:
    return None if is_missing(value) else spelled(value)


def span(values: Floats) -> str:
    """Lowest and highest of some values, and how many there are.

    >>> span(np.array([4.0, 8.0, 4.0])), span(np.array([3.0]))
    ('4 to 8 (2 values)', 'always 3')
    """
    different = np.unique(values)
    if len(different) == 1:
        return f"always {different[0]:g}"
    return f"{different[0]:g} to {different[-1]:g} ({len(different):,} values)"
