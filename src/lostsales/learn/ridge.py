"""Ridge regression on a feature map: factored once, solved for every target, cross-validated from the factors."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dposv

from lostsales.arrays import Bools, Floats

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RidgeFactor:
    """(Phi'Phi + ridge I) of one design, factored."""

    gram: Floats  # (rank, rank) Phi'Phi
    ridge: float
    factor: tuple[Floats, bool]

    @classmethod
    def of(cls, gram: Floats, ridge: float) -> "RidgeFactor":
        """Factor once."""
        return cls(gram, ridge, cho_factor(gram + ridge * np.eye(len(gram)), lower=True, check_finite=False))

    def solve(self, right: Floats) -> Floats:
        """Weights for Phi'y."""
        return np.asarray(cho_solve(self.factor, right, check_finite=False))

    def inverse(self) -> Floats:
        """(Phi'Phi + ridge I)^-1, the shape of the uncertainty (line 715)."""
        return self.solve(np.eye(len(self.gram)))

    def leverage(self, phi: Floats) -> Floats:
        """phi'(Phi'Phi + ridge I)^-1 phi of rows of the design, (rows,) below 1."""
        half = solve_triangular(self.factor[0], phi.T, lower=True, check_finite=False)
        return np.asarray(np.minimum(np.sum(half**2, axis=0), 1 - ROUNDING))

    def effective_dimension(self) -> float:
        """Trace of Phi'Phi (Phi'Phi + ridge I)^-1."""
        return float(len(self.gram) - self.ridge * np.trace(self.inverse()))


def cross_validate(phi: Floats, targets: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]) -> Floats:
    """Held-out residuals of every ridge, the folds (test, train) one below the other, (tested rows, ridges).

    The normal equations of a fold are those of the whole less the rows that it may not use, so nothing is refitted.
    Where a ridge is too small for them to be solved, its residuals are infinite.
    """
    gram, right = phi.T @ phi, phi.T @ targets
    weights, failed = np.empty((phi.shape[1], len(ridges))), np.zeros(len(ridges), dtype=bool)
    residuals = []
    for test, train in folds:
        if not test.any():
            continue
        out = phi[~train]
        part, part_right = gram - out.T @ out, right - out.T @ targets[~train]
        diagonal = part.diagonal().copy()
        for index, ridge in enumerate(ridges):
            np.fill_diagonal(part, diagonal + ridge)
            # Straight to LAPACK: at this size the checks around it take longer than the work.
            _, weights[:, index], failed[index] = dposv(part.T, part_right, lower=1)
        left = targets[test, None] - phi[test] @ weights
        left[:, failed] = np.inf
        residuals.append(left)
    return np.concatenate(residuals) if residuals else np.zeros((0, len(ridges)))
