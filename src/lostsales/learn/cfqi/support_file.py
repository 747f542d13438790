"""The support of each depth in a policy file."""

from typing import Any

from lostsales.data.settings import StrictSettings
from lostsales.learn.cfqi.support import Spread, Support
from lostsales.learn.function.q_arrays import QSettings, q_arrays, q_from, q_settings
from lostsales.policy.file_content import NonNegative
from lostsales.policy.file_format import arrays_of
from lostsales.types import Array


class SavedSpread(StrictSettings):
    """A price or an order given the history, in a policy file."""

    mean: QSettings
    range: NonNegative


def supports_saved(supports: tuple[Support, ...]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Settings and arrays by name."""
    settings: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for depth, support in enumerate(supports):
        arrays[f"{depth}_histories"] = support.histories
        for name, spread in ((f"price{depth}", support.price), (f"order{depth}", support.order)):
            settings[name] = {"mean": q_settings(spread.mean), "range": spread.range}
            arrays |= {f"{name}_{key}": each for key, each in q_arrays(spread.mean).items()}
            arrays[f"{name}_residuals"] = spread.residuals
    return settings, arrays


def supports_from(
    settings: dict[str, Any] | None, arrays: dict[str, Array], stock_at: int
) -> tuple[Support, ...] | None:
    """From `supports_saved`; None where the file has no support."""
    if settings is None:
        return None

    def spread(name: str) -> Spread:
        own = arrays_of(name, arrays)
        return Spread(q_from(settings[name]["mean"], own), own["residuals"], settings[name]["range"])

    return tuple(
        Support(spread(f"price{depth}"), spread(f"order{depth}"), arrays[f"{depth}_histories"], stock_at)
        for depth in range(len(settings) // 2)
    )
