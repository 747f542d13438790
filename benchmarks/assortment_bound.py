"""Share of simulated logs in which the lower bound on the total gain of an assortment lies above the true gain.

    python -m benchmarks.assortment_bound --logs 100 --journal bound.jsonl

Every log comes from a shop of its own; the planner is fitted to it and judged by `evaluate` on the same log, as a user
would. Finished logs are kept in the journal, and the same command goes on from there.
"""

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import lostsales
from benchmarks.assortments import Assortment, AssortmentManager

PERIODS = 364  # of the simulation that tells the true gain
WANTED = 0.05  # share of the bounds that may lie above the truth


@dataclass(frozen=True)
class Judged:
    """The gain of the whole assortment a period, as `evaluate` says and in truth."""

    number: int
    products: int
    value: float
    low: float
    high: float
    truth: float
    truth_error: float  # standard error of the simulation


def judge(number: int, products: int = 8) -> Judged:
    """Fit and evaluate the planner on the log of one shop."""
    shop = Assortment.draw(products, 10_000 + number)
    log = lostsales.read_log(pd.DataFrame(shop.columns(number)).drop(columns="demand"), shop.problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = lostsales.fit(log)
        found = lostsales.evaluate(policy, log, estimators=["model"], quick=True).assortment
    if found is None:
        raise lostsales.LostSalesError(f"the log of shop {number} is too short to be judged")
    gain = found.total.period
    profits = [shop.profits(each, PERIODS, seed=number).sum(axis=1) for each in (policy, AssortmentManager(shop))]
    weekly = (profits[0] - profits[1]).reshape(-1, 7).mean(axis=1)
    error = float(weekly.std(ddof=1) / np.sqrt(len(weekly)))
    return Judged(number, products, gain.value, gain.low, gain.high, float(weekly.mean()), error)


def study(logs: int, products: int = 8, journal: Path | None = None) -> list[Judged]:
    """All logs; those in the journal are not repeated."""
    lines = journal.read_text().splitlines() if journal and journal.exists() else []
    done = {each.number: each for each in (Judged(**json.loads(line)) for line in lines) if each.products == products}
    for number in range(logs):
        if number not in done:
            done[number] = judge(number, products)
            if journal:
                with journal.open("a") as file:
                    file.write(json.dumps(asdict(done[number])) + "\n")
    return [done[number] for number in range(logs)]


def summary(found: list[Judged]) -> str:
    """Result of the study in a line."""
    above = sum(each.low > each.truth for each in found)
    covers = float(np.mean([each.low <= each.truth <= each.high for each in found]))
    error = np.array([each.value - each.truth for each in found])
    return (
        f"{above} of {len(found)} lower bounds lie above the true gain (at most {WANTED:.0%} should); intervals cover "
        f"{covers:.0%}; mean error {error.mean():+.2f} (s.e. {error.std(ddof=1) / np.sqrt(len(error)):.2f}) "
        f"of a mean gain of {np.mean([each.truth for each in found]):.2f} a period"
    )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--products", type=int, default=8)
    parser.add_argument("--journal", type=Path)
    asked = parser.parse_args()
    print(summary(study(asked.logs, asked.products, asked.journal)))


if __name__ == "__main__":
    main()
