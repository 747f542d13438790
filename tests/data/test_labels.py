"""Labels of any type become codes and texts."""

from typing import Any

import numpy as np
import pytest

from lostsales.data.labels import by_appearance, coded, joined, spelled, texts_of


@pytest.mark.parametrize(
    ("values", "codes", "texts"),
    [
        (np.array([7, 3, 7]), [0, 1, 0], ["7", "3"]),
        (np.array([2**64 - 1, 1], dtype=np.uint64), [0, 1], ["18446744073709551615", "1"]),
        (np.array([2.0, np.nan, 0.5, -0.0]), [0, -1, 1, 2], ["2", "0.5", "0"]),
        (np.array([True, False, True]), [0, 1, 0], ["true", "false"]),
        (np.array(["007", None, "7"], dtype=object), [0, -1, 1], ["007", "7"]),
        (np.array(["2026-03-01", "NaT"], dtype="datetime64[us]"), [0, -1], ["2026-03-01"]),
        (np.array([], dtype=object), [], []),
        (np.array([], dtype=np.int64), [], []),
    ],
)
def test_codes_by_first_appearance(values: Any, codes: list[int], texts: list[str]) -> None:
    found_codes, found_texts = coded(values)
    assert found_codes.tolist() == codes
    assert found_texts.tolist() == texts


def test_a_pair_is_missing_where_either_part_is() -> None:
    first, second = coded(np.array([1, 1, 2])), coded(np.array(["x", None, "x"], dtype=object))
    codes, texts = joined(first, second)
    assert codes.tolist() == [0, -1, 1]
    assert texts.tolist() == ["1 / x", "2 / x"]
    assert texts_of((codes, texts)).tolist() == ["1 / x", None, "2 / x"]


def test_missing_number_has_no_code() -> None:
    codes, found = by_appearance(np.array([-1, 5, -1, 4]), missing=-1)
    assert codes.tolist() == [-1, 0, -1, 1]
    assert found.tolist() == [5, 4]


def test_a_moment_keeps_its_time_unless_it_is_midnight() -> None:
    assert spelled(np.datetime64("2026-03-01T08:30:00", "us")) == "2026-03-01T08:30:00"
    assert spelled(np.datetime64("2026-03-01", "us")) == "2026-03-01"
