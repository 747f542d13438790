"""`solve` against value iteration on sparse transition matrices, the method of general MDP packages."""

import numpy as np
from scipy.sparse import csr_array

from benchmarks.rows import Row, best_seconds
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.oracle import solve_oracle
from lostsales.lab.exact.solve import Target, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats

GOAL = 60.0  # seconds: "in seconds, not minutes"


def run() -> list[Row]:
    model, criterion = FiniteModel.of(Scenario.load("markov-demand"), Resolution()), Criterion(0.9)
    value = solve_oracle(model, criterion).value
    theirs = _sparse(model, 0.9)
    worst = float(np.abs(value[0].reshape(-1) - theirs).max())
    if worst > 1e-6:
        raise RuntimeError(f"ours and the peer's values differ by {worst}")
    ours = best_seconds(lambda: solve_oracle(model, criterion))
    peer = best_seconds(lambda: _sparse(model, 0.9))
    rows = [
        Row("oracle of markov-demand", f"{ours:.3f} s", f"{peer:.3f} s, sparse matrices", ours / peer, at_most=1),
    ]
    cases: tuple[tuple[str, Target, Criterion], ...] = (
        ("released", "oracle", Criterion(1.0, 50)),
        ("released", "pi-star", Criterion(1.0, 50)),
        ("paper", "oracle", criterion),
        ("paper", "pi-star", criterion),
        ("steady", "pi-star", criterion),
    )
    for name, target, chosen in cases:
        scenario = Scenario.load(name)
        seconds = solve_reference(scenario, target, chosen).seconds
        what = f"{target} of {name} with the error of its grid"
        rows.append(Row(what, f"{seconds:.1f} s", f"{GOAL:.0f} s, the goal", seconds / GOAL, at_most=1))
    return rows


def _sparse(model: FiniteModel, discount: float) -> Floats:
    """The oracle without features or truncation: one matrix for all actions, plain value iteration."""
    _, stocks, demands = model.shape
    stock, order, last, demand = np.meshgrid(
        np.arange(stocks), np.arange(len(model.order_cost)), np.arange(demands), np.arange(demands), indexing="ij"
    )
    pair = model.pair_of[stock, order]
    row = (last * stocks + stock) * len(model.order_cost) + order
    column = demand * stocks + model.next_stock[pair, demand]
    chance = model.pmf[0, 0, last, demand]
    size = (demands * stocks * len(model.order_cost), demands * stocks)
    move = csr_array((chance.reshape(-1), (row.reshape(-1), column.reshape(-1))), shape=size)
    gain = chance * model.profit[0, demand, pair]
    profit = np.bincount(row.reshape(-1), gain.reshape(-1), minlength=size[0])
    cost = np.where(model.allowed, model.order_cost, np.inf)  # (y, o)
    value = np.zeros(demands * stocks)
    while True:
        ahead = (profit + discount * (move @ value)).reshape(demands, stocks, -1) - cost
        improved: Floats = ahead.max(axis=-1).reshape(-1)
        if np.abs(improved - value).max() <= 1e-9 * (1 - discount):
            return improved
        value = improved
