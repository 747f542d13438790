"""Whether the penalty U covers the error of Q, measured in simulation, where the true step back is known."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Floats
from lostsales.data.log import SalesLog
from lostsales.demand.runs import find_runs
from lostsales.errors import SettingError
from lostsales.evaluate.rows import view_of_rows
from lostsales.learn.blocks import block_of_view
from lostsales.learn.policy import QPolicy
from lostsales.policy.rollout import Action, Closed, View, transition
from lostsales.simulate.scenario import Scenario


@dataclass(frozen=True, eq=False)
class PenaltyCoverage:
    """How often |Q(h, a) - E[R + discount V(h')]| <= U(h, a) holds at known demand (the paper's assumption on U)."""

    share: float
    error: Floats  # (rows,) of Q
    penalty: Floats  # (rows,)


def penalty_coverage(
    policy: QPolicy, scenario: Scenario, log: SalesLog, rows: int = 300, draws: int = 200, seed: int = 0
) -> PenaltyCoverage:
    """Compare Q at random actions in rows of a log whose last demand is known with draws from the true law."""
    if not policy.beta:
        raise SettingError(f"U belongs to a pessimistic policy such as pc-fqi, but {policy.method} came")
    rng = np.random.default_rng(seed)
    runs = find_runs(log)
    known = np.flatnonzero(runs.depth == 0)
    chosen = np.sort(rng.choice(known, min(rows, len(known)), replace=False))
    view = view_of_rows(log, runs, chosen)
    block = block_of_view(policy.seen, view, np.arange(len(chosen)), 0)
    action = rng.integers(0, len(policy.grid), len(chosen))
    here = np.arange(len(chosen))
    q = policy.q[0].values(block, policy.grid.pairs)[here, action]
    penalty = policy.q[0].penalty(block, policy.grid.pairs, policy.beta)[here, action]
    step_back = np.zeros(len(chosen))
    for _ in range(draws):
        step_back += _step(policy, scenario, view, Action(*policy.grid.pairs[action].T), rng) / draws
    error = q - step_back
    return PenaltyCoverage(float(np.mean(np.abs(error) <= penalty)), error, penalty)


def _step(policy: QPolicy, scenario: Scenario, view: View, action: Action, rng: np.random.Generator) -> Floats:
    """One draw of R + discount V(h')."""
    demand = scenario.demand(1, view.features, action.price, view.last_sales, rng)
    outcome = transition(view.stock, view.depth, action, demand, scenario, scenario.unit_costs)
    after = View(
        period=1,
        features=scenario.next_features(view.features, action.price, rng),
        stock=outcome.stock_tp1,
        last_sales=outcome.sales,
        last_stockout=outcome.stockout,
        depth=outcome.depth_tp1,
        last_demand=None,
        past=(Closed(view, action),),
    )
    return np.asarray(outcome.profit + scenario.discount * policy.explain(after, action.price).value)
