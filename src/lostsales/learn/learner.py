"""The base class of learners: settings, and `fit` from a log to a policy."""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.progress import Progress
from lostsales.data.settings import StrictSettings
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rules import Rules
from lostsales.registry import Registry

Pricing = Literal["tested", "free", "given"]


class Learner(StrictSettings):
    """Options shared by all learners. A subclass adds its own, sets `method` and implements `fit`.

    Settings are frozen and checked when they are made: a wrong value raises `SettingError` with the field, what came
    and what is allowed. Another package offers a learner by a subclass and an entry point `lostsales.learners`
    (`examples/custom_learner`).

    Examples
    --------
    >>> from lostsales import BaseStock
    >>> class Patient(BaseStock):
    ...     method = "patient"
    ...     wait: int = 7
    >>> Patient(wait=14, seed=1).wait
    14
    >>> Patient(seed=-1)
    Traceback (most recent call last):
    lostsales.errors.SettingError: Patient is not usable:
      - seed: Input should be greater than or equal to 0, but it is -1

    """

    method: ClassVar[str]
    bytes_a_row: ClassVar[int] = 400  # peak memory of `fit` per row of the log; measured, see `data/memory.py`
    quick_settings: ClassVar[dict[str, Any]] = {}  # of `quick`
    sets_prices: ClassVar[bool] = True  # by their effect in the log, so that `fit` tests how they were set
    # It models each product by its name: `fit` hands it the counts of the shop, and others the relative log.
    models_products: ClassVar[bool] = False
    # False: it needs a cost of lost sales; None: it decides by no cost.
    meets_targets: ClassVar[bool | None] = False

    iterations: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Iterations of the learner (K); by default its own rule, unused where it does not iterate."
    )
    rules: Rules = Field(Rules(), description="Business rules that every action obeys.")
    pricing: Pricing = Field(
        "tested",
        description="Keep the usual price where tests find that prices or orders followed something that the log does "
        "not show (`tested`), price all the same (`free`), or keep prices as they are (`given`).",
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The same seed gives the same policy.")

    def quick(self) -> Self:
        """The same with quicker settings where none were given: enough for a first look."""
        kept = {key: value for key, value in self.quick_settings.items() if key not in self.model_fields_set}
        return self.model_copy(update=kept)

    def left_out(self, log: SalesLog) -> dict[str, int]:  # noqa: ARG002, learners that leave rows out use it
        """Rows of a log that are not learned from, by reason."""
        return {}

    def rows_learned(self, log: SalesLog) -> dict[str, int]:  # noqa: ARG002, as above
        """Rows of a log that are learned from, for a learner that says so."""
        return {}

    @abstractmethod
    def fit(self, log: DecisionLog, progress: Progress | None = None) -> SavedPolicy:
        """Learn a policy from a log."""


# `first` is the order of lists only.
LEARNERS = Registry[type[Learner]](
    "lostsales.learners",
    "method",
    first=(
        *("planner", "c-fqi", "pc-fqi", "fusion", "replay-fqi", "lookahead", "behaviour"),
        *("base-stock", "s-S-p", "newsvendor"),
    ),
)
