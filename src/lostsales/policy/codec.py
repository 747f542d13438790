"""Policies as JSON and arrays, and back: by the declarations of their fields (`lostsales.saved_fields`).

`encode` takes a policy apart. `Draft` reads the JSON of a file, which says what arrays there must be; these are checked
by type and shape before they are read, and by their numbers before objects are made of them.
"""

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import create_model

from lostsales.data.settings import StrictSettings, checked_json
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.policy import POLICIES, SavedPolicy
from lostsales.saved_fields import NOT_SAVED, POSITIVE, SOME_POLICY, ArraySpec, AsJson, Axis, Length, OneOf, Sizes
from lostsales.types import Array

MOST_ENTRIES = 100_000  # of a tuple of arrays
TAG = "is"  # names the class of an object where a field allows several
_KINDS = {"index": "iu", "truth": "b", "text": "U"}
_WORDS = {"number": "numbers", "index": "whole numbers", "truth": "truth values", "text": "texts"}
Described = tuple[np.dtype[Any], tuple[int, ...]]


@dataclass(frozen=True)
class FieldType:
    """The declaration of a field or of an entry of a tuple."""

    what: Literal["json", "array", "record", "many", "policy", "not saved"]
    optional: bool = False
    spec: ArraySpec | None = None  # of an array
    classes: tuple[type, ...] = ()  # of a record
    sizes: Mapping[str, str] = field(default_factory=dict)  # that a record is given
    entry: "FieldType | None" = None  # of many
    length: str | int | None = None  # of many
    hint: Any = None  # of JSON


@cache
def field_types(cls: type) -> dict[str, FieldType]:
    """The declarations of the fields of a class, by name."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: _field_type(hints[name], f"{cls.__name__}.{name}") for name in _names(cls)}


def _names(cls: type) -> list[str]:
    return [each.name for each in fields(cls)] if is_dataclass(cls) else list(getattr(cls, "_fields", ()))


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (is_dataclass(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields")))


def _field_type(hint: Any, place: str) -> FieldType:
    plain, notes = (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())
    if NOT_SAVED in notes:
        return FieldType("not saved")
    choices = get_args(plain) if get_origin(plain) in (Union, types.UnionType) else (plain,)
    optional, choices = type(None) in choices, tuple(each for each in choices if each is not type(None))
    own: dict[str, Any] = {"optional": optional}
    for note in notes:
        if isinstance(note, ArraySpec):
            return FieldType("array", spec=note, **own)
        if note is SOME_POLICY:
            return FieldType("policy", **own)
        if isinstance(note, AsJson):
            return FieldType("json", hint=note.hint)
        if isinstance(note, OneOf):
            choices = note.classes
        own |= {"sizes": note.sizes} if isinstance(note, Sizes) else {}
        own |= {"length": note.dim} if isinstance(note, Length) else {}
    if all(map(_is_record, choices)):
        return FieldType("record", classes=choices, **own)
    if len(choices) == 1 and get_origin(choices[0]) is tuple and get_args(choices[0])[1:] == (...,):
        entry = _field_type(get_args(choices[0])[0], place)
        if entry.what != "json":
            return FieldType("many", entry=entry, **own)
    if _has_array(choices):
        raise TypeError(
            f"{place} is an array without a declaration: say what a file may hold, as Annotated[..., numbers(...)]"
        )
    return FieldType("json", hint=hint)


def _has_array(hints: Iterable[Any]) -> bool:
    return any(
        each is np.ndarray or get_origin(each) is np.ndarray or isinstance(each, TypeVar) or _has_array(get_args(each))
        for each in hints
    )


@cache
def _settings_of(cls: type) -> type[StrictSettings]:
    """The fields of a class that are JSON, as settings."""
    own: dict[str, Any] = {name: (each.hint, ...) for name, each in field_types(cls).items() if each.what == "json"}
    return create_model(cls.__name__, __base__=StrictSettings, **own)


def encode(policy: SavedPolicy) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON of a policy, and its arrays by name."""
    arrays: dict[str, Array] = {}
    return _encoded_record(policy, "", arrays), arrays


