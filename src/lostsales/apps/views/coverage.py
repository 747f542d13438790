"""A coverage study as a person reads it."""

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out
from lostsales.lab.studies.coverage import Coverage


def print_coverage(title: str, rows: list[Coverage]) -> None:
    """Coverage by size of the log and estimator, and a line on each that covers too seldom."""
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name in ("series", "estimator", "scored", "covers", "covers gain", "mean error", "width"):
        table.add_column(name, justify="left" if name == "estimator" else "right")
    notes = []
    for each in rows:
        figures = [f"{each.covers:.1%}", f"{each.covers_gain:.1%}", f"{each.error:+.2f} ± {2 * each.error_se:.2f}"]
        figures = [*figures, f"{each.width:.2f}"] if each.scored else ["-"] * 4
        table.add_row(str(each.series), each.estimator, f"{each.scored:.0%}", *figures)
        if each.errs:
            notes.append(f"{each.estimator} from {each.series} series has too low a coverage: it errs {each.errs}")
        elif not each.scored:
            notes.append(f"{each.estimator} from {each.series} series refuses every log")
    out.print(table)
    for line in notes or ["No coverage is too low."]:
        out.print(Text(f"- {line}" if notes else line))
