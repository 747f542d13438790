"""`python -m benchmarks.penalty_coverage [--logs N] [--shop NAME]`: what the penalties U of PC-FQI cover, and earn.

Covered is a history and an action where Q of the last iteration is within U of the true step back: the mean of profit
and discounted Q - U of the iteration before, over demands and features drawn from the law of the shop. Histories are
rows of the log, with the logged action, one drawn among the candidates, and the greedy one. After a stock-out the
hidden demand is drawn from its law too, given that it was more than there was.
"""

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np

from lostsales.data.economics import units_available
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.lab.exact.solve import solve
from lostsales.learn.cfqi.learn import PCFQI, CfqiResult, learn
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.policy.history import view_of_rows
from lostsales.policy.period import transition
from lostsales.policy.policy import Policy
from lostsales.policy.simple import EpsilonGreedy
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Bools, Floats

ITERATIONS = 10
HISTORIES, DRAWS, EPISODES = 20, 200, 100
TRIES = 20  # draws of a hidden demand, of which the first is taken that would be hidden
LOG_SEED, TEST_SEED = 7_200, 9_200
Cell = tuple[str, str, int]  # scenario, behaviour, episodes of a log
UNIFORM: list[Cell] = [(name, "uniform", size) for name in ("released", "steady", "nonlinear") for size in (10, 20)]
NEAR_OPTIMAL: list[Cell] = [("released", "near-optimal", size) for size in (10, 20)]
MANAGERS: list[Cell] = [(name, "manager", 8) for name in ("manager-before", "manager-slow")]
PENALTIES: dict[str, dict[str, Any]] = {
    "gains": {},
    "calibrated": {"penalty": "calibrated"},
    "support": {"penalty": "support"},
    **{f"paper, beta {beta:g}": {"penalty": "paper", "beta": beta} for beta in (1.0, 2.0, 3.0)},
}


class Scores(NamedTuple):
    """Histories against all actions."""

    less_u: Floats  # (rows, actions) Q - U, -inf where an action may not be taken
    u: Floats  # (rows, actions)
    pairs: Floats  # (actions, 2) price and order


def scores_of(policy: QPolicy, view: View) -> Scores:
    parts = list(policy._scored(view))
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    less_u = np.concatenate([part.scores for part in parts])[order]
    u = np.concatenate([np.asarray(part.penalty) for part in parts])[order]
    return Scores(less_u, u, policy.grid.pairs)


def behaviour(shop: Scenario, name: str) -> Policy | None:
    if name == "manager":
        return ManagerPolicy.of(shop)
    return EpsilonGreedy(solve(shop, "pi-star").policy, 0.1) if name == "near-optimal" else None


def last_demand(shop: Scenario, view: View, rng: np.random.Generator) -> Floats:
    """The demand before each row of a view, drawn anew until it is hidden where it was; NaN where it never is."""
    closed, action = view.past[-1]
    available = units_available(closed.stock, action.order, shop.flow)
    found = np.where(view.depth > 0, np.nan, view.last_sales)
    for _ in range(TRIES):
        if not np.isnan(found).any():
            break
        drawn = shop.demand(1, closed.features, action.price, closed.last_sales, rng)
        found = np.where(np.isnan(found) & (drawn > available), drawn, found)
    return found


def step_back(shop: Scenario, view: View, action: Action, before: QPolicy, rng: np.random.Generator) -> Floats:
    """Profit and discounted value of the next history under the law of the shop, one draw a row of the view."""
    demand = shop.demand(1, view.features, action.price, last_demand(shop, view, rng), rng)
    closed = transition(view.stock, view.depth, action, demand, shop.flow, shop.unit_costs)
    features = shop.next_features(view.features, action.price, rng)
    depth, past = closed.depth_tp1.astype(np.int16), (*view.past, ClosedPeriod(view, action))
    after = View(2, features, closed.stock_tp1, closed.sales, closed.stockout, depth, None, past)
    return np.asarray(closed.profit + shop.discount * scores_of(before, after).less_u.max(axis=1))


