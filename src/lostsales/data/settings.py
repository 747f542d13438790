"""Settings that people write as TOML: read, checked, and written back."""

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from lostsales.errors import SettingError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _OurErrors(ModelMetaclass):
    """Lets `Problem(arrival="never")` raise a `SettingError`, as the same mistake in a TOML file does."""

    def __call__(self, *args: Any, **keys: Any) -> Any:
        try:
            return super().__call__(*args, **keys)
        except ValidationError as error:
            raise _explained(error, cast("type[BaseModel]", self), keys, self.__name__) from None


class Settings(BaseModel, metaclass=_OurErrors):
    """Base of everything that comes from TOML: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingError(f"{path} cannot be read as TOML: {error}") from None


def checked(model: type[Model], keys: dict[str, Any], source: str) -> Model:
    """`keys` as a `model`, or one error that lists every key that is wrong."""
    try:
        return model.model_validate(keys)
    except ValidationError as error:
        raise _explained(error, model, keys, source) from None


def _explained(error: ValidationError, model: type[BaseModel], keys: dict[str, Any], source: str) -> SettingError:
    """One reason a key: of several types the first that does not fit, of a key and a key within it the inner one."""
    reasons: dict[str, str] = {}
    for problem in error.errors():
        kind, message = problem["type"], problem["msg"].removeprefix("Value error, ")
        where = _path(problem["loc"], keys, kind == "missing") or "the whole"
        if kind == "extra_forbidden":
            names = ", ".join(field.alias or name for name, field in model.model_fields.items())
            reasons.setdefault(where, "no such key" + (f"; the keys are {names}" if "." not in where else ""))
        else:
            came = "" if kind == "missing" or where == "the whole" else f", but it is {_shown(problem['input'])}"
            reasons.setdefault(where, message + came)
    outer = {key for key in reasons if any(other.startswith(f"{key}.") for other in reasons)}
    listed = "".join(f"\n  - {key}: {why}" for key, why in reasons.items() if key not in outer)
    return SettingError(f"{source} is not usable:{listed}")


def _path(location: tuple[int | str, ...], keys: Any, absent: bool) -> str:
    """The keys on the way to a mistake, without the names of types that pydantic puts between them."""
    path = []
    for part in location:
        found = part in keys if isinstance(keys, dict) else isinstance(keys, list | tuple) and isinstance(part, int)
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
    # JSON's strings, numbers and booleans are TOML's as well, but for the DEL character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
