"""A study of pilots as a person reads it."""

from lostsales.apps.views.console import out as screen
from lostsales.apps.views.console import plain_table
from lostsales.lab.studies.pilot import PilotFigures


def print_pilot_study(title: str, found: PilotFigures) -> None:
    """What was found beside what was wanted."""
    table = plain_table(title, "", "found", "wanted")
    gain = found.true_gain / abs(found.true_profit)
    for name, value, wanted in (
        ("type I error: pilots without effect that were stopped", f"{found.false_stops:.1%}", "at most 5 %"),
        ("- for harm, for success", f"{found.false_harm:.1%}, {found.false_success:.1%}", ""),
        (f"power: gain of {gain:.1%} detected by the planned end", f"{found.found:.1%}", f"{found.promised:.0%}"),
        ("- median length, designs without one", f"{found.planned:.0f} periods, {found.refused}", ""),
        ("median periods from a shift of demand to an alarm", f"{found.delay:.0f}", "at most 8"),
        ("false alarms in 200 periods", f"{found.false_alarms:.2f}", "at most 1"),
        ("pilots of each kind", f"{found.pilots:,}", ""),
    ):
        table.add_row(name, value, wanted)
    screen.print(table)
