"""Versions of a fleet: the finished ones of its store."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.apps.service.versions import DIGITS, PolicyVersion
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.policy import SavedPolicy

FINISHED = "finished.json"


def is_store(path: Path) -> bool:
    """Whether a path is the store of a fleet."""
    return (path / "versions").is_dir()


@dataclass
class StoreVersions:
    """The versions of a store, as those of a folder of policies."""

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
        """The version that was activated last, else the current one of the store."""
        versions = self.versions()
        if not versions:
            raise SettingError(f"the store {self.folder} has no finished version; `lostsales fleet fit` makes one")
        current = self.folder / "current"
        name = current.read_text(encoding="utf-8").strip() if current.is_file() else ""
        active = [each for each in versions if each.version == recorded]
        return (active or [each for each in versions if each.name == name] or list(versions))[0]

    def load(self, version: PolicyVersion) -> SavedPolicy:
        """The policies of a version as one."""
        return FleetPolicy.of(_fleet(self.folder, version.name))

    def rows(self, version: PolicyVersion) -> tuple[Path, Any]:
        """The rows that a version was learned from, and their problem."""
        return version.path / "rows", _fleet(self.folder, version.name).problem


def _fleet(folder: Path, name: str) -> Any:
    try:
        from lostsales.apps.fleet.fleet import Fleet  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise LostSalesError(
            "this version of lostsales has no fleets: serve a policy or a folder of policies"
        ) from None
    return Fleet.open(folder, name, most_loaded=64)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in (folder / "policies").glob("*") if each.is_file())
