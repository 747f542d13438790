"""A plan in a policy file: its settings, what arrays it may hold, and its ladders."""

from typing import Annotated, Any

from pydantic import Field

from lostsales.data.economics import UnitCosts
from lostsales.data.ladders import Ladders, LadderSettings
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.demand.law.demand_law import MOST_LAGS
from lostsales.learn.planner.following import following_content
from lostsales.learn.planner.market_states import STATE_ARRAYS
from lostsales.learn.planner.physics import Physics
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.file_content import (
    POSITIVE,
    Content,
    Depth,
    Header,
    NonNegative,
    Positive,
    action_sizes,
    feature_count,
    indices,
    numbers,
    optional,
    texts,
    truths,
)
from lostsales.policy.file_format import Artefact
from lostsales.policy.rules import SavedRules

LagWeight = Annotated[float, Field(ge=-MOST_LAGS, le=1 + MOST_LAGS)]


class PlanSettings(StrictSettings):
    """The settings in a policy file."""

    multiplicative: bool
    log_link: bool = False
    integer: bool
    rounded: bool | None = None  # as `integer` in files of old
    demand_max: Positive
    near_zero: Positive = 0.1
    saturates: bool = False
    lag_weights: Annotated[tuple[LagWeight, ...], Field(min_length=1, max_length=MOST_LAGS)] = (1.0,)
    strict: bool
    discount: Annotated[float, Field(ge=0, lt=1)]
    pessimism: Annotated[float, Field(ge=0, le=1)]
    safe_depth: Depth
    learned_depth: Depth
    usual_demand: NonNegative
    family: str
    rules: SavedRules
    ladders: LadderSettings | None = None  # files of old have the grid of the problem
    attributes: tuple[str, ...] = ()  # columns, which files of old do not name


def plan_content(header: Header) -> Content:
    """What a file of this kind may hold."""
    settings = checked_json(PlanSettings, header.settings, "its settings")
    following, following_sizes = following_content(header)
    return Content(
        arrays={
            "shops_names": texts("series"),
            "shops_attributes": numbers("series+1", "attributes"),
            "shops_scale": numbers("series+1", least=POSITIVE),
            "shops_to_group": optional(numbers("series+1", least=POSITIVE)),
            "shops_effects": optional(numbers("series+1", "3+features+attributes")),
            "shops_centre": optional(numbers("2+features+attributes")),
            "shops_group_slopes": optional(numbers("groups", 2)),
            "shops_group_spread": optional(numbers("groups", least=POSITIVE)),
            "shops_own_range": optional(numbers("series", 7, least=0, infinite=True)),
            "shops_sizes": optional(numbers("1+attributes", 2)),
            "shops_prior": optional(numbers("1+attributes", "3+features+attributes")),
            "shops_usual_price": optional(numbers("series+1", least=POSITIVE)),
            "shops_order_cost": optional(numbers("series+1", least=0)),
            "shops_order_multiple": optional(numbers("series+1", least=0)),
            "shops_price_caution": optional(numbers("series+1", least=0)),
            "shops_group_multiple": optional(numbers("groups", least=0)),
            "shops_group_costs": optional(numbers("groups", 4, least=0)),
            "shops_effect": optional(numbers("series+1")),
            "shops_group_scale": numbers("groups", least=POSITIVE),
            "shops_group": indices("series+1", below="groups"),
            "latents": numbers("groups", "laws", "shapes", "z", "nodes", "lags", "atoms"),
            "steps": numbers("groups", 2, least=POSITIVE),
            "costs": numbers(4, least=0),
            "ranges": numbers(2, 2),
        }
        | (
            {"barred": truths("actions")}
            if settings.ladders is None
            else {
                "nodes": numbers("nodes", least=0, rising=True),
                "ladder_prices": numbers("ladder prices", least=0, rising=True),
                "ladder_orders": numbers("ladder orders", least=0, rising=True),
            }
        )
        | following
        | {f"states_{name}": spec for name, spec in STATE_ARRAYS.items()},
        sizes=action_sizes(header.problem)
        | ({"nodes": len(header.problem.prices or ())} if settings.ladders is None else {})
        | {"features": feature_count(header.problem.features)}
        | following_sizes
        | {"depths": Physics.of(header.problem, UnitCosts(0.0, 0.0, 0.0), settings.strict).depth_cap + 1},
        most={"laws": 10_000, "shapes": 100, "z": 1_000, "w": 1_000, "lags": 10_000, "atoms": 1_000},
        may_be_empty=("series", "attributes"),
    )


def ladders_of(artefact: Artefact, settings: dict[str, Any] | None) -> Ladders:
    """The ladders of a file; in files of old the grid of the problem without the prices that are `barred`."""
    if settings is not None:
        arrays = artefact.arrays
        return Ladders.of_settings(arrays["ladder_prices"], arrays["ladder_orders"], settings)
    grid = ActionGrid.of(artefact.problem)
    barred = artefact.arrays["barred"].reshape(len(grid.prices), -1)
    return Ladders(grid.prices[~barred.all(axis=1)], grid.orders[~barred.all(axis=0)])
