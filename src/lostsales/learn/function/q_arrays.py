"""A Q-function as JSON settings and named arrays, and back, to the bit.

The keys are those of file format 1: `doubt` is the posterior variance, `level` the threshold of the penalty, and
`inside` the range of the histories.
"""

from typing import Any

from pydantic import model_validator

from lostsales.data.settings import StrictSettings
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.penalty import Uncertainty
from lostsales.learn.function.posterior_variance import FactoredVariance, PairwiseVariance, PosteriorVariance
from lostsales.learn.function.q_function import ActionScaler, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.policy.file_content import POSITIVE, ArraySpec, NonNegative, Number, Positive, indices, numbers, optional
from lostsales.policy.file_format import arrays_of
from lostsales.types import Array


def q_settings(q: QFunction) -> dict[str, Any]:
    """The scalars of a Q-function."""
    choice, uncertainty = q.basis.choice, q.basis.uncertainty
    return {
        "mean": q.mean,
        "low": q.low,
        "high": q.high,
        "map": _map_settings(q.basis.map),
        "ridge": choice.ridge,
        "sigma": choice.sigma,
        "level": 0.0 if uncertainty is None else uncertainty.threshold,
        "doubt": None if uncertainty is None else _variance_settings(uncertainty.variance),
    }


def q_arrays(q: QFunction) -> dict[str, Array]:
    """The arrays of a Q-function by name."""
    basis = q.basis
    arrays: dict[str, Array] = {
        "weights": q.weights,
        "centre": basis.scaler.centre,
        "scale": basis.scaler.scale,
        "kept": basis.scaler.kept,
        "action_centre": basis.action_scaler.centre,
        "action_scale": basis.action_scaler.scale,
        **_map_arrays(basis.map),
    }
    if basis.uncertainty is not None:
        if basis.uncertainty.history_range is not None:
            arrays["inside"] = basis.uncertainty.history_range
        arrays |= {f"doubt_{key}": each for key, each in _variance_arrays(basis.uncertainty.variance).items()}
    return arrays


def q_from(settings: dict[str, Any], arrays: dict[str, Array]) -> QFunction:
    """The Q-function of `q_settings` and `q_arrays`."""
    mapped, uncertainty = _map(settings["map"], arrays), None
    kernel = mapped.kernel if isinstance(mapped, KernelMap) else None
    if settings["doubt"] is not None:
        variance = _variance(settings["doubt"], arrays_of("doubt", arrays))
        uncertainty = Uncertainty(variance, settings["level"], arrays.get("inside"))
    basis = QBasis(
        scaler=Scaler(arrays["centre"], arrays["scale"], arrays["kept"]),
        action_scaler=ActionScaler(arrays["action_centre"], arrays["action_scale"]),
        map=mapped,
        choice=Hyperparameters(kernel, settings["ridge"], settings["sigma"]),
        uncertainty=uncertainty,
    )
    return QFunction(basis, arrays["weights"], settings["mean"], settings["low"], settings["high"])


class MapSettings(StrictSettings):
    """A feature map in a policy file."""

    kernel: Kernel | None
    raw: bool


class VarianceSettings(StrictSettings):
    """A posterior variance in a policy file: that of a kernel that factors, or that of a map."""

    ridge: Positive
    kernel: Kernel | None = None
    map: MapSettings | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "VarianceSettings":
        if (self.kernel is None) == (self.map is None) or not (self.kernel is None or self.kernel.factors):
            raise ValueError("must have a kernel that factors, or a map")
        return self


class QSettings(StrictSettings):
    """A Q-function in a policy file."""

    mean: Number
    low: Number
    high: Number
    map: MapSettings
    ridge: Positive
    sigma: NonNegative
    level: NonNegative
    doubt: VarianceSettings | None

    @model_validator(mode="after")
    def _bounds_rise(self) -> "QSettings":
        if self.low > self.high:
            raise ValueError("low must not lie above high")
        return self


def q_content(name: str, q: QSettings, coordinates: str) -> dict[str, ArraySpec]:
    """The arrays of a Q-function, whose histories have a number of coordinates that goes by the name `coordinates`."""
    kept = f"{name} kept"
    arrays = {
        "kept": indices(kept, below=coordinates),
        "centre": numbers(kept),
        "scale": numbers(kept, least=POSITIVE),
        "action_centre": numbers(2),
        "action_scale": numbers(2, least=POSITIVE, infinite=True),
        **_map_content(q.map, kept, f"{name} rank"),
        "weights": numbers(_rank(q.map, kept, f"{name} rank")),
    }
    if q.doubt is not None:
        rank = f"{name} doubt rank"
        arrays["inside"] = optional(numbers(2, kept))
        if q.doubt.map is None:
            variance = {"history": numbers(rank, kept), "action": numbers(rank, 2), "matrix": numbers(rank, rank)}
        else:
            size = _rank(q.doubt.map, kept, rank)
            variance = _map_content(q.doubt.map, kept, rank) | {"inverse": numbers(size, size)}
        arrays |= {f"doubt_{key}": spec for key, spec in variance.items()}
    return {f"{name}_{key}": spec for key, spec in arrays.items()}


def _map_content(mapped: MapSettings, kept: str, rank: str) -> dict[str, ArraySpec]:
    if mapped.kernel is None:
        return {}
    return {"history": numbers(rank, kept), "action": numbers(rank, 2), "root": numbers(rank, rank, triangular=True)}


def _rank(mapped: MapSettings, kept: str, rank: str) -> str:
    """The dimension of a map: landmarks of a kernel, or coordinates of `LinearMap`."""
    if mapped.kernel is not None:
        return rank
    return f"{kept}+2" if mapped.raw else f"{kept}+{kept}+{kept}+5"


def _map_settings(mapped: FeatureMap) -> dict[str, Any]:
    kernel = mapped.kernel.model_dump() if isinstance(mapped, KernelMap) else None
    return {"kernel": kernel, "raw": isinstance(mapped, LinearMap) and mapped.raw}


def _map_arrays(mapped: FeatureMap) -> dict[str, Array]:
    if not isinstance(mapped, KernelMap):
        return {}
    return {"history": mapped.history, "action": mapped.action, "root": mapped.root}


def _map(settings: dict[str, Any], arrays: dict[str, Array]) -> FeatureMap:
    if settings["kernel"] is None:
        return LinearMap(settings["raw"])
    return KernelMap(Kernel(**settings["kernel"]), arrays["history"], arrays["action"], arrays["root"])


def _variance_settings(variance: PosteriorVariance) -> dict[str, Any]:
    if isinstance(variance, FactoredVariance):
        return {"kernel": variance.kernel.model_dump(), "ridge": variance.ridge}
    if isinstance(variance, PairwiseVariance):
        return {"map": _map_settings(variance.map), "ridge": variance.ridge}
    raise TypeError(f"no way to save a {type(variance).__name__}")


def _variance_arrays(variance: PosteriorVariance) -> dict[str, Array]:
    if isinstance(variance, PairwiseVariance):
        return {"inverse": variance.inverse} | _map_arrays(variance.map)
    return {name: getattr(variance, name) for name in ("history", "action", "matrix")}


def _variance(settings: dict[str, Any], arrays: dict[str, Array]) -> PosteriorVariance:
    if "map" in settings:
        return PairwiseVariance(_map(settings["map"], arrays), arrays["inverse"], settings["ridge"])
    kernel, ridge = Kernel(**settings["kernel"]), settings["ridge"]
    return FactoredVariance(kernel, arrays["history"], arrays["action"], arrays["matrix"], ridge)
