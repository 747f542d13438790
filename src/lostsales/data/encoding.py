"""Features, attributes and varying unit costs as columns of numbers; what has levels becomes one indicator a level."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.labels import plain_number
from lostsales.data.log import AnyLog, SalesLog
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
    return list(attribute_columns(log)[1][log.series[rows]].T)


def attribute_levels(log: SalesLog) -> dict[str, tuple[str, ...]]:
    """The levels of each attribute that is text; those of the whole log where this is a part of one.

    A part shows fewer levels, or only those that are numbers: encoded by itself it would have other columns.
    """
    if log.levels is not None:
        return log.levels
    return {name: tuple(sorted(set(texts))) for name, texts in log.attributes.items() if _numbers(texts) is None}


def attribute_columns(log: SalesLog) -> tuple[tuple[str, ...], Floats]:
    """The attributes of series as a matrix (series, columns) and the names of its columns: one a level of a text."""
    names: list[str] = []
    columns: list[Floats] = []
    levels_of = attribute_levels(log)
    for name, texts in log.attributes.items():
        levels = levels_of.get(name, ())
        names += [f"{name}={level}" for level in levels] or [name]
        columns += [(texts == level).astype(np.float64) for level in levels] or [texts.astype(np.float64)]
    return tuple(names), np.column_stack(columns) if columns else np.zeros((len(log.names), 0))


def market_names(log: SalesLog) -> tuple[str, ...]:
    """The names of `feature_columns` and `attribute_columns`, in this order."""
    names: list[str] = []
    for feature in log.problem.features:
        levels = (feature.levels or ()) if feature.kind == "categorical" else ()
        names += [f"{feature.name}={level}" for level in levels] or [feature.name]
    return (*names, *attribute_columns(log)[0])


def _numbers(texts: Array) -> Floats | None:
    """The numbers that all texts are, in plain digits; "nan" is a text."""
    numbers = np.array([plain_number(text) for text in texts], dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else None


def costs_as_features(log: AnyLog) -> AnyLog:
    """The log with every unit cost that varies by row among its features."""
    costs, given, names = log.costs, log.problem.costs, log.problem.columns
    if costs is None:
        return log
    features, columns = list(log.problem.features), [log.features]
    for values, name in (
        (costs.lost, given.lost if isinstance(given.lost, str) else names.lost_cost),
        (costs.order, given.order if isinstance(given.order, str) else names.order_cost),
        (costs.holding, given.holding if isinstance(given.holding, str) else names.holding_cost),
    ):
        if isinstance(values, np.ndarray) and name not in {feature.name for feature in features}:
            features.append(Feature(name=name))
            columns.append(values[:, None])
    problem = log.problem.model_copy(update={"features": tuple(features)})
    return log if len(columns) == 1 else replace(log, problem=problem, features=np.hstack(columns))
