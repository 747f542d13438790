"""Feature maps against the kernels behind them, and the fast grid against brute force."""

import numpy as np
import pytest

from lostsales.learn.function.feature_maps import KernelMap, LinearMap, PairGrid, ProductGrid, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import (
    FactoredVariance,
    PairwiseVariance,
    interpolation_nodes,
    posterior_variance_of,
)
from lostsales.learn.function.ridge import RidgeFactor

RNG = np.random.default_rng(5)
HISTORY, ACTION = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 2))
NEW = RNG.normal(size=(9, 3))
ACTIONS = np.array([(price, order) for price in (-1.0, 1.0) for order in (-1.5, 0.0, 0.5)])
PAIRS = np.repeat(NEW, len(ACTIONS), axis=0), np.tile(ACTIONS, (len(NEW), 1))
TARGETS = np.sin(HISTORY[:, 0]) + ACTION[:, 1]
RIDGE = 0.3
SHARP = [
    *(
        Kernel(kind="rbf", coefficient=0.2),
        Kernel(kind="laplacian", coefficient=0.2),
        Kernel(kind="matern", coefficient=0.2),
        Kernel(kind="product", coefficient=0.2, action_coefficient=0.7),
    ),
]  # kernels of full rank


@pytest.mark.parametrize("kernel", SHARP, ids=lambda kernel: kernel.kind)
def test_with_every_row_a_landmark_ridge_on_the_map_is_exact_kernel_ridge_and_its_penalty_a_gaussian_process(
    kernel: Kernel,
) -> None:
    mapped = KernelMap.at(kernel, HISTORY, ACTION)
    phi = mapped.features(HISTORY, ACTION)
    factor = RidgeFactor.of(phi.T @ phi, RIDGE)
    grid = mapped.on_grid(NEW, ACTIONS)

    gram = kernel.between((HISTORY, ACTION), (HISTORY, ACTION)) + RIDGE * np.eye(40)
    near = kernel.between(PAIRS, (HISTORY, ACTION))
    shape = len(NEW), len(ACTIONS)
    values = (near @ np.linalg.solve(gram, TARGETS)).reshape(shape)
    posterior = kernel.diagonal(*PAIRS) - np.sum(near * np.linalg.solve(gram, near.T).T, axis=1)
    np.testing.assert_allclose(grid.values(factor.solve(phi.T @ TARGETS)), values, atol=1e-6)
    variance = posterior_variance_of(mapped, factor, RIDGE, len(HISTORY))
    assert isinstance(variance, FactoredVariance) == kernel.factors
    np.testing.assert_allclose(variance(NEW, ACTIONS), posterior.reshape(shape) / RIDGE, atol=1e-6)


@pytest.mark.parametrize("rank", [8, 40])
@pytest.mark.parametrize("kernel", [kernel for kernel in SHARP if kernel.factors], ids=lambda kernel: kernel.kind)
def test_the_grid_of_a_kernel_that_factors_equals_brute_force(kernel: Kernel, rank: int) -> None:
    at = landmarks(kernel, HISTORY, ACTION, rank, np.random.default_rng(1))
    mapped = KernelMap.at(kernel, HISTORY[at], ACTION[at])
    phi = mapped.features(HISTORY, ACTION)
    factor = RidgeFactor.of(phi.T @ phi, RIDGE)
    weights = factor.solve(phi.T @ TARGETS)
    fast, slow = mapped.on_grid(NEW, ACTIONS), PairGrid(mapped, NEW, ACTIONS)
    assert isinstance(fast, ProductGrid)
    np.testing.assert_allclose(fast.values(weights), slow.values(weights), atol=1e-9)
    variance, slow_variance = (
        posterior_variance_of(mapped, factor, RIDGE, len(HISTORY)),
        PairwiseVariance(mapped, factor.inverse(), RIDGE),
    )
    np.testing.assert_allclose(variance(NEW, ACTIONS), slow_variance(NEW, ACTIONS), atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "fewer"),
    [(Kernel(kind="rbf", coefficient=0.1), True), (Kernel(kind="laplacian", coefficient=0.3), False)],
)
def test_posterior_variance_is_interpolated_over_many_actions_where_it_is_smooth(kernel: Kernel, fewer: bool) -> None:
    mapped = KernelMap.at(kernel, HISTORY, ACTION)
    phi = mapped.features(HISTORY, ACTION)
    factor = RidgeFactor.of(phi.T @ phi, 0.1)
    actions = np.array([(price, order) for price in (-1.2, 0.0, 1.2) for order in np.linspace(-1.7, 1.7, 16)])
    variance = posterior_variance_of(mapped, factor, 0.1, len(HISTORY))
    nodes, _ = interpolation_nodes(kernel.of_action(actions, actions) ** 2)
    assert (len(nodes) < 30) == fewer
    assert (len(nodes) == len(actions)) != fewer
    slow = np.sqrt(PairwiseVariance(mapped, factor.inverse(), 0.1)(NEW, actions))
    assert slow.max() > 1
    np.testing.assert_allclose(np.sqrt(variance(NEW, actions)), slow, atol=1e-3)


