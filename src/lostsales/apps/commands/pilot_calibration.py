"""`lostsales calibrate --study pilot`."""

from pathlib import Path


def calibrate_pilots(
    shop: str,
    settings: tuple[str, ...],
    before: str,
    new: str,
    sizes: tuple[int, ...],
    past: int,
    replications: int,
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the study of pilots and print what it found."""
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.pilot_study import print_pilot_study
    from lostsales.errors import LostSalesError, SettingError
    from lostsales.simulation.pilot_study import PilotStudy, run_pilot_study

    if len(sizes) != 1:
        raise SettingError(f"a study of pilots takes one number of series, such as --series 20, but {len(sizes)} came")
    study = PilotStudy(shop, settings, before, new, sizes[0], past, replications, seed)
    try:
        with progress("simulating pilots") as report:
            found, _ = run_pilot_study(study, out, workers, report)
    except KeyboardInterrupt:
        kept = f"; the same command resumes from {out}" if out else "; with --out it could be resumed"
        raise LostSalesError(f"stopped{kept}") from None
    if as_json:
        print_json({"scenario": shop, "series": sizes[0], **asdict(found)})
    else:
        print_pilot_study(f"{new} against {before} in {shop}, {sizes[0]} series", found)
