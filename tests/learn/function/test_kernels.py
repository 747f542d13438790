"""The kernels against their formulas."""

from collections.abc import Callable

import numpy as np
import pytest

from lostsales.learn.function.kernels import Kernel
from lostsales.types import Floats

RNG = np.random.default_rng(3)
LEFT = RNG.normal(size=(12, 4)), RNG.normal(size=(12, 2))
RIGHT = RNG.normal(size=(7, 4)), RNG.normal(size=(7, 2))


def matern(left: Floats, right: Floats) -> float:
    scaled = np.sqrt(5 * 0.2) * np.linalg.norm(left - right)
    return float((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def product(left: Floats, right: Floats) -> float:
    history, action = np.sum((left - right)[:4] ** 2), np.sum(np.abs(left - right)[4:])
    return float(np.exp(-0.2 * history - 0.7 * action))


FORMULAS: list[tuple[Kernel, Callable[[Floats, Floats], float]]] = [
    (Kernel(kind="rbf", coefficient=0.2), lambda left, right: float(np.exp(-0.2 * np.sum((left - right) ** 2)))),
    (Kernel(kind="laplacian", coefficient=0.2), lambda left, right: float(np.exp(-0.2 * np.sum(np.abs(left - right))))),
    (Kernel(kind="matern", coefficient=0.2), matern),
    (Kernel(kind="polynomial", coefficient=0.2), lambda left, right: float((1 + 0.2 * left @ right) ** 2)),
    (Kernel(kind="linear", coefficient=0.2), lambda left, right: float(0.2 * left @ right)),
    (Kernel(kind="product", coefficient=0.2, action_coefficient=0.7), product),
]
KERNELS = [kernel for kernel, _ in FORMULAS]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda each: getattr(each, "kind", ""))
def test_a_kernel_is_its_formula(kernel: Kernel, formula: Callable[[Floats, Floats], float]) -> None:
    pairs = [[formula(left, right) for right in np.hstack(RIGHT)] for left in np.hstack(LEFT)]
    np.testing.assert_allclose(kernel.between(LEFT, RIGHT), pairs, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.kind)
def test_a_gram_matrix_is_symmetric_and_positive_semi_definite_with_its_diagonal(kernel: Kernel) -> None:
    gram = kernel.between(LEFT, LEFT)
    np.testing.assert_allclose(gram, gram.T, atol=1e-14)
    assert np.linalg.eigvalsh(gram).min() > -1e-12
    np.testing.assert_allclose(np.diag(gram), kernel.diagonal(*LEFT), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.kind)
def test_a_kernel_factors_where_it_says_so(kernel: Kernel) -> None:
    together = kernel.between(LEFT, RIGHT)
    apart = kernel.of_history(LEFT[0], RIGHT[0]) * kernel.of_action(LEFT[1], RIGHT[1])
    assert np.allclose(together, apart) == kernel.factors


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.kind)
def test_without_history_only_the_action_counts(kernel: Kernel) -> None:
    nothing = np.zeros((12, 0)), np.zeros((7, 0))
    zeros = np.zeros((12, 4)), np.zeros((7, 4))
    without = kernel.between((nothing[0], LEFT[1]), (nothing[1], RIGHT[1]))
    np.testing.assert_allclose(without, kernel.between((zeros[0], LEFT[1]), (zeros[1], RIGHT[1])), rtol=1e-12)
