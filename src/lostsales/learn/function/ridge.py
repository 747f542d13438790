"""Ridge regression on a feature map: factored once, solved for every target, cross-validated from the factors."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpftrs, dpotrf, dpotrs, dtrttf

from lostsales.types import Bools, Floats, Ints

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
        """(Phi'Phi + ridge I)^-1, of the uncertainty quantifier (Section 4.1)."""
        return self.solve(np.eye(len(self.gram)))

    def leverage(self, phi: Floats) -> Floats:
        """phi'(Phi'Phi + ridge I)^-1 phi of rows of the design, (rows,) below 1."""
        half = solve_triangular(self.factor[0], phi.T, lower=True, check_finite=False)
        return np.asarray(np.minimum(np.sum(half**2, axis=0), 1 - ROUNDING))

    def effective_dimension(self) -> float:
        """Trace of Phi'Phi (Phi'Phi + ridge I)^-1."""
        return float(len(self.gram) - self.ridge * np.trace(self.inverse()))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The folds of one design, factored once for every ridge and used with many targets.

    The normal equations of a fold are those of the design less those of the rows that it leaves out.
    """

    phi: Floats  # (rows, rank)
    folds: list[tuple[Bools, Bools]]  # (test, train), each with rows to test
    factors: list[list[tuple[Floats, bool]]]  # by fold and ridge: Cholesky factor, and whether it failed

    @classmethod
    def of(cls, phi: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]) -> "CrossValidation":
        """Factor once."""
        gram, tested = phi.T @ phi, [fold for fold in folds if fold[0].any()]
        factors = []
        for _, train in tested:
            out = phi[~train]
            part = gram - out.T @ out
            diagonal, each = part.diagonal().copy(), []
            for ridge in ridges:
                np.fill_diagonal(part, diagonal + ridge)
                # LAPACK directly: at this size the checks of scipy take longer than the factorisation.
                root, failed = dpotrf(part.T, lower=1)
                each.append((root, failed > 0))
            factors.append(each)
        return cls(phi, tested, factors)

    def residuals(self, targets: Floats) -> Floats:
        """Held-out residuals of every ridge, the folds one below the other, (tested rows, ridges).

        If a ridge is too small for the equations to be solved they are infinite.
        """
        right, found = self.phi.T @ targets, []
        for (test, train), factors in zip(self.folds, self.factors, strict=True):
            part = right - self.phi[~train].T @ targets[~train]
            weights = np.column_stack([dpotrs(root, part, lower=1)[0] for root, _ in factors])
            left = targets[test, None] - self.phi[test] @ weights
            left[:, [failed for _, failed in factors]] = np.inf
            found.append(left)
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class KernelCrossValidation:
    """The same residuals of exact kernel ridge regression: one factorisation for each ridge serves every fold.

    With A = K + ridge I, the residuals of rows F that are left out together are ((A^-1)_FF)^-1 (A^-1 y)_F.
    """

    order: Ints  # rows of a fold one below the other, so that triangular blocks stay small
    ridges: tuple[float, ...]
    folds: list[tuple[Bools, Bools]]  # (test, train), each with rows to test
    factors: list[Floats | None]  # by ridge: Cholesky factor of A in packed form; None where it failed
    blocks: list[list[tuple[Ints, Floats, Ints]]]  # by ridge and fold: left-out rows of `order`, factor, tested ones

    @classmethod
    def of(cls, gram: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]) -> "KernelCrossValidation":
        """Factor once, from K (rows, rows)."""
        tested = [fold for fold in folds if fold[0].any()]
        order = np.argsort(np.argmax([~train for _, train in tested], axis=0), kind="stable")
        gram, factors, blocks = gram[np.ix_(order, order)], [], []
        for ridge in ridges:
            root, failed = dpotrf((gram + ridge * np.eye(len(gram))).T, lower=1, overwrite_a=1)
            factors.append(None if failed else dtrttf(root, uplo="L")[0])
            blocks.append([] if failed else [_left_out(root, order, *fold) for fold in tested])
        return cls(order, ridges, tested, factors, blocks)

    def residuals(self, targets: Floats) -> Floats:
        """Held-out residuals of every ridge, the folds one below the other, (tested rows, ridges)."""
        found = np.full((sum(int(test.sum()) for test, _ in self.folds), len(self.ridges)), np.inf)
        for column, (factor, blocks) in enumerate(zip(self.factors, self.blocks, strict=True)):
            if factor is not None:
                solved = dpftrs(len(targets), factor, targets[self.order], uplo="L")[0].ravel()
                parts = [dpotrs(block, solved[out], lower=1)[0][tested] for out, block, tested in blocks]
                found[:, column] = np.concatenate(parts)
        return found


def _left_out(root: Floats, order: Ints, test: Bools, train: Bools) -> tuple[Ints, Floats, Ints]:
    """Rows that a fold leaves out, the factor of their block of A^-1, and the tested among them; A = root root'."""
    out = np.flatnonzero(~train[order])
    first = out[0]  # above it the columns of the inverse root are 0
    unit = np.zeros((len(root) - first, len(out)), order="F")
    unit[out - first, np.arange(len(out))] = 1.0
    inverse = dtrsm(1.0, root[first:, first:], unit, lower=1, overwrite_b=1)
    block, _ = dpotrf(dsyrk(1.0, inverse, trans=1, lower=1), lower=1, overwrite_a=1)
    by_row = np.argsort(order[out])
    return out, block, by_row[test[order[out]][by_row]]
