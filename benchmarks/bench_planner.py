"""The planner beside C-FQI on the same log: fitting, growth with the rows, decisions a second."""

import numpy as np

from benchmarks.rows import Row, best_seconds
from lostsales.learn.fit import fit
from lostsales.learn.planner.planner import Planner
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

DECISIONS = 50_000
MOST_SECONDS = 10.0
LEAST_RATE = 50_000.0


def run() -> list[Row]:
    scenario = Scenario.load("released")
    logs = {rows: simulate(scenario, episodes=rows // scenario.horizon, seed=1)[0] for rows in (2_500, 25_000)}
    policy = Planner().plan(logs[2_500])  # compiles
    ours = {rows: best_seconds(lambda log=log: Planner().plan(log), 2) for rows, log in logs.items()}  # type: ignore[misc]
    peer = best_seconds(lambda: fit(logs[2_500], "c-fqi", iterations=10), 2)
    rng = np.random.default_rng(0)
    features = rng.integers(0, 2, DECISIONS).astype(np.float64), rng.normal(0, 1e-4, DECISIONS)
    stock, last = rng.integers(0, 30, (2, DECISIONS)).astype(np.float64)
    no = np.zeros(DECISIONS, dtype=bool)
    view = View(0, features, stock, last, no, no.astype(np.int16), None)
    rate = DECISIONS / best_seconds(lambda: policy.explain(view))
    small, large = ours[2_500], ours[25_000]
    return [
        Row("2,500 rows, seconds of 10", f"{small:.1f} s", f"c-fqi {peer:.2f} s", small / MOST_SECONDS, at_most=1),
        Row("10 times the rows, times as long", f"{large:.1f} s", f"{small:.1f} s", large / small, at_most=10),
        Row("decisions a second, of 50,000", f"{rate:,.0f}", "-", rate / LEAST_RATE, at_least=1),
    ]
