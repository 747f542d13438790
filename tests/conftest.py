"""One Hypothesis profile (no deadlines on a shared machine, the same examples on every run), and the quick tests."""

import pytest
from hypothesis import settings

from tools.quick_tests import Report, left_out, read_times, times_of, write_times

settings.register_profile("lostsales", deadline=None, derandomize=True)
settings.load_profile("lostsales")


class _Times:
    """Collects how long every test of a run takes; the process that starts the workers sees all of them."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a report."""
        self.reports.append((report.nodeid, report.when, report.duration))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the times if every test has passed."""
        if exitstatus == 0:
            write_times(times_of(self.reports))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of `make check` and `make test`."""
    parser.addoption("--quick", action="store_true", help="leave out the slowest tests of the last whole run")
    parser.addoption("--write-times", action="store_true", help="write how long every test takes, for --quick")


def pytest_configure(config: pytest.Config) -> None:
    """Measure whole runs only, in the process that starts the workers."""
    chosen = config.option.file_or_dir or config.option.keyword or config.getoption("--quick")
    if config.getoption("--write-times") and not chosen and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Times())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests."""
    if not config.getoption("--quick"):
        return
    slow = left_out(read_times())
    out = [each for each in items if not slow.isdisjoint((each.nodeid.split("[")[0], each.nodeid.split("::")[0]))]
    config.hook.pytest_deselected(items=out)
    gone = set(out)
    items[:] = [each for each in items if each not in gone]
