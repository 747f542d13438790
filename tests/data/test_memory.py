"""Limits of memory."""

import pytest

from lostsales.data.memory import check_memory, check_rows, machine_memory, memory_limit
from lostsales.errors import LostSalesError, SettingError


@pytest.mark.parametrize(
    ("text", "wanted"), [("4GiB", 4 * 2**30), ("500MB", 5e8), ("1.5 g", 1.5e9), ("2e9", 2e9), ("64Ki", 65536)]
)
def test_a_size_is_read(text: str, wanted: float) -> None:
    assert memory_limit(text) == wanted


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "1..2G", "3 bytes"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(SettingError, match="memory is a size such as 4GiB"):
        memory_limit(text)


def test_the_limit_is_half_of_the_machine_unless_given() -> None:
    assert memory_limit(None) == machine_memory() / 2


def test_work_beyond_the_limit_is_refused_with_what_to_do() -> None:
    check_memory("fit", 2.0**30, 2.0**30, "give a part of the log")
    with pytest.raises(LostSalesError, match=r"fit needs about 3.0 GiB .* limit is 1.0 GiB: give a part"):
        check_memory("fit", 3 * 2.0**30, 2.0**30, "give a part of the log")


def test_a_log_is_refused_by_its_rows() -> None:
    check_rows("audit", 10_000_000, "4GB")
    with pytest.raises(LostSalesError, match=r"^fit of 10,000 rows needs about 0.0 GiB of memory, .*--memory.*part of"):
        check_rows("fit", 10_000, "1MB", bytes_a_row=2_000)
