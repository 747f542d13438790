"""Feature maps: every Q is linear in a map of (history, action), be it explicit or the one behind a kernel."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from lostsales.arrays import Floats, Ints
from lostsales.learn.kernels import Kernel

JITTER = 1e-10


class FeatureMap(Protocol):
    """phi(h, a), and the values phi(h, a)'w for all actions of a grid at once."""

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair, (rows, rank)."""
        ...

    def left_over(self, history: Floats, action: Floats) -> Floats:
        """k(z, z) - |phi(z)|^2 of each pair: what the map cannot see, (rows,)."""
        ...

    def on_grid(self, history: Floats, actions: Floats) -> "Grid":
        """Histories against a grid of actions."""
        ...


class Grid(Protocol):
    """Histories against a grid of actions, prepared once and used with many weights."""

    def values(self, weights: Floats) -> Floats:
        """phi(h, a)'w, (rows, actions)."""
        ...

    def quadratic(self, inverse: Floats, ridge: float) -> Floats:
        """Phi'inverse phi + left_over / ridge, (rows, actions): k_post / ridge where inverse = (Phi'Phi + ridge)^-1."""
        ...


@dataclass(frozen=True)
class LinearMap:
    """Explicit coordinates: history, action, and (unless `raw`) squares of the action and history times action.

    Without the interactions the best action would not depend on the history.
    """

    raw: bool = False

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair."""
        if self.raw:
            return np.hstack([history, action])
        price, order = action[:, :1], action[:, 1:2]
        return np.hstack([history, action, action**2, price * order, history * price, history * order])

    def left_over(self, history: Floats, action: Floats) -> Floats:  # noqa: ARG002, the protocol passes it
        """Nothing: the map is the whole function class."""
        return np.zeros(len(history))

    def on_grid(self, history: Floats, actions: Floats) -> Grid:
        """Histories against a grid of actions."""
        return PairGrid(self, history, actions)


@dataclass(frozen=True, eq=False)
class KernelMap:
    """phi(z) = L^-1 k_m(z), with k_m the kernel to m landmarks and L L' = K_mm.

    phi(z)'phi(z') is Nystrom's approximation of the kernel, and the kernel itself on the landmarks: with every row a
    landmark, ridge regression on phi is exact kernel ridge regression.
    """

    kernel: Kernel
    history: Floats  # (landmarks, coordinates)
    action: Floats  # (landmarks, 2)
    root: Floats  # (landmarks, landmarks) L

    @classmethod
    def at(cls, kernel: Kernel, history: Floats, action: Floats) -> "KernelMap":
        """The map of given landmarks."""
        gram = kernel.between((history, action), (history, action))
        gram[np.diag_indices_from(gram)] += JITTER * len(gram)
        return cls(kernel, history, action, cholesky(gram, lower=True, check_finite=False))

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair."""
        near = self.kernel.between((history, action), (self.history, self.action))
        solved: Floats = solve_triangular(self.root, near.T, lower=True, check_finite=False, overwrite_b=True).T
        return solved

    def left_over(self, history: Floats, action: Floats) -> Floats:
        """What the landmarks cannot see."""
        seen = np.sum(self.features(history, action) ** 2, axis=1)
        return np.asarray(np.maximum(self.kernel.diagonal(history, action) - seen, 0.0))

    def on_grid(self, history: Floats, actions: Floats) -> Grid:
        """Histories against a grid of actions; one matrix product where the kernel factors."""
        if not self.kernel.factors:
            return PairGrid(self, history, actions)
        of_history = self.kernel.of_history(history, self.history)
        return ProductGrid(of_history, self.kernel.of_action(actions, self.action), self.root)


@dataclass(frozen=True, eq=False)
class PairGrid:
    """Any map: one action after the other."""

    map: FeatureMap
    history: Floats
    actions: Floats

    def _each(self) -> list[Floats]:
        return [np.broadcast_to(action, (len(self.history), 2)) for action in self.actions]

    def values(self, weights: Floats) -> Floats:
        """phi(h, a)'w."""
        return np.column_stack([self.map.features(self.history, action) @ weights for action in self._each()])

    def quadratic(self, inverse: Floats, ridge: float) -> Floats:
        """k_post / ridge."""
        columns = []
        for action in self._each():
            phi = self.map.features(self.history, action)
            columns.append(np.einsum("ij,ij->i", phi @ inverse, phi) + self.map.left_over(self.history, action) / ridge)
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class ProductGrid:
    """A kernel that factors: k_h is computed once a history, k_a once an action."""

    of_history: Floats  # (rows, landmarks)
    of_action: Floats  # (actions, landmarks)
    root: Floats

    def values(self, weights: Floats) -> Floats:
        """k_h (k_a c)' with c = L'^-1 w."""
        coefficients = solve_triangular(self.root, weights, lower=True, trans="T", check_finite=False)
        return np.asarray(self.of_history @ (self.of_action * coefficients).T)

    def quadratic(self, inverse: Floats, ridge: float) -> Floats:
        """(1 - |phi|^2) / ridge + phi'inverse phi = 1 / ridge - k_m'M k_m, one quadratic form an action."""
        inner = np.eye(len(inverse)) / ridge - inverse
        half = solve_triangular(self.root, inner, lower=True, trans="T", check_finite=False)
        matrix = solve_triangular(self.root, half.T, lower=True, trans="T", check_finite=False)
        posterior = np.empty((len(self.of_history), len(self.of_action)))
        for column, action in enumerate(self.of_action):
            weighted = self.of_history @ (matrix * np.outer(action, action))
            posterior[:, column] = np.einsum("ij,ij->i", weighted, self.of_history)
        return np.maximum(1.0 / ridge - posterior, 0.0)


@dataclass(frozen=True, eq=False)
class SupportedGrid:
    """Values from one map, uncertainty from another."""

    of_values: Grid
    of_support: Grid

    def values(self, weights: Floats) -> Floats:
        """phi(h, a)'w."""
        return self.of_values.values(weights)

    def quadratic(self, inverse: Floats, ridge: float) -> Floats:
        """k_post / ridge of the other map."""
        return self.of_support.quadratic(inverse, ridge)


def landmarks(kernel: Kernel, history: Floats, action: Floats, rank: int) -> Ints:
    """Rows that carry the kernel matrix best: the pivots of an incomplete Cholesky factorisation, greedily chosen."""
    rows = len(history)
    if rank >= rows:
        return np.arange(rows)
    left = kernel.diagonal(history, action).copy()
    factor = np.empty((rows, rank))
    chosen = np.empty(rank, dtype=np.int64)
    for step in range(rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= JITTER:
            return np.sort(chosen[:step])
        near = kernel.between((history, action), (history[[pivot]], action[[pivot]]))[:, 0]
        column = (near - factor[:, :step] @ factor[pivot, :step]) / np.sqrt(left[pivot])
        factor[:, step] = column
        left -= column**2
        left[pivot] = 0.0
        chosen[step] = pivot
    return np.sort(chosen)
