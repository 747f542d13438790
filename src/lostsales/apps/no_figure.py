"""Reasons for null instead of a figure in JSON."""

from collections.abc import Iterator
from typing import Any

KEY = "no_figure"
UNKNOWN = "it is not a finite number"
# Keys of an object that gives the reason itself.
SAYS_WHY = ("reason", "why_not", "failure", "meaning")
# Null is the answer: no limit, none there, nothing written, nothing to warn of.
ANSWERS = frozenset(
    {
        "balance_warning", "best", "by_depth", "capacity", "choice", "contributions", "currency", "current", "horizon",
        "iterations", "max_depth", "multiple", "policy", "strongest", "to_try", "version", "written", *SAYS_WHY,
    }
)  # fmt: skip
_COSTS = "the log has no unit costs, or no orders"
_ONE_PRICE = "the price never varied"
_SECOND = "there is no second action to compare with"
_FEW_RUNS = "fewer than two runs have this figure"
_NO_ESTIMATE = "no estimate gave an interval"
REASONS = {
    "mean_cash": _COSTS,
    "mean_profit_filled": _COSTS,
    "mean_profit_column": _COSTS,
    "order": "the log has no orders",
    "price_link": "too few rows follow two uncensored periods, or the price never varied",
    "dispersion": "demand is not modelled as counts",
    "first_stage_f": "it uses no instruments",
    "memory_by_instruments": "there are no instruments, or they hardly move the last demand",
    "sensitivity": "only the model-based estimator has it, and only where the price varied",
    "erased_at": "the gain does not rest on the price response",
    "orders": "the log has no orders",
    "order_moment": "the log has too few rows with an order and stock left over, or says when orders are placed",
    "may_recommend": "the log has no orders",
    "balance": "the log has no stock, or no row with a next row",
    "identified_share": "no demand was censored there, or none was imputed",
    "largest_known": "no demand is observed there",
    "never_seen_above": "the log has no stock",
    "verdict": "the policy has not been evaluated",
    "elasticity": _ONE_PRICE,
    "elasticity_std_error": _ONE_PRICE,
    "runner_up_price": _SECOND,
    "runner_up_order": _SECOND,
    "advantage": _SECOND,
    "assortment": "the log has one product, or the estimator has no figures by product",
    "products": "the log has one product, or there are no figures by product",
    "gain": "it has rows in too few units to be evaluated",
    "week": "periods are not dates",
    "weeks": "periods are not dates, or nothing was lost",
    "year": "periods are not dates",
    "behind": "it is the best method",
    "value": "this kind of policy computes none",
    "std_error": "a single value has no standard error",
    "low": _FEW_RUNS,
    "high": _FEW_RUNS,
    "mean": _FEW_RUNS,
    "gap_low": _FEW_RUNS,
    "gap_high": _FEW_RUNS,
    "covers": _NO_ESTIMATE,
    "covers_error": _NO_ESTIMATE,
    "covers_gain": _NO_ESTIMATE,
    "error": _NO_ESTIMATE,
    "width": _NO_ESTIMATE,
    "products_per_second": "no fit is running, or no two shards are finished yet",
    "seconds_left": "no fit is running, or no two shards are finished yet",
    "error_se": "fewer than two estimates gave an interval",
    "service": "the estimator replays no periods",
    "days_of_cover": "periods are plain numbers",
    "turns": "periods are plain numbers",
    "waste": "the log has no shelf life",
    "waste_cost": "the log has no shelf life, or no cost of waste",
    "waste_share": "the log has no shelf life, or no cost of waste",
}


def with_reasons(result: dict[str, Any]) -> dict[str, Any]:
    """A result with a reason for every null instead of a figure, under `no_figure`, by its path.

    >>> with_reasons({"rows": 3, "mean_cash": None, "policy": None})["no_figure"]
    {'mean_cash': 'the log has no unit costs, or no orders'}
    """
    reasons = {path: REASONS.get(path.rpartition(".")[2], UNKNOWN) for path in _unexplained(result)}
    return result | {KEY: reasons} if reasons else result


def _unexplained(value: Any, path: str = "") -> Iterator[str]:
    """The paths of nulls that nothing next to them explains; `[]` is any item of a list."""
    if isinstance(value, list):
        for item in value:
            yield from _unexplained(item, f"{path}[]")
    elif isinstance(value, dict) and not any(value.get(key) for key in SAYS_WHY):
        for key, item in value.items():
            inside = f"{path}.{key}" if path else str(key)
            if item is None and key not in ANSWERS:
                yield inside
            yield from _unexplained(item, inside)
    elif value is None and path.endswith("[]"):
        yield path.removesuffix("[]")
