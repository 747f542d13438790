"""Loops over periods, against the same loops with the formulas of a period written out for one kind of shop.

`data/economics.py` has every formula once, with capacity, netted balance, truncation and fixed order costs as rules.
The reference of a compiled loop is that loop compiled again with formulas that know none of these rules, for a shop
that has none; of a loop over arrays it is the loop with the period written out in numpy. So a ratio above 1 is the
price of one formula for all shops.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numba
import numpy as np

from benchmarks.rows import Row
from lostsales.data import economics
from lostsales.data.economics import StockFlow, UnitCosts
from lostsales.lab.exact.pipeline_loops import evaluate, improve
from lostsales.lab.exact.solve import solve
from lostsales.learn.fit import fit
from lostsales.learn.planner.bellman_loops import sweep
from lostsales.learn.planner.paths.search_loops import search_actions
from lostsales.policy import rollout
from lostsales.policy.period import Outcome
from lostsales.policy.view import Action
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Array, Floats

MOST = 1.05  # ratio: no loop may be slower by more than 5 %
REPEATS = 15  # the quickest of so many runs ...
LEAST_SECONDS = 0.05  # ... of at least this long, as short loops are repeated
EPISODES = 16_384

Call = tuple[Callable[..., Any], tuple[Any, ...]]


# The formulas of a shop without capacity, netting, truncation and fixed costs, whose orders arrive after the sales.
def _stocked(held: float, arrived: float, _flow: StockFlow) -> float:
    return held + arrived


def _carried(available: float, demand: float, _flow: StockFlow) -> float:
    return max(available - demand, 0)


def _units_available(stock_t: float, _arrived_t: float, _flow: StockFlow) -> float:
    return stock_t


def _sales_profit(price: float, sold: float, lost: float, left: float, costs: UnitCosts) -> float:
    return float(price * sold - costs.lost * lost - costs.holding * left)


def _order_cost(order: float, costs: UnitCosts) -> float:
    return float(costs.order * order)


def _period_profit(price: float, order: float, sold: float, lost: float, left: float, costs: UnitCosts) -> float:
    return float(price * sold - costs.lost * lost - costs.holding * left - costs.order * order)


PLAIN: dict[Any, Any] = {
    economics.stocked: _stocked,
    economics.carried: _carried,
    economics.units_available: _units_available,
    economics.sales_profit: _sales_profit,
    economics.order_cost: _order_cost,
    economics.period_profit: _period_profit,
}


def written_out(function: Any, done: dict[Any, Any] | None = None) -> Any:
    """A compiled loop and all that it calls, compiled again with the plain formulas."""
    done = {} if done is None else done
    if function in done:
        return done[function]
    source: FunctionType = getattr(function, "py_func", function)
    names = dict(source.__globals__)
    for name in source.__code__.co_names:
        used = names.get(name)
        if isinstance(used, FunctionType) and used in PLAIN:
            names[name] = numba.njit(inline="always")(PLAIN[used])
        elif hasattr(used, "py_func"):
            names[name] = written_out(used, done)
    again = FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
    done[function] = numba.njit(nogil=True)(again)
    return done[function]


@contextmanager
def recorded(function: Any, calls: list[Call]) -> Iterator[None]:
    """Keep the calls of a compiled function, wherever the package has imported it."""
    name = function.py_func.__name__
    modules = [each for key, each in sys.modules.items() if key.startswith("lostsales")]
    homes = [each for each in modules if getattr(each, name, None) is function]

    def call(*values: Any) -> Any:
        calls.append((function, tuple(each.copy() if isinstance(each, np.ndarray) else each for each in values)))
        return function(*values)

    patches = [patch.object(home, name, call) for home in homes]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def compiled_row(what: str, loop: Any, work: Callable[[], object]) -> Row:
    """Time the longest call of a compiled loop during some work, and the same call with plain formulas."""
    work()  # compiles, and imports what it needs
    calls: list[Call] = []
    with recorded(loop, calls):
        work()
    function, values = max(calls, key=lambda call: sum(each.size for each in call[1] if isinstance(each, np.ndarray)))
    plain = written_out(function)
    plain(*values)
    ours, peer = alternately(lambda: function(*values), lambda: plain(*values))
    return Row(what, f"{1e3 * ours:.2f} ms", f"{1e3 * peer:.2f} ms, written out", ours / peer, at_most=MOST)


def alternately(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the processor of the quickest runs of two functions that take turns: a busy moment hits both."""
    found = [(_seconds(ours), _seconds(peer)) for _ in range(REPEATS)]
    first, second = (min(times) for times in zip(*found, strict=True))
    return first, second


def _seconds(work: Callable[[], object]) -> float:
    began, times = time.process_time(), 0
    while (spent := time.process_time() - began) < LEAST_SECONDS:
        work()
        times += 1
    return spent / times


def numpy_transition(
    stock_t: Floats,
    depth_t: Array,
    action: Action,
    demand_t: Floats,
    _flow: StockFlow,
    costs: UnitCosts,
    arrived_t: Floats | None = None,
) -> Outcome:
    """Close a period of a shop without rules, whose orders arrive after the sales."""
    price, order = action
    arrived = order if arrived_t is None else arrived_t
    sales = np.minimum(stock_t, demand_t)
    lost, left = demand_t - sales, stock_t - sales
    stockout = lost > 0
    profit = price * sales - costs.lost * lost - costs.holding * left - costs.order * order
    return Outcome(
        demand_t, sales, lost, left, stockout, None, profit, left + arrived, (depth_t + 1) * stockout, arrived
    )


def array_row(what: str, work: Callable[[], object]) -> Row:
    """Time a roll-out over arrays, and the same with the period written out."""

    def written() -> None:
        with patch.object(rollout, "transition", numpy_transition):
            work()

    ours, peer = alternately(work, written)
    return Row(what, f"{1e3 * ours:.1f} ms", f"{1e3 * peer:.1f} ms, written out", ours / peer, at_most=MOST)


def run() -> list[Row]:
    shop = Scenario.load("steady").model_copy(update={"capacity": None, "longest_run": None})
    log = simulate(shop, episodes=20, seed=1)[0]
    lagged = Scenario.load("lost-sales", ("supply.lead_time=3", "costs.lost=9"))
    ordered = simulate(lagged, episodes=5, seed=1)[0]
    level = named_policy("base-stock", shop)
    return [
        array_row("simulator, uniform", lambda: evaluate_policy(shop, episodes=EPISODES)),
        array_row("roll-out, base-stock", lambda: evaluate_policy(shop, level, EPISODES)),
        array_row("tuning of base-stock", lambda: fit(log, "base-stock")),
        compiled_row("planner, sweep", sweep, lambda: fit(log, "planner", draws=1)),
        compiled_row("lookahead, roll-outs", search_actions, lambda: _decide(fit(ordered, "lookahead"), ordered)),
        compiled_row("exact, improvement", improve, lambda: solve(lagged, average=True)),
        compiled_row("exact, evaluation", evaluate, lambda: solve(lagged, average=True)),
    ]


def _decide(policy: Any, log: Any) -> object:
    from lostsales.demand.censoring.runs import find_runs
    from lostsales.evaluation.policy_on_log import decisions

    runs = find_runs(log)
    return decisions(policy, log, runs, np.flatnonzero(runs.depth >= 0), np.random.default_rng(0))
