"""`python -m benchmarks.coverage`: how often the intervals of `evaluate` cover, for docs/decisions/evaluation.md."""

import argparse

from benchmarks.markdown import markdown_table, results_folder
from lostsales.lab.studies.coverage import REPLICATIONS, Coverage, calibrate

HEAD = ("scenario", "series", "covers", "covers the gain", "refused", "mean error (standard error)", "half width")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", nargs="+", default=["steady", "released", "nonlinear"])
    parser.add_argument("--logs", type=int, default=REPLICATIONS)
    asked = parser.parse_args()
    lines = []
    folder = results_folder("coverage")
    folder.mkdir(parents=True, exist_ok=True)
    for name in asked.scenarios:
        journal = folder / f"{name}.json"
        found = calibrate(name, replications=asked.logs, estimators=("model",), workers=2, partial=journal)
        earned = f"`{name}` (truth {found.truth.policy:.2f}, earned {found.truth.behaviour:.2f})"
        lines += [[earned, *_figures(each)] for each in found.coverage]
    print(markdown_table(HEAD, lines))


def _figures(found: Coverage) -> list[str]:
    shares = [f"{share:.1%}" for share in (found.covers, found.covers_gain, 1 - found.scored)]
    return [str(found.series), *shares, f"{found.error:+.2f} ({found.error_se:.2f})", f"{found.width / 2:.1f}"]


if __name__ == "__main__":
    main()
