"""`python -m benchmarks.penalty_coverage`: how often U bounds the error of Q, as the table of docs/decisions/c-fqi.md.

The truth is one step back: the expected profit of an action in a history and the discounted value of what follows by
the Q-functions of the iteration before, both by draws from the scenario. A penalty on gains claims to bound the error
of Q(h, a) - Q(h, b), with b the usual action; the others that of Q(h, a). Histories are those of held-out episodes whose
last demand is observed, actions are drawn evenly from those that the policy may take.
"""

import argparse
import warnings
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from lostsales.learn.cfqi.learn import learn
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.settings import PCFQI
from lostsales.policy.period import transition
from lostsales.policy.rollout import play
from lostsales.policy.simple import Uniform
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats, Ints

CASES = (("released", 500), ("released", 2_500), ("steady", 1_000))
PENALTIES: dict[str, dict[str, object]] = {
    "gains": {},
    "support": {"penalty": "support"},
    "paper, beta 3": {"penalty": "paper", "beta": 3.0},
    "paper, beta 10": {"penalty": "paper"},
}
ITERATIONS, HISTORIES, ACTIONS, DRAWS, PERIOD = 10, 60, 6, 300, 10
LEVEL = "share of the points whose error is at most U"


class Coverage(NamedTuple):
    """Of one log."""

    drawn: float  # share of drawn actions whose error is at most U
    chosen: float  # the same of the actions that the policy takes, where they are not the usual one
    error: float  # root mean squared error over the drawn actions
    width: float  # their mean U


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--penalties", nargs="+", default=list(PENALTIES))
    parser.add_argument("--logs", type=int, default=4)
    parser.add_argument("--first", type=int, default=800, help="seed of the first log")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| scenario | rows | U | profits | of drawn actions | of chosen ones | error | U on average |")
    print("|---|---|---|---|---|---|---|---|")
    for name, rows in CASES:
        for penalty in asked.penalties:
            for true_profits in (False, True):
                found = [
                    _coverage(Scenario.load(name), rows, PENALTIES[penalty], seed, true_profits)
                    for seed in range(asked.first, asked.first + asked.logs)
                ]
                mean = Coverage(*np.nanmean(found, axis=0))
                profits = "true" if true_profits else "imputed"
                shares = f"{mean.drawn:.0%} | {mean.chosen:.0%}"
                print(
                    f"| {name} | {rows:,} | {penalty} | {profits} | {shares} | {mean.error:.1f} | {mean.width:.1f} |",
                    flush=True,
                )


def _coverage(
    scenario: Scenario, rows: int, settings: dict[str, object], seed: int, true_profits: bool
) -> Coverage:
    log, truth = simulate(scenario, episodes=rows // scenario.horizon, seed=seed)
    filled = SimpleNamespace(profit_filled=truth.profit)
    before, policy = (
        _learned(log, PCFQI(iterations=each, value="q", seed=seed, **settings), filled if true_profits else None)
        for each in (ITERATIONS - 1, ITERATIONS)
    )
    rng, view = np.random.default_rng(seed), _histories(scenario, seed)
    every = np.arange(len(view.stock))
    scores, penalty = np.empty((2, len(every), len(policy.actions)))
    for part in policy._scored(view):
        scores[part.rows], penalty[part.rows] = part.scores, part.penalty
    value, best = scores + penalty, scores.argmax(axis=1)
    usual = np.where(np.isfinite(scores), penalty, np.inf).argmin(axis=1)
    others = np.isfinite(scores)
    others[every, usual] = False
    drawn = np.array([rng.choice(np.flatnonzero(each), ACTIONS) for each in others])
    asked = np.column_stack([drawn, best, usual])
    true = np.column_stack([_step_back(before, scenario, view, each, seed) for each in asked.T])
    told = np.take_along_axis(value, asked, axis=1)
    if policy.on_gains:
        told, true = told - told[:, -1:], true - true[:, -1:]
    width, error = np.take_along_axis(penalty, asked, axis=1), np.abs(told - true)
    covered = error <= width
    leaves = best != usual
    chosen = float(covered[leaves, ACTIONS].mean()) if leaves.any() else np.nan
    of_drawn = slice(0, ACTIONS)
    rms = float(np.sqrt((error[:, of_drawn] ** 2).mean()))
    return Coverage(float(covered[:, of_drawn].mean()), chosen, rms, float(width[:, of_drawn].mean()))


def _learned(log: object, settings: PCFQI, filled: object | None) -> QPolicy:
    if filled is None:
        return learn(log, settings).policy  # type: ignore[arg-type]
    with patch("lostsales.learn.cfqi.learn.impute", lambda *_, **__: filled):
        return learn(log, settings).policy  # type: ignore[arg-type]


def _histories(scenario: Scenario, seed: int) -> View:
    """Open periods after an observed demand, of held-out episodes under uniform behaviour."""
    market, policy = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    for step in play(
        Uniform(scenario.problem), scenario, scenario, scenario.unit_costs, PERIOD + 1, 10 * HISTORIES, market, policy
    ):
        view = step.view
    return view.take(np.flatnonzero(view.depth == 0)[:HISTORIES])


def _step_back(before: QPolicy, scenario: Scenario, view: View, actions: Ints, seed: int) -> Floats:
    """E[R + discount V(next) | h, a] by draws that all actions share, (rows,)."""
    rows = np.repeat(np.arange(len(view.stock)), DRAWS)
    now, rng, grid = view.take(rows), np.random.default_rng([seed, 3]), before.grid
    action = Action(*grid.pairs[actions[rows]].T)
    demand = scenario.demand(PERIOD, now.features, action.price, now.last_sales, rng)
    outcome = transition(now.stock, now.depth, action, demand, scenario, scenario.unit_costs)
    opened = View(
        period=PERIOD + 1,
        features=scenario.next_features(now.features, action.price, rng),
        stock=outcome.stock_tp1,
        last_sales=outcome.sales,
        last_stockout=outcome.stockout,
        depth=np.asarray(outcome.depth_tp1),
        last_demand=None,
        past=(*now.past, ClosedPeriod(now, action)),
    )
    target = outcome.profit + scenario.discount * before.explain(opened).value
    return np.asarray(target.reshape(-1, DRAWS).mean(axis=1))


if __name__ == "__main__":
    main()