def _encoded_record(value: Any, place: str, arrays: dict[str, Array]) -> dict[str, Any]:
    cls: Any = type(value)
    declared = field_types(cls)
    plain = {name: getattr(value, name) for name, each in declared.items() if each.what == "json"}
    try:
        found = _settings_of(cls)(**plain).model_dump(mode="json", by_alias=True)
    except SettingError as error:
        raise LostSalesError(f"the policy cannot be saved: {error}") from None
    for name, each in declared.items():
        if each.what not in ("json", "not saved"):
            encoded = _encoded(getattr(value, name), each, f"{place}{name}", arrays)
            found |= {} if each.what == "array" and encoded is not None else {name: encoded}
    return found


def _encoded(value: Any, declared: FieldType, name: str, arrays: dict[str, Array]) -> Any:
    if value is None and declared.optional:
        return None
    if declared.what == "array":
        arrays[name] = _as_saved(value, declared.spec)
        return ...
    if declared.what == "many":
        entry = declared.entry
        assert entry is not None  # of many
        encoded = [_encoded(each, entry, f"{name}.{number}", arrays) for number, each in enumerate(value)]
        return len(encoded) if entry.what == "array" else encoded
    if declared.what == "policy":
        return {"kind": POLICIES.name_of(type(value)), "policy": _encoded_record(value, f"{name}.", arrays)}
    if type(value) not in declared.classes:
        raise LostSalesError(
            f"a policy learned with a {getattr(value, 'name', type(value).__name__)} cannot be saved: the file holds "
            f"numbers, never code. Learn with a {' or '.join(each.__name__ for each in declared.classes)} to save it, "
            "or keep this one in memory"
        )
    tag = {TAG: type(value).__name__} if len(declared.classes) > 1 else {}
    return tag | _encoded_record(value, f"{name}.", arrays)


def _as_saved(value: Any, spec: ArraySpec | None) -> Array:
    assert spec is not None  # of an array
    array = np.asarray(value)
    if spec.kind == "text":
        return array.astype(np.str_)
    if spec.kind == "number" and not spec.compact:
        return array.astype(np.float32 if spec.single else np.float64)
    return array


class Scope:
    """The sizes of an object by name; names that are not its own are those of the object around it."""

    def __init__(self, around: "Scope | None" = None, given: Mapping[str, str] | None = None) -> None:
        self.around, self.given = around, given or {}
        self.sizes: dict[str, int] = {}
        self.axes: dict[str, Axis] = {}

    def declare(self, axes: Mapping[str, Axis]) -> None:
        """Limits of sizes, some of them of this object alone."""
        for name, axis in axes.items():
            (self if axis.own else self._root).axes[name] = axis

    @property
    def _root(self) -> "Scope":
        return self if self.around is None else self.around._root

    def _terms(self, dim: str | int) -> tuple[int, list[tuple["Scope", str]]]:
        """A sum of a number and of named sizes."""
        total, named = 0, list[tuple[Scope, str]]()
        for part in str(dim).split("+"):
            if part.isdecimal():
                total += int(part)
            elif part in self.given and self.around is not None:
                more, others = self.around._terms(self.given[part])
                total, named = total + more, named + others
            elif self.around is not None and part not in self.axes:
                more, others = self.around._terms(part)
                total, named = total + more, named + others
            else:
                named.append((self, part))
        return total, named

    def size(self, dim: str | int) -> int:
        """The size of a dimension that is known."""
        total, named = self._terms(dim)
        return total + sum(scope.sizes[name] for scope, name in named)

    def fits(self, dim: str | int, size: int) -> bool:
        """True where a size fits a dimension; the first that meets a new name gives it its size."""
        if dim == "?":
            return True
        total, named = self._terms(dim)
        unknown = {(scope, name) for scope, name in named if name not in scope.sizes}
        rest = size - total - sum(scope.sizes.get(name, 0) for scope, name in named)
        if not unknown:
            return rest == 0
        if len(unknown) > 1:
            return False
        ((scope, name),) = unknown
        axis = scope.axes.get(name, Axis())
        if not axis.least <= rest <= axis.most:
            return False
        scope.sizes[name] = rest
        return True

    def known(self, dims: Iterable[str | int]) -> str:
        """The sizes of dimensions as a message tells them."""
        named = dict(pair for dim in dims if dim != "?" for pair in self._named(dim))
        return ", ".join(f"{name} {size}" for name, size in named.items())

    def _named(self, dim: str | int) -> list[tuple[str, int]]:
        return [(name, scope.sizes[name]) for scope, name in self._terms(dim)[1] if name in scope.sizes]


