"""Fitted Q-iteration against itself written out plainly, and the penalty against its definition."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from lostsales.data.splits import FoldMasks, folds_of, hold_out
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.cfqi.iteration import FittedQ, FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition, partition
from lostsales.learn.function.depth_regression import RidgeDesign, build
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.penalty_design import with_penalty
from lostsales.learn.function.posterior_variance import FactoredVariance
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, Scaler
from lostsales.policy.action_grid import ActionGrid
from lostsales.types import Bools, Floats
from tests.learn.small import small_log

ACTIONS = ActionGrid(np.array([2.0, 4.0, 6.0]), np.array([0.0, 7.0, 15.0]), np.inf).pairs
RAW = FunctionClass(kind="linear", raw=True, ridges=(0.5,), unpenalized_share=0.5)
LINEAR_KERNEL = FunctionClass(
    kernels=(Kernel(kind="linear", coefficient=1.0),), ridges=(0.5,), support_kernel=None, unpenalized_share=0.5
)


@cache
def censored() -> tuple[list[Partition], list[FoldMasks]]:
    """The parts of a small log, and their folds."""
    log = small_log("released")
    runs = find_runs(log)
    assert log.order is not None
    parts = partition(log, runs, log.price * log.sales - 3 * log.order)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    return parts, [folds_of(holdout, part.rows) for part in parts]


def learn(settings: FqiSettings) -> FittedQ:
    """All depths of the small log, every action allowed."""
    parts, folds = censored()
    with threadpool_limits(1):  # on a busy machine several threads take ten times as long
        return iterate(parts, folds, ACTIONS, [(None, None)] * len(parts), settings)


def seen(rows: int = 90) -> tuple[Partition, FoldMasks]:
    """A depth whose every demand is observed."""
    rng = np.random.default_rng(8)
    block, after = rng.normal(3, 2, (2, rows, 3))
    action = ACTIONS[rng.integers(0, len(ACTIONS), rows)]
    profit = block[:, 0] * action[:, 0] - action[:, 1] + rng.normal(size=rows)
    is_observed = np.ones(rows, dtype=bool)
    fold = np.arange(rows) % 5
    folds = [(fold == each, fold != each) for each in range(5)]
    return Partition(np.arange(rows), block, action, profit, is_observed, after), folds


def standardised(values: Floats, like: Floats) -> Floats:
    return np.asarray((values - like.mean(axis=0)) / like.std(axis=0))


def quadratic_features(block: Floats, action: Floats) -> Floats:
    """1, h, a, a^2, p o, h p, h o, written out."""
    price, order = action.T
    columns = [*block.T, price, order, price**2, order**2, price * order]
    return np.column_stack([*columns, *(block.T * price), *(block.T * order)])


@pytest.mark.parametrize("allowed", [None, np.arange(90)[:, None] % 3 != np.arange(9) % 3], ids=["all", "some"])
def test_without_censoring_it_is_classical_fitted_q_iteration(allowed: Bools | None) -> None:
    part, folds = seen()
    function = FunctionClass(kind="linear", ridges=(0.5,))
    fitted = iterate(
        [part], [folds], ACTIONS, [(allowed, None)], FqiSettings(iterations=6, discount=0.8, function=function)
    )

    def features(block: Floats, action: Floats) -> Floats:
        return quadratic_features(standardised(block, part.block), standardised(action, part.action))

    phi = features(part.block, part.action)
    after = [features(part.next_observed, np.tile(action, (90, 1))) for action in ACTIONS]
    q_next = np.zeros((90, 9))
    for k in range(1, 7):
        value = (q_next if allowed is None else np.where(allowed, q_next, -np.inf)).max(axis=1)
        target = part.profit + (0.8 * value if k > 1 else 0.0)
        mean = target.mean()
        weights = np.linalg.solve(phi.T @ phi + 0.5 * np.eye(phi.shape[1]), phi.T @ (target - mean))
        horizon = sum(0.8**step for step in range(k))
        q_next = np.column_stack([mean + each @ weights for each in after])
        q_next = np.clip(q_next, part.profit.min() * horizon, part.profit.max() * horizon)
    np.testing.assert_allclose(fitted.q[0].values(part.next_observed, ACTIONS), q_next, rtol=1e-8)
    np.testing.assert_allclose(fitted.targets[0], target, rtol=1e-8)
    residual = np.sqrt(np.mean((mean + phi @ weights - target) ** 2))
    np.testing.assert_allclose(fitted.residuals[-1], [residual], rtol=1e-8)


def test_a_censored_row_continues_one_deeper_and_an_observed_one_at_depth_0() -> None:
    parts, _ = censored()
    before = learn(FqiSettings(iterations=2, select_at=(1,), function=RAW))
    after = learn(FqiSettings(iterations=3, select_at=(1,), function=RAW))
    assert len(parts) == 4
    for depth, part in enumerate(parts):
        value = np.empty(len(part.rows))
        value[part.is_observed] = before.q[0].values(part.next_observed, ACTIONS).max(axis=1)
        if depth < 3:
            assert part.next_learned == depth + 1
            assert len(part.next_censored)
            value[~part.is_observed] = before.q[depth + 1].values(part.next_censored, ACTIONS).max(axis=1)
        np.testing.assert_allclose(after.targets[depth], part.profit + 0.9 * value, rtol=1e-9)


@pytest.mark.parametrize("exact_rows", [0, 400], ids=["pivots", "every row a landmark"])
def test_kernel_ridge_with_a_linear_kernel_is_the_linear_learner(exact_rows: int) -> None:
    parts, _ = censored()
    settings = FqiSettings(iterations=5, pessimistic_until=5)
    linear = learn(replace(settings, function=RAW))
    kernel = learn(replace(settings, function=LINEAR_KERNEL.model_copy(update={"exact_rows": exact_rows})))
    for one, other, part in zip(linear.q, kernel.q, parts, strict=True):
        np.testing.assert_allclose(one.values(part.block, ACTIONS), other.values(part.block, ACTIONS), atol=1e-3)
        penalty = one.penalty(part.block, ACTIONS, 2.0)
        assert penalty.max() > 1
        np.testing.assert_allclose(penalty, other.penalty(part.block, ACTIONS, 2.0), atol=1e-3)


def test_nystrom_at_full_rank_is_exact_and_below_it_the_error_falls_with_the_rank() -> None:
    parts, _ = censored()
    rows = max(len(part.rows) for part in parts)
    smooth = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.1),), ridges=(0.1,), exact_rows=rows)
    exact = learn(FqiSettings(iterations=4, function=smooth))
    errors = []
    for rank in (20, 60, rows):
        function = smooth.model_copy(update={"exact_rows": 0, "most_rank": rank, "by_dimension": False})
        near = learn(FqiSettings(iterations=4, function=function))
        pairs = zip(near.q, exact.q, parts, strict=True)
        errors.append(max(np.abs(q.values(p.block, ACTIONS) - e.values(p.block, ACTIONS)).max() for q, e, p in pairs))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 10
    assert errors[-1] < 1e-4
    by_dimension = learn(FqiSettings(iterations=4, function=smooth.model_copy(update={"exact_rows": 0})))
    values, truth = (each.q[0].values(parts[0].block, ACTIONS) for each in (by_dimension, exact))
    assert np.sqrt(np.mean((values - truth) ** 2)) < 0.01 * truth.std()


@pytest.mark.parametrize("until", [0, 4])
def test_many_rows_are_streamed_to_the_same_q(monkeypatch: pytest.MonkeyPatch, until: int) -> None:
    parts, _ = censored()
    settings = FqiSettings(iterations=4, pessimistic_until=until, function=FunctionClass(exact_rows=0))
    kept = learn(settings)
    monkeypatch.setattr("lostsales.learn.cfqi.targets.KEPT_SCORES", 0)
    monkeypatch.setattr("lostsales.learn.cfqi.targets.CHUNK", 17)
    monkeypatch.setattr("lostsales.learn.function.depth_regression.KEEP", 0)
    monkeypatch.setattr("lostsales.learn.function.depth_regression.CHUNK", 23)
    monkeypatch.setattr("lostsales.learn.function.depth_regression.MANY_ROWS", 50)
    monkeypatch.setattr("lostsales.learn.cfqi.targets.MANY_ROWS", 50)
    streamed = learn(settings)
    monkeypatch.setattr("lostsales.learn.function.depth_regression.KEEP", 10**9)
    monkeypatch.setattr("lostsales.learn.function.depth_regression.DOUBLE", 0)
    single = learn(settings)
    for other in (streamed, single):
        for q, same, part in zip(kept.q, other.q, parts, strict=True):
            np.testing.assert_allclose(q.values(part.block, ACTIONS), same.values(part.block, ACTIONS), atol=1e-4)
            np.testing.assert_allclose(kept.residuals, other.residuals, rtol=1e-4)


def test_without_beta_pc_fqi_is_c_fqi() -> None:
    parts, _ = censored()
    plain, free, pessimistic = (
        learn(FqiSettings(iterations=4, beta=beta, pessimistic_until=until))
        for beta, until in ((30.0, 0), (0.0, 4), (30.0, 4))
    )
    assert (plain.pessimistic, free.pessimistic, pessimistic.pessimistic) == (False, False, True)
    for depth, part in enumerate(parts):
        values = [each.q[depth].values(part.block, ACTIONS) for each in (plain, free, pessimistic)]
        np.testing.assert_array_equal(values[0], values[1])
        assert np.abs(values[0] - values[2]).max() > 1


def test_a_pessimistic_update_continues_with_q_less_its_penalty_and_fusion_stops_doing_so() -> None:
    """With the settings chosen once, Q after an iteration is Q of a shorter run."""
    parts, _ = censored()
    shared = FqiSettings(iterations=1, beta=2.0, pessimistic_until=1, select_at=(1,), function=RAW)
    first = learn(shared)
    fusion = learn(replace(shared, iterations=2))
    later = learn(replace(shared, iterations=3))
    assert (first.pessimistic, fusion.pessimistic) == (True, False)
    part = parts[-1]
    penalised = first.q[0].values(part.next_observed, ACTIONS) - first.q[0].penalty(part.next_observed, ACTIONS, 2.0)
    np.testing.assert_allclose(
        fusion.targets[-1][part.is_observed], part.profit[part.is_observed] + 0.9 * penalised.max(axis=1)
    )
    bold = fusion.q[0].values(part.next_observed, ACTIONS)
    np.testing.assert_allclose(
        later.targets[-1][part.is_observed], part.profit[part.is_observed] + 0.9 * bold.max(axis=1)
    )


def designed(function: FunctionClass, kernel: Kernel | None = None, rows: int = 90) -> RidgeDesign:
    """A depth whose every demand is observed, with given hyperparameters and the uncertainty of the penalty."""
    part, _ = seen(rows)
    scaler, action_scaler = Scaler.of(part.block), ActionScaler.of(part.action)
    history, action = scaler(part.block), action_scaler(part.action)
    built = build(scaler, action_scaler, history, action, Hyperparameters(kernel, 0.3, 5.0), function, 0)
    return with_penalty(built, function, 0)


def threshold(design: RidgeDesign) -> float:
    assert design.basis.uncertainty is not None
    return design.basis.uncertainty.threshold


def factored(design: RidgeDesign) -> FactoredVariance:
    assert design.basis.uncertainty is not None
    assert isinstance(design.basis.uncertainty.variance, FactoredVariance)
    return design.basis.uncertainty.variance


def uncertainty(kernel: Kernel, ridge: float, at: tuple[Floats, Floats], sample: tuple[Floats, Floats]) -> Floats:
    """sqrt(k_post / ridge) of a Gaussian process, solved directly."""
    near = kernel.between(at, sample)
    gram = kernel.between(sample, sample) + ridge * np.eye(len(sample[0]))
    posterior = kernel.diagonal(*at) - np.sum(near * np.linalg.solve(gram, near.T).T, axis=1)
    return np.asarray(np.sqrt(posterior / ridge))


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel(kind="rbf", coefficient=0.1),
        Kernel(kind="laplacian", coefficient=0.1),
        Kernel(kind="matern", coefficient=0.1),
        None,
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_the_threshold_is_the_quantile_of_leave_one_out_uncertainty(kernel: Kernel | None, own: bool) -> None:
    support, ridge = (kernel, 0.3) if own or kernel is None else (Kernel(kind="rbf", coefficient=0.2), 0.05)
    function = FunctionClass(
        raw=True,
        unpenalized_share=0.8,
        unpenalized_ratio=np.inf,
        support_kernel=None if own else Kernel(kind="rbf", coefficient=0.2),
        support_ridge=0.05,
    )
    design = designed(function, kernel)
    left_out = []
    for row in range(90):
        rest = np.arange(90) != row
        one, others = ((design.history[at], design.action[at]) for at in ([row], rest))
        left_out.append(uncertainty(support or Kernel(kind="linear", coefficient=1.0), ridge, one, others)[0])
    np.testing.assert_allclose(threshold(design), np.quantile(left_out, 0.8), rtol=1e-5)
    capped = threshold(designed(function.model_copy(update={"unpenalized_ratio": 1.1}), kernel))
    np.testing.assert_allclose(capped, min(np.quantile(left_out, 0.8), 1.1 * np.median(left_out)), rtol=1e-5)
    assert threshold(designed(function.model_copy(update={"unpenalized_share": 0.0}), kernel)) == 0.0


@pytest.mark.parametrize("share", [0.0, 0.8])
@pytest.mark.parametrize("own", [True, False])
def test_the_penalty_is_beta_sigma_times_the_uncertainty_above_the_threshold(own: bool, share: float) -> None:
    kernel, other = Kernel(kind="rbf", coefficient=0.1), Kernel(kind="laplacian", coefficient=0.2)
    design = designed(
        FunctionClass(unpenalized_share=share, support_kernel=None if own else other, support_ridge=0.05), kernel
    )
    part, _ = seen()
    penalty = design.basis.penalty(part.next_observed, ACTIONS, 7.0)
    support, ridge = (kernel, 0.3) if own else (other, 0.05)
    low, high = np.quantile(part.block, [0.01, 0.99], axis=0)
    after = np.clip(part.next_observed, low, high) if share else part.next_observed
    assert (part.next_observed > high).any()
    for column, action in enumerate(design.basis.action_scaler(ACTIONS)):
        at = standardised(after, part.block), np.tile(action, (90, 1))
        above = uncertainty(support, ridge, at, (design.history, design.action)) - threshold(design)
        np.testing.assert_allclose(penalty[:, column], 7.0 * 5.0 * np.maximum(above, 0), atol=1e-5)
    assert (penalty.min() > 0) == (share == 0)


def test_the_support_of_few_landmarks_nears_the_exact_one() -> None:
    exact = designed(FunctionClass(support_rank=400), Kernel(kind="rbf", coefficient=0.01), rows=390)
    assert len(factored(exact).matrix) == 390
    at = exact.basis.scaler(seen(390)[0].next_observed)
    actions = exact.basis.action_scaler(ACTIONS)
    truth, errors = np.sqrt(factored(exact)(at, actions)), []
    for rank in (50, 100, 200):
        design = designed(FunctionClass(support_rank=rank), Kernel(kind="rbf", coefficient=0.01), rows=390)
        assert len(factored(design).matrix) == rank
        errors.append(float(np.mean(np.abs(np.sqrt(factored(design)(at, actions)) / truth - 1))))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01
    np.testing.assert_allclose(threshold(design), threshold(exact), rtol=0.05)


def test_what_was_never_tried_is_penalised_and_random_behaviour_hardly() -> None:
    rng = np.random.default_rng(9)
    part, _ = seen(300)
    narrow = np.where(rng.random(300)[:, None] < 0.97, ACTIONS[0], ACTIONS[rng.integers(0, 9, 300)])
    shares = []
    for action in (part.action, narrow):
        scaler, scale_action = Scaler.of(part.block), ActionScaler.of(action)
        choice, function = Hyperparameters(Kernel(kind="rbf", coefficient=0.003), 0.001, 1.0), FunctionClass()
        standard = scaler(part.block), scale_action(action)
        design = with_penalty(build(scaler, scale_action, *standard, choice, function, 0), function, 0)
        penalty = design.basis.penalty(part.next_observed, ACTIONS, 1.0)
        shares.append(float(np.mean(penalty > 0)))
    assert shares[0] < 0.15
    assert shares[1] > 0.5
