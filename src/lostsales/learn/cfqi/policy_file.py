"""What the file of a policy of C-FQI, PC-FQI or fusion may hold."""

from typing import Annotated

from pydantic import Field, model_validator

from lostsales.data.settings import StrictSettings, checked_json
from lostsales.learn.cfqi.safe_actions import Safe
from lostsales.learn.cfqi.support_file import SavedSpread
from lostsales.learn.cfqi.value_function import NAME as VALUE
from lostsales.learn.function.q_arrays import QSettings, q_content
from lostsales.policy.file_content import (
    ArraySpec,
    Content,
    Depth,
    Header,
    NonNegative,
    feature_count,
    numbers,
    optional,
    texts,
)
from lostsales.policy.history import supply_columns
from lostsales.policy.rules import SavedRules


class SavedSafeActions(StrictSettings):
    """The safe actions in a policy file."""

    kind: Safe
    eps: Annotated[float, Field(ge=0, le=1)]
    depth: Depth
    ends_by_rule: bool | None = None  # files of old allow any action where every learned run ended


class SavedDepthRule(StrictSettings):
    """The rule by which max_depth was chosen, in a policy file."""

    cap: Depth | None
    pool: bool
    a_coordinate: NonNegative


class QPolicySettings(StrictSettings):
    """The settings in a policy file."""

    method: str
    room: NonNegative | None
    rules: SavedRules
    beta: NonNegative
    usual_demand: NonNegative
    safe: SavedSafeActions
    models: dict[str, QSettings]  # by depth, and "chance"
    costs: tuple[str, ...]
    attributes: tuple[str, ...] | None
    unit_cost: NonNegative
    pools: bool = False
    support: dict[str, SavedSpread] | None = None  # by "price" or "order" and depth
    bounded: bool = True
    on_gains: bool = False
    margin: NonNegative = 0.0
    value: QSettings | None = None  # of replayed episodes; files of old have none
    depth_rule: SavedDepthRule | None = None  # files of old have none

    @model_validator(mode="after")
    def _is_complete(self) -> "QPolicySettings":
        depths = len(self.models) - ("chance" in self.models)
        if not depths or set(self.models) - {"chance"} != {str(depth) for depth in range(depths)}:
            raise ValueError("there must be one model a depth, from 0 on")
        behaviours = 0 if self.support is None else len(self.support) // 2  # two where all depths share a Q
        spreads = {f"{what}{depth}" for what in ("price", "order") for depth in range(behaviours)}
        if self.support is not None and (set(self.support) != spreads or behaviours not in (depths, max(depths, 2))):
            raise ValueError("there must be a spread of prices and one of orders a depth, from 0 on")
        if self.beta and any(model.doubt is None for name, model in self.models.items() if name != "chance"):
            raise ValueError("a policy with a penalty needs the posterior variance of every model")
        return self


def q_policy_content(header: Header) -> Content:
    """The arrays of a file, as its settings say."""
    settings = checked_json(QPolicySettings, header.settings, "its settings")
    features = feature_count(header.problem.features) + len(settings.costs)
    sizes = {"attributes": len(settings.attributes or ())}
    arrays: dict[str, ArraySpec] = {
        "prices": numbers("prices", least=0, rising=True),
        "orders": numbers("orders", least=0, rising=True),
        "safe_tried": optional(numbers(2, 2, least=0, infinite=True)),
    }
    if settings.attributes is not None:
        arrays["attribute_series"] = texts("attribute series")
        arrays["attribute_values"] = numbers("attribute series", "attributes")
    depths = len(settings.models) - ("chance" in settings.models)
    for name, model in settings.models.items():
        depth = depths - 1 if name == "chance" else int(name)
        own = 1 + (depth + 1) * (features + 1) + 2 * depth + supply_columns(header.problem)
        pooled = settings.pools and depth == depths - 1
        sizes[f"{name} coordinates"] = own + sizes["attributes"] + pooled
        arrays |= q_content(name, model, f"{name} coordinates")
    arrays |= {f"{depth}_range": numbers(2, f"{depth} coordinates", infinite=True) for depth in range(depths)}
    for name, spread in (settings.support or {}).items():
        coordinates = f"{min(int(name[5:]), depths - 1)} coordinates"
        arrays |= q_content(name, spread.mean, coordinates)
        arrays[f"{name}_residuals"] = numbers(f"{name} residuals")
        arrays[f"{name[5:]}_histories"] = numbers(2, coordinates)
    if settings.value is not None:
        sizes["states"] = 2 + features + 1 + supply_columns(header.problem) + sizes["attributes"]
        arrays |= q_content(VALUE, settings.value, "states") | {f"{VALUE}_states": numbers(2, "states")}
    named = (*settings.models, *(settings.support or ()), VALUE)
    return Content(arrays, sizes, may_be_empty=tuple(f"{name} kept" for name in named))
