"""Work on several threads."""

import threading

import pytest

from lostsales.data.parallel import in_parallel
from lostsales.errors import SettingError


def test_results_keep_their_order_and_progress_counts_them() -> None:
    seen: list[tuple[int, int]] = []
    found = in_parallel(lambda x: x * x, range(5), 3, lambda done, total: seen.append((done, total)))
    assert found == [0, 1, 4, 9, 16]
    assert seen == [(done, 5) for done in range(1, 6)]


def test_no_more_threads_work_than_were_asked_for() -> None:
    meets = threading.Barrier(2, timeout=20)
    names = in_parallel(lambda _: (meets.wait(), threading.current_thread().name)[1], range(6), 2)
    assert len(set(names)) == 2


def test_an_exception_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(lambda x: 1 // x, [1, 0], 2)


def test_workers_must_be_positive() -> None:
    with pytest.raises(SettingError, match="workers must be at least 1, but 0 came"):
        in_parallel(abs, [1], 0)
