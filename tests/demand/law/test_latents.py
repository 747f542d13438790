"""Draws of latents: the compiled loop of a linear mean against the numpy of any other, and of some series alone."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family, NoisePower
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.latents import DrawOrder, complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.types import Floats
from tests.learn.small import small_log


@dataclass(frozen=True, eq=False)
class AnyMean:
    """A mean that is linear but does not say so."""

    linear: LinearMean

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        return self.linear(inputs)

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "AnyMean":
        """Least squares on other data."""
        return AnyMean(self.linear.refit(inputs, latent, weights))

    def extrapolate(self, other: "AnyMean", step: float) -> "AnyMean":
        """The mean plus `step` times the difference to another."""
        return AnyMean(self.linear.extrapolate(other.linear, step))


FAMILIES = (
    Family("linear", False),
    Family("linear", False, lags=3),
    Family("linear", True),
    Family("linear", True, lags=2),
    Family("linear", True, saturates=True),
    Family("linear", False, link="log"),
    Family.counts("linear", "poisson"),
    Family.counts("linear", "negative-binomial", saturates=True),
)


def with_levels(law: DemandLaw) -> DemandLaw:
    """The law with another level and scale for each series, and with a power of the mean."""
    rng = np.random.default_rng(3)
    series = len(law.scale)
    own = 0.1 * rng.standard_normal(series)
    noise = NoisePower(0.5, 8.0) if law.family.log_link and not law.family.is_count else law.noise
    return replace(law, level=own, noise=noise, scale=law.scale * rng.uniform(0.5, 2.0, series))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_linear_mean_draws_as_any_other(family: Family) -> None:
    log = small_log("steady", 8, 1)
    evidence = gather_evidence(log)
    assert evidence.depth.max() > 3
    law = with_levels(fit_family(evidence, family, series_scale(log)))
    assert isinstance(law.mean, LinearMean)
    found = complete_latents(evidence, law)
    expected = complete_latents(evidence, replace(law, mean=AnyMean(law.mean)))
    for name in ("latent", "lag", "last", "score", "below", "within"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_draws_of_some_series_are_those_of_all() -> None:
    log = small_log("steady", 8, 2)
    evidence = gather_evidence(log)
    law = fit_family(evidence, Family("linear", False, lags=2), series_scale(log))
    order = DrawOrder.of(evidence, 2)
    is_drawn = np.isin(evidence.series, [1, 4, 5])
    every = complete_latents(evidence, law, order=order)
    some = complete_latents(evidence, law, order=order.only(is_drawn))
    np.testing.assert_array_equal(some.latent[is_drawn], every.latent[is_drawn])
    np.testing.assert_array_equal(some.lag[is_drawn], every.lag[is_drawn])
    assert (some.latent[~is_drawn] == 0).all()


def test_no_mean_is_asked_for_no_rows() -> None:
    """Trees refuse that: only the series with the longest run, which is left out, has rows of the highest level."""
    log = small_log("steady", 8, 2)
    evidence = gather_evidence(log)
    law = fit_family(evidence, Family("linear", False), series_scale(log))
    assert isinstance(law.mean, LinearMean)
    asked = []

    class Counting(AnyMean):
        def __call__(self, inputs: Floats) -> Floats:
            asked.append(len(inputs))
            return super().__call__(inputs)

    deepest = evidence.series[evidence.depth.argmax()]
    order = DrawOrder.of(evidence, 1).only(evidence.series != deepest)
    assert len(order.ends) < evidence.depth.max() + 1
    complete_latents(evidence, replace(law, mean=Counting(law.mean)), order=order)
    assert len(asked) == len(order.ends)
    assert min(asked) > 0
