"""Feature maps phi(h, a) in which Q is linear: explicit ones and those of kernels."""

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from lostsales.errors import LostSalesError
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.ridge import RidgeFactor
from lostsales.saved_fields import numbers
from lostsales.types import Floats, Ints

JITTER = 1e-10  # of the largest eigenvalue, added to Gram matrices before they are factored
BLOCKS = 10  # rounds in which landmarks are drawn
OVERSAMPLED = 2.5  # landmarks for each effective dimension


class FeatureMap(Protocol):
    """phi(h, a), and the values phi(h, a)'w for all actions of a grid at once."""

    def dimension(self, coordinates: int) -> int:
        """The rank, of histories of so many coordinates."""
        ...

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair, (rows, rank)."""
        ...

    def moment(self, history: Floats, action: Floats, targets: Floats) -> Floats:
        """Phi'y of pairs and their targets, (rank,)."""
        ...

    def left_over(self, history: Floats, action: Floats) -> Floats:
        """k(z, z) - |phi(z)|^2 of each pair, which the map does not represent, (rows,)."""
        ...

    def on_grid(self, history: Floats, actions: Floats) -> "GridValues":
        """Histories against a grid of actions."""
        ...


class GridValues(Protocol):
    """Histories against a grid of actions, prepared once and used with many weights."""

    def values(self, weights: Floats) -> Floats:
        """phi(h, a)'w, (rows, actions)."""
        ...


@dataclass(frozen=True)
class LinearMap:
    """Explicit coordinates: history, action, and (unless `raw`) squares of the action and history times action.

    Without the interactions the best action would not depend on the history.
    """

    raw: bool = False

    def dimension(self, coordinates: int) -> int:
        """Number of features of a history of so many coordinates."""
        return coordinates + 2 if self.raw else 3 * coordinates + 5

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair."""
        if self.raw:
            return np.hstack([history, action])
        price, order = action[:, :1], action[:, 1:2]
        return np.hstack([history, action, action**2, price * order, history * price, history * order])

    def moment(self, history: Floats, action: Floats, targets: Floats) -> Floats:
        """Phi'y."""
        return np.asarray(targets @ self.features(history, action))

    def left_over(self, history: Floats, action: Floats) -> Floats:  # noqa: ARG002, the protocol passes it
        """0: the map is the whole function class."""
        return np.zeros(len(history))

    def on_grid(self, history: Floats, actions: Floats) -> GridValues:
        """Histories against a grid of actions."""
        return PairGrid(self, history, actions)


@dataclass(frozen=True, eq=False)
class KernelMap:
    """phi(z) = L^-1 k_m(z), with k_m the kernel to m landmarks and L L' = K_mm.

    phi(z)'phi(z') is Nystrom's approximation of the kernel, and the kernel itself on the landmarks: with every row a
    landmark, ridge regression on phi is exact kernel ridge regression.
    """

    kernel: Kernel
    history: Annotated[Floats, numbers("rank", "kept")]  # landmarks
    action: Annotated[Floats, numbers("rank", 2)]
    root: Annotated[Floats, numbers("rank", "rank", triangular=True)]  # L

    @classmethod
    def at(cls, kernel: Kernel, history: Floats, action: Floats) -> "KernelMap":
        """The map of given landmarks."""
        gram = kernel.between((history, action), (history, action))
        return cls(kernel, history, action, _root(gram))

    @property
    def jitter(self) -> float:
        """Addition to the diagonal of K_mm that gave it a root."""
        first = self.kernel.diagonal(self.history[:1], self.action[:1])
        return max(float(self.root[0, 0] ** 2 - first[0]), 0.0)

    def dimension(self, coordinates: int) -> int:  # noqa: ARG002, the protocol passes it
        """Number of landmarks."""
        return len(self.root)

    def features(self, history: Floats, action: Floats) -> Floats:
        """Phi of each pair."""
        near = self.kernel.between((history, action), (self.history, self.action))
        solved: Floats = solve_triangular(self.root, near.T, lower=True, check_finite=False, overwrite_b=True).T
        return solved

    def moment(self, history: Floats, action: Floats, targets: Floats) -> Floats:
        """Phi'y = L^-1 (K'y), which needs the kernel alone of every row."""
        near = self.kernel.between((history, action), (self.history, self.action))
        return np.asarray(solve_triangular(self.root, targets @ near, lower=True, check_finite=False))

    def left_over(self, history: Floats, action: Floats) -> Floats:
        """The error of Nystrom's approximation."""
        seen = np.sum(self.features(history, action) ** 2, axis=1)
        return np.asarray(np.maximum(self.kernel.diagonal(history, action) - seen, 0.0))

    def on_grid(self, history: Floats, actions: Floats) -> GridValues:
        """Histories against a grid of actions; one matrix product where the kernel factors."""
        if not self.kernel.factors:
            return PairGrid(self, history, actions)
        of_history = self.kernel.of_history(history, self.history)
        return ProductGrid(of_history, self.kernel.of_action(actions, self.action), self.root)


