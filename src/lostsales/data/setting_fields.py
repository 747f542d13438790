"""The fields of settings as people read them: dotted name, type, default and description."""

import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import cleandoc
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

MOST_TEXT = 60  # characters of a default
_WORDS = {int: "whole number", float: "number", bool: "true or false", str: "text"}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


class SettingField(NamedTuple):
    """One setting."""

    name: str  # dotted, as `--set` takes it
    type: str
    default: str
    description: str


def setting_fields(model: type[BaseModel], prefix: str = "") -> list[SettingField]:
    """The settings of a model, those of settings within it by dotted names.

    Examples
    --------
    >>> from lostsales.data.problem import Costs
    >>> setting_fields(Costs)[0].name
    'lost'

    """
    found = []
    for name, annotation, default, description in _members(model):
        nested = [each for each in _options(annotation) if _is_settings(each)]
        if nested:
            found += setting_fields(nested[0], f"{prefix}{name}.")
        elif kind := _type_text(annotation):
            found.append(SettingField(prefix + name, kind, _shown(default), description))
    return found


def table_fields(model: type[BaseModel]) -> list[SettingField]:
    """The settings of a model as the rows of one table; one that is a table itself is named with its keys.

    Examples
    --------
    >>> from lostsales.data.problem import Problem
    >>> {each.name: each.type for each in table_fields(Problem)}["format"]
    'table with decimal, thousands, currency, dates'

    """
    return [
        SettingField(name, _type_text(annotation), _shown(default), description)
        for name, annotation, default, description in _members(model)
    ]


def nested_settings(model: type[BaseModel]) -> dict[str, type[Any]]:
    """Nested settings of a model by key, also those in a list or a union with other types."""
    found: dict[str, type[Any]] = {}
    for name, annotation, *_ in _members(model):
        options = [item for each in _options(annotation) for item in (each, *get_args(each))]
        found.update((name, each) for each in options if _is_settings(each))
    return found


def keys_at(model: type[Any], path: list[str]) -> list[str]:
    """The keys that settings have at a dotted path, none where that place has no settings."""
    models = [model]
    for part in path:
        inside = [annotation for each in models for name, annotation, *_ in _members(each) if name == part]
        models = [option for annotation in inside for option in _options(annotation) if _is_settings(option)]
    return list(dict.fromkeys(name for each in models for name, *_ in _members(each)))


def described_fields(model: type[Any]) -> dict[str, str]:
    """The description of each field, empty where it has none; also of a dataclass."""
    return {name: description for name, _, _, description in _members(model)}


def _members(model: type[Any]) -> Iterator[tuple[str, Any, Any, str]]:
    """(name, annotation, default, description) of each field; a description may be in the class docstring."""
    documented = _documented(model)
    if issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            default = "" if field.default is PydanticUndefined else field.default
            by_name = model.model_config.get("populate_by_name") or field.alias is None
            key = name if by_name else str(field.alias)
            yield key, annotation, default, field.description or documented.get(name, "")
    else:
        hints = get_type_hints(model, include_extras=True)
        for each in fields(model):
            default = "" if each.default is MISSING else each.default
            yield each.name, hints[each.name], default, documented.get(each.name, "")


def _documented(model: type[Any]) -> dict[str, str]:
    """Descriptions in the Parameters or Attributes of a numpydoc docstring."""
    found = re.findall(r"^([\w, ]+?)(?: : .*)?\n((?: +.*(?:\n|$))+)", cleandoc(model.__doc__ or ""), flags=re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}


def _is_settings(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))


def _options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union without None, or the type alone; bounds are left out."""
    if get_origin(annotation) is Annotated:
        return _options(get_args(annotation)[0])
    if _is_union(annotation):
        return tuple(option for each in get_args(annotation) for option in _options(each) if option is not NoneType)
    return (annotation,)


def leaf_types(annotation: Any) -> frozenset[Any]:
    """The plain types in an annotation, without None: of a list those of its items.

    >>> sorted(each.__name__ for each in leaf_types(tuple[float, ...] | str | None))
    ['float', 'str']
    """
    options = _options(annotation)
    if len(options) > 1 or _is_union(annotation):
        return frozenset().union(*map(leaf_types, options))
    (only,) = options
    if get_origin(only) is tuple:
        return frozenset().union(*(leaf_types(each) for each in get_args(only) if each is not Ellipsis))
    return frozenset({str}) if get_origin(only) is Literal else frozenset({only})


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) is Union or type(annotation).__name__ == "UnionType"


def _type_text(annotation: Any) -> str:
    """A type in words, with its bounds; empty where no text can give a value."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind, bounds = _type_text(arguments[0]), " and ".join(_bounds(arguments[1:]))
        return f"{kind}, {bounds}" if kind and bounds else kind
    if _is_union(annotation):
        return " or ".join(filter(None, (_type_text(each) for each in arguments if each is not NoneType)))
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if origin is tuple:
        item = arguments[0]
        if _is_settings(item):
            return f"list of tables with {', '.join(keys_at(item, []))}"
        inner = _type_text(item)
        if inner.startswith("list"):
            return f"list of {inner.replace('list', 'lists')}"
        word, comma, bounds = inner.partition(",")
        return f"list of ({inner})" if _is_union(item) else f"list of {word}s{comma}{bounds}"
    if origin is dict:
        return f"table of {_type_text(arguments[1]).replace('list', 'lists', 1)}"
    if _is_settings(annotation):
        return f"table with {', '.join(keys_at(annotation, []))}"
    return _WORDS.get(annotation, "")


def _bounds(metadata: tuple[Any, ...]) -> list[str]:
    inner = [each for item in metadata for each in getattr(item, "metadata", [item])]
    return [f"{word} {getattr(each, key):g}" for each in inner for key, word in _BOUNDS.items() if hasattr(each, key)]


def _shown(default: Any) -> str:
    if default is None or isinstance(default, str):
        return default or ""
    text = json.dumps(to_jsonable_python(default))
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
