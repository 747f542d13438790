"""A Q-function as JSON settings and named arrays, and back, to the bit.

The keys are those of file format 1: `doubt` is the posterior variance, `level` the threshold of the penalty, and
`inside` the range of the histories.
"""

from typing import Any

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import (
    FactoredVariance,
    PairwiseVariance,
    PosteriorVariance,
    Uncertainty,
)
from lostsales.learn.function.q_function import ActionScaler, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.types import Array


def q_settings(q: QFunction) -> dict[str, Any]:
    """The scalars of a Q-function."""
    choice, uncertainty = q.form.choice, q.form.uncertainty
    return {
        "mean": q.mean,
        "low": q.low,
        "high": q.high,
        "map": _map_settings(q.form.map),
        "ridge": choice.ridge,
        "sigma": choice.sigma,
        "level": 0.0 if uncertainty is None else uncertainty.threshold,
        "doubt": None if uncertainty is None else _variance_settings(uncertainty.variance),
    }


def q_arrays(q: QFunction) -> dict[str, Array]:
    """The arrays of a Q-function by name."""
    form = q.form
    arrays: dict[str, Array] = {
        "weights": q.weights,
        "centre": form.scaler.centre,
        "scale": form.scaler.scale,
        "kept": form.scaler.kept,
        "action_centre": form.action_scaler.centre,
        "action_scale": form.action_scaler.scale,
        **_map_arrays(form.map),
    }
    if form.uncertainty is not None:
        if form.uncertainty.history_range is not None:
            arrays["inside"] = form.uncertainty.history_range
        arrays |= {f"doubt_{key}": each for key, each in _variance_arrays(form.uncertainty.variance).items()}
    return arrays


def q_from(settings: dict[str, Any], arrays: dict[str, Array]) -> QFunction:
    """The Q-function of `q_settings` and `q_arrays`."""
    mapped, uncertainty = _map(settings["map"], arrays), None
    kernel = mapped.kernel if isinstance(mapped, KernelMap) else None
    if settings["doubt"] is not None:
        variance = _variance(settings["doubt"], without_prefix("doubt", arrays))
        uncertainty = Uncertainty(variance, settings["level"], arrays.get("inside"))
    form = QBasis(
        scaler=Scaler(arrays["centre"], arrays["scale"], arrays["kept"]),
        action_scaler=ActionScaler(arrays["action_centre"], arrays["action_scale"]),
        map=mapped,
        choice=Hyperparameters(kernel, settings["ridge"], settings["sigma"]),
        uncertainty=uncertainty,
    )
    return QFunction(form, arrays["weights"], settings["mean"], settings["low"], settings["high"])


def without_prefix(name: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose name starts with `name`, under what follows it.

    >>> without_prefix("a", {"a_x": 1, "b_x": 2})
    {'x': 1}
    """
    return {key.removeprefix(f"{name}_"): each for key, each in arrays.items() if key.startswith(f"{name}_")}


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
