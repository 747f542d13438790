"""Means of other packages, by name."""

from dataclasses import dataclass

import numpy as np
import pytest

from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.means import MEANS
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_law
from lostsales.errors import SettingError
from lostsales.registry import Registry
from lostsales.types import Floats
from tests.learn.small import small_log


@dataclass(frozen=True)
class ConstantMean:
    """A mean that ignores its inputs."""

    value: float

    def __call__(self, inputs: Floats) -> Floats:
        """The value for every row."""
        return np.full(len(inputs), self.value)

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "ConstantMean":
        """The weighted mean of other data."""
        return fit_constant(inputs, latent, weights)

    def extrapolate(self, other: "ConstantMean", step: float) -> "ConstantMean":
        """The mean plus `step` times the difference."""
        return ConstantMean(self.value + step * (other.value - self.value))


def fit_constant(inputs: Floats, latent: Floats, weights: Floats) -> ConstantMean:  # noqa: ARG001
    """The weighted mean."""
    return ConstantMean(float(weights @ latent / weights.sum()))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MEANS, "_registered", dict(MEANS._registered))
    MEANS.register("constant", fit_constant)


def test_our_means_come_first_and_theirs_after() -> None:
    assert MEANS.names == ("linear", "kernel", "undersmoothed", "boosted", "constant")
    assert isinstance(MEANS, Registry)


def test_a_registered_mean_is_fitted_and_answers() -> None:
    log = small_log("steady", 12)
    model = fit_law(log, families=(Family("constant", False),))
    assert model.family.name == "constant mean, additive noise"
    assert isinstance(model.law.mean, ConstantMean)
    found = price_response(log, model, draws=2)
    np.testing.assert_allclose(found.demand, found.demand[0])
    assert found.slopes == ()


def test_a_registered_mean_competes_as_the_most_complex_one() -> None:
    """It is tried last, and at equal score the simpler mean is chosen; a worse one loses by its score."""
    families = (Family("constant", False), Family("linear", False))
    model = fit_law(small_log("steady", 12), families=families)
    assert [each.family.mean for each in model.candidates] == ["linear", "constant"]
    assert model.family.mean == "linear"
    assert model.candidates[1].behind > 2 * model.candidates[1].error


def test_an_unknown_mean_is_refused_before_anything_is_fitted() -> None:
    with pytest.raises(SettingError, match="no demand mean 'guess'; there are linear, kernel, undersmoothed, boosted"):
        fit_law(small_log("steady", 12), families=(Family("guess", False),))
