"""`python -m benchmarks.choosing`: how good the choice of `compare` is, as the table of docs/decisions/evaluation.md.

Each log is compared as a shop would; then every method is fitted to the whole log and its true value simulated, so that
what was chosen can be set against what the shop did and against the best candidate.
"""

import argparse
import warnings

import numpy as np

from lostsales.evaluation.compare import compare
from lostsales.learn.fit import fit
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

TEST_SEED = 10_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", nargs="+", default=["released", "steady", "nonlinear"])
    parser.add_argument("--behaviour", default="uniform")
    parser.add_argument("--epsilon", type=float, default=0.0)
    parser.add_argument("--series", type=int, default=5)
    parser.add_argument("--logs", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first log")
    parser.add_argument("--episodes", type=int, default=1_000)
    parser.add_argument("--methods", nargs="+", default=["planner", "c-fqi", "base-stock"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| scenario | behaviour | rows | log | chosen | its true gain | best candidate | best true gain |")
    print("|---|---|---|---|---|---|---|---|")
    worse, lost = [], []
    for name in asked.scenarios:
        world = Scenario.load(name)
        behaviour = named_policy(asked.behaviour, world, asked.epsilon)
        did = evaluate_policy(world, behaviour, asked.episodes, TEST_SEED).mean_profit
        for seed in range(asked.first, asked.first + asked.logs):
            log, _ = simulate(world, behaviour, asked.series, seed)
            found = compare(log, tuple(asked.methods), seed=seed)
            gains: dict[str | None, float] = {None: 0.0}  # None: keep what one does
            for method in asked.methods:
                policy = fit(log, method, seed=seed)
                gains[method] = evaluate_policy(world, policy, asked.episodes, TEST_SEED).mean_profit - did
            best = max(gains, key=gains.__getitem__)
            worse.append(gains[found.choice] < 0)
            lost.append((gains[best] - gains[found.choice]) / gains[best] if gains[best] > 0 else 0.0)
            chosen = f"{found.choice or 'keep'} | {gains[found.choice]:.2f} | {best or 'keep'} | {gains[best]:.2f}"
            print(f"| `{name}` | {asked.behaviour} {asked.epsilon:g} | {len(log)} | {seed} | {chosen} |", flush=True)
    print(
        f"\nworse than before in {np.mean(worse):.1%} of {len(worse)} logs; {np.mean(lost):.1%} of the best gain lost"
    )


if __name__ == "__main__":
    main()
