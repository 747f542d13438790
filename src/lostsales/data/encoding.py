"""Features and attributes as columns of numbers; what has levels becomes one indicator a level."""

from collections.abc import Iterable

import numpy as np

from lostsales.data.labels import plain_number
from lostsales.data.log import SalesLog
from lostsales.data.problem import Feature
from lostsales.types import Array, Floats, Ints


def feature_columns(features: Iterable[Feature], values_of: Iterable[Floats]) -> list[Floats]:
    """Features by their values (rows,); a categorical one becomes one indicator a level."""
    columns: list[Floats] = []
    for feature, values in zip(features, values_of, strict=True):
        levels = range(len(feature.levels or ())) if feature.kind == "categorical" else ()
        columns += [(values == level).astype(np.float64) for level in levels] or [values]
    return columns


def attributes(log: SalesLog, rows: Ints) -> list[Floats]:
    """The attributes of the series of rows, one array (rows,) each column."""
    return list(attribute_columns(log.attributes, len(log.names))[1][log.series[rows]].T)


def attribute_columns(attributes: dict[str, Array], series: int) -> tuple[tuple[str, ...], Floats]:
    """The attributes of series as a matrix (series, columns) and the names of its columns.

    >>> attribute_columns({"size": np.array(["1", "2.5"]), "place": np.array(["sea", "hill"])}, series=2)
    (('size', 'place=hill', 'place=sea'), array([[1. , 0. , 1. ],
           [2.5, 1. , 0. ]]))
    """
    names: list[str] = []
    columns: list[Floats] = []
    for name, texts in attributes.items():
        numbers = _numbers(texts)
        levels = [] if numbers is not None else sorted(set(texts))
        names += [f"{name}={level}" for level in levels] or [name]
        columns += [(texts == level).astype(np.float64) for level in levels] if numbers is None else [numbers]
    return tuple(names), np.column_stack(columns) if columns else np.zeros((series, 0))


def market_names(log: SalesLog) -> tuple[str, ...]:
    """The names of `feature_columns` and `attribute_columns`, in this order."""
    names: list[str] = []
    for feature in log.problem.features:
        levels = (feature.levels or ()) if feature.kind == "categorical" else ()
        names += [f"{feature.name}={level}" for level in levels] or [feature.name]
    return (*names, *attribute_columns(log.attributes, len(log.names))[0])


def _numbers(texts: Array) -> Floats | None:
    """The numbers that all texts are, in plain digits; "nan" is a text."""
    numbers = np.array([plain_number(text) for text in texts], dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else None
