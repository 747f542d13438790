"""Ridge regression on a feature map: factored once, solved for every target, cross-validated from the factors."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

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
        """(Phi'Phi + ridge I)^-1, the shape of the uncertainty (line 715).

        Factored anew: the bits of a factor depend on the threads that made it, and a loaded policy must agree with the
        one that was saved.
        """
        again = RidgeFactor.of(self.gram, self.ridge)
        return again.solve(np.eye(len(self.gram)))

    def leverage(self, phi: Floats) -> Floats:
        """phi'(Phi'Phi + ridge I)^-1 phi of rows of the design, (rows,) below 1."""
        half = solve_triangular(self.factor[0], phi.T, lower=True, check_finite=False)
        return np.asarray(np.minimum(np.sum(half**2, axis=0), 1 - ROUNDING))

    def effective_dimension(self) -> float:
        """Trace of Phi'Phi (Phi'Phi + ridge I)^-1."""
        return float(len(self.gram) - self.ridge * np.trace(self.inverse()))


def cross_validate(
    phi: Floats, targets: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Held-out squared error of every ridge, summed over folds (test, train), and the number of rows behind it.

    The normal equations of a fold are those of the whole less the rows that it may not use, so nothing is refitted.
    """
    gram, right = phi.T @ phi, phi.T @ targets
    errors, rows = np.zeros(len(ridges)), 0.0
    identity = np.eye(phi.shape[1])
    for test, train in folds:
        out, asked = phi[~train], phi[test]
        if not len(asked):
            continue
        part, part_right = gram - out.T @ out, right - out.T @ targets[~train]
        for index, ridge in enumerate(ridges):
            root = cholesky(part + ridge * identity, lower=True, check_finite=False)
            half = solve_triangular(root, part_right, lower=True, check_finite=False)
            weights = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
            errors[index] += np.sum((targets[test] - asked @ weights) ** 2)
        rows += len(asked)
    return errors, np.full(len(ridges), rows)
