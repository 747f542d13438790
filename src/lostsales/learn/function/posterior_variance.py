"""Posterior variance of the ridge regression, k_post / ridge, of histories against a grid of actions."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.ridge import RidgeFactor
from lostsales.types import Floats, Ints

INTERPOLATION_ERROR = 1e-3  # of a function of norm 1, over actions


class PosteriorVariance(Protocol):
    """k_post / ridge of a kernel or linear ridge regression, the squared uncertainty quantifier (Appendix M.1)."""

    @property
    def ridge(self) -> float:
        """The ridge of the regression."""
        ...

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """Of standardised histories against a grid of standardised actions, (rows, actions)."""
        ...


@dataclass(frozen=True, eq=False)
class PairwiseVariance:
    """Any map: phi'(Phi'Phi + ridge)^-1 phi + left_over / ridge, action by action."""

    map: FeatureMap
    inverse: Floats  # (rank, rank)
    ridge: float

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """k_post / ridge."""
        columns = []
        for each in actions:
            action = np.broadcast_to(each, (len(history), 2))
            phi = self.map.features(history, action)
            left_over = self.map.left_over(history, action)
            columns.append(np.einsum("ij,ij->i", phi @ self.inverse, phi) + left_over / self.ridge)
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class FactoredVariance:
    """A kernel that factors: 1 / ridge - k_h'(M o k_a k_a')k_h, with k_h and k_a the kernels to the landmarks.

    The quadratic form is as smooth in the action as k_a^2, so that it is computed at the interpolation nodes of that
    kernel and interpolated to the other actions; where k_a^2 is too rough, every action is a node.
    """

    kernel: Kernel
    history: Floats  # (landmarks, coordinates) standardised
    action: Floats  # (landmarks, 2)
    matrix: Floats  # (landmarks, landmarks) M
    ridge: float

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """k_post / ridge."""
        nodes, weights = interpolation_nodes(self.kernel.of_action(actions, actions) ** 2)
        of_history = self.kernel.of_history(history, self.history)
        form = np.empty((len(history), len(nodes)))
        for column, near in enumerate(self.kernel.of_action(actions[nodes], self.action)):
            weighted = of_history @ (self.matrix * np.outer(near, near))
            np.einsum("ij,ij->i", weighted, of_history, out=form[:, column])
        return np.maximum(1.0 / self.ridge - form @ weights, 0.0)


def interpolation_nodes(gram: Floats) -> tuple[Ints, Floats]:
    """Pivots of the kernel matrix of the actions, and weights (nodes, actions) that interpolate from them to all."""
    _, order, rank, _ = dpstrf(gram, lower=1, tol=INTERPOLATION_ERROR**2)
    nodes = np.sort(order[:rank] - 1)
    return nodes, np.linalg.solve(gram[np.ix_(nodes, nodes)], gram[nodes])


def posterior_variance_of(mapped: FeatureMap, factor: RidgeFactor) -> PosteriorVariance:
    """The posterior variance of a factored design."""
    inverse, ridge = factor.inverse(), factor.ridge
    if not (isinstance(mapped, KernelMap) and mapped.kernel.factors):
        return PairwiseVariance(mapped, inverse, ridge)
    half = solve_triangular(mapped.root, np.eye(len(inverse)) / ridge - inverse, lower=True, trans="T")
    matrix = solve_triangular(mapped.root, half.T, lower=True, trans="T")
    return FactoredVariance(mapped.kernel, mapped.history, mapped.action, matrix, ridge)
