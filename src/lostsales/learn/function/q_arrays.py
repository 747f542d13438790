"""A Q as settings that JSON can hold and named arrays, and back, to the bit."""

from dataclasses import asdict
from typing import Any

from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import FactoredVariance, PairwiseVariance, PosteriorVariance
from lostsales.learn.function.q_function import ActionScaler, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.types import Array


def q_settings(q: QFunction) -> dict[str, Any]:
    """Everything of a Q but its arrays."""
    form, choice = q.form, q.form.choice
    return {
        "mean": q.mean,
        "low": q.low,
        "high": q.high,
        "map": _map_settings(form.map),
        "ridge": choice.ridge,
        "sigma": choice.sigma,
        "level": form.level,
        "doubt": None if form.doubt is None else _doubt_settings(form.doubt),
    }


def q_arrays(q: QFunction) -> dict[str, Array]:
    """The arrays of a Q by name."""
    form = q.form
    arrays: dict[str, Array] = {
        "weights": q.weights,
        "centre": form.scaler.centre,
        "scale": form.scaler.scale,
        "kept": form.scaler.kept,
        "action_centre": form.action_scaler.centre,
        "action_scale": form.action_scaler.scale,
    }
    arrays |= _map_arrays(form.map) | ({} if form.inside is None else {"inside": form.inside})
    return arrays if form.doubt is None else arrays | _inside("doubt", _doubt_arrays(form.doubt))


def q_from(settings: dict[str, Any], arrays: dict[str, Array]) -> QFunction:
    """The Q again."""
    mapped = _map(settings["map"], arrays)
    kernel = mapped.kernel if isinstance(mapped, KernelMap) else None
    form = QBasis(
        scaler=Scaler(arrays["centre"], arrays["scale"], arrays["kept"]),
        action_scaler=ActionScaler(arrays["action_centre"], arrays["action_scale"]),
        map=mapped,
        choice=Hyperparameters(kernel, settings["ridge"], settings["sigma"]),
        doubt=None if settings["doubt"] is None else _doubt(settings["doubt"], within("doubt", arrays)),
        level=settings["level"],
        inside=arrays.get("inside"),
    )
    return QFunction(form, arrays["weights"], settings["mean"], settings["low"], settings["high"])


def coordinate_arrays(coordinates: SeriesCoordinates) -> dict[str, Array]:
    """What tells series apart, as arrays; names as text of one width."""
    return {
        "series_names": coordinates.names.astype(str),
        "series_scale": coordinates.scale,
        "series_values": coordinates.values,
    }


def coordinates_from(columns: list[str] | None, arrays: dict[str, Array]) -> SeriesCoordinates | None:
    """The coordinates again."""
    if columns is None:
        return None
    return SeriesCoordinates(arrays["names"].astype(object), arrays["scale"], tuple(columns), arrays["values"])


def within(name: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose name starts with `name`, under what follows it.

    >>> within("a", {"a_x": 1, "b_x": 2})
    {'x': 1}
    """
    return {key.removeprefix(f"{name}_"): each for key, each in arrays.items() if key.startswith(f"{name}_")}


def _inside(name: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {f"{name}_{key}": each for key, each in arrays.items()}


def _map_settings(mapped: FeatureMap) -> dict[str, Any]:
    kernel = asdict(mapped.kernel) if isinstance(mapped, KernelMap) else None
    return {"kernel": kernel, "raw": isinstance(mapped, LinearMap) and mapped.raw}


def _map_arrays(mapped: FeatureMap) -> dict[str, Array]:
    if not isinstance(mapped, KernelMap):
        return {}
    return {"history": mapped.history, "action": mapped.action, "root": mapped.root}


def _map(settings: dict[str, Any], arrays: dict[str, Array]) -> FeatureMap:
    if settings["kernel"] is None:
        return LinearMap(settings["raw"])
    return KernelMap(Kernel(**settings["kernel"]), arrays["history"], arrays["action"], arrays["root"])


def _doubt_settings(doubt: PosteriorVariance) -> dict[str, Any]:
    if isinstance(doubt, FactoredVariance):
        return {"kernel": asdict(doubt.kernel), "ridge": doubt.ridge}
    if isinstance(doubt, PairwiseVariance):
        return {"map": _map_settings(doubt.map), "ridge": doubt.ridge}
    raise TypeError(f"no way to save a {type(doubt).__name__}")


def _doubt_arrays(doubt: PosteriorVariance) -> dict[str, Array]:
    if isinstance(doubt, PairwiseVariance):
        return {"inverse": doubt.inverse} | _map_arrays(doubt.map)
    return {name: getattr(doubt, name) for name in ("history", "action", "matrix")}


def _doubt(settings: dict[str, Any], arrays: dict[str, Array]) -> PosteriorVariance:
    if "map" in settings:
        return PairwiseVariance(_map(settings["map"], arrays), arrays["inverse"], settings["ridge"])
    kernel, ridge = Kernel(**settings["kernel"]), settings["ridge"]
    return FactoredVariance(kernel, arrays["history"], arrays["action"], arrays["matrix"], ridge)
