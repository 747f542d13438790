"""Posterior variance of the ridge regression, k_post / ridge, of histories against a grid of actions."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Protocol

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotri, dpstrf

from lostsales.errors import LostSalesError
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.ridge import ROUNDING, RidgeFactor
from lostsales.saved_fields import Axis, OneOf, Positive, numbers
from lostsales.types import Floats, Ints

LOW_RANK_FROM = 300  # landmarks from which on a low rank is worth its eigenvalues
LOW_RANK_ERROR = 1e-7  # residual of a row of K, as a share of the ridge, that is left out
INTERPOLATION_ERROR = 1e-3  # of a function of norm 1, over actions


class PosteriorVariance(Protocol):
    """k_post / ridge of a kernel or linear ridge regression, the squared uncertainty quantifier (Appendix M.1)."""

    @property
    def ridge(self) -> float:
        """The ridge of the regression."""
        ...

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """Variance of standardised histories against a grid of standardised actions, (rows, actions)."""
        ...

    def around(self, history: Floats, actions: Floats, taken: Ints) -> Floats:
        """Variance of the taken action of each row, and a lower bound of that of all others, (rows, actions)."""
        ...

    def of_gains(self, history: Floats, actions: Floats, usual: Ints) -> Floats:
        """The same of Q(h, a) - Q(h, b), with b the usual of the actions in each row, (rows, actions)."""
        ...


@dataclass(frozen=True, eq=False)
class PairwiseVariance:
    """Any map: phi'(Phi'Phi + ridge)^-1 phi + left_over / ridge, action by action."""

    AXES: ClassVar[dict[str, Axis]] = {"rank": Axis(own=True)}

    map: Annotated[FeatureMap, OneOf(LinearMap, KernelMap)]
    inverse: Annotated[Floats, numbers("rank", "rank")]
    ridge: Positive

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """k_post / ridge."""
        return np.column_stack([self._form(*self._mapped(history, each)) for each in actions])

    def around(self, history: Floats, actions: Floats, taken: Ints) -> Floats:
        """k_post / ridge of the taken actions, and 0 for all others."""
        least = np.zeros((len(history), len(actions)))
        least[np.arange(len(history)), taken] = self._form(*self._mapped(history, actions[taken]))
        return least

    def of_gains(self, history: Floats, actions: Floats, usual: Ints) -> Floats:
        """Variance of the difference; the residual of the map is treated as independent between actions."""
        phi_b, left_b = self._mapped(history, actions[usual])
        columns = []
        for number, each in enumerate(actions):
            phi, left = self._mapped(history, each)
            columns.append(self._form(phi - phi_b, np.where(usual == number, 0.0, left + left_b)))
        return np.column_stack(columns)

    def _mapped(self, history: Floats, action: Floats) -> tuple[Floats, Floats]:
        action = np.broadcast_to(action, (len(history), 2))
        return self.map.features(history, action), self.map.left_over(history, action)

    def _form(self, phi: Floats, left_over: Floats) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", phi @ self.inverse, phi) + left_over / self.ridge)


@dataclass(frozen=True, eq=False)
class FactoredVariance:
    """A kernel that factors: 1 / ridge - k_h'(M o k_a k_a')k_h, with k_h and k_a the kernels to the landmarks.

    The quadratic form is as smooth in the action as k_a^2, so that it is computed at the interpolation nodes of that
    kernel and interpolated to the other actions; where k_a^2 is too rough, every action is a node.
    """

    AXES: ClassVar[dict[str, Axis]] = {"rank": Axis(own=True)}

    kernel: Kernel
    history: Annotated[Floats, numbers("rank", "kept")]  # landmarks, standardised
    action: Annotated[Floats, numbers("rank", 2)]
    matrix: Annotated[Floats, numbers("rank", "rank")]  # M
    ridge: Positive

    def validate(self) -> None:
        """Raise where a file has a kernel that does not factor."""
        if not self.kernel.factors:
            raise LostSalesError("the kernel of a posterior variance must factor")

    def __call__(self, history: Floats, actions: Floats) -> Floats:
        """k_post / ridge."""
        form = self._form(self.kernel.of_history(history, self.history), actions)
        return np.maximum(1.0 / self.ridge - form, 0.0)

    def around(self, history: Floats, actions: Floats, taken: Ints) -> Floats:
        """k_post(b, b) of the taken b, and k_post(a, b)^2 / k_post(b, b) <= k_post(a, a) (Cauchy-Schwarz)."""
        of_history, rows = self.kernel.of_history(history, self.history), np.arange(len(history))
        of_action = self.kernel.of_action(actions, self.action)
        solved, root = of_history * of_action[taken], self.low_rank_root
        solved = solved @ self.matrix if root is None else (solved @ root) @ root.T
        solved *= of_history
        covariance = self.kernel.of_action(actions, actions)[taken] / self.ridge - solved @ of_action.T
        own = np.maximum(covariance[rows, taken], 0.0)
        known = own > ROUNDING / self.ridge
        least = covariance**2 / np.where(known, own, np.inf)[:, None]
        least[rows, taken] = own
        return np.asarray(least)

    def of_gains(self, history: Floats, actions: Floats, usual: Ints) -> Floats:
        """k_post(a, a) + k_post(b, b) - 2 k_post(a, b), over the ridge; the last by one product for all actions."""
        of_history = self.kernel.of_history(history, self.history)
        of_action, rows = self.kernel.of_action(actions, self.action), np.arange(len(history))
        between = (of_history * of_action[usual]) @ self.matrix
        between *= of_history
        crossed, form = between @ of_action.T, self._form(of_history, actions)
        prior = 2 * (1 - self.kernel.of_action(actions, actions)[usual]) / self.ridge
        found = prior - form - form[rows, usual, None] + 2 * crossed
        found[rows, usual] = 0.0
        return np.maximum(found, 0.0, out=found)

    def _form(self, of_history: Floats, actions: Floats) -> Floats:
        """k_h'(M o k_a k_a')k_h, (rows, actions)."""
        nodes, weights = interpolation_nodes(self.kernel.of_action(actions, actions) ** 2)
        form = np.empty((len(of_history), len(nodes)))
        for column, near in enumerate(self.kernel.of_action(actions[nodes], self.action)):
            form[:, column] = self._quadratic(of_history * near)
        return np.asarray(form @ weights)

    def _quadratic(self, product: Floats) -> Floats:
        """K'Mk of each row of a matrix, which is overwritten, (rows,)."""
        if self.low_rank_root is not None:
            rooted = product @ self.low_rank_root
            return np.asarray(np.einsum("ij,ij->i", rooted, rooted))
        if self.root is None:
            return np.asarray(np.einsum("ij,ij->i", product @ self.matrix, product))
        rooted = dtrmm(1.0, self.root, product.T, lower=1, trans_a=1, overwrite_b=1)  # half the work
        return np.asarray(np.einsum("ij,ij->j", rooted, rooted))

    @cached_property
    def low_rank_root(self) -> Floats | None:
        """R (rank, r) with k'Mk = |R'k|^2 for the kernel k of any pair, where r saves time; not kept in files."""
        return None

    @cached_property
    def root(self) -> Floats | None:
        """Cholesky's factor of M; None where rounding makes it indefinite."""
        try:
            return np.asfortranarray(np.linalg.cholesky(self.matrix))
        except np.linalg.LinAlgError:
            return None


