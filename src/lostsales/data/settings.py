"""Settings that people write as TOML or as KEY=VALUE: read, checked, and written back."""

import json
import re
import tomllib
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from lostsales.data.setting_fields import keys_at, leaf_types
from lostsales.errors import SettingError

CONVERSION = "conversion"  # type of our own errors
MOST_TOML = 1_000_000  # bytes of a file: bounds time, and is far above what people write
MOST_PARTS = 50  # of a dotted key; the parser's time grows with their square
MOST_NUMBER = 1e15  # up to which whole numbers and their sums are exact


def no_truth_value(value: object) -> object:
    """Refuse true and false, which Python takes for numbers."""
    if isinstance(value, bool | np.bool_):
        raise ValueError("Input should be a valid number")
    return value


Number = Annotated[float, BeforeValidator(no_truth_value)]
NonNegative = Annotated[Number, Field(ge=0)]
Above0 = Annotated[Number, Field(gt=0)]


class Settings(BaseModel):
    """Base of everything that comes from TOML: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **keys: Any) -> None:
        """Raise a `SettingError` for `Problem(arrival="never")`, as the same mistake in a TOML file does."""
        try:
            super().__init__(**keys)
        except ValidationError as error:
            raise _explained(error, type(self), keys, type(self).__name__) from None

    # Settings within settings are validated by pydantic itself, so that one error lists all mistakes.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name, as scikit-learn has them; those within a setting are called setting__name.

        >>> from lostsales import Newsvendor
        >>> Newsvendor(seed=1).get_params(deep=False)["seed"]
        1
        """
        found = {name: getattr(self, name) for name in type(self).model_fields}
        inside = [(name, value) for name, value in found.items() if deep and isinstance(value, Settings)]
        return found | {f"{name}__{key}": each for name, value in inside for key, each in value.get_params().items()}

    def set_params(self, **params: Any) -> Self:
        """A copy with other settings, checked; settings are frozen, so that the object itself stays as it is.

        >>> from lostsales import Newsvendor
        >>> Newsvendor().set_params(seed=5, rules__multiple=6).rules.multiple
        6.0
        """
        changed: dict[str, Any] = {name: value for name, value in params.items() if "__" not in name}
        inside: dict[str, dict[str, Any]] = {}
        for name, _, key in (each.partition("__") for each in params if "__" in each):
            inside.setdefault(name, {})[key] = params[f"{name}__{key}"]
        for name, keys in inside.items():
            of = changed.get(name, getattr(self, name, None))
            if not isinstance(of, Settings):
                raise SettingError(f"{type(self).__name__} has no settings within {name!r}")
            changed[name] = of.set_params(**keys)
        names = {name: field.alias or name for name, field in type(self).model_fields.items()}
        keys = {name: getattr(self, name) for name in self.model_fields_set} | changed
        return checked(type(self), {names.get(name, name): key for name, key in keys.items()}, type(self).__name__)

    def __sklearn_clone__(self) -> Self:
        """Clone for `sklearn.base.clone`: itself, as settings are frozen."""
        return self.model_copy()

    @model_validator(mode="before")
    @classmethod
    def _as_declared(cls, keys: Any) -> Any:
        """Refuse what pydantic would convert: truth values and texts as numbers, numbers and texts as truth values."""
        plain = isinstance(keys, dict) and not cls.model_config.get("strict")
        for name, field in cls.model_fields.items() if plain else ():
            for key in {name, field.alias} & set(keys):
                _refuse_conversion(str(key), keys[key], leaf_types(field.annotation))
        return keys


def _refuse_conversion(key: str, value: Any, types: frozenset[Any]) -> None:
    wants_number = bool(types & {int, float})
    if isinstance(value, list | tuple) and wants_number:
        for each in value:
            _refuse_conversion(key, each, types)
    elif types == {bool} and value is not None and not isinstance(value, bool | np.bool_):
        raise _conversion(key, "must be true or false", value)
    elif wants_number and bool not in types and isinstance(value, bool | np.bool_):
        raise _conversion(key, "must be a number", value)
    elif wants_number and types <= {int, float} and isinstance(value, str | bytes) and _reads_as_number(value):
        raise _conversion(key, "must be a number, without quotes", value)
    elif wants_number and isinstance(value, int | float) and abs(value) > MOST_NUMBER and abs(value) != float("inf"):
        raise _conversion(key, f"must lie between -{MOST_NUMBER:g} and {MOST_NUMBER:g}", value)


def _conversion(key: str, wanted: str, value: Any) -> PydanticCustomError:
    return PydanticCustomError(CONVERSION, "{why}", {"key": key, "why": f"{wanted}, but it is {_shown(value)}"})


def _reads_as_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class StrictSettings(Settings):
    """Settings that convert nothing but numpy's numbers to Python's and lists to tuples."""

    model_config = ConfigDict(strict=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, keys: Any) -> Any:
        return {key: _plain(value) for key, value in keys.items()} if isinstance(keys, dict) else keys


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list) else value


