"""A demand model as a person reads it."""

import numpy as np
from rich.text import Text

from lostsales.apps.console import out, plain_table, print_facts
from lostsales.demand.calibration import MEMORY
from lostsales.demand.model import DemandModel
from lostsales.demand.response import Response, Slope

BAR = 30
LAST = "last demand"


def print_demand(name: str, model: DemandModel, found: Response) -> None:
    """From the chosen model to what it says, and whether to believe it; warnings come last."""
    evidence, law = model.evidence, model.law
    spread = law.residuals.spread
    noise = f"standard deviation {spread:.3g}"
    if law.family.multiplicative:
        noise = f"demand is off by a factor of {np.exp(spread):.2f} either way"
    elif law.scale.min() < law.scale.max():
        noise = f"standard deviation {spread:.0%} of a series' usual sales"
    facts = [
        ("rows", f"{len(evidence):,}, of which {evidence.hidden.sum():,} hide their demand"),
        ("model", law.family.name),
        ("noise", noise),
    ]
    if len(law.scale) > 1:
        differ = "share one law" if not law.effect.any() else f"differ by {law.effect.std():.2g} beyond what is known"
        sizes = f"; sizes from {law.scale.min():.3g} to {law.scale.max():.3g}" if np.ptp(law.scale) > 0 else ""
        facts.append(("series", f"{len(law.scale):,} that {differ}{sizes}"))
    print_facts(name, facts)
    out.print()
    _families(model)
    _slopes(model, found.slopes)
    _prices(found)
    _calibration(model)
    for said in model.warnings:
        out.print(Text(f"Warning: {said}", style="bold yellow"))
    if not model.warnings:
        out.print("Nothing speaks against this model.", style="bold")


def _families(model: DemandModel) -> None:
    table = plain_table(
        f"Models by how well they predict {model.held_out} held out", "model", "score", "behind", "s.e.", ""
    )
    for each in sorted(model.candidates, key=lambda each: each.behind):
        mark = "chosen" if each.family == model.family else ""
        numbers = (f"{each.score:.3f}", f"{each.behind:.3f}", f"{each.error:.3f}") if each.behind else (
            f"{each.score:.3f}", "best", "")  # fmt: skip
        table.add_row(each.family.name, *numbers, mark, style="bold" if mark else "")
    out.print(table)
    out.print("Score: mean log chance of what a row shows. The simplest that is not behind beyond chance.", style="dim")
    out.print()


def _slopes(model: DemandModel, slopes: tuple[Slope, ...]) -> None:
    if not slopes:
        out.print(f"What moves demand: no slopes, the {model.family.mean} mean bends.\n")
        return
    table = plain_table("What moves demand", "one more of", "changes demand by", "s.e.")
    scaled = np.ptp(model.law.scale) > 0
    for each in slopes:
        if model.family.multiplicative and each.name == LAST:
            table.add_row("last demand, 10 % more", f"{1.1**each.change - 1:+.1%}", f"{0.1 * each.error:.1%}")
        elif model.family.multiplicative:
            table.add_row(Text(each.name), f"{each.change:+.1%}", f"{each.error:.1%}")
        else:
            table.add_row(Text(each.name), f"{each.change:+.3g}", f"{each.error:.2g}")
    out.print(table)
    if scaled and not model.family.multiplicative:
        out.print("Demand in units of each series' usual sales.", style="dim")
    out.print()


def _prices(found: Response) -> None:
    table = plain_table("Price response", "price", "rows", "expected demand", "95 % band")
    table.add_column("")
    most = max(float(found.high.max()), 1e-9)
    for price, rows, demand, low, high in zip(
        found.prices, found.rows, found.demand, found.low, found.high, strict=True
    ):
        start, end = round(BAR * low / most), round(BAR * high / most)
        middle = min(round(BAR * demand / most), BAR)
        bar = "".join("┃" if at == middle else "─" if start <= at <= end else " " for at in range(BAR + 1))
        table.add_row(f"{price:g}", f"{rows:,}", f"{demand:.3g}", f"{low:.3g} to {high:.3g}", bar)
    out.print(table)
    if len(found.prices) > 1:
        more = f"1 % on the price changes demand by {found.elasticity:+.2f} % (s.e. {found.elasticity_error:.2f}); "
        out.print(f"{more}markets and last demands as in the log.", style="dim")
    out.print()


def _calibration(model: DemandModel) -> None:
    fit = model.calibration
    table = plain_table("Calibration on held-out rows", "predicted chance", "share of rows")
    table.add_column("")
    for at, share in enumerate(fit.shares):
        bins = len(fit.shares)
        bar = "█" * round(BAR * share * bins / 2)
        table.add_row(f"{at / bins:.0%} to {(at + 1) / bins:.0%}", f"{share:.1%}", bar)
    out.print(table)
    off = f"Furthest off: {fit.distance:.1%} (p = {fit.p_value:.2g})"
    link = f"Correlation with the last period: {fit.correlation:+.2f} (p = {fit.correlation_p_value:.2g})"
    memory = f"with the last {MEMORY}: {fit.memory:+.2f} (p = {fit.memory_p_value:.2g})"
    out.print(f"Each {1 / len(fit.shares):.0%} where the model is right. {off}. {link}, {memory}.", style="dim")
    out.print()