@dataclass(frozen=True, eq=False)
class PairGrid:
    """Any map, action by action."""

    map: FeatureMap
    history: Floats
    actions: Floats

    def values(self, weights: Floats) -> Floats:
        """phi(h, a)'w."""
        each = (np.broadcast_to(action, (len(self.history), 2)) for action in self.actions)
        return np.column_stack([self.map.features(self.history, action) @ weights for action in each])


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


def landmarks(
    kernel: Kernel, history: Floats, action: Floats, rank: int, rng: np.random.Generator, ridge: float = 0.0
) -> Ints:
    """Landmark rows for the kernel matrix, by randomly pivoted Cholesky factorisation (Chen et al., 2023) in blocks.

    A row is drawn in proportion to its residual k(z, z) - |phi(z)|^2, so that a duplicate of a landmark is never drawn.
    There are fewer than `rank` where the residual is zero, or with OVERSAMPLED landmarks per effective dimension: more
    hardly reduce the error (Rudi et al., 2015).
    """
    rows, block = len(history), max(rank // BLOCKS, 1)
    left = kernel.diagonal(history, action).copy()
    factor, chosen = np.empty((rows, rank)), np.zeros(0, dtype=np.int64)
    drawn_so_far, nothing = 0, JITTER * rows * float(left.max())
    while drawn_so_far < rank and left.max() > nothing:
        wanted = min(block, rank - drawn_so_far, int(np.count_nonzero(left)))
        drawn = np.sort(rng.choice(rows, wanted, replace=False, p=left / left.sum()))
        before = factor[:, :drawn_so_far]
        near = kernel.between((history, action), (history[drawn], action[drawn])) - before @ before[drawn].T
        root, order, found, _ = dpstrf(near[drawn], lower=1, tol=nothing)
        at = order[:found] - 1
        columns = solve_triangular(np.tril(root[:found, :found]), near[:, at].T, lower=True, check_finite=False).T
        factor[:, drawn_so_far : drawn_so_far + found], chosen = columns, np.r_[chosen, drawn[at]]
        drawn_so_far += found
        left = np.maximum(left - np.sum(columns**2, axis=1), 0.0)
        left[drawn] = 0.0
        if ridge and drawn_so_far >= OVERSAMPLED * _dimension(factor[:, :drawn_so_far], ridge):
            break
    return np.sort(chosen)


def _dimension(factor: Floats, ridge: float) -> float:
    """The effective dimension tr K (K + ridge)^-1 of K = FF'."""
    return RidgeFactor.of(factor.T @ factor, ridge).effective_dimension()


def _root(gram: Floats) -> Floats:
    """L with L L' = gram, and as much on its diagonal as it takes where rounding leaves no root of a large one."""
    jitter, most = JITTER * len(gram), float(np.max(np.diag(gram), initial=1.0))
    while np.isfinite(most) and jitter <= most:
        try:
            root: Floats = cholesky(gram + jitter * np.eye(len(gram)), lower=True, check_finite=False)
        except LinAlgError:
            jitter *= 100
        else:
            return root
    raise LostSalesError("the histories of this log are too far apart for a kernel: does it have absurd numbers?")
