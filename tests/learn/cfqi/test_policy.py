"""The learned policy: safe actions by hand, its scores, and its file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import Safe, SafeActions
from lostsales.learn.fit import fit
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass, QFunction
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.codec import encode
from lostsales.policy.history import blocks_of_view
from lostsales.policy.rules import Rules
from lostsales.policy.view import View
from lostsales.types import Bools, Floats
from tests.learn.small import FORBID, days, small_log

GRID = ActionGrid(np.array([2.0, 4.0]), np.array([0.0, 5.0, 9.0]), np.inf)
MATERN = Kernel(kind="matern", coefficient=0.1)
PRODUCT = Kernel(kind="product", coefficient=0.1, action_coefficient=0.5)
FEW = FunctionClass(
    kernels=(Kernel(kind="rbf", coefficient=0.03), Kernel(kind="laplacian", coefficient=0.1)), ridges=(0.1, 10.0)
)


@dataclass(frozen=True)
class Chances:
    """A chance to end the run that is given by hand, the same in every row."""

    of_action: tuple[float, ...]

    def values(self, block: Floats, actions: Floats) -> Floats:
        """(rows, actions)."""
        assert len(actions) == len(self.of_action)
        return np.tile(self.of_action, (len(block), 1))


def safe(
    kind: Safe, arrival: Any, depth: int = 3, chances: tuple[float, ...] | None = None, eps: float = 0.05
) -> SafeActions:
    return SafeActions(kind, None if chances is None else cast(QFunction, Chances(chances)), eps, depth, arrival)


def masked(actions: SafeActions, depth: int, feasible: Bools | None = None) -> tuple[list[tuple[float, float]], bool]:
    """The pairs that one row may take at a depth, and whether none was safe enough."""
    may = np.ones((1, len(GRID)), dtype=bool) if feasible is None else feasible
    mask, none = actions.mask(depth, np.zeros((1, 1)), may, GRID.pairs)
    return [(price, order) for price, order in GRID.pairs[mask[0]].tolist()], bool(none[0])


ALL = [(2, 0), (2, 5), (2, 9), (4, 0), (4, 5), (4, 9)]


@pytest.mark.parametrize(
    ("kind", "arrival", "at_2"),
    [
        ("paper", "before", ALL),
        ("paper", "after", ALL),
        ("learned", "before", ALL),
        # Today's order cannot end today's run, so the order leg acts at depth 2 as well.
        ("learned", "after", [(2, 9), (4, 9)]),
    ],
)
def test_the_papers_safe_action(kind: Safe, arrival: str, at_2: list[tuple[float, float]]) -> None:
    expected = {0: ALL, 1: ALL, 2: at_2, 3: [(4, 9)], 4: [(4, 9)]}
    for depth, pairs in expected.items():
        assert masked(safe(kind, arrival), depth) == (pairs, False)


@pytest.mark.parametrize("kind", ["paper", "learned"])
@pytest.mark.parametrize("arrival", ["before", "after"])
@pytest.mark.parametrize("depth", [0, 1])
def test_the_order_leg_never_acts_before_a_run(kind: Safe, arrival: str, depth: int) -> None:
    assert masked(safe(kind, arrival, depth), 0) == (ALL, False)
    assert masked(safe(kind, arrival, depth), 1) == ([(4, 9)], False)


def test_the_papers_safe_action_is_the_largest_feasible() -> None:
    feasible = np.array([[True, True, False, True, False, False]])
    assert masked(safe("paper", "before"), 3, feasible) == ([(2, 5)], False)
    assert masked(safe("learned", "after"), 2, feasible) == ([(2, 5)], False)


@pytest.mark.parametrize("arrival", ["before", "after"])
def test_learned_safe_actions_end_the_run_likely_enough(arrival: str) -> None:
    chances = (0.2, 0.94, 0.95, 0.9, 0.99, 1.0)
    actions = safe("learned", arrival, chances=chances)
    assert masked(actions, 1) == (ALL, False)
    assert masked(actions, 2) == (ALL if arrival == "before" else [(2, 9), (4, 9)], False)
    for depth in (3, 4):
        assert masked(actions, depth) == ([(2, 9), (4, 5), (4, 9)], False)
    assert masked(replace(actions, eps=0.06), 3) == ([(2, 5), (2, 9), (4, 5), (4, 9)], False)
    feasible = np.array([[True, True, True, True, False, False]])
    assert masked(actions, 3, feasible) == ([(2, 9)], False)


def test_an_action_never_tried_where_runs_had_to_end_is_not_learned_to_be_safe() -> None:
    actions = replace(safe("learned", "before", chances=(1.0,) * 6), tried=np.array([[2.0, 5.0], [2.0, 9.0]]))
    assert masked(actions, 3) == ([(2, 5), (2, 9)], False)
    assert masked(actions, 2) == (ALL, False)
    none_of_them = np.array([[True, False, False, True, True, False]])
    assert masked(actions, 3, none_of_them) == ([(2, 0), (4, 0), (4, 5)], False)


def test_where_nothing_is_safe_enough_the_likeliest_is_taken_and_flagged() -> None:
    by_order = (0.2, 0.3, 0.4, 0.5, 0.6, 0.6)
    assert masked(safe("learned", "before", chances=by_order), 3) == ([(4, 5), (4, 9)], True)
    feasible = np.array([[True, True, False, False, False, False]])
    assert masked(safe("learned", "before", chances=by_order), 3, feasible) == ([(2, 5)], True)


def test_where_an_order_arrives_after_sales_the_likeliest_price_comes_with_the_largest_order() -> None:
    by_price = (0.2, 0.2, 0.2, 0.5, 0.5, 0.5)
    assert masked(safe("learned", "after", chances=by_price), 3) == ([(4, 9)], True)
    assert masked(safe("learned", "before", chances=by_price), 3) == ([(4, 0), (4, 5), (4, 9)], True)


@pytest.mark.parametrize("arrival", ["before", "after"])
@pytest.mark.parametrize("depth", [0, 2])
def test_runs_longer_than_learned_are_ended_the_papers_way_where_a_rule_ends_every_learned_one(
    arrival: str, depth: int
) -> None:
    actions = replace(safe("learned", arrival, depth), ends_by_rule=True)
    for learned_depth in range(depth + 1):
        assert masked(actions, learned_depth) == (ALL, False)
    assert masked(actions, depth + 1) == ([(4, 9)], False)


@pytest.mark.parametrize("arrival", ["before", "after"])
def test_that_every_longest_run_ended_makes_no_action_safe(arrival: str) -> None:
    """It ended by definition: the paper's safe action is taken, and with it the largest order where it comes later."""
    actions = safe("learned", arrival, 2)
    assert masked(actions, 0) == (ALL, False)
    assert masked(actions, 1) == (ALL if arrival == "before" else [(2, 9), (4, 9)], False)
    assert masked(actions, 2) == masked(actions, 3) == ([(4, 9)], False)


