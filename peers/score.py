"""`python -m peers.score FOLDER`: mean profit of the trained networks in the simulator, as a table."""

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import markdown_table
from lostsales.data.problem import Problem
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from lostsales.types import Floats, Ints

FLEXIBILITY = 0.3  # BCQ: least probability of an action relative to the most probable; the package's default


@dataclass(frozen=True)
class PeerPolicy(PolicyBase):
    """Greedy in a trained Q; with an imitator (BCQ) only among actions that it finds probable enough."""

    problem: Problem
    arrays: dict[str, Any]
    observes: Observes = "sales"

    def greedy(self, state: Floats) -> Ints:
        """Positions in the grid, from standardised states."""
        values = self._forward("q", state)
        if "imitator_weight_0" in self.arrays:
            logits = self._forward("imitator", state)
            likely = logits - logits.max(axis=1, keepdims=True) >= np.log(FLEXIBILITY)
            values = np.where(likely, values, -np.inf)
        return np.asarray(values.argmax(axis=1))

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        state = np.column_stack([*view.features, view.stock, view.last_sales, view.last_stockout])
        at = self.greedy((state - self.arrays["centre"]) / self.arrays["scale"])
        return Action(*ActionGrid.of(self.problem).pairs[at].T)

    def _forward(self, name: str, layer: Floats) -> Floats:
        for i in range(3):
            layer = layer @ self.arrays[f"{name}_weight_{i}"].T + self.arrays[f"{name}_bias_{i}"]
            layer = np.maximum(layer, 0) if i < 2 else layer
        return layer


def main() -> None:
    """Print mean profits over logs, after a check that numpy decides as the package does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--episodes", type=int, default=200)
    asked = parser.parse_args()
    profits: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for path in sorted([*asked.folder.glob("cql-*.npz"), *asked.folder.glob("bcq-*.npz")]):
        method, scenario, rows, seed = path.stem.split("-")
        shop = Scenario.load(scenario)
        policy = PeerPolicy(shop.problem, dict(np.load(path)))
        same = np.mean(policy.greedy(policy.arrays["asked"]) == policy.arrays["answered"])
        if same < 0.95:  # float32 may break a tie
            raise SystemExit(f"{path}: numpy decides as the package in {same:.0%} of states only")
        summary = evaluate_policy(shop, policy, asked.episodes, seed=10_000 + int(seed))
        profits[scenario, method, int(rows)].append(summary.mean_profit)
    sizes = sorted({rows for *_, rows in profits})
    lines = [
        [
            f"d3rlpy Discrete{method.upper()}, `{scenario}`",
            *(_figure(profits[scenario, method, rows]) for rows in sizes),
        ]
        for scenario, method in sorted({key[:2] for key in profits})
    ]
    print(markdown_table(["method", *(f"{rows:,} rows" for rows in sizes)], lines))


def _figure(values: list[float]) -> str:
    return f"{np.mean(values):.1f} ({np.std(values, ddof=1) / np.sqrt(len(values)):.1f})"


if __name__ == "__main__":
    main()