@dataclass(frozen=True, eq=False)
class Place:
    """An array that a file must hold."""

    name: str
    spec: ArraySpec
    scope: Scope

    def check_shape(self, described: Described) -> None:
        """Raise where type or shape do not fit."""
        (dtype, shape), spec = described, self.spec
        single = spec.single or spec.compact
        fits = (
            dtype == (np.float32 if single else np.float64)
            if spec.kind == "number"
            else dtype.kind in _KINDS[spec.kind]
        )
        if not fits or dtype.itemsize == 0 or not dtype.isnative:
            raise LostSalesError(f"its array {self.name!r} must hold {_WORDS[spec.kind]}, but holds {dtype}")
        if len(shape) != len(spec.dims) or not all(map(self.scope.fits, spec.dims, shape)):
            wanted, known = ", ".join(map(str, spec.dims)), self.scope.known(spec.dims)
            raise LostSalesError(
                f"its array {self.name!r} must have the shape ({wanted}), but has {shape}; here {known}"
            )

    def checked(self, array: Array) -> Array:
        """The array in memory, or an error if one of its numbers is out of range."""
        spec = self.spec
        if spec.kind == "text":
            if array.size and array.view(np.uint32).max() > 0x10FFFF:
                raise LostSalesError(f"its array {self.name!r} holds what is no text")
            return array if spec.compact else array.astype(object)
        if spec.kind != "truth" and array.size:
            self._check_values(array)
        if spec.compact or spec.kind == "truth":
            return array
        return array.astype(np.float64 if spec.kind == "number" else np.int64, order="K", copy=False)

    def _check_values(self, array: Array) -> None:
        spec = self.spec
        least, most = spec.least, spec.most if spec.below is None else self.scope.size(spec.below) - 1
        inside = (array >= least) & (array <= most)
        if spec.infinite:
            inside |= np.isinf(array)
        if not inside.all():
            value = array[~inside].flat[0]
            raise LostSalesError(f"its array {self.name!r} must lie between {least:g} and {most:g}, but has {value}")
        if spec.triangular and (np.abs(np.diag(array)) < POSITIVE).any():
            raise LostSalesError(f"its array {self.name!r} must have a diagonal without zeros")
        if spec.rising and not (np.diff(array, axis=-1) > 0).all():
            raise LostSalesError(f"its array {self.name!r} must rise")


@dataclass(frozen=True, eq=False)
class _Record:
    """An object of a file before its arrays are read."""

    cls: type
    settings: dict[str, Any]
    members: dict[str, Any]


