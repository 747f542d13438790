"""`python -m benchmarks.baselines`: what every method earns in simulation, as the table of docs/benchmarks.md.

All methods learn from the same logs of uniform behaviour, and all policies of a log meet the same customers.
"""

import argparse
from functools import partial

import numpy as np

from benchmarks.markdown import markdown_table
from lostsales.data.parallel import single_threaded, using_workers, worker_pool
from lostsales.learn.fit import fit
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

TEST_SEED = 10_000
METHODS = (
    *("c-fqi", "pc-fqi", "fusion", "planner", "behaviour", "base-stock", "s-S-p", "newsvendor"),
    *("fqi-observed", "fqi-dropped", "fqi-imputed", "fqi-plugin"),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", nargs="+", default=["released", "paper", "steady"])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2_500])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--logs", type=int, default=10)
    asked = parser.parse_args()
    logs = [(name, rows, seed) for name in asked.scenarios for rows in asked.rows for seed in range(asked.logs)]
    with worker_pool(2) as pool:
        found = list(pool.map(partial(earned, methods=tuple(asked.methods)), logs))
    profits = np.array(found).reshape(-1, asked.logs, len(asked.methods))  # columns of the table, logs, methods
    errors = profits.std(axis=1, ddof=1) / np.sqrt(asked.logs)
    head = ["method", *(f"`{name}` {rows:,}" for name in asked.scenarios for rows in asked.rows)]
    lines = [
        [method, *(f"{mean:.2f} ({error:.2f})" for mean, error in zip(means, spreads, strict=True))]
        for method, means, spreads in zip(asked.methods, profits.mean(axis=1).T, errors.T, strict=True)
    ]
    print(markdown_table(head, lines))


def earned(log: tuple[str, int, int], methods: tuple[str, ...]) -> list[float]:
    """Profit per period of every method from one log."""
    name, rows, seed = log
    world = Scenario.load(name)
    with single_threaded(), using_workers(1):
        known, _ = simulate(world, episodes=rows // world.horizon, seed=seed)
        policies = [fit(known, method, iterations=10) for method in methods]
        return [evaluate_policy(world, policy, 200, TEST_SEED + seed).mean_profit for policy in policies]


if __name__ == "__main__":
    main()
