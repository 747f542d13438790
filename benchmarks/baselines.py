"""`python -m benchmarks.baselines`: what every method earns in simulation, as the table of docs/benchmarks.md.

All methods learn from the same logs of uniform behaviour, and all policies of a log meet the same customers.
"""

import argparse
from time import process_time

import numpy as np

from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

TEST_SEED = 10_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", nargs="+", default=["released", "paper", "steady"])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2_500])
    parser.add_argument("--methods", nargs="+", default=list(LEARNERS.names))
    parser.add_argument("--logs", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=200)
    asked = parser.parse_args()
    print("| scenario | rows | method | mean profit a period | standard error | worst log | seconds to fit |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.scenarios:
        world = Scenario.load(name)
        for rows in asked.rows:
            logs = [simulate(world, episodes=rows // world.horizon, seed=seed)[0] for seed in range(asked.logs)]
            for method in asked.methods:
                earned, seconds = [], 0.0
                for seed, log in enumerate(logs):
                    began = process_time()
                    policy = fit(log, method, iterations=10)
                    seconds += process_time() - began
                    earned.append(evaluate_policy(world, policy, asked.episodes, TEST_SEED + seed).mean_profit)
                error = np.std(earned, ddof=1) / np.sqrt(len(earned))
                figures = f"{np.mean(earned):.2f} | {error:.2f} | {min(earned):.2f} | {seconds / len(earned):.2f}"
                print(f"| `{name}` | {rows:,} | {method} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
