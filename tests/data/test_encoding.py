"""Features and attributes as columns of numbers."""

from dataclasses import replace

import numpy as np

from lostsales.data.encoding import attributes, feature_columns, market_names
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.sublogs import series_of
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


def test_a_part_of_a_log_has_the_columns_of_the_whole() -> None:
    log = log_of_flags("45", "67", "89")
    log = replace(log, attributes={"place": np.array(["hill", "sea", "7"], dtype=object)})
    assert market_names(log) == ("place=7", "place=hill", "place=sea")
    for chosen in ([1], [2], [0, 2]):
        part = series_of(series_of(log, np.array([0, 1, 2])), np.array(chosen))
        assert market_names(part) == market_names(log)
        np.testing.assert_array_equal(
            np.column_stack(attributes(part, part.starts)), np.column_stack(attributes(log, log.starts[chosen]))
        )


def test_the_text_nan_is_a_level_and_no_number() -> None:
    log = replace(log_of_flags("45", "67"), attributes={"size": np.array(["nan", "1"], dtype=object)})
    assert market_names(log) == ("size=1", "size=nan")
