"""What a learner is: its settings, and how it learns a policy from a log."""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.settings import Settings
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rules import Rules
from lostsales.registry import Registry


class Learner(Settings):
    """Options shared by all learners. A subclass adds its own, sets `method` and implements `fit`.

    Settings are frozen and checked when they are made: a wrong value raises `SettingError` with the field, what came
    and what is allowed. Another package offers a learner by a subclass and an entry point `lostsales.learners`.
    """

    model_config = ConfigDict(strict=True, arbitrary_types_allowed=True)

    method: ClassVar[str]

    iterations: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Iterations of the learner (K); its own rule unless given, unused where it does not iterate."
    )
    rules: Rules = Field(Rules(), description="Business rules that every action obeys.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The same seed gives the same policy.")

    @abstractmethod
    def fit(self, log: SalesLog, progress: Progress | None = None) -> SavedPolicy:
        """Learn a policy from a log."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, keys: Any) -> Any:
        """Lists as tuples and numpy's numbers as Python's, which strict checks would refuse."""
        return {key: _plain(value) for key, value in keys.items()} if isinstance(keys, dict) else keys


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, list) else value


LEARNERS = Registry[type[Learner]](
    "lostsales.learners",
    "method",
    first=("planner", "c-fqi", "pc-fqi", "fusion", "behaviour", "base-stock", "s-S-p", "newsvendor"),
)
