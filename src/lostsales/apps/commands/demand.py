"""`lostsales demand`."""

from collections.abc import Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import plain_table, print_facts, print_verdict, progress, screen, show
from lostsales.apps.tables import records

if TYPE_CHECKING:
    from lostsales.demand.law.demand_law import DemandLaw
    from lostsales.demand.law.demand_model import DemandModel
    from lostsales.demand.law.price_response import PriceResponse
    from lostsales.demand.law.slopes import SlopeEstimate
    from lostsales.demand.shop import Elasticities, ShopDemand
    from lostsales.demand.stockout_loss import StockoutLoss

BAR = 22  # characters of the longest bar
CALIBRATION = "distance", "p_value", "correlation", "correlation_p_value", "memory", "memory_p_value", "fits"
LAST, PRICE = "last demand", "price"
SLOPES = {
    "least squares": "predictive: all price changes",
    "orthogonalised": "causal: changes that nothing explains",
    "two-stage": "causal: changes by the instruments",
}
SHOWN = 10  # products, half of them the most and half the least elastic


@reads_log
def demand(
    log: LogInput,
    replicates: Annotated[
        int, typer.Option(min=2, max=options.MOST, help="Bootstrap samples of the confidence band of episodes.")
    ] = 20,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Report what drives demand, elasticities, the most profitable prices, and what the data cannot determine.

    Example: `lostsales demand log.parquet`
    """
    from lostsales.data.assortment import is_shop
    from lostsales.data.progress import stages
    from lostsales.demand.fitting import fit_demand
    from lostsales.demand.law.price_response import price_response
    from lostsales.demand.law.price_slopes import price_slopes
    from lostsales.demand.shop import ShopDemand
    from lostsales.demand.stockout_loss import stockout_loss

    table = log.read("demand", sales_only=True)
    with progress("fitting the demand model" if is_shop(table) else "comparing models, fitting samples") as report:
        comparing, resampling = stages(report, (3, 1))
        model = fit_demand(table, seed=seed, progress=comparing)
        if isinstance(model, ShopDemand):
            loss = stockout_loss(table, model=model, seed=seed)
        else:
            found = price_response(table, model, replicates, seed, resampling)
            slopes = price_slopes(table, model.sample, model.law, seed)
    if isinstance(model, ShopDemand):
        show(as_json, lambda: shop_json(model, loss), lambda: print_shop(str(log), model, loss))
    else:
        show(as_json, lambda: demand_json(model, found, slopes), lambda: print_demand(str(log), model, found, slopes))


def shop_json(model: "ShopDemand", loss: "StockoutLoss") -> dict[str, Any]:
    """Content of `print_shop` for JSON, with every product."""
    response = model.response()

    def rows(found: "Elasticities", name: str) -> list[dict[str, Any]]:
        columns = {each: getattr(found, each).tolist() for each in ("elasticity", "standard_error", "low", "high")}
        return records(**{name: found.names.tolist(), **columns, "price_moved": found.price_moved.tolist()})

    return {
        "rows": len(model.log),
        "hidden_rows": int((~model.observed.is_observed).sum()),
        "distribution": model.distribution,
        "drivers": model.drivers(),
        "groups": rows(model.elasticities("group"), "group"),
        "products": rows(model.elasticities(), "product"),
        "best_prices": _best_prices_json(model),
        "price_response": records(
            relative_price=response.prices.tolist(),
            **{name: getattr(response, name).tolist() for name in ("rows", "sales", "demand", "low", "high")},
        ),
        "price_slopes": [
            {"by": each.by, "slope": each.value, "std_error": each.error, "low": each.low, "high": each.high}
            for each in model.slopes
        ],
        "own_past": list(model.own_past.lags),
        "stockout_loss": loss.as_json(),
        "tests": [
            {
                "by": each.classes,
                "f": each.statistic,
                "p_value": each.p_value,
                "largest": each.largest,
                "of": each.where,
            }
            for each in model.residual_tests
        ],
        "warnings": list(model.warnings),
    }


def _best_prices_json(model: "ShopDemand") -> list[dict[str, Any]]:
    """Every product, none without unit costs."""
    if model.log.costs is None:
        return []
    found = model.best_prices()
    columns = {each: getattr(found, each).tolist() for each in ("usual", "price", "gain", "low", "high")}
    return records(product=found.names.tolist(), **columns)


def print_shop(name: str, model: "ShopDemand", loss: "StockoutLoss") -> None:
    """Drivers of demand, elasticities, lost demand, tests of fit, and what the data cannot determine."""
    products, hidden = model.log.products, int((~model.observed.is_observed).sum())
    print_verdict("care" if model.warnings or loss.rows else "good", loss.sentence)
    screen.print()
    past = ", ".join(f"{each:+.2f}" for each in model.own_past.lags)
    facts = [
        ("rows", f"{len(model.log):,} of {len(products):,} products, {hidden:,} of them censored"),
        ("distribution", model.distribution),
        ("own past", f"the last periods move demand by {past} of what they deviated" if past else "none supported"),
    ]
    print_facts(name, facts)
    screen.print()
    table = plain_table("What drives demand", "driver", "share of its variance")
    table.add_column("")
    drivers = model.drivers()
    for driver, share in drivers.items():
        table.add_row(driver, f"{share:.0%}", "█" * round(BAR * share / max(drivers.values())))
    screen.print(table)
    screen.print("Within products; noise is what no model could foretell.", style="dim")
    screen.print()
    if model.price_moved.any():
        if len(model.group_names) > 1:
            _elasticities("group", model.elasticities("group"))
        _elasticities("product", model.elasticities())
        _best_prices(model)
        _slopes_of_shop(model)
    tests = plain_table("Do residuals differ?", "by", "p", "largest deviation")
    for each in model.residual_tests:
        tests.add_row(each.classes, f"{each.p_value:.2g}", Text(f"{each.largest:+.2f} ({each.where})"))
    screen.print(tests)
    screen.print("In standard deviations of a row; a small p with a large deviation is a misfit.", style="dim")
    screen.print()
    for warning in model.warnings:
        screen.print(Text(f"Warning: {warning}", style="bold yellow"))
    if not model.warnings:
        screen.print("No test rejects this model.", style="bold")


def _elasticities(what: str, found: "Elasticities") -> None:
    import numpy as np

    order = np.argsort(found.elasticity)
    shown = order if len(order) <= SHOWN else np.r_[order[: SHOWN // 2], order[-SHOWN // 2 :]]
    table = plain_table(f"Elasticity by {what}, at the usual price", what, "elasticity", "95 % band")
    table.add_column("")
    for place, at in enumerate(shown):
        if len(order) > SHOWN and place == SHOWN // 2:
            table.add_row(Text(f"... {len(order) - SHOWN:,} more, in --json"), "", "", "", style="dim")
        band = f"{found.low[at]:+.2f} to {found.high[at]:+.2f}"
        remark = "" if found.price_moved[at] else "price never varied"
        table.add_row(Text(str(found.names[at])), f"{found.elasticity[at]:+.2f}", band, remark)
    screen.print(table)
    screen.print()


def _best_prices(model: "ShopDemand") -> None:
    """The most profitable prices, those with the largest gains first."""
    import numpy as np

    if model.log.costs is None:
        screen.print("The most profitable price of each product follows once [costs] order is set.", style="dim")
        screen.print()
        return
    found = model.best_prices()
    order = np.argsort(-found.gain)
    table = plain_table("Most profitable price, if stock suffices", "product", "usual", "best")
    table.add_column(f"gain per {found.per}", justify="right")
    table.add_column("95 % band", justify="right")
    for at in order[:SHOWN]:
        band = f"{found.low[at]:+,.2f} to {found.high[at]:+,.2f}"
        figures = f"{found.usual[at]:g}", f"{found.price[at]:g}", f"{found.gain[at]:+,.2f}", band
        table.add_row(Text(str(found.names[at])), *figures)
    if len(order) > SHOWN:
        table.add_row(Text(f"... {len(order) - SHOWN:,} more, in --json"), *[""] * 4, style="dim")
    screen.print(table)
    screen.print("Within the prices at which a product was sold; over the prices that were charged.", style="dim")
    screen.print()


def _slopes_of_shop(model: "ShopDemand") -> None:
    """The mean elasticity by every estimator, where they can be told apart."""
    if not model.slopes:
        return
    table = plain_table("Mean elasticity of all products", "by", "elasticity", "95 % band")
    for each in model.slopes:
        table.add_row(SLOPES[each.by], f"{each.value:+.2f}", f"{each.low:+.2f} to {each.high:+.2f}")
    screen.print(table)
    screen.print("The two differ where prices followed what the log does not show.", style="dim")
    screen.print()


def demand_json(model: "DemandModel", found: "PriceResponse", slopes: "Sequence[SlopeEstimate]" = ()) -> dict[str, Any]:
    """Content of `print_demand` for JSON."""
    fit = model.calibration
    return {
        "rows": len(model.evidence),
        "hidden_rows": int(model.evidence.is_censored.sum()),
        "family": model.family.name,
        "held_out": model.held_out,
        "candidates": [
            {"family": each.family.name, "score": each.score, "behind": each.behind, "std_error": each.error}
            for each in model.candidates
        ],
        "choice_reason": model.choice_reason,
        "noise_sd": model.noise_sd,
        "dispersion": model.law.dispersion if model.family.is_count else None,
        "multiplicative": model.family.multiplicative,
        "slopes": [{"name": each.name, "change": each.change, "std_error": each.error} for each in found.slopes],
        "price_response": records(
            price=found.prices.tolist(),
            **{name: getattr(found, name).tolist() for name in ("rows", "sales", "demand", "low", "high")},
        ),
        "relative_prices": found.relative,
        "elasticity": found.elasticity,
        "elasticity_std_error": found.elasticity_error,
        "price_slopes": [
            {
                "by": each.by,
                "slope": each.value,
                "std_error": each.error,
                "low": each.low,
                "high": each.high,
                "first_stage_f": each.first_stage,
                "used": each.by == _used(model),
            }
            for each in slopes
        ],
        "memory_by_instruments": _memory_json(model),
        "calibration": {"shares": fit.shares.tolist()} | {name: getattr(fit, name) for name in CALIBRATION},
        "learned_from_rows": len(model.sample),
        "resampled_rows": found.resampled_rows,
        "notes": list(model.notes),
        "warnings": list(model.warnings),
    }


def print_demand(
    name: str, model: "DemandModel", found: "PriceResponse", slopes: "Sequence[SlopeEstimate]" = ()
) -> None:
    """The chosen model, its candidates, effects, price response and calibration; warnings come last."""
    import numpy as np

    evidence, law = model.evidence, model.law
    spread = model.noise_sd
    noise = f"standard deviation {spread:.3g}"
    if law.family.is_count:
        noise = (
            f"counts of variance mean + {law.dispersion:.3g} mean²" if law.is_dispersed else "counts, variance = mean"
        )
    elif law.family.multiplicative:
        noise = f"multiplicative, a factor of {np.exp(spread):.2f} either way (one standard deviation)"
    elif law.scale.min() < law.scale.max():
        noise = f"standard deviation {spread:.0%} of a series' usual sales"
    facts = [
        ("rows", f"{len(evidence):,}, {evidence.is_censored.sum():,} of them censored"),
        ("model", law.family.name),
        ("noise", noise),
    ]
    if len(law.scale) > 1:
        facts.append(("series", _series(law)))
    warnings = model.warnings
    print_verdict("care" if warnings else "good", _verdict(found, len(warnings)))
    print_facts(name, facts)
    screen.print()
    _families(model)
    _slopes(model, found)
    _prices(found)
    _price_slopes(model, slopes)
    _calibration(model)
    for warning in warnings:
        screen.print(Text(f"Warning: {warning}", style="bold yellow"))
    if not warnings:
        screen.print("No test rejects this model.", style="bold")


def _verdict(found: "PriceResponse", warnings: int) -> str:
    """The effect of the price in words, and whether a test rejects the model."""
    doubt = f"{warnings} warning{'s' if warnings > 1 else ''} below" if warnings else "no test rejects the model"
    if not isfinite(found.elasticity):
        return f"The effect of the price is not known: it never varied; {doubt}."
    change, error = 1.1**found.elasticity - 1, 0.1 * found.elasticity_error
    return f"Where the price is 10 % higher, demand is {change:+.0%} (standard error {error:.0%}); {doubt}."


def _series(law: "DemandLaw") -> str:
    level, scale = law.level, law.scale
    sizes = f", sizes from {scale.min():.3g} to {scale.max():.3g}" if scale.min() < scale.max() else ""
    return f"{len(level):,} that {f'differ by {level.std():.2g}' if level.any() else 'share one distribution'}{sizes}"


def _families(model: "DemandModel") -> None:
    table = plain_table(
        f"Models by how well they predict {model.held_out} held out", "model", "score", "behind", "s.e.", ""
    )
    for each in sorted(model.candidates, key=lambda each: each.behind):
        mark = "chosen" if each.family == model.family else ""
        numbers = (f"{each.score:.3f}", f"{each.behind:.3f}", f"{each.error:.3f}") if each.behind else (
            f"{each.score:.3f}", "best", "")  # fmt: skip
        table.add_row(each.family.name, *numbers, mark, style="bold" if mark else "")
    screen.print(table)
    score = "Score: mean log-likelihood per row, censored rows included; higher is better."
    screen.print(f"{score} Chosen: {model.choice_reason}.", style="dim")
    screen.print()


def _slopes(model: "DemandModel", found: "PriceResponse") -> None:
    import numpy as np

    slopes = found.slopes
    if not slopes:
        screen.print(f"Effects on demand: no slopes, the {model.family.mean} mean is not linear.\n")
        return
    table = plain_table("Effects on demand", "one more of", "changes demand by", "s.e.")
    table.add_column("")
    scaled = model.law.scale.min() < model.law.scale.max()
    for each in slopes:
        name, change, error = Text(each.name), each.change, each.error
        if model.family.is_log and each.name == LAST:
            name, change, error = Text("last demand, 10 % more"), 1.1**each.change - 1, 0.1 * each.error
        elif model.family.is_log and found.relative and each.name == PRICE:
            name, change, error = (
                Text("price, 10 % more"),
                1.1 ** np.log1p(each.change) - 1,
                0.1 * each.error / (1 + each.change),
            )
        numbers = _percent(change, error) if model.family.is_log else _numbers(change, error)
        still = change == 0 and error == 0
        remark = "never varied" if still else "not significant" if abs(change) < 2 * error else ""
        table.add_row(name, *(("-", "-") if still else numbers), remark, style="dim" if remark else "")
    screen.print(table)
    if scaled and not model.family.is_log:
        screen.print("Demand in units of each series' usual sales.", style="dim")
    screen.print()


def _numbers(change: float, error: float) -> tuple[str, str]:
    """Texts with as many digits as the standard error supports.

    >>> _numbers(148.2, 243.1), _numbers(-1.4912, 0.0234)
    (('+148', '243'), ('-1.491', '0.023'))
    """
    import numpy as np

    if not error > 0:  # also where there is none
        return f"{change:+.3g}", "-" if isnan(error) else "0"
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    return f"{change:+,.{digits}f}", f"{error:,.{digits}f}"


def _percent(change: float, error: float) -> tuple[str, str]:
    return f"{change:+.1%}", "-" if isnan(error) else f"{error:.1%}"


def _prices(found: "PriceResponse") -> None:
    price_name = "price / usual price" if found.relative else "price"
    table = plain_table("Price response", price_name, "rows", "mean sales", "expected demand", "95 % band")
    table.add_column("", no_wrap=True, overflow="crop")
    most = max(float(found.high.max()), 1e-9)
    for price, rows, sales, demand, low, high in zip(
        found.prices, found.rows, found.sales, found.demand, found.low, found.high, strict=True
    ):
        start, end = round(BAR * low / most), round(BAR * high / most)
        middle = min(round(BAR * demand / most), BAR)
        bar = "".join("┃" if at == middle else "─" if start <= at <= end else " " for at in range(BAR + 1))
        table.add_row(f"{price:.6g}", f"{rows:,}", f"{sales:.3g}", f"{demand:.3g}", f"{low:.3g} to {high:.3g}", bar)
    screen.print(table)
    if len(found.prices) > 1:
        change, error = _numbers(found.elasticity, found.elasticity_error)
        more = f"Elasticity within the period: {change} (s.e. {error})."
        screen.print(f"All rows of the log, with their features and last demand, at each price. {more}", style="dim")
    screen.print()


def _used(model: "DemandModel") -> str:
    """The estimator behind the price response of the model."""
    return "least squares" if model.instrumented is None else "two-stage"


def _memory_json(model: "DemandModel") -> dict[str, Any] | None:
    found = _memory_by_instruments(model)
    if found is None:
        return None
    band = {"std_error": found.error, "low": found.low, "high": found.high}
    return {"slope": found.value, **band, "first_stage_f": found.first_stage}


def _memory_by_instruments(model: "DemandModel") -> "SlopeEstimate | None":
    return None if model.instrumented is None else model.instrumented.memory


def _price_slopes(model: "DemandModel", slopes: "Sequence[SlopeEstimate]") -> None:
    """The slope on the price by every estimator, and how far they differ from the one that is used."""
    if not slopes:
        return
    used = next(each for each in slopes if each.by == _used(model))
    table = plain_table("Slope on the price", "by", "slope", "95 % band", "differs by")
    table.add_column("")
    for each in slopes:
        band, differs = f"{each.low:.3g} to {each.high:.3g}", "" if each is used else f"{each.value - used.value:+.3g}"
        table.add_row(each.by, f"{each.value:.3g}", band, differs, "used" if each is used else "")
    screen.print(table)
    of = "the logarithm of demand" if model.family.multiplicative else "demand"
    if (told := _memory_by_instruments(model)) is not None:
        found = (
            f"By the instruments, the effect of the last demand is {told.value:.2f} ({told.low:.2f} to {told.high:.2f})"
        )
        screen.print(f"{found}.")
    screen.print(
        f"Of {of} (in units of each series' scale), given features and last demand. Orthogonalised: on the "
        "unexplained part of prices; two-stage: by the instruments of the problem file.",
        style="dim",
    )
    screen.print()


def _calibration(model: "DemandModel") -> None:
    from lostsales.demand.law.calibration import MEMORY

    fit = model.calibration
    table = plain_table("Calibration on held-out rows", "predicted probability", "share of rows")
    table.add_column("")
    for at, share in enumerate(fit.shares):
        bins = len(fit.shares)
        bar = "█" * round(BAR * share * bins / 2)
        table.add_row(f"{at / bins:.0%} to {(at + 1) / bins:.0%}", f"{share:.1%}", bar)
    screen.print(table)
    off = f"Largest deviation: {fit.distance:.1%} (p = {fit.p_value:.2g})"
    link = f"with the last period by {fit.correlation:+.2f} (p = {fit.correlation_p_value:.2g})"
    memory = f"with the last {MEMORY} by {fit.memory:+.2f} (p = {fit.memory_p_value:.2g})"
    screen.print(f"Each {1 / len(fit.shares):.0%} under the model. {off}.", style="dim")
    screen.print(f"Residuals correlate {link}, {memory}; under the model by 0.", style="dim")
    screen.print()
