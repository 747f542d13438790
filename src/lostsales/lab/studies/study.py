"""Simulation studies: replications whose truth is known, each on disk as soon as it is finished."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from lostsales.data.journal import Run, fingerprint, open_journal
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.learn.fit import learner_of
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario

Key = TypeVar("Key", bound=Hashable)
Entry = TypeVar("Entry")

TRUTH_SEED = 1  # of the simulated truth: the same customers for every policy


def seed_of(*key: int) -> int:
    """Seed of a replication, independent of those of other keys."""
    return int(np.random.SeedSequence(key).generate_state(1)[0])


class Study(Generic[Key, Entry]):
    """Settings of a study as a frozen dataclass; `replicate` makes one entry of its journal."""

    called: ClassVar[str]  # in messages
    entry: ClassVar[type[Any]]
    extent: ClassVar[tuple[str, ...]] = ("replications",)  # settings that do not change a replication

    @property
    def wanted(self) -> Sequence[Key]:
        """Keys of all replications."""
        raise NotImplementedError

    def key_of(self, entry: Entry) -> Key:
        """Key of a finished replication."""
        raise NotImplementedError

    def replicate(self, key: Key) -> Entry:
        """Run one replication."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """Checksum of all settings that determine a replication."""
        asked: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        for name, value in asked.items():
            if isinstance(value, Scenario):
                asked[name] = value.model_dump(mode="json", by_alias=True)
        return fingerprint({name: value for name, value in asked.items() if name not in self.extent})

    def run(self, journal: Path | None = None, workers: int = 1, progress: Progress | None = None) -> list[Entry]:
        """All replications, in order; those in the journal of the same study are not repeated."""
        with open_journal(journal, Run[Entry](self.called, self.entry, self.fingerprint)) as found:
            done = {self.key_of(each): each for each in found.entries}
            return found.complete(self.wanted, done, self.key_of, self.replicate, workers, progress)


@dataclass(frozen=True)
class ManagerLogs(Study[int, Entry]):
    """Settings of a study of logs by the manager of a scenario."""

    scenario: Scenario
    series: int = 8
    replications: int = 20
    seed: int = 0
    least_series: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.replications < 1 or self.series < self.least_series:
            raise SettingError(
                f"replications must be at least 1, and the number of series at least {self.least_series}"
            )
        for method in self.learned:
            learner_of(method, {})
        ManagerPolicy.of(self.scenario)

    @property
    def learned(self) -> tuple[str, ...]:
        """Methods that learn from the logs."""
        raise NotImplementedError

    @property
    def wanted(self) -> Sequence[int]:
        """Numbers of the logs."""
        return range(self.replications)

    def key_of(self, entry: Entry) -> int:
        """Number of a log."""
        number: int = entry.number  # type: ignore[attr-defined]
        return number