def learned(scenario: str, method: str = "c-fqi", **settings: Any) -> QPolicy:
    episodes = 25 if scenario == "steady" else 8  # runs of stock-outs seldom end in it
    given: dict[str, Any] = {"iterations": 3, "function": FEW, "support": "all", "depth_rows": 0.0}
    given |= settings
    policy = fit(small_log(scenario, episodes), method, **given)
    assert isinstance(policy, QPolicy)
    return policy


def some_view(policy: QPolicy, rows: int = 200) -> View:
    """Rows at depth 0 in the middle of the data."""
    rng = np.random.default_rng(0)
    least, most = policy.ranges[0]
    block = rng.uniform(least, most, (rows, len(least)))
    features = tuple(block[:, 1:-1].T)
    return View(
        0, features, np.rint(block[:, -1]), block[:, 0], np.zeros(rows, bool), np.zeros(rows, dtype=np.int64), None
    )


@pytest.mark.parametrize("method", ["c-fqi", "pc-fqi"])
def test_value_penalty_and_margin_are_those_of_the_scores(method: str) -> None:
    policy = learned(FORBID, method=method, beta=0.5, rules=Rules(multiple=3))
    view = some_view(policy)
    rows = np.arange(len(view.stock))
    unknown = np.full(len(rows), np.nan)
    decision = policy.explain(view)
    block = blocks_of_view(policy.asks, view, rows, 0)
    values = policy.q[0].values(block, policy.grid.pairs)
    feasible = policy.rules.feasible(policy.grid, view.stock, unknown)
    penalty = policy.penalty(0, block, feasible, policy.grid.pairs) if policy.beta else np.zeros_like(values)
    scores = values - penalty
    ranked = np.sort(np.where(feasible, scores, -np.inf), axis=1)
    pairs = {tuple(pair): index for index, pair in enumerate(policy.grid.pairs.tolist())}
    best = np.array([pairs[pair] for pair in zip(decision.price, decision.order, strict=True)])
    np.testing.assert_allclose(decision.value, ranked[:, -1], rtol=1e-9)
    np.testing.assert_allclose(decision.value, scores[rows, best], rtol=1e-9)
    np.testing.assert_allclose(decision.penalty, penalty[rows, best], rtol=1e-9)
    second = [pairs[pair] for pair in zip(decision.runner_up_price, decision.runner_up_order, strict=True)]
    np.testing.assert_allclose(decision.advantage, scores[rows, best] - scores[rows, second], atol=1e-8)
    np.testing.assert_allclose(decision.advantage, ranked[:, -1] - ranked[:, -2], atol=1e-8)
    assert feasible[rows, best].all()
    assert feasible[rows, second].all()
    assert (decision.penalty > 0).any() == (method == "pc-fqi")
    action = policy.decide(view, np.random.default_rng(0))
    np.testing.assert_array_equal(action.price, decision.price)
    np.testing.assert_array_equal(action.order, decision.order)


