"""BAP and TAP against the definitions of the paper, enumerated over all paths of a tiny world."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.runs import iterations_rule
from lostsales.evaluation.diagnostics.boundary_penalties import (
    action_discrepancy,
    boundary_penalty,
    termination_penalty,
)
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.learn import CFQI
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.simple import Uniform
from lostsales.types import Floats, Ints
from tests.evaluation.diagnostics.tiny_world import (
    DISCOUNT,
    ORDERS,
    PATHS,
    PERIODS,
    PRICES,
    anchor_demand,
    depth,
    log_of_all_paths,
    problem,
)
from tests.evaluation.prepared_logs import without_model

pytestmark = pytest.mark.filterwarnings("ignore:after most histories the log supports one")


class MadeUpQ:
    """Q and U that can be worked out by hand from the anchor's demand, the first coordinate of a history."""

    name = "made up"

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q."""
        return np.array([[made_up_q(row[0], price, order) for price, order in actions] for row in block])

    def penalty(self, block: Floats, actions: Floats, beta: float, usual: Ints | None = None) -> Floats:  # noqa: ARG002
        """U."""
        return np.array([[beta * made_up_u(row[0], order) for _, order in actions] for row in block])


def made_up_q(demand: float, price: float, order: float) -> float:
    return 10 - price * demand - (order - 2) ** 2


def made_up_u(demand: float, order: float) -> float:
    return demand * (ORDERS[-1] - order)


@cache
def policy(deepest: int, beta: float) -> QPolicy:
    """Safe by the paper's action at `deepest`; elsewhere greedy, which no term asks for."""
    fitted = CFQI(iterations=1, pricing="free", safe="paper", function=FunctionClass(kind="linear")).fit(
        log_of_all_paths()
    )
    # Anchor demand, stock, and stock, price and order of each closed period: any value is inside.
    wide = tuple(np.array([[-np.inf], [np.inf]]) * np.ones((2, 2 + 3 * i)) for i in range(deepest + 1))
    safe = replace(fitted.safe, depth=deepest)
    return replace(
        fitted, q=(MadeUpQ(),) * (deepest + 1), safe=safe, beta=beta, ranges=wide, supports=None, pools=False
    )


def task_of(deepest: int, beta: float) -> EvaluationTask:
    return EvaluationTask.of(policy(deepest, beta), without_model(log_of_all_paths()), None, 0)


def discrepancy(path: tuple[bool, ...], period: int, deepest: int, beta: float) -> float:
    """AD: the greatest Q - beta U over all actions, less that of the highest price with the largest order."""
    if depth(path, period) != deepest:
        return 0.0
    demand = anchor_demand(path, period)

    def score(price: float, order: float) -> float:
        return made_up_q(demand, price, order) - beta * made_up_u(demand, order)

    return max(score(price, order) for price in PRICES for order in ORDERS) - score(PRICES[-1], ORDERS[-1])


def prefactor(deepest: int) -> float:
    return (1 - DISCOUNT**deepest) / (1 - DISCOUNT) ** 2


def chance_of_depth(i: int, deepest: int) -> float:
    """P(I = i)."""
    return DISCOUNT**i * (1 - DISCOUNT) / (1 - DISCOUNT**deepest)


def mean_discrepancy(deepest: int, beta: float) -> float:
    """The discounted mean of AD over the log, which goes on beyond it."""
    weight = [DISCOUNT**t for t in range(PERIODS)]
    found = [np.mean([discrepancy(path, t, deepest, beta) for path in PATHS]) for t in range(PERIODS)]
    return float(np.average(found, weights=weight))


def visits(i: int) -> list[tuple[float, tuple[bool, ...], int]]:
    """(weight, path, period) of histories at depth i, begun at h, under d_i of the world as far as the log goes."""
    total = sum((1 - DISCOUNT) * DISCOUNT**t for t in range(PERIODS))
    return [
        ((1 - DISCOUNT) * DISCOUNT**h / total / len(PATHS), path, h + i)
        for path in PATHS
        for h in range(PERIODS - i)
        if depth(path, h) == 0 and depth(path, h + i) == i
    ]


@pytest.mark.parametrize(("deepest", "beta"), [(1, 0.0), (2, 0.0), (3, 0.0), (2, 1.5)])
def test_bap_is_the_sum_over_all_paths(deepest: int, beta: float) -> None:
    expected = prefactor(deepest) * sum(
        chance_of_depth(i, deepest) * weight * discrepancy(path, period, deepest, beta) * (i == deepest)
        for i in range(deepest + 1)
        for weight, path, period in visits(i)
    )
    task = task_of(deepest, beta)
    assert expected > 0.1
    assert boundary_penalty(task, action_discrepancy(task)).value == pytest.approx(expected)


