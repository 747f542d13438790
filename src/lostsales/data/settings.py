"""Settings that people write as TOML: read, checked, and written back."""

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lostsales.errors import SettingError


class Settings(BaseModel):
    """Base of everything that comes from TOML: frozen, and a key that nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
        reasons = []
        for problem in error.errors():
            where = ".".join(str(part) for part in problem["loc"]) or "the whole"
            came = (
                "" if problem["type"] in ("missing", "extra_forbidden") else f", but it is {_shown(problem['input'])}"
            )
            reasons.append(f"\n  - {where}: {_plain(problem['msg'], problem['type'], where, model)}{came}")
        raise SettingError(f"{source} is not usable:{''.join(reasons)}") from None


def _plain(message: str, kind: str, where: str, model: type[Settings]) -> str:
    if kind == "extra_forbidden":
        keys = (field.alias or name for name, field in model.model_fields.items())
        known = f"; the keys are {', '.join(keys)}" if "." not in where else ""
        return f"no such key{known}"
    return message.removeprefix("Value error, ")


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
