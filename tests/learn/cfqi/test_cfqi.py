"""`fit`: the options of the learners, what may follow a row, and what is refused."""

from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import SettingError
from lostsales.learn.cfqi.learn import CFQI, CfqiResult
from lostsales.learn.cfqi.learn import learn as learn_from
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.fit import fit, learner_of
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import LEARNERS
from lostsales.policy.rules import MaskQuery, Rules
from tests.learn.small import FORBID, days, frame_of, small_log

FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(0.1, 10.0))
# At the forbidden capacity 25 and under these rules, an order is 0 or 15, and 15 fits only on a stock up to 10.
TWO_ORDERS = Rules(price_ladder=(4.5,), minimum=15)


def learn(name: str, episodes: int = 8, method: str = "c-fqi", **settings: Any) -> CfqiResult:
    given: dict[str, Any] = {"iterations": 2, "function": FEW, "support": "all", "depth_rows": 0.0}
    given |= settings
    learner = learner_of(method, given)
    assert isinstance(learner, CFQI)
    return learn_from(small_log(name, episodes), learner)


def values_after(one: CfqiResult, two: CfqiResult, may: Any) -> list[Any]:
    """What the targets of the second iteration must be, from the Qs of the first and the actions that may follow."""
    log, pairs = small_log(FORBID), one.policy.grid.pairs
    stock = np.asarray(log.stock)
    found = []
    for part in two.parts:
        after = np.full(len(part.rows), np.nan)
        for rows, q_of, block in (
            (part.is_observed, 0, part.next_observed),
            (~part.is_observed, part.next_learned, part.next_censored),
        ):
            if rows.any():
                values = one.policy.q[q_of].values(block, pairs)
                allowed = may(pairs, stock[part.rows[rows] + 1], q_of)
                after[rows] = np.where(allowed, values, -np.inf).max(axis=1)
        found.append(part.profit + log.problem.discount * after)
    return found


def test_infeasible_actions_are_never_targets() -> None:
    one, two = (learn(FORBID, iterations=iterations, rules=TWO_ORDERS) for iterations in (1, 2))

    def may(pairs: Any, stock: Any, depth: int) -> Any:  # noqa: ARG001, every run was ended, so depth does not matter
        price, order = pairs.T
        return (price == 4.5) & ((order == 0) | ((order == 15) & (stock <= 10)[:, None]))

    for targets, expected in zip(two.fitted.targets, values_after(one, two, may), strict=True):
        np.testing.assert_allclose(targets, expected, rtol=1e-9)


@pytest.mark.parametrize("boundary", ["safe", "paper"])
def test_the_boundary_is_safe_or_the_papers(boundary: Any) -> None:
    """With n = 3 the paper's safe action rules at depth 3 alone, also where orders arrive after sales."""
    settings = {"safe": "paper", "boundary": boundary}
    one, two = (learn(FORBID, iterations=iterations, **settings) for iterations in (1, 2))
    assert one.runs.max_depth == 3

    def may(pairs: Any, stock: Any, depth: int) -> Any:
        price, order = pairs.T
        fits = stock[:, None] + order <= 25
        if boundary == "paper" or depth < 3:
            return fits
        most = fits & (order == np.where(fits, order, -1).max(axis=1, keepdims=True))
        return most & (price == 4.5)

    for targets, expected in zip(two.fitted.targets, values_after(one, two, may), strict=True):
        np.testing.assert_allclose(targets, expected, rtol=1e-9)
    assert two.policy.safe.kind == "paper"


def test_where_an_order_arrives_after_sales_the_chance_to_end_a_run_does_not_follow_it() -> None:
    learned = learn("steady", 25, max_depth=1)
    chance, grid = learned.policy.safe.chance, learned.policy.grid
    assert chance is not None
    table = chance.values(learned.parts[1].block, grid.pairs).reshape(-1, len(grid.prices), len(grid.orders))
    np.testing.assert_allclose(table, table[:, :, :1] + np.zeros_like(table), atol=1e-12)
    assert ((table >= 0) & (table <= 1)).all()
    assert np.ptp(table[:, :, 0]) > 0.01


