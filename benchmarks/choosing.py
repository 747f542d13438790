"""`python -m benchmarks.choosing`: how good the choice of `compare` is, as the table of docs/decisions/evaluation.md.

Each log is compared as a shop would; then every method is fitted to the whole log and its true value simulated, so that
what was chosen can be set against what the shop did and against the best candidate.
"""

import argparse
import warnings
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import lostsales
from benchmarks.markdown import markdown_table
from lostsales.data.parallel import single_threaded, using_workers, worker_pool
from lostsales.policy.policy import Policy
from lostsales.policy.simple import EpsilonGreedy
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy

SHOPS = (
    *(("released", "uniform"), ("steady", "uniform"), ("nonlinear", "uniform")),
    *(("released", "near-optimal"), ("steady", "near-optimal")),
)
METHODS = ("planner", "c-fqi", "base-stock")
SERIES, EPISODES, TEST_SEED, EXPLORATION = 5, 1_000, 10_000, 0.1
HEAD = (
    "logs",
    "number",
    "chosen",
    "worse than before",
    "best gain, on average",
    "of which not taken at once",
    "the same, mean over logs",
)


class Choice(NamedTuple):
    """The choice from one log, its true gain at once (a pilot has none yet), and that of the best candidate."""

    chosen: str
    gain: float
    best: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=10)
    asked = parser.parse_args()
    with worker_pool(2) as pool:
        found = [list(pool.map(choose, [(*shop, seed) for seed in range(asked.logs)])) for shop in SHOPS]
    lines = [[f"`{name}`, {behaviour}", *figures(each)] for (name, behaviour), each in zip(SHOPS, found, strict=True)]
    print(markdown_table(HEAD, [*lines, ["all", *figures([each for shop in found for each in shop])]]))


def choose(log: tuple[str, str, int]) -> Choice:
    """Compare the methods on one log, and measure what each of them would have gained."""
    name, behaviour, seed = log
    warnings.simplefilter("ignore")
    with single_threaded(), using_workers(1):
        world, before = Scenario.load(name), behaviour_of(name, behaviour)
        known, _ = lostsales.simulate(world, before, SERIES, seed)
        found = lostsales.compare(known, METHODS, seed=seed)
        policies = {method: lostsales.fit(known, method, seed=seed) for method in METHODS}
        did, *earned = (
            evaluate_policy(world, each, EPISODES, TEST_SEED).mean_profit for each in (before, *policies.values())
        )
    gains = {"keep": 0.0} | {method: profit - did for method, profit in zip(METHODS, earned, strict=True)}
    chosen = found.choice or ("keep" if found.to_try is None else f"a pilot of {found.to_try}")
    return Choice(chosen, gains[found.choice or "keep"], max(gains.values()))


@lru_cache
def behaviour_of(name: str, behaviour: str) -> Policy:
    """The policy that makes the logs; near-optimal is pi* with a tenth of its decisions drawn uniformly."""
    world = Scenario.load(name)
    if behaviour == "uniform":
        return named_policy(behaviour, world)
    return EpsilonGreedy(lostsales.solve(world, "pi-star").policy, EXPLORATION)


def figures(choices: list[Choice]) -> list[str]:
    """The cells of a row."""
    gain, best = (np.array(each) for each in list(zip(*choices, strict=True))[1:])
    lost = np.divide(best - gain, best, out=np.zeros(len(best)), where=best > 0)
    chosen = ", ".join(f"{method} in {n}" for method, n in Counter(each.chosen for each in choices).most_common())
    worse = f"{(gain < 0).sum()}" + (f" (by {-gain.min():.1f} at most)" if gain.min() < 0 else "")
    total = f"{(best - gain).sum() / max(best.sum(), 1e-9):.1%}"
    return [str(len(choices)), chosen, worse, f"{best.mean():.2f}", total, f"{lost.mean():.1%}"]


if __name__ == "__main__":
    main()
