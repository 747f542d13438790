"""Lower bounds of the posterior variance of all actions from that of one."""

import numpy as np
import pytest

from lostsales.learn.function.feature_maps import KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel, Kind
from lostsales.learn.function.posterior_variance import posterior_variance_of
from lostsales.learn.function.ridge import RidgeFactor
from lostsales.types import Floats

RIDGE = 0.1
rng = np.random.default_rng(0)
ACTIONS = rng.normal(size=(12, 2))


@pytest.mark.parametrize("rows", [40, 350])  # with and without a root of low rank
@pytest.mark.parametrize("kind", ["rbf", "laplacian", "matern"])
def test_bounds_are_exact_for_the_taken_action_and_below_for_the_others(kind: Kind, rows: int) -> None:
    history, action, asked = rng.normal(size=(rows, 3)), rng.normal(size=(rows, 2)), rng.normal(size=(30, 3))
    mapped, taken = KernelMap.at(Kernel(kind=kind, coefficient=0.1), history, action), rng.integers(0, 12, 30)
    variance = posterior_variance_of(mapped, RidgeFactor.of(mapped.root.T @ mapped.root, RIDGE), RIDGE, rows)
    least = variance.around(asked, ACTIONS, taken)
    for row, b in enumerate(taken):
        post = dense(mapped.kernel, history, action, asked[row])
        assert least[row, b] == pytest.approx(post[b, b], abs=2e-6)
        assert (least[row] <= np.diag(post) + 2e-6).all()
        if mapped.kernel.factors:
            np.testing.assert_allclose(least[row], post[:, b] ** 2 / post[b, b], atol=2e-6)


def dense(kernel: Kernel, history: Floats, action: Floats, asked: Floats) -> Floats:
    """(k - k'(K + ridge)^-1 k) / ridge between all actions of a history, written out, (actions, actions)."""
    rows, grid = (history, action), (np.tile(asked, (len(ACTIONS), 1)), ACTIONS)
    near, gram = kernel.between(rows, grid), kernel.between(rows, rows) + RIDGE * np.eye(len(history))
    return np.asarray(kernel.between(grid, grid) - near.T @ np.linalg.solve(gram, near)) / RIDGE


def test_a_linear_map_bounds_no_other_action() -> None:
    history, action = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    phi = LinearMap().features(history, action)
    variance = posterior_variance_of(LinearMap(), RidgeFactor.of(phi.T @ phi, RIDGE), RIDGE, 40)
    least = variance.around(history[:5], ACTIONS, np.arange(5))
    np.testing.assert_allclose(np.diag(least), np.diag(variance(history[:5], ACTIONS)))
    assert np.count_nonzero(least) == 5
