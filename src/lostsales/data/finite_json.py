"""Results as JSON can hold them."""

from typing import Any

import numpy as np


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
