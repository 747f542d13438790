"""Kernels on standardised (history, action) pairs."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.spatial.distance import cdist

from lostsales.data.settings import StrictSettings
from lostsales.types import Floats

Kind = Literal["rbf", "laplacian", "matern", "polynomial", "linear", "product"]


class Kernel(StrictSettings):
    """k(z, z') of z = (h, a), a history and an action.

    rbf: exp(-c |z - z'|^2); laplacian: exp(-c |z - z'|_1); matern (5/2): (1 + s + s^2 / 3) exp(-s) with
    s = sqrt(5 c) |z - z'|; polynomial: (1 + c z'z)^2; linear: c z'z; product: rbf of the histories times laplacian of
    the actions, with a coefficient of their own. rbf, laplacian and product factor into k_h(h, h') k_a(a, a').
    """

    kind: Kind = Field("rbf", description="Form of the kernel.")
    coefficient: Annotated[float, Field(gt=0)] = Field(0.1, description="c, the inverse bandwidth.")
    action_coefficient: Annotated[float, Field(gt=0)] = Field(1.0, description="c of the actions in the product.")

    @property
    def factors(self) -> bool:
        """True where k((h, a), (h', a')) = k_h(h, h') k_a(a, a')."""
        return self.kind in ("rbf", "laplacian", "product")

    def of_history(self, left: Floats, right: Floats) -> Floats:
        """k_h between the rows of two matrices."""
        return _kernel("rbf" if self.kind == "product" else self.kind, self.coefficient, left, right)

    def of_action(self, left: Floats, right: Floats) -> Floats:
        """k_a between the rows of two matrices."""
        if self.kind == "product":
            return _kernel("laplacian", self.action_coefficient, left, right)
        return _kernel(self.kind, self.coefficient, left, right)

    def between(self, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> Floats:
        """K between the pairs (history, action) of two samples."""
        if self.factors:
            product = self.of_history(left[0], right[0])
            product *= self.of_action(left[1], right[1])
            return product
        return _kernel(self.kind, self.coefficient, np.hstack(left), np.hstack(right))

    def diagonal(self, history: Floats, action: Floats) -> Floats:
        """k(z, z) of each row."""
        if self.kind in ("polynomial", "linear"):
            square: Floats = self.coefficient * (np.sum(history**2, axis=1) + np.sum(action**2, axis=1))
            return square if self.kind == "linear" else (1 + square) ** 2
        return np.ones(len(history))


def _kernel(kind: Kind, coefficient: float, left: Floats, right: Floats) -> Floats:
    if kind in ("polynomial", "linear"):
        product = coefficient * (left @ right.T)
        return product if kind == "linear" else (1 + product) ** 2
    if not left.shape[1]:
        return np.ones((len(left), len(right)))
    if kind == "laplacian":
        distance = cdist(left, right, "cityblock")
        distance *= -coefficient
        return np.exp(distance, out=distance)
    square = left @ right.T
    square *= -2.0
    square += np.sum(left**2, axis=1)[:, None]
    square += np.sum(right**2, axis=1)
    np.maximum(square, 0.0, out=square)
    if kind == "rbf":
        square *= -coefficient
        return np.exp(square, out=square)
    scaled = np.sqrt(5 * coefficient * square)
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
