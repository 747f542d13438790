"""Features and attributes as columns of numbers."""

from dataclasses import replace

import numpy as np

from lostsales.data.encoding import attributes, feature_columns, market_names
from lostsales.data.problem import Feature, Problem
from tests.demand.logs import COSTS, log_of_flags


def test_names_and_columns_agree() -> None:
    problem = Problem(costs=COSTS, features=("rain", Feature(name="day", kind="categorical", levels=("Mon", "Tue"))))
    log = log_of_flags("45", "67", problem=problem, rain=[0.0, 1.0, 2.0, 3.0], day=["Mon", "Tue", "Mon", "Tue"])
    log = replace(log, attributes={"place": np.array(["hill", "sea"]), "size": np.array(["3", "4.5"])})
    rows = np.array([1, 2])
    columns = [*feature_columns(log.problem.features, log.features[rows].T), *attributes(log, rows)]
    assert market_names(log) == ("rain", "day=Mon", "day=Tue", "place=hill", "place=sea", "size")
    np.testing.assert_array_equal(np.column_stack(columns), [[1, 0, 1, 1, 0, 3], [2, 1, 0, 0, 1, 4.5]])


def test_without_attributes_there_are_no_columns() -> None:
    assert attributes(log_of_flags("45"), np.array([0])) == []
