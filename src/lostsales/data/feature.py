"""Columns that describe the market before the decision, and the forms in which a problem may give them."""

from typing import Any, Literal

from pydantic import Field, model_validator

from lostsales.data.calendar.dates import calendar_features
from lostsales.data.labels import spelled
from lostsales.data.settings import Settings

Level = str | bool | int | float
# More levels than a category of a market has: a name or a number was declared as one, and learning takes minutes.
MOST_LEVELS = 200


class Feature(Settings):
    """A column that describes the market before the decision."""

    name: str = Field(description="The column.", examples=["weekday"])
    kind: Literal["numeric", "categorical"] = Field(
        "numeric",
        description="Whether its values are numbers, or names that have no order.",
        examples=["categorical"],
    )
    levels: tuple[Level, ...] | None = Field(
        None,
        description="The values that a categorical feature may have; by default those in the table.",
        examples=[["Mon", "Tue", "Wed"]],
    )
    calendar: str | None = Field(
        None, description="The word of the problem's `calendar` that gives it; not for the problem file."
    )

    @model_validator(mode="after")
    def _levels_are_categorical(self) -> "Feature":
        if self.levels is not None and (
            self.kind != "categorical" or len(set(map(spelled, self.levels))) < len(self.levels)
        ):
            raise ValueError("levels belong to a categorical feature and must differ")
        if self.levels is not None and len(self.levels) > MOST_LEVELS:
            raise ValueError(f"a category may have {MOST_LEVELS} levels, but {len(self.levels):,} are declared")
        return self


def feature_count(features: tuple[Feature, ...]) -> int:
    """Columns of features: one a level of a category."""
    return sum(len(each.levels or ()) or 1 if each.kind == "categorical" else 1 for each in features)


def with_features(keys: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """The keys of a problem with further columns as features, those that are features already aside."""
    features = keys.get("features", ())
    if not isinstance(features, list | tuple):
        return keys
    named = [_field(each, "name") for each in features]
    added = [each for each in columns if each not in named]
    return keys | {"features": [*features, *added]} if added else keys


def with_calendar_features(keys: dict[str, Any]) -> dict[str, Any]:
    """The keys of a problem with the words of its calendar as features, after those of the table."""
    words, features = keys.get("calendar", ()), keys.get("features", ())
    if isinstance(words, str):
        words = (words,)
    if not isinstance(words, list | tuple) or not isinstance(features, list | tuple):
        return keys
    if any(not isinstance(word, str) for word in words) or len(set(words)) < len(words):
        raise ValueError("calendar must be a list of different words")
    own = [each for each in features if _field(each, "calendar") is None]
    if strange := {_field(each, "calendar") for each in features} - {None, *words}:
        raise ValueError(f"a feature of the calendar is given as calendar = [{sorted(map(repr, strange))[0]}]")
    given = calendar_features(tuple(words))
    if clash := sorted({each["name"] for each in given} & {_field(each, "name") for each in own}):
        raise ValueError(f"calendar gives a feature {clash[0]!r}, and features names it too: leave one of them out")
    return keys | {"calendar": tuple(words), "features": (*own, *given)} if words else keys


def _field(feature: Any, name: str) -> Any:
    """A field of a feature as it may be given: a name, a table or a feature."""
    if isinstance(feature, str):
        return feature if name == "name" else None
    return feature.get(name) if isinstance(feature, dict) else getattr(feature, name, None)
