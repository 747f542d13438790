"""How little the log says about each action: k_post / ridge of a history against a grid of actions."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.ridge import RidgeFactor
from lostsales.types import Floats, Ints

# The interpolation over actions may miss this share of a function of norm 1.
EXACT = 1e-3


class PosteriorVariance(Protocol):
    """k_post / ridge, where k_post is the posterior variance of the ridge regression that judges (line 3538)."""

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """Of standardised histories against a grid of standardised actions, (rows, actions)."""
        ...


@dataclass(frozen=True, eq=False)
class PairwiseVariance:
    """Any map: phi'(Phi'Phi + ridge)^-1 phi + left_over / ridge, one action after the other."""

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

    The form is as smooth in the action as k_a^2, so that it is worked out at a few actions and interpolated by that
    kernel to the others; where k_a^2 is too rough for that the few are all.
    """

    kernel: Kernel
    history: Floats  # (landmarks, coordinates) standardised
    action: Floats  # (landmarks, 2)
    matrix: Floats  # (landmarks, landmarks) M
    ridge: float

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """k_post / ridge."""
        few, spread = few_of(self.kernel.of_action(actions, actions) ** 2)
        of_history = self.kernel.of_history(history, self.history)
        form = np.empty((len(history), len(few)))
        for column, near in enumerate(self.kernel.of_action(actions[few], self.action)):
            weighted = of_history @ (self.matrix * np.outer(near, near))
            np.einsum("ij,ij->i", weighted, of_history, out=form[:, column])
        return np.maximum(1.0 / self.ridge - form @ spread, 0.0)


def few_of(gram: Floats) -> tuple[Ints, Floats]:
    """Actions from which a function of this kernel is interpolated to all, and the weights (few, actions) to do so."""
    _, order, enough, _ = dpstrf(gram, lower=1, tol=EXACT**2)
    few = np.sort(order[:enough] - 1)
    return few, np.linalg.solve(gram[np.ix_(few, few)], gram[few])


def posterior_variance_of(mapped: FeatureMap, factor: RidgeFactor) -> PosteriorVariance:
    """Prepared once for a design."""
    inverse, ridge = factor.inverse(), factor.ridge
    if not (isinstance(mapped, KernelMap) and mapped.kernel.factors):
        return PairwiseVariance(mapped, inverse, ridge)
    half = solve_triangular(mapped.root, np.eye(len(inverse)) / ridge - inverse, lower=True, trans="T")
    matrix = solve_triangular(mapped.root, half.T, lower=True, trans="T")
    return FactoredVariance(mapped.kernel, mapped.history, mapped.action, matrix, ridge)