def test_what_the_landmarks_cannot_see_is_what_the_approximation_lacks() -> None:
    kernel = SHARP[0]
    at = landmarks(kernel, HISTORY, ACTION, 10, np.random.default_rng(1))
    mapped = KernelMap.at(kernel, HISTORY[at], ACTION[at])
    phi, left = mapped.features(HISTORY, ACTION), mapped.left_over(HISTORY, ACTION)
    np.testing.assert_allclose(np.sum(phi**2, axis=1) + left, 1.0, atol=1e-9)
    np.testing.assert_allclose(left[at], 0.0, atol=1e-7)
    assert left.max() > 0.1


def test_landmarks_are_drawn_where_others_leave_most() -> None:
    """Two far clusters: one row of each carries almost everything, and the error falls with the rank."""
    kernel = Kernel(kind="rbf", coefficient=0.2)
    history = np.r_[RNG.normal(size=(15, 3)) / 50, 9 + RNG.normal(size=(25, 3)) / 50]
    action = np.zeros((40, 2))
    first, second = landmarks(kernel, history, action, 2, np.random.default_rng(1))
    assert first < 15 <= second
    total = [
        KernelMap.at(kernel, HISTORY[at], ACTION[at]).left_over(HISTORY, ACTION).sum()
        for at in (landmarks(kernel, HISTORY, ACTION, rank, np.random.default_rng(1)) for rank in (1, 5, 20, 39))
    ]
    assert total == sorted(total, reverse=True)
    assert total[-1] < 0.1 * total[0]


def test_equal_rows_are_one_landmark() -> None:
    kernel, place = Kernel(kind="laplacian", coefficient=1e6), RNG.integers(0, 7, 300)
    at = landmarks(kernel, place[:, None] * np.ones((1, 2)), np.zeros((300, 2)), 50, RNG)
    assert sorted(place[at]) == sorted(set(place))


def test_landmarks_stop_where_the_rank_of_the_kernel_ends() -> None:
    assert len(landmarks(Kernel(kind="linear", coefficient=1.0), HISTORY, ACTION, 20, RNG)) == 5
    assert len(landmarks(Kernel(kind="rbf", coefficient=0.2), HISTORY, ACTION, 90, RNG)) == 40


def test_the_linear_map_lets_the_best_action_follow_the_history_unless_raw() -> None:
    history, action = np.array([[2.0, 3.0]]), np.array([[5.0, 7.0]])
    np.testing.assert_array_equal(LinearMap(raw=True).features(history, action), [[2, 3, 5, 7]])
    full = LinearMap().features(history, action)
    np.testing.assert_array_equal(full, [[2, 3, 5, 7, 25, 49, 35, 10, 15, 14, 21]])
    np.testing.assert_array_equal(LinearMap().left_over(history, action), [0])
    grid = LinearMap().on_grid(history, np.array([[5.0, 7.0], [1.0, 1.0]]))
    expected = [full[0] @ np.arange(11), 3 + 2 + 3 + 4 + 5 + 6 + 14 + 24 + 18 + 30]
    np.testing.assert_array_equal(grid.values(np.arange(11.0)), [expected])