class Draft:
    """A policy of a file before its arrays are read, and the arrays that it needs."""

    def __init__(self, kind: str, keys: Any) -> None:
        self.places: dict[str, Place] = {}
        self._policy = self._of_kind(kind, keys, "", ())

    def check_names(self, names: Iterable[str]) -> None:
        """Raise where an array is missing or has no place in this policy."""
        found = set(names)
        if foreign := sorted(found - set(self.places)):
            raise LostSalesError(f"it holds an array {foreign[0]!r}, which this kind of policy does not have")
        if missing := sorted(set(self.places) - found):
            raise LostSalesError(f"its array {missing[0]!r} is missing")

    def built(self, arrays: Mapping[str, Array]) -> SavedPolicy:
        """The policy, from its arrays by name, which have been checked."""
        policy: SavedPolicy = _built(self._policy, arrays)
        return policy

    def _of_kind(self, kind: str, keys: Any, place: str, around: tuple[str, ...]) -> _Record:
        if kind in around:
            raise LostSalesError(f"a policy of kind {kind!r} holds another kind of policy, not one of its own")
        return self._record(POLICIES.get(kind), keys, place, Scope(), (*around, kind))

    def _record(self, cls: type, keys: Any, place: str, scope: Scope, around: tuple[str, ...]) -> _Record:
        declared, source = field_types(cls), f"its {place.removesuffix('.') or 'settings'}"
        if not isinstance(keys, dict):
            raise LostSalesError(f"{source} must be a table")
        apart = {name for name, each in declared.items() if each.what not in ("json", "not saved")}
        plain = {name: value for name, value in keys.items() if name not in apart}
        model = checked_json(_settings_of(cls), plain, source)
        settings = {name: getattr(model, name) for name in type(model).model_fields}
        scope.declare(getattr(cls, "AXES", {}))
        if hasattr(cls, "axis_sizes"):
            self._bind(cls.axis_sizes(settings), scope, source)
        members = {}
        for name in sorted(apart, key=list(declared).index):
            if declared[name].what != "array" and name not in keys:
                raise LostSalesError(f"{source} has no {name!r}")
            value = keys.get(name, ...)
            members[name] = self._member(value, declared[name], f"{place}{name}", scope, around)
        return _Record(cls, settings, members)

    def _member(self, keys: Any, declared: FieldType, name: str, scope: Scope, around: tuple[str, ...]) -> Any:
        if keys is None and declared.optional:
            return None
        if declared.what == "array":
            if keys is not ... or declared.spec is None:
                raise LostSalesError(f"its {name} must be an array")
            self.places[name] = Place(name, declared.spec, scope)
            return self.places[name]
        if declared.what == "many":
            return self._many(keys, declared, name, scope, around)
        if not isinstance(keys, dict):
            raise LostSalesError(f"its {name} must be a table")
        if declared.what == "policy":
            if set(keys) != {"kind", "policy"} or not isinstance(keys["kind"], str):
                raise LostSalesError(f"its {name} must be a policy with its kind")
            return self._of_kind(keys["kind"], keys["policy"], f"{name}.", around)
        cls, own = _chosen(keys, declared.classes, name)
        return self._record(cls, own, f"{name}.", Scope(scope, declared.sizes), around)

    def _many(
        self, keys: Any, declared: FieldType, name: str, scope: Scope, around: tuple[str, ...]
    ) -> tuple[Any, ...]:
        entry = declared.entry
        assert entry is not None  # of many
        if entry.what == "array" and isinstance(keys, int) and 0 <= keys <= MOST_ENTRIES:
            keys = [...] * keys
        if not isinstance(keys, list):
            raise LostSalesError(f"its {name} must be a list")
        if declared.length is not None:
            self._bind({str(declared.length): len(keys)}, scope, f"its {name}")
        return tuple(self._member(each, entry, f"{name}.{number}", scope, around) for number, each in enumerate(keys))

    @staticmethod
    def _bind(sizes: Mapping[str, int], scope: Scope, source: str) -> None:
        for name, size in sizes.items():
            if not scope.fits(name, size):
                raise LostSalesError(f"{source} cannot have {size:,} {name}; here {scope.known([name])}")


def _chosen(keys: dict[str, Any], classes: tuple[type, ...], name: str) -> tuple[type, dict[str, Any]]:
    """The class that a tag names, and the keys without it."""
    if len(classes) == 1:
        return classes[0], keys
    by_name = {each.__name__: each for each in classes}
    if not isinstance(keys.get(TAG), str) or keys[TAG] not in by_name:
        raise LostSalesError(f"its {name} must be one of {', '.join(by_name)}, but is {keys.get(TAG)!r}")
    return by_name[keys[TAG]], {key: value for key, value in keys.items() if key != TAG}


def _built(draft: Any, arrays: Mapping[str, Array]) -> Any:
    if isinstance(draft, Place):
        return arrays[draft.name]
    if isinstance(draft, tuple):
        return tuple(_built(each, arrays) for each in draft)
    if not isinstance(draft, _Record):
        return draft
    cls, values = draft.cls, draft.settings | {name: _built(each, arrays) for name, each in draft.members.items()}
    if hasattr(cls, "derived"):
        values |= cls.derived(values)
    found = cls(**values)
    if hasattr(found, "validate"):
        found.validate()
    return found