def interpolation_nodes(gram: Floats) -> tuple[Ints, Floats]:
    """Pivots of the kernel matrix of the actions, and weights (nodes, actions) that interpolate from them to all."""
    _, order, rank, _ = dpstrf(gram, lower=1, tol=INTERPOLATION_ERROR**2)
    nodes = np.sort(order[:rank] - 1)
    return nodes, np.linalg.solve(gram[np.ix_(nodes, nodes)], gram[nodes])


def posterior_variance_of(mapped: FeatureMap, factor: RidgeFactor, ridge: float, rows: int) -> PosteriorVariance:
    """The posterior variance of a factored design of so many rows."""
    if not (isinstance(mapped, KernelMap) and mapped.kernel.factors):
        return PairwiseVariance(mapped, factor.inverse(), ridge)
    if len(mapped.root) == rows:
        return _of_every_row(mapped, ridge)
    half = solve_triangular(mapped.root, np.eye(len(mapped.root)) / ridge - factor.inverse(), lower=True, trans="T")
    matrix = solve_triangular(mapped.root, half.T, lower=True, trans="T")
    return FactoredVariance(mapped.kernel, mapped.history, mapped.action, matrix, ridge)


def _of_every_row(mapped: KernelMap, ridge: float) -> FactoredVariance:
    """M = (K + ridge)^-1 / ridge where every row is a landmark, by a root of low rank where the kernel is smooth.

    With K = V diag(s) V', a direction of small s has at most s / (s + ridge) of the prior variance; pivoted Cholesky
    factorisation leaves such directions out.
    """
    pairs = mapped.history, mapped.action
    gram = mapped.kernel.between(pairs, pairs)
    if len(gram) >= LOW_RANK_FROM:
        factor, order, rank, _ = dpstrf(gram, lower=1, tol=LOW_RANK_ERROR * ridge)
        if 2 * rank <= len(gram):
            half = np.empty((len(gram), rank))
            half[order - 1] = np.tril(factor[:, :rank])
            spectrum, vectors = eigh(half.T @ half, driver="evd", check_finite=False, overwrite_a=True)
            kept = spectrum > LOW_RANK_ERROR * ridge
            spectrum, vectors = spectrum[kept], vectors[:, kept]
            root = half @ (vectors / np.sqrt(ridge * spectrum * (spectrum + ridge)))
            found = FactoredVariance(mapped.kernel, *pairs, root @ root.T, ridge)
            vars(found)["low_rank_root"] = root
            return found
    root, _ = dpotrf(gram + ridge * np.eye(len(gram)), lower=1, overwrite_a=1)
    inverse, _ = dpotri(root, lower=1, overwrite_c=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return FactoredVariance(mapped.kernel, *pairs, inverse / ridge, ridge)