def test_masks_reach_targets_and_recommendations() -> None:
    """Where the economy (feature SE) is down no order may be placed, as a feature and as a mask of one's own."""
    name = small_log("released").problem.features[0].name

    def mask(asked: MaskQuery) -> Any:
        return (asked.actions[:, 1] == 0) | (asked.features[name] != 0)[:, None]

    by_name, by_mask = (learn("released", rules=rules) for rules in (Rules(order_days=name), Rules(mask=mask)))
    free = learn("released")
    for one, other in zip(by_name.fitted.targets, by_mask.fitted.targets, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (by_name.fitted.targets[0] <= free.fitted.targets[0] + 1e-9).all()
    assert (by_name.fitted.targets[0] < free.fitted.targets[0] - 1).any()
    recent, today = days(small_log("released", seed=2), 9)
    answer = by_mask.policy.recommend(recent, today)
    down = today[name].to_numpy() == 0
    assert (answer["order"][down] == 0).all()
    assert (answer["order"][~down] > 0).any()


def test_with_independent_demand_it_is_fqi_on_imputed_profits() -> None:
    """Every row counts, stock-outs continue like any other, and the last demand is no part of the state."""
    log = small_log("newsvendor", 12)
    function = FunctionClass(kind="linear", ridges=(0.5,))
    learned = learn_from(log, CFQI(independent=True, max_depth=0, iterations=4, function=function, targets="centred"))
    assert log.stock is not None
    assert log.order is not None
    rows = np.flatnonzero(log.has_next)
    assert log.censored[rows].mean() > 0.1
    imputed = impute_by_curves(log, tail="exponential", replicates=0, quick=True, runs=learned.runs).profit_filled
    assert imputed is not None
    profit, stock, after = imputed[rows], log.stock[rows], log.stock[rows + 1]
    action = np.column_stack([log.price, log.order])[rows]
    pairs = learned.policy.grid.pairs

    def features(stock: Any, action: Any) -> Any:
        h = (stock - log_stock.mean()) / min(log_stock.std(), np.ptp(np.quantile(log_stock, [0.25, 0.75])))
        price, order = ((action - log_action.mean(axis=0)) / log_action.std(axis=0)).T
        return np.column_stack([h, price, order, price**2, order**2, price * order, h * price, h * order])

    log_stock, log_action = stock, action
    phi, value = features(stock, action), np.zeros(len(rows))
    for k in range(1, 5):
        target = profit + 0.9 * value
        weights = np.linalg.solve(phi.T @ phi + 0.5 * np.eye(8), phi.T @ (target - target.mean()))
        horizon = sum(0.9**step for step in range(k))
        table = [target.mean() + features(after, np.tile(pair, (len(rows), 1))) @ weights for pair in pairs]
        value = np.clip(table, profit.min() * horizon, profit.max() * horizon).max(axis=0)
    np.testing.assert_allclose(learned.fitted.targets[0], target, rtol=1e-8)
    found = learned.policy.q[0].values(learned.parts[0].next_observed, pairs).max(axis=1)
    np.testing.assert_allclose(found, value, rtol=1e-8)
    answer = learned.policy.recommend(*days(log, 1))
    assert not answer["safe_action"].any()
    assert (answer["depth"] > 0).any()
    assert not answer["flag"].str.contains("longer").any()


def test_the_residual_of_each_iteration_is_kept() -> None:
    learned = learn("released", iterations=3)
    assert learned.fitted.residuals.shape == (3, learned.runs.max_depth + 1)
    assert (learned.fitted.residuals > 0).all()
    assert len(learned.fitted.targets) == len(learned.parts) == len(learned.policy.q) == 4
    assert len(learned.profit) == len(small_log("released"))


def test_iterations_follow_the_papers_rule_up_to_a_cap() -> None:
    rows = int(learn("released").runs.usable.sum())
    assert len(learn("released", iterations=None).fitted.residuals) == int(np.ceil(np.log(rows) / 0.2))


@pytest.mark.parametrize(
    ("settings", "pessimistic"),
    [
        ({"method": "c-fqi"}, False),
        ({"method": "pc-fqi"}, True),
        ({"method": "pc-fqi", "beta": 0.0}, False),
        ({"method": "fusion", "iterations": 4}, True),
        ({"method": "fusion", "iterations": 5}, False),
    ],
)
def test_which_policies_have_a_penalty(settings: dict[str, Any], pessimistic: bool) -> None:
    learned = learn("released", **settings)
    assert learned.fitted.pessimistic == pessimistic
    assert (learned.policy.beta > 0) == pessimistic


def test_folds_hold_out_whole_series() -> None:
    log = small_log("released", 12)
    rows = np.arange(len(log))
    folds = folds_of(hold_out(log, 4), rows)
    assert len(folds) == 5
    assert (np.sum([test for test, _ in folds], axis=0) == 1).all()
    for test, train in folds:
        assert not set(log.series[test]) & set(log.series[train])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"safe": "safest"}, "safe: Input should be 'learned' or 'paper', but it is 'safest'"),
        ({"boundary": "open"}, "boundary: Input should be 'safe' or 'paper', but it is 'open'"),
        ({"method": "fqi"}, "no method 'fqi'; there are planner, c-fqi, pc-fqi, fusion"),
        ({"iterations": -1}, "iterations: Input should be greater than or equal to 1, but it is -1"),
        ({"eps": 1.5}, "eps: Input should be less than or equal to 1, but it is 1.5"),
        ({"beta": -1.0}, "beta: Input should be greater than or equal to 0, but it is -1"),
        ({"beta": float("nan")}, "beta: Input should be a finite number, but it is nan"),
        ({"max_depth": -1}, "max_depth: Input should be greater than or equal to 0, but it is -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        learn("released", **settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kind": "spline"}, "kind: Input should be 'kernel' or 'linear', but it is 'spline'"),
        ({"ridges": ()}, "ridges: Tuple should have at least 1 item"),
        ({"ridges": (0.0, 1.0)}, r"ridges\.0: Input should be greater than 0, but it is 0"),
        ({"unpenalized_share": 1.0}, "unpenalized_share: Input should be less than 1, but it is 1"),
    ],
)
def test_function_classes_out_of_range_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        FunctionClass(**settings)


