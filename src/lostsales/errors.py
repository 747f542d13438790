"""Every error that a user can cause has one root, `LostSalesError`."""


class LostSalesError(Exception):
    """What the user gave cannot be used; the message says what was wanted and what came."""


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
