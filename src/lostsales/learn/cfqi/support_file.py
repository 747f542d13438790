"""The support of each depth in a policy file."""

from typing import Any

import numpy as np

from lostsales.data.settings import StrictSettings
from lostsales.learn.cfqi.spread import Spread
from lostsales.learn.cfqi.support import Support
from lostsales.learn.function.q_arrays import QSettings, q_arrays, q_from, q_settings
from lostsales.policy.file_content import NonNegative
from lostsales.policy.file_format import arrays_of
from lostsales.types import Array


class SavedSpread(StrictSettings):
    """A price or an order given the history, in a policy file."""

    mean: QSettings
    range: NonNegative
    most: NonNegative | None = None  # to which orders filled up; files of old do not know


def supports_saved(supports: tuple[Support, ...]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Settings and arrays by name."""
    settings: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for depth, support in enumerate(supports):
        arrays[f"{depth}_histories"] = support.histories
        for name, spread in ((f"price{depth}", support.price), (f"order{depth}", support.order)):
            most = support.most if name.startswith("order") and np.isfinite(support.most) else None
            settings[name] = {"mean": q_settings(spread.mean), "range": spread.range, "most": most}
            arrays |= {f"{name}_{key}": each for key, each in q_arrays(spread.mean).items()}
            arrays[f"{name}_residuals"] = spread.residuals
    return settings, arrays


def supports_from(
    settings: dict[str, Any] | None, arrays: dict[str, Array], stock_at: int, on_order: int
) -> tuple[Support, ...] | None:
    """From `supports_saved`; None where the file has no support."""
    if settings is None:
        return None

    def spread(name: str) -> Spread:
        own = arrays_of(name, arrays)
        return Spread(q_from(settings[name]["mean"], own), own["residuals"], settings[name]["range"])

    def most(depth: int) -> float:
        found = settings[f"order{depth}"].get("most")
        return np.inf if found is None else float(found)

    return tuple(
        Support(
            spread(f"price{depth}"),
            spread(f"order{depth}"),
            arrays[f"{depth}_histories"],
            stock_at,
            on_order,
            most(depth),
        )
        for depth in range(len(settings) // 2)
    )