def covered(shop: Scenario, log: SalesLog, found: CfqiResult, before: QPolicy, depth: int, seed: int) -> list[Bools]:
    """Coverage by U of logged, drawn and greedy actions at rows of a depth; a logged action may be no candidate."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero((found.runs.depth == depth) & found.runs.usable & (log.period > depth))
    rows = rng.choice(rows, min(HISTORIES, len(rows)), replace=False)
    view = view_of_rows(log, found.runs, rows)
    scores, each = scores_of(found.policy, view), np.arange(len(rows))
    may = np.isfinite(scores.less_u)
    done = np.column_stack([log.price[rows], np.asarray(log.order)[rows]])
    logged = np.abs(scores.pairs - done[:, None]).sum(axis=2).argmin(axis=1)
    drawn = np.array([rng.choice(np.flatnonzero(candidates)) for candidates in may])
    kinds = []
    for actions in (logged, drawn, scores.less_u.argmax(axis=1)):
        at = np.flatnonzero(may[each, actions])
        action = Action(*scores.pairs[np.repeat(actions[at], DRAWS)].T)
        draws = step_back(shop, view.take(np.repeat(at, DRAWS)), action, before, np.random.default_rng([seed, 1]))
        less_u, u = scores.less_u[at, actions[at]], scores.u[at, actions[at]]
        apart = np.abs(less_u + u - np.nanmean(draws.reshape(-1, DRAWS), axis=1))
        kinds.append(apart[~np.isnan(apart)] <= u[~np.isnan(apart)])
    return kinds


def measured(shop: Scenario, log: SalesLog, settings: PCFQI, number: int) -> tuple[float, float]:
    """Per cent covered where the last demand is known, and profit a period."""
    found = learn(log, settings)
    before = learn(log, settings.model_copy(update={"iterations": ITERATIONS - 1})).policy
    share = np.mean(np.concatenate(covered(shop, log, found, before, 0, number)))
    return 100 * float(share), evaluate_policy(shop, found.policy, EPISODES, TEST_SEED + number).mean_profit


def with_error(values: Floats, digits: int) -> str:
    return f"{values.mean():.{digits}f} ({values.std(ddof=1) / np.sqrt(len(values)):.{digits}f})"


def line(cell: Cell, logs: int) -> str:
    """Of each penalty the share of errors that it covers, and what it earns: the first as it is, the others less it."""
    preset, behaves, episodes = cell
    shop = Scenario.load(preset)
    policy = behaviour(shop, behaves)
    made = [simulate(shop, policy, episodes, LOG_SEED + number)[0] for number in range(logs)]
    default: Floats = np.zeros(logs)
    found = [f"{preset}, {behaves}, {episodes * shop.horizon:,} rows"]
    for options in PENALTIES.values():
        settings = PCFQI(iterations=ITERATIONS, **options)
        share, profit = np.array([measured(shop, log, settings, number) for number, log in enumerate(made)]).T
        found.append(f"{with_error(share, 0)}; {with_error(profit - default, 2)}")
        default = default if options else profit
    tests = range(TEST_SEED, TEST_SEED + logs) if behaves == "manager" else ()
    manager = np.array([evaluate_policy(shop, policy, EPISODES, seed).mean_profit for seed in tests])
    return f"| {' | '.join([*found, with_error(manager - default, 2) if len(manager) else ''])} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=4)
    parser.add_argument("--shop", help="only this scenario")
    asked = parser.parse_args()
    print(f"| log | {' | '.join(PENALTIES)} | the manager |")
    print("|" + (len(PENALTIES) + 2) * "---|")
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same from every log
        for cell in (*UNIFORM, *NEAR_OPTIMAL, *MANAGERS):
            if asked.shop in (None, cell[0]):
                print(line(cell, asked.logs), flush=True)


if __name__ == "__main__":
    main()
