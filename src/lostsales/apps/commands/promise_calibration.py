"""`lostsales calibrate --study promise`."""

from pathlib import Path


def calibrate_promises(
    shop: str,
    settings: tuple[str, ...],
    method: str,
    sizes: tuple[int, ...],
    replications: int,
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the study of promised gains and print what it found."""
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.promise import print_promise
    from lostsales.errors import LostSalesError, SettingError
    from lostsales.simulation.promise_study import PromiseStudy, PromiseTable, run_promise_study
    from lostsales.simulation.scenario import Scenario

    if len(sizes) != 1:
        raise SettingError(
            f"a study of promises takes one number of series, such as --series 14, but {len(sizes)} came"
        )
    study = PromiseStudy(Scenario.load(shop, settings), method, sizes[0], replications, seed)
    try:
        with progress("comparing on logs") as report:
            outcomes = run_promise_study(study, out, workers, report)
    except KeyboardInterrupt:
        kept = f"; the same command resumes from {out}" if out else "; with --out it could be resumed"
        raise LostSalesError(f"stopped{kept}") from None
    table = PromiseTable.of(outcomes)
    if as_json:
        print_json({"scenario": shop, "method": method, "series": sizes[0], **asdict(table)})
    else:
        print_promise(f"{method} in {shop}, logs of {sizes[0]} series by its manager", table)
