"""The journal of a study of simulated logs: finished outcomes, so that a study that was stopped goes on from them."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from lostsales.data.finite_json import finite
from lostsales.data.output_files import replacing
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError, SettingError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.workers import worker_pool


class Outcome(Protocol):
    """What one simulated log gave: a frozen dataclass of numbers and texts."""

    @property
    def number(self) -> int:
        """Number of the log in its study."""
        ...


Found = TypeVar("Found", bound=Outcome)


@dataclass(frozen=True)
class StudyJournal(Generic[Found]):
    """Outcomes of one study in a JSON file, or in memory alone where there is no file."""

    path: Path | None
    kind: str  # key of the fingerprint, which tells studies of different kinds apart
    called: str  # in messages, such as "a study of promises"
    fingerprint: str
    of: type[Found]

    def read(self) -> dict[int, Found]:
        """Finished outcomes by number; a file of another study is refused."""
        if self.path is None or not self.path.exists():
            return {}
        try:
            saved = json.loads(self.path.read_text())
            same = saved[self.kind] == self.fingerprint
            outcomes: list[Found] = TypeAdapter(list[self.of]).validate_python(saved["outcomes"])  # type: ignore[name-defined]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise LostSalesError(f"{self.path} is not the file of {self.called}; choose another --out") from None
        if not same:
            raise LostSalesError(f"{self.path} holds another study (scenario, method or seed); choose another --out")
        return {each.number: each for each in outcomes}

    def write(self, done: dict[int, Found]) -> None:
        """Write all, whole or not at all."""
        if self.path is None:
            return
        outcomes: list[Any] = [asdict(done[number]) for number in sorted(done)]  # type: ignore[call-overload]
        with replacing(self.path) as temporary:
            content = finite({self.kind: self.fingerprint, "outcomes": outcomes})
            temporary.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")

    def complete(
        self, replicate: Callable[[int], Found], replications: int, workers: int, progress: Progress | None
    ) -> Sequence[Found]:
        """All outcomes from number 0 on; those of the journal are not repeated, and each is kept once it is there."""
        if workers < 1:
            raise SettingError(f"workers must be at least 1, but {workers} came")
        done = self.read()
        left = [number for number in range(replications) if number not in done]

        def keep(outcome: Found) -> None:
            done[outcome.number] = outcome
            self.write(done)
            if progress:
                progress(sum(number in done for number in range(replications)), replications)

        if workers == 1 or len(left) < 2:
            for number in left:
                keep(replicate(number))
        else:
            with worker_pool(min(workers, len(left))) as pool:
                try:
                    for future in as_completed([pool.submit(replicate, number) for number in left]):
                        keep(future.result())
                finally:
                    pool.shutdown(cancel_futures=True)
        return [done[number] for number in range(replications)]


def fingerprint_of(settings: dict[str, Any], scenario: Scenario) -> str:
    """Checksum of all settings of a study that determine a replication."""
    asked = {name: value for name, value in settings.items() if name != "replications"}
    asked["scenario"] = scenario.model_dump(mode="json", by_alias=True)
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
