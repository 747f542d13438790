"""What every learner may be told."""

from dataclasses import dataclass, field, fields
from typing import Any, Self

from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.policy.rules import Rules


@dataclass(frozen=True)
class Options:
    """The options that all share, so that one loop can fit them all."""

    iterations: int | None = None  # K; of no use to a learner that does not iterate
    rules: Rules = field(default_factory=Rules)
    seed: int = 0
    progress: Progress | None = None

    @classmethod
    def of(cls, method: str, given: dict[str, Any]) -> Self:
        """The options by name, or an error that lists them."""
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in given if name not in known]:
            raise SettingError(f"no option {unknown[0]!r}; the options of {method} are {', '.join(known)}")
        options = cls(**given)
        if options.iterations is not None and options.iterations < 1:
            raise SettingError(f"iterations must be at least 1, but {options.iterations} came")
        return options
