"""JSON files, written whole or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.output_files import replacing
from lostsales.errors import LostSalesError


def finite(value: Any) -> Any:
    """A result without what JSON has no word for: null for what is not finite, plain numbers for numpy's.

    >>> finite({"mean": float("nan"), "rows": np.int64(3), "depths": (1.0, float("inf"))})
    {'mean': None, 'rows': 3, 'depths': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value - value != 0 else value


MOST_BYTES = 64 << 20  # of a file: bounds memory


def write_json(content: dict[str, Any], path: Path) -> None:
    """Write an object."""
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogatepass")


def read_json(path: Path) -> dict[str, Any]:
    """Read an object; an error names the file."""
    try:
        if path.exists() and not path.is_file():
            raise LostSalesError(f"{path} cannot be read: it is no regular file")
        if path.stat().st_size > MOST_BYTES:
            raise LostSalesError(f"{path} cannot be read: it has more than {MOST_BYTES / 1e6:.0f} MB")
        found = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError, RecursionError) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise LostSalesError(f"{path} cannot be read: it is no JSON object")
    return found