@pytest.mark.parametrize(("deepest", "beta"), [(1, 0.0), (2, 0.0), (2, 1.5)])
def test_tap_is_the_sum_over_all_paths(deepest: int, beta: float) -> None:
    """TAD is the expectation of later discrepancies over all ways in which a path can go on, and on beyond the log."""
    task, mean = task_of(deepest, beta), mean_discrepancy(deepest, beta)
    rounds = iterations_rule(int(task.prepared.runs.usable.sum()), DISCOUNT)

    @cache
    def total_discrepancy(begun: tuple[bool, ...]) -> float:
        same = [path for path in PATHS if path[: len(begun)] == begun]

        def expected_at(period: int) -> float:
            in_log = period < PERIODS
            return sum(discrepancy(path, period, deepest, beta) for path in same) / len(same) if in_log else mean

        return sum(DISCOUNT**k * expected_at(len(begun) + k) for k in range(1, rounds))

    in_log = sum((1 - DISCOUNT) * DISCOUNT**t for t in range(PERIODS))
    beyond = sum(DISCOUNT**t * DISCOUNT**k * mean for t in range(PERIODS, 500) for k in range(1, rounds))
    # Runs longer than max_depth do not occur in the paper; here their periods are visits like others.
    expected = beyond + prefactor(deepest) * in_log * sum(
        chance_of_depth(i, deepest) * weight * total_discrepancy(path[:period])
        for i in range(PERIODS)
        for weight, path, period in visits(i)
    )
    assert expected > 0.1
    assert termination_penalty(task, action_discrepancy(task)).value == pytest.approx(expected)


def task_of_lengths(lengths: list[int], discount: float) -> EvaluationTask:
    """Series of these lengths, in which every demand is seen."""
    rows = [
        (f"s{at:02}", period, 4.0, 4.0, 3.0, 3.0) for at, periods in enumerate(lengths) for period in range(periods)
    ]
    frame = pd.DataFrame(rows, columns=["series", "period", "stock", "price", "order", "sales"])
    log = read_log(frame.assign(stockout=False, last_sales=3.0, last_stockout=False), problem=problem(discount))
    return EvaluationTask.of(Uniform(log.problem), without_model(log), None, 0)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.97, 0.99])
@pytest.mark.parametrize("lengths", [[20] * 8, [84] * 8, [10, 30, 60]])
@pytest.mark.parametrize("rounds", [1, 5, 40, 400])
def test_penalties_of_a_constant_discrepancy_are_the_infinite_sums(
    lengths: list[int], discount: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short the log: each of the visits t, without end, has rounds - 1 discrepancies ahead."""
    monkeypatch.setattr("lostsales.evaluation.diagnostics.boundary_penalties.iterations_rule", lambda *_: rounds)
    task = task_of_lengths(lengths, discount)
    constant, weight = np.full(len(task.rows), 0.1), discount ** np.arange(5_000)
    assert boundary_penalty(task, constant).value == pytest.approx(0.1 * weight.sum())
    assert termination_penalty(task, constant).value == pytest.approx(0.1 * weight.sum() * weight[1:rounds].sum())


def test_a_discrepancy_of_one_period_counts_once_for_each_period_before_it() -> None:
    """That is s times in period s of the log; beyond it the mean counts min(s, K - 1) times."""
    task = task_of_lengths([30], 0.9)
    found = [termination_penalty(task, np.eye(30)[period]).value or 0.0 for period in (0, 1, 2, 3)]
    mean = [0.9**period / sum(0.9**s for s in range(30)) for period in range(4)]
    tail = sum(0.9**s * min(s, iterations_rule(29, 0.9) - 1) for s in range(30, 1_000))
    assert found == pytest.approx([s * 0.9**s + mean[s] * tail for s in range(4)])


def test_the_sum_ahead_ends_after_k_minus_1_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    task, found = task_of(2, 0.0), []
    for rounds in (1, 2, 3, 100):
        monkeypatch.setattr(
            "lostsales.evaluation.diagnostics.boundary_penalties.iterations_rule", lambda *_, k=rounds: k
        )
        found.append(termination_penalty(task, action_discrepancy(task)).value)
    once = boundary_penalty(task, action_discrepancy(task)).value
    assert found[:3] == pytest.approx([0.0, once, 2 * (once or 0.0)])  # no run is at depth 2 before period 2
    assert (found[3] or 0.0) > (found[2] or 0.0)


def test_pessimism_changes_what_is_given_up() -> None:
    """With U the largest order is the one best supported, and less is given up by it."""
    plain, pessimistic = (action_discrepancy(task_of(2, beta)) for beta in (0.0, 1.5))
    assert plain is not None
    assert pessimistic is not None
    assert pessimistic.sum() < plain.sum()
