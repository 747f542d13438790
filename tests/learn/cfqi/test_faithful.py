"""`faithful=True` against the implementation in `from_the_paper`: the same targets, decisions and settings."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.splits import folds_of, hold_out
from lostsales.learn.cfqi.learn import CFQI, PCFQI, CfqiResult, Fusion, learn
from lostsales.learn.cfqi.settings import PAPER, PAPER_FUNCTION
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.function.ridge import CrossValidation, SpectralCrossValidation
from lostsales.policy.history import view_of_rows
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.learn.cfqi import from_the_paper
from tests.learn.cfqi.from_the_paper import Period

METHODS: dict[str, type[CFQI]] = {"c-fqi": CFQI, "pc-fqi": PCFQI, "fusion": Fusion}
ITERATIONS = 6  # two more than the pessimistic ones of fusion
LOGS = [("released", 1), ("paper", 2), ("nonlinear", 3)]


@cache
def small(name: str, seed: int, arrival: str, longest_run: int) -> SalesLog:
    """12 series of 10 periods whose longest run is as asked."""
    changes = ("horizon=10", f"arrival={arrival}", f"longest_run={longest_run}")
    return simulate(Scenario.load(name, changes), episodes=12, seed=seed)[0]


def trajectories(log: SalesLog, found: CfqiResult) -> list[list[Period]]:
    """The log as lists of periods."""
    is_observed, order, stock = found.runs.observed.is_observed, np.asarray(log.order), np.asarray(log.stock)
    fold = np.full(len(log), -1)
    for number, (test, _) in enumerate(folds_of(hold_out(log, gap=1), np.arange(len(log)))):
        fold[test] = number
    lists = []
    for series, start in enumerate(log.starts):
        rows = np.flatnonzero(log.series == series)
        before = [(float(log.last_sales[series]), not bool(log.last_stockout[series]))]
        before += [(float(log.sales[row]), bool(is_observed[row])) for row in rows[:-1]]
        assert rows[0] == start
        lists.append(
            [
                Period(
                    tuple(log.features[row]),
                    stock[row],
                    *last,
                    log.price[row],
                    order[row],
                    found.profit[row],
                    bool(is_observed[row]),
                    int(fold[row]),
                )
                for row, last in zip(rows, before, strict=True)
            ]
        )
    return lists


def every_target(found: CfqiResult, log: SalesLog, settings: CFQI) -> list[list[Floats]]:
    """Targets of each iteration and depth: of the last of a shorter run."""
    return [list(learn(log, settings.model_copy(update={"iterations": k})).fitted.targets) for k in (1, 2, 4)] + [
        list(found.fitted.targets)
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("arrival", ["before", "after"])
@pytest.mark.parametrize(("name", "seed"), LOGS)
def test_targets_and_decisions_are_those_of_the_papers_algorithms(
    name: str, seed: int, arrival: str, max_depth: int, method: str
) -> None:
    log = small(name, seed, arrival, max_depth)
    settings = METHODS[method](faithful=True, iterations=ITERATIONS, seed=0)
    found = learn(log, settings)
    assert found.runs.max_depth == max_depth
    assert sum(len(part.rows) for part in found.parts) == int((found.runs.depth >= 0)[log.has_next].sum())
    lists = trajectories(log, found)
    paper = from_the_paper.learn(
        lists,
        [(price, order) for price, order in found.policy.grid.pairs.tolist()],
        method=method,
        discount=log.problem.discount,
        iterations=ITERATIONS,
        max_depth=max_depth,
        beta=2.0,
    )
    expected = [paper.targets[k - 1] for k in (1, 2, 4, ITERATIONS)]
    for ours, theirs in zip(every_target(found, log, settings), expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)

    rows = np.flatnonzero((found.runs.depth >= 0) & (np.arange(len(log)) % 3 == 0))
    decided = found.policy.decide(view_of_rows(log, found.runs, rows), np.random.default_rng(0))
    place = np.arange(len(log)) - log.starts[log.series]
    for row, price, order in zip(rows, decided.price, decided.order, strict=True):
        periods, at, depth = lists[log.series[row]], int(place[row]), int(found.runs.depth[row])
        block = periods[at - depth : at + 1]
        wanted = paper.act(block)
        if (price, order) != wanted:  # then the two are worth the same
            worth = paper.regressions[depth].value(
                np.array([from_the_paper.vector(block, each) for each in ((price, order), wanted)]),
                pessimistic=paper.pessimistic,
            )
            assert depth < max_depth
            np.testing.assert_allclose(worth[0], worth[1], atol=1e-4)


def test_faithful_is_every_setting_of_the_paper_and_given_ones_stay() -> None:
    literal = CFQI(faithful=True)
    assert {key: getattr(literal, key) for key in PAPER} == PAPER
    assert literal.function == FunctionClass(**PAPER_FUNCTION)
    assert CFQI(**literal.model_dump(mode="json")) == literal
    some: dict[str, Any] = {"selection": "early", "tail": "last", "function": {"exact_rows": 50}}
    given = PCFQI(faithful=True, **some)
    assert (given.selection, given.tail, given.targets) == ("early", "last", "paper")
    assert given.function == FunctionClass(**{**PAPER_FUNCTION, "exact_rows": 50})
    assert CFQI(faithful=False) == CFQI()
    assert {key: getattr(CFQI(), key) for key in PAPER} != PAPER


@pytest.mark.parametrize("method", METHODS)
def test_by_name_it_is_the_same_policy_and_k_has_no_cap(method: str) -> None:
    log = small("released", 1, "before", 1)
    policy = lostsales.fit(log, method, faithful=True)
    again = lostsales.fit(log, METHODS[method](faithful=True))
    assert policy.summary() == again.summary()
    near = log.problem.model_copy(update={"discount": 0.97})
    patient = learn(replace(log, problem=near), CFQI(faithful=True))
    assert len(patient.fitted.residuals) == int(np.ceil(np.log(patient.runs.usable.sum()) / 0.06)) > 40


def test_away_from_the_data_the_papers_q_is_0_and_the_centred_one_the_mean_of_its_targets() -> None:
    log = small("released", 1, "before", 2)
    for targets, share_of_mean in (("paper", 0.0), ("centred", 1.0)):
        settings: dict[str, Any] = {"faithful": True, "targets": targets, "iterations": 3}
        found = learn(log, CFQI(**settings))
        for q, target, part in zip(found.policy.q, found.fitted.targets, found.parts, strict=True):
            far = q.values(part.block[:1] + 1e6, found.policy.grid.pairs)
            np.testing.assert_allclose(far, share_of_mean * target.mean(), atol=1e-9)


def test_pessimistic_decisions_are_those_of_every_penalty() -> None:
    """`decide` evaluates U where it may matter, `explain` everywhere."""
    log = small("released", 1, "before", 2)
    found = learn(log, PCFQI(faithful=True, iterations=4))
    rows = np.flatnonzero(found.runs.depth >= 0)
    view = view_of_rows(log, found.runs, rows)
    decided, explained = found.policy.decide(view, np.random.default_rng(0)), found.policy.explain(view)
    np.testing.assert_array_equal(decided.price, explained.price)
    np.testing.assert_array_equal(decided.order, explained.order)


@pytest.mark.parametrize("gap", [0, 3])
def test_the_spectral_cross_validation_has_the_same_residuals(gap: int) -> None:
    rng = np.random.default_rng(3)
    phi, targets, fold = rng.normal(size=(60, 25)), rng.normal(size=60), np.repeat(np.arange(5), 12)
    near = [(np.arange(60) >= 12 * k - gap) & (np.arange(60) < 12 * (k + 1) + gap) for k in range(5)]
    folds = [(fold == k, ~near[k]) for k in range(5)]
    for kind in (phi, phi @ np.diag(np.r_[np.ones(10), np.zeros(15)])):
        one = CrossValidation.of(kind, folds, (0.001, 1.0, 100.0)).residuals(targets)
        for other in (
            SpectralCrossValidation.of(kind, folds, (0.001, 1.0, 100.0)),
            SpectralCrossValidation.of_gram(kind @ kind.T, folds, (0.001, 1.0, 100.0)),
        ):
            np.testing.assert_allclose(one, other.residuals(targets), atol=1e-8)
