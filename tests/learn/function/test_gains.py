"""Posterior variance of gains: that of the difference of two values of Q."""

import numpy as np
import pytest

from lostsales.learn.function.feature_maps import KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import FactoredVariance, PairwiseVariance, posterior_variance_of
from lostsales.learn.function.ridge import RidgeFactor

RIDGE = 0.3
ACTIONS = np.array([[price, order] for price in (-1.0, 0.0, 1.0) for order in (-1.0, -0.3, 0.4, 1.2)])


@pytest.mark.parametrize(("kind", "factors"), [("rbf", True), ("laplacian", True), ("matern", False)])
def test_of_a_kernel_it_is_that_of_the_gaussian_process(kind: str, factors: bool) -> None:
    """k_post(a, a) + k_post(b, b) - 2 k_post(a, b), with k_post = k - k'(K + ridge)^-1 k of all rows."""
    rng = np.random.default_rng(0)
    history, action = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    kernel = Kernel(kind=kind, coefficient=0.4)  # type: ignore[arg-type]
    mapped = KernelMap.at(kernel, history, action)
    variance = posterior_variance_of(mapped, RidgeFactor.of(mapped.root.T @ mapped.root, RIDGE), RIDGE, len(history))
    assert isinstance(variance, FactoredVariance if factors else PairwiseVariance)
    asked, usual = rng.normal(size=(5, 3)), np.array([0, 3, 7, 11, 4])
    found = variance.of_gains(asked, ACTIONS, usual)
    gram = kernel.between((history, action), (history, action)) + RIDGE * np.eye(60)
    for row in range(5):
        grid = np.tile(asked[row], (12, 1)), ACTIONS
        near = kernel.between((history, action), grid)
        post = kernel.between(grid, grid) - near.T @ np.linalg.solve(gram, near)
        own = np.diag(post)
        wanted = (own + own[usual[row]] - 2 * post[:, usual[row]]) / RIDGE
        if factors:
            np.testing.assert_allclose(found[row], wanted, atol=2e-3)
        else:  # what the landmarks leave over counts as independent between actions
            phi = mapped.features(*grid)
            shared = 2 * (kernel.between(grid, grid) - phi @ phi.T)[:, usual[row]] / RIDGE
            shared[usual[row]] = 0
            np.testing.assert_allclose(found[row], wanted + shared, atol=2e-3)
    assert (found[np.arange(5), usual] == 0).all()


def test_of_a_linear_q_it_is_the_elliptical_norm_of_the_difference() -> None:
    rng = np.random.default_rng(1)
    history, action, mapped = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), LinearMap()
    phi = mapped.features(history, action)
    variance = posterior_variance_of(mapped, RidgeFactor.of(phi.T @ phi, RIDGE), RIDGE, len(history))
    asked, usual = rng.normal(size=(4, 2)), np.array([2, 0, 5, 9])
    found = variance.of_gains(asked, ACTIONS, usual)
    inverse = np.linalg.inv(phi.T @ phi + RIDGE * np.eye(phi.shape[1]))
    for row in range(4):
        each = mapped.features(np.tile(asked[row], (12, 1)), ACTIONS)
        apart = each - each[usual[row]]
        np.testing.assert_allclose(found[row], np.sum(apart @ inverse * apart, axis=1))
