"""Unit costs that vary from row to row, as features: a decision may depend on them."""

from dataclasses import replace

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.log import AnyLog


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