Model = TypeVar("Model", bound=Settings)


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file, or an error that names the file and the line."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe may have no end
            raise SettingError(f"{path} cannot be read as TOML: it is no regular file")
        if path.stat().st_size > MOST_TOML:
            raise SettingError(f"{path} cannot be read as TOML: it is over {MOST_TOML:,} bytes")
        return _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no file {path}") from None
    except (ValueError, OSError, RecursionError) as error:  # also a number of too many digits
        raise SettingError(f"{path} cannot be read as TOML: {error}") from None


def _parsed(text: str) -> dict[str, Any]:
    for part in re.split(r"[=,{}\[\]\n]", text):
        if part.count(".") > MOST_PARTS and part.partition("#")[0].count(".") > MOST_PARTS:
            raise ValueError(f"a key has more than {MOST_PARTS} parts: {part.strip()[:40]}...")
    return tomllib.loads(text)


def checked(model: type[Model], keys: dict[str, Any], source: str) -> Model:
    """`keys` as a `model`, or one error that lists every key that is wrong."""
    try:
        return model.model_validate(keys)
    except ValidationError as error:
        raise _explained(error, model, keys, source) from None


def checked_json(model: type[Model], keys: dict[str, Any], source: str) -> Model:
    """Validate keys as `checked` does, but from text: tables become settings even if a model is strict."""
    try:
        return model.model_validate_json(json.dumps(keys))
    except ValidationError as error:
        raise _explained(error, model, keys, source) from None
    except TypeError as error:  # a date, which TOML has and JSON has not
        raise SettingError(f"{source} is not usable: {error}") from None


def with_settings(keys: dict[str, Any], settings: Iterable[str], example: str) -> dict[str, Any]:
    """A copy of `keys` with each "KEY=VALUE" set; dots lead into tables, and a value is TOML, or text where it is not.

    >>> with_settings({"demand": {"rho": 0.8}}, ["demand.rho=0.6", "arrival=after", "prices=[4, 5]"], "demand.rho=0.6")
    {'demand': {'rho': 0.6}, 'arrival': 'after', 'prices': [4, 5]}
    """
    keys = deepcopy(keys)
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            raise SettingError(f"a setting looks like {example}, but {setting!r} came")
        try:
            value = _parsed(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        except (ValueError, RecursionError) as error:  # a number of too many digits, lists within lists
            raise SettingError(f"the value of {path!r} cannot be read: {error}") from None
        *tables, last = path.strip().split(".")
        if len(tables) >= MOST_PARTS:
            raise SettingError(f"a setting looks like {example}, but a key of {len(tables) + 1:,} parts came")
        place = keys
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise SettingError(f"{setting!r} cannot be set: {table!r} is not a table")
        place[last] = value
    return keys


def _explained(error: ValidationError, model: type[BaseModel], keys: dict[str, Any], source: str) -> SettingError:
    """One reason a key; where a key may have several types, the reason of the first, or of a key inside it."""
    reasons: dict[str, str] = {}
    for problem in error.errors():
        kind, message = problem["type"], problem["msg"].removeprefix("Value error, ")
        where = _path(problem["loc"], keys, kind == "missing") or "the whole"
        if kind == CONVERSION:
            inside = str(problem["ctx"]["key"])
            reasons.setdefault(inside if where == "the whole" else f"{where}.{inside}", message)
            continue
        if kind in ("extra_forbidden", "unexpected_keyword_argument"):
            *tables, _ = where.split(".")
            there = ", ".join(keys_at(model, tables))
            reasons.setdefault(where, "no such key" + (f"; the keys are {there}" if there else ""))
        else:
            came = "" if kind == "missing" or where == "the whole" else f", but it is {_shown(problem['input'])}"
            reasons.setdefault(where, message + came)
    reasons = {key: why for key, why in reasons.items() if not any(each.startswith(f"{key}.") for each in reasons)}
    return SettingError(f"{source} is not usable:" + "".join(f"\n  - {key}: {why}" for key, why in reasons.items()))


def _path(location: tuple[int | str, ...], keys: Any, absent: bool) -> str:
    """The keys on the way to a mistake, without the names of types that pydantic puts between them."""
    path = []
    for part in location:
        listed = isinstance(keys, list | tuple) and isinstance(part, int) and part < len(keys)
        found = part in keys if isinstance(keys, dict) else listed
        if found or (absent and part == location[-1]):
            path.append(str(part))
            keys = keys[part] if found else None
    return ".".join(path)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def to_toml(keys: dict[str, Any]) -> str:
    """`keys` as TOML text: plain values first, one level of tables after them; None is left out.

    >>> print(to_toml({"arrival": "after", "costs": {"lost": 2.0}, "capacity": None}), end="")
    arrival = "after"
    <BLANKLINE>
    [costs]
    lost = 2.0
    """
    lines = [f"{key} = {_value(value)}" for key, value in keys.items() if not isinstance(value, dict | None)]
    for key, table in keys.items():
        if isinstance(table, dict) and table:
            lines += ["", f"[{key}]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items() if v is not None)]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _value(name)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's strings, numbers and booleans are valid TOML too, except the DEL character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
