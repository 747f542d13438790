"""Errors and warnings: every error that a user can cause has one root, `LostSalesError`."""

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that called into it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_deprecated(what: str, instead: str, release: str) -> None:
    """Warn of what a release will no longer have.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_deprecated("fit(method=...)", "a learner", "1.2")
    >>> print(caught[0].category.__name__, caught[0].message)
    DeprecationWarning fit(method=...) goes in lostsales 1.2; use a learner
    """
    warn(f"{what} goes in lostsales {release}; use {instead}", DeprecationWarning)


class LostSalesError(Exception):
    """Input that cannot be used; the message says what was wanted and what came."""


class SettingError(LostSalesError):
    """A problem, a scenario or an option does not make sense."""


class LogError(LostSalesError):
    """A table cannot be read as a sales log; `findings` lists every reason.

    `bad_series` has what is wrong with each series, where the table can be used without them.
    """

    def __init__(
        self, source: str, findings: tuple[str, ...], advice: str = "", bad_series: dict[str, str] | None = None
    ) -> None:
        self.findings = findings
        self.advice = advice
        self.bad_series = bad_series or {}
        lines = [f"{source} is not a usable sales log (rows count from 0):", *(f"  - {each}" for each in findings)]
        super().__init__("\n".join([*lines, advice] if advice else lines))
