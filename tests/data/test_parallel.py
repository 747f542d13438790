"""Work on several threads."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from lostsales.data.parallel import current_workers, in_parallel, single_threaded, using_workers
from lostsales.errors import SettingError


def test_results_keep_their_order_and_progress_counts_them() -> None:
    seen: list[tuple[int, int]] = []
    with using_workers(3):
        found = in_parallel(lambda x: x * x, range(5), lambda done, total: seen.append((done, total)))
    assert found == [0, 1, 4, 9, 16]
    assert seen == [(done, 5) for done in range(1, 6)]


def name_after_a_while(_: int) -> str:
    time.sleep(0.02)
    return threading.current_thread().name


def test_as_many_threads_work_as_were_asked_for() -> None:
    with using_workers(2):
        assert len(set(in_parallel(name_after_a_while, range(6)))) == 2
    with using_workers(1):
        assert set(in_parallel(name_after_a_while, range(3))) == {threading.current_thread().name}


def test_threads_do_not_multiply() -> None:
    with using_workers(2):
        assert in_parallel(lambda _: current_workers(), range(4)) == [1] * 4
        assert current_workers() == 2


def test_an_exception_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError), using_workers(2):
        in_parallel(lambda x: 1 // x, [1, 0])


def test_workers_must_be_positive() -> None:
    with pytest.raises(SettingError, match="workers must be at least 1, but 0 came"), using_workers(0):
        pass


def test_matrix_products_have_one_thread_within_and_as_many_as_before_after() -> None:
    np.eye(2) @ np.eye(2)  # its library is there

    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info()]

    with threadpool_limits(2):
        before = threads()
        for _ in range(2):  # the second time libraries are known
            with single_threaded():
                assert threads() == [1] * len(before)
            assert threads() == before
