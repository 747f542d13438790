"""Ridge regression on a feature map: factored once, solved for every target, cross-validated from the factors."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from lostsales.types import Bools, Floats

ROUNDING = 1e-12  # by which a leverage stays below 1
SPECTRAL_ROUNDING = 1e-8  # directions below this share of the least ridge have no part in any prediction


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
class SpectralCrossValidation:
    """The same residuals for many features: one spectral decomposition serves every ridge and fold.

    With H = Phi (Phi'Phi + ridge)^-1 Phi', the residuals of rows F that are left out together are
    (I - H_FF)^-1 (y - Hy)_F.
    """

    rotated: Floats  # (rows, rank) Phi W, where Phi'Phi = W diag(spectrum) W'
    spectrum: Floats  # (rank,)
    ridges: tuple[float, ...]
    folds: list[tuple[Bools, Bools]]  # (test, train), each with rows to test
    factors: list[list[tuple[Floats, bool]]]  # by fold and ridge: Cholesky factor of I - H_FF, and whether it failed

    @classmethod
    def of(cls, phi: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]) -> "SpectralCrossValidation":
        """Decompose once, and factor what every fold leaves out."""
        spectrum, vectors = eigh(phi.T @ phi, driver="evd", check_finite=False, overwrite_a=True)
        kept = spectrum > SPECTRAL_ROUNDING * min(ridges)
        return cls._factored(phi @ vectors[:, kept], spectrum[kept], folds, ridges)

    @classmethod
    def of_gram(
        cls, gram: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]
    ) -> "SpectralCrossValidation":
        """The same of PhiPhi', such as a kernel between all rows, which is overwritten."""
        spectrum, vectors = eigh(gram, driver="evd", check_finite=False, overwrite_a=True)
        kept = spectrum > SPECTRAL_ROUNDING * min(ridges)
        return cls._factored(vectors[:, kept] * np.sqrt(spectrum[kept]), spectrum[kept], folds, ridges)

    @classmethod
    def _factored(
        cls, rotated: Floats, spectrum: Floats, folds: list[tuple[Bools, Bools]], ridges: tuple[float, ...]
    ) -> "SpectralCrossValidation":
        tested = [fold for fold in folds if fold[0].any()]
        factors = []
        for _, train in tested:
            out, each = rotated[~train], []
            for ridge in ridges:
                # One triangle, half the work; transposed, as LAPACK keeps columns together.
                left = dsyrk(-1.0, (out / np.sqrt(spectrum + ridge)).T, trans=1, lower=1)
                left[np.diag_indices_from(left)] += 1.0
                root, failed = dpotrf(left, lower=1, overwrite_a=1)
                each.append((root, failed > 0))
            factors.append(each)
        return cls(rotated, spectrum, ridges, tested, factors)

    def residuals(self, targets: Floats) -> Floats:
        """Held-out residuals of every ridge, the folds one below the other, (tested rows, ridges)."""
        moment = self.rotated.T @ targets
        fitted = self.rotated @ (moment[:, None] / (self.spectrum[:, None] + np.array(self.ridges)))
        in_sample, found = targets[:, None] - fitted, []
        for (test, train), factors in zip(self.folds, self.factors, strict=True):
            out, left = in_sample[~train], np.empty((int((~train).sum()), len(factors)))
            for column, (root, failed) in enumerate(factors):
                left[:, column] = np.inf if failed else dpotrs(root, out[:, column], lower=1)[0]
            found.append(left[test[~train]])
        return np.concatenate(found)
