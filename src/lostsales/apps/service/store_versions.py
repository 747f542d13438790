"""Versions of a fleet: the finished ones of its store."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.apps.service.versions import DIGITS, PolicyVersion
from lostsales.data.problem import Problem
from lostsales.errors import SettingError
from lostsales.policy.policy import SavedPolicy

FINISHED = "finished.json"
MOST_LOADED = 64  # policies of shards in memory


def is_store(path: Path) -> bool:
    """Return True if a path is the store of a fleet."""
    return (path / "versions").is_dir()


@dataclass
class StoreVersions:
    """Versions of a store, with the interface of `PolicyFolder`."""

    folder: Path

    def versions(self) -> tuple[PolicyVersion, ...]:
        """All finished versions, the newest first."""
        found = []
        for path in sorted((self.folder / "versions").iterdir(), reverse=True):
            finished = path / FINISHED
            if finished.is_file():
                digest, stat = sha256(finished.read_bytes()).hexdigest(), finished.stat()
                moment = datetime.fromtimestamp(stat.st_mtime, UTC).replace(microsecond=0)
                name = f"fleet_{path.name}-{digest[:DIGITS]}"
                found.append(PolicyVersion(name, path.name, path, digest, _size(path), moment))
        return tuple(found)

    def initial(self, recorded: str | None) -> PolicyVersion:
        """Version that was activated last, else the current one of the store."""
        versions = self.versions()
        if not versions:
            raise SettingError(f"the store {self.folder} has no finished version; `lostsales fleet fit` makes one")
        current = self.folder / "current"
        name = current.read_text(encoding="utf-8").strip() if current.is_file() else ""
        active = [each for each in versions if each.version == recorded]
        return (active or [each for each in versions if each.name == name] or list(versions))[0]

    def load(self, version: PolicyVersion) -> SavedPolicy:
        """Policies of a version as one."""
        return FleetPolicy.of(Fleet.open(self.folder, version.name, MOST_LOADED))

    def rows(self, version: PolicyVersion) -> tuple[Path, Problem]:
        """Rows that a version was learned from, and their problem."""
        return version.path / "rows", Fleet.open(self.folder, version.name, MOST_LOADED).problem


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in (folder / "policies").glob("*") if each.is_file())