def test_ordinary_least_squares_is_the_limit_of_a_small_ridge() -> None:
    learned = learn("released", iterations=1, function=FunctionClass(kind="linear", ridges=(1e-9,)))
    design, part = learned.policy.q[0], learned.parts[0]
    history = (part.block - part.block.mean(axis=0)) / part.block.std(axis=0)
    price, order = ((part.action - part.action.mean(axis=0)) / part.action.std(axis=0)).T
    columns = [*history.T, price, order, price**2, order**2, price * order, *(history.T * price), *(history.T * order)]
    phi = np.column_stack(columns)
    fitted = part.profit.mean() + phi @ np.linalg.lstsq(phi, part.profit - part.profit.mean(), rcond=None)[0]
    at = (part.action[:, None] == learned.policy.grid.pairs).all(axis=2)
    values = design.values(part.block, learned.policy.grid.pairs)[at]
    low, high = part.profit.min(), part.profit.max()
    inside = (fitted > low) & (fitted < high) & (values > low) & (values < high)
    assert inside.mean() > 0.9
    np.testing.assert_allclose(values[inside], fitted[inside], rtol=1e-6)


def test_depth_can_be_limited() -> None:
    for depth in (0, 1):
        learned = learn("steady", 25, max_depth=depth)
        assert len(learned.policy.q) == depth + 1
        assert learned.policy.safe.depth == depth


def test_prices_and_orders_of_the_log_are_the_grid_where_none_is_declared() -> None:
    log = small_log("paper")
    bare = log.problem.model_copy(update={"prices": None, "orders": None})
    policy = CFQI(iterations=1, function=FEW).fit(lostsales.read_log(frame_of(log), bare))
    assert policy.grid.prices.tolist() == [4, 4.25, 4.5]
    assert policy.grid.orders.tolist() == list(range(16))
    assert policy.problem.prices == (4, 4.25, 4.5)


class DepthZero(CFQI):
    """C-FQI of depth 0, as another package might offer it."""

    method = "depth-zero"

    def fit(self, log: SalesLog, progress: Progress | None = None) -> QPolicy:
        """C-FQI that knows of no run."""
        return CFQI(max_depth=0, function=FEW, iterations=self.iterations).fit(log, progress)


def test_a_learner_may_be_registered_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEARNERS, "_registered", {})
    LEARNERS.register("depth-zero", DepthZero)
    assert LEARNERS.names[-1] == "depth-zero"
    policy = fit(small_log("released"), "depth-zero", iterations=1)
    assert policy.summary()["max_depth"] == 0
    with pytest.raises(SettingError, match="method 'c-fqi' is taken by the package lostsales"):
        LEARNERS.register("c-fqi", DepthZero)
