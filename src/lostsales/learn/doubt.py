"""How little the log says about each action: k_post / ridge of a history against a grid of actions."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from lostsales.arrays import Floats
from lostsales.learn.kernels import Kernel
from lostsales.learn.maps import FeatureMap, KernelMap
from lostsales.learn.ridge import RidgeFactor

# The interpolation over actions may miss this share of a function of norm 1.
EXACT = 1e-3


class Doubt(Protocol):
    """k_post / ridge, where k_post is the posterior variance of the ridge regression that judges (line 3538)."""

    def __call__(self, history: Floats) -> Floats:
        """Of standardised histories against the grid of actions, (rows, actions)."""
        ...


@dataclass(frozen=True, eq=False)
class PairDoubt:
    """Any map: phi'(Phi'Phi + ridge)^-1 phi + left_over / ridge, one action after the other."""

    map: FeatureMap
    actions: Floats  # (actions, 2) standardised
    inverse: Floats  # (rank, rank)
    ridge: float

    def __call__(self, history: Floats) -> Floats:
        """k_post / ridge."""
        columns = []
        for each in self.actions:
            action = np.broadcast_to(each, (len(history), 2))
            phi = self.map.features(history, action)
            left_over = self.map.left_over(history, action)
            columns.append(np.einsum("ij,ij->i", phi @ self.inverse, phi) + left_over / self.ridge)
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class ProductDoubt:
    """A kernel that factors: 1 / ridge - k_h'(M o k_a k_a')k_h, with k_h and k_a the kernels to the landmarks.

    The form is as smooth in the action as k_a^2, so that it is worked out at a few actions and interpolated by that
    kernel to the others; where k_a^2 is too rough for that the few are all.
    """

    kernel: Kernel
    history: Floats  # (landmarks, coordinates) standardised
    matrix: Floats  # (landmarks, landmarks) M
    near: Floats  # (worked out, landmarks) k_a
    spread: Floats  # (worked out, actions) from the actions worked out to all
    ridge: float

    def __call__(self, history: Floats) -> Floats:
        """k_post / ridge."""
        of_history = self.kernel.of_history(history, self.history)
        form = np.empty((len(history), len(self.near)))
        for column, near in enumerate(self.near):
            weighted = of_history @ (self.matrix * np.outer(near, near))
            np.einsum("ij,ij->i", weighted, of_history, out=form[:, column])
        return np.maximum(1.0 / self.ridge - form @ self.spread, 0.0)


def doubt_of(mapped: FeatureMap, factor: RidgeFactor, actions: Floats) -> Doubt:
    """Prepared once for a design and a grid of standardised actions."""
    inverse, ridge = factor.inverse(), factor.ridge
    if not (isinstance(mapped, KernelMap) and mapped.kernel.factors):
        return PairDoubt(mapped, actions, inverse, ridge)
    half = solve_triangular(mapped.root, np.eye(len(inverse)) / ridge - inverse, lower=True, trans="T")
    matrix = solve_triangular(mapped.root, half.T, lower=True, trans="T")
    square = mapped.kernel.of_action(actions, actions) ** 2
    _, order, enough, _ = dpstrf(square, lower=1, tol=EXACT**2)
    few = np.sort(order[:enough] - 1)
    spread = np.linalg.solve(square[np.ix_(few, few)], square[few])
    return ProductDoubt(
        mapped.kernel, mapped.history, matrix, mapped.kernel.of_action(actions[few], mapped.action), spread, ridge
    )
