"""`python -m peers.logs FOLDER`: simulated logs as transitions of the last observation.

The state is (features, stock, last sales, last stock-out), standardised; the reward is the profit with imputed cost of
lost sales, in standard deviations: the data of our `fqi-imputed`.
"""

import argparse
from pathlib import Path

import numpy as np

from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.policy.action_grid import ActionGrid
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate


def main() -> None:
    """Write one file a log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenario", default="released")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2_500])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    scenario = Scenario.load(asked.scenario)
    grid = ActionGrid.of(scenario)
    for rows in asked.rows:
        for seed in asked.seeds:
            log, _ = simulate(scenario, episodes=rows // scenario.horizon, seed=seed)
            last, was_out = np.r_[0.0, log.sales[:-1]], np.r_[False, log.censored[:-1]]
            last[log.starts], was_out[log.starts] = log.last_sales, log.last_stockout
            state = np.column_stack([log.features, np.asarray(log.stock), last, was_out])
            centre, scale = state.mean(axis=0), np.maximum(state.std(axis=0), 1e-9)
            price, order = np.searchsorted(grid.prices, log.price), np.searchsorted(grid.orders, np.asarray(log.order))
            profit = np.asarray(impute_by_curves(log, tail="last", replicates=0).profit_filled)
            np.savez(
                asked.folder / f"log-{asked.scenario}-{rows}-{seed}.npz",
                state=((state - centre) / scale).astype(np.float32),
                action=price * len(grid.orders) + order,
                reward=(profit / profit.std()).astype(np.float32),
                last=~log.has_next,
                centre=centre,
                scale=scale,
                actions=len(grid),
                discount=scenario.discount,
            )


if __name__ == "__main__":
    main()