def test_where_only_one_action_is_left_there_is_no_runner_up() -> None:
    policy = learned("released", rules=Rules(price_ladder=(4,), minimum=16))
    decision = policy.explain(some_view(policy, 3))
    assert decision.price.tolist() == [4, 4, 4]
    assert decision.order.tolist() == [0, 0, 0]
    for left in (decision.runner_up_price, decision.runner_up_order, decision.advantage):
        assert np.isnan(left).all()


SAVED: list[tuple[str, dict[str, Any]]] = [
    ("released", {"method": "c-fqi"}),
    ("paper", {"method": "pc-fqi"}),
    ("released", {"method": "pc-fqi", "function": FunctionClass(kind="linear")}),
    ("paper", {"method": "fusion", "iterations": 5, "function": FunctionClass(kind="linear", raw=True)}),
    ("released", {"function": FEW.model_copy(update={"kernels": (MATERN, PRODUCT)})}),
    ("steady", {"method": "pc-fqi", "max_depth": 1}),
    ("paper", {"safe": "paper", "boundary": "paper"}),
    (
        FORBID,
        {
            "rules": Rules(
                multiple=2,
                minimum=4,
                price_ladder=(4.0, 4.5),
                greatest_price_change=0.5,
                forbidden=((4.0, 8.0), (4.5, 0.0)),
            )
        },
    ),
]


@pytest.mark.parametrize(("scenario", "settings"), SAVED)
def test_a_loaded_policy_recommends_the_same_to_the_bit(
    scenario: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    policy = learned(scenario, **settings)
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    assert isinstance(again, QPolicy)
    assert (again.rules, again.method, again.beta) == (policy.rules, policy.method, policy.beta)
    assert (again.problem, again.safe.kind, again.safe.eps) == (policy.problem, policy.safe.kind, policy.safe.eps)
    assert (again.safe.chance is None) == (policy.safe.chance is None)
    assert (policy.safe.chance is None) == (scenario != "steady")
    for period in (0, 1, 2, 5, 20):
        recent, today = days(small_log(scenario, seed=2), period)
        before, after = policy.recommend(recent, today), again.recommend(recent, today)
        assert before.equals(after)
        assert np.isfinite(before["value"]).all()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "policy").read_bytes()


@pytest.mark.parametrize(
    ("settings", "penalty"),
    [
        ({}, "on gains over the usual action (ours)"),
        ({"penalty": "support"}, "by support (ours)"),
        ({"penalty": "paper"}, "posterior deviation of Q (the paper's)"),
        ({"beta": 0.0}, None),
    ],
)
def test_the_summary_says_which_penalty_it_is_and_whose(
    settings: dict[str, Any], penalty: str | None, tmp_path: Path
) -> None:
    policy = learned("released", "pc-fqi", **settings)
    assert policy.summary().get("penalty") == penalty
    policy.save(tmp_path / "policy")
    assert lostsales.load(tmp_path / "policy").summary() == policy.summary()


def test_only_a_pessimistic_policy_carries_what_penalties_need() -> None:
    plain, pessimistic = (encode(learned("steady", method=each, max_depth=1))[1] for each in ("c-fqi", "pc-fqi"))
    assert not [name for name in plain if "uncertainty" in name]
    found = [name for name in pessimistic if name.startswith("q.") and name.endswith("variance.matrix")]
    assert found == [f"q.{depth}.basis.uncertainty.variance.matrix" for depth in (0, 1)]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    learned("released").save(path)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:-30], b""):
        path.write_bytes(broken)
        with pytest.raises(LostSalesError, match="not a policy file, or it is damaged"):
            lostsales.load(path)
    path.write_bytes(whole)
    with np.load(path, allow_pickle=False) as file:
        members = {name: file[name] for name in file.files}
    members["array_q.0.weights"] = members["array_q.0.weights"] * 1.01
    with path.open("wb") as target:
        np.savez(target, **members)
    with pytest.raises(LostSalesError, match="arrays do not match their checksums"):
        lostsales.load(path)
