"""The command about the law of demand: which model predicts best, what moves demand, and whether it fits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands.options import Json, Log, ProblemFile

if TYPE_CHECKING:  # quick to import
    from lostsales.demand.law.price_response import PriceResponse
    from lostsales.demand.law.selection import DemandModel


def demand(
    log: Log,
    problem: ProblemFile = None,
    replicates: Annotated[int, typer.Option(min=2, help="Bootstrap samples behind the band.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn the law of demand: what moves it, how it answers to the price, and whether the model can be trusted.

    Example: `lostsales demand log.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.demand import print_demand
    from lostsales.data.reading.gate import read_log
    from lostsales.demand.law.price_response import price_response
    from lostsales.demand.law.selection import fit_demand

    with progress("comparing models") as report:
        table = read_log(log, problem)
        model = fit_demand(table, seed=seed, progress=report)
    with progress("fitting resampled series") as report:
        found = price_response(table, model, replicates, seed, report)
    if as_json:
        print_json(_as_json(model, found))
    else:
        print_demand(str(log), model, found)


def _as_json(model: "DemandModel", found: "PriceResponse") -> dict[str, Any]:
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
        "noise_sd": model.law.residuals.spread,
        "multiplicative": model.family.multiplicative,
        "slopes": [{"name": each.name, "change": each.change, "std_error": each.error} for each in found.slopes],
        "price_response": [
            {"price": price, "rows": rows, "sales": sales, "demand": demand, "low": low, "high": high}
            for price, rows, sales, demand, low, high in zip(
                *(
                    each.tolist()
                    for each in (found.prices, found.rows, found.sales, found.demand, found.low, found.high)
                ),
                strict=True,
            )
        ],
        "elasticity": found.elasticity,
        "elasticity_std_error": found.elasticity_error,
        "calibration": {
            "shares": fit.shares.tolist(),
            "distance": fit.distance,
            "p_value": fit.p_value,
            "correlation": fit.correlation,
            "correlation_p_value": fit.correlation_p_value,
            "memory": fit.memory,
            "memory_p_value": fit.memory_p_value,
            "fits": fit.fits,
        },
        "warnings": list(model.warnings),
    }
