"""Versions of a policy, each identified by name and checksum: the files of a folder, or the versions of a fleet."""

import re
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path

from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.file_format import load
from lostsales.policy.policy import SavedPolicy

DIGITS = 12  # of the checksum
PATTERN = r"^[A-Za-z0-9._]{1,60}-[0-9a-f]{12}$"
MOST_FILES = 1_000  # of a folder that are looked at
MOST_LOADED = 64  # policies of shards in memory


@dataclass(frozen=True)
class PolicyVersion:
    """Policy file at the time it was read."""

    version: str  # name and checksum
    name: str
    path: Path
    digest: str  # SHA-256 of the file
    size: int
    modified: datetime


@dataclass
class PolicyFolder:
    """Policy files of a folder; a replaced file is another version."""

    folder: Path
    first: Path | None = None  # the file that was named
    _seen: dict[Path, tuple[tuple[int, int, int], PolicyVersion | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> "PolicyFolder":
        """Folder of a policy file and its neighbours, or a folder of policy files."""
        if path.is_dir():
            return cls(path)
        if not path.is_file():
            raise LostSalesError(f"there is no policy file {path}")
        if not _is_policy(path):
            load(path)  # says what is wrong with it
        return cls(path.parent, path)

    def versions(self) -> tuple[PolicyVersion, ...]:
        """All versions, the newest first."""
        found = []
        for path in sorted(self.folder.iterdir())[:MOST_FILES]:
            if path.is_file() and not path.name.startswith("."):
                version = self._looked_at(path)
                if version is not None:
                    found.append(version)
        return tuple(sorted(found, key=lambda each: each.modified, reverse=True))

    def initial(self, recorded: str | None) -> PolicyVersion:
        """Initial version: the one that was activated last or has replaced its file, else the named, else the only."""
        versions = self.versions()
        if not versions:
            raise SettingError(
                f"the folder {self.folder} has no policy file; `lostsales fit LOG --out POLICY` makes one"
            )
        found = _initial(versions, recorded, self.first)
        if found is None:
            names = ", ".join(each.name for each in versions[:5])
            raise SettingError(
                f"the folder {self.folder} has {len(versions)} policy files, and none of them was activated: name the "
                f"one to begin with, as `lostsales serve {self.folder / versions[0].name}`; there are {names}"
            )
        return found

    def load(self, version: PolicyVersion) -> SavedPolicy:
        """Policy of a version; raise if its file was replaced."""
        policy = load(version.path)
        if policy.refusal is not None:
            raise LostSalesError(policy.refusal)
        if self._looked_at(version.path) != version:
            raise LostSalesError(f"the policy file {version.name} was replaced; ask for the versions again")
        return policy

    def _looked_at(self, path: Path) -> PolicyVersion | None:
        try:
            stat = path.stat()
            stamp = stat.st_mtime_ns, stat.st_size, stat.st_ino
            if path not in self._seen or self._seen[path][0] != stamp:
                found = None
                if _is_policy(path):
                    found = _version(path.name, path, _digest(path), stat.st_size, stat.st_mtime)
                self._seen[path] = stamp, found
            return self._seen[path][1]
        except OSError:  # gone meanwhile
            return None


@dataclass
class StoreVersions:
    """Versions of a store, with the interface of `PolicyFolder`."""

    folder: Path

    def versions(self) -> tuple[PolicyVersion, ...]:
        """All finished versions, the newest first."""
        found = []
        for path in sorted((self.folder / "versions").iterdir(), reverse=True):
            finished = path / "finished.json"
            if finished.is_file():
                digest = sha256(finished.read_bytes()).hexdigest()
                size = sum(each.stat().st_size for each in (path / "policies").glob("*") if each.is_file())
                name = f"fleet_{path.name}"
                found.append(_version(name, path, digest, size, finished.stat().st_mtime))
        return tuple(found)

    def initial(self, recorded: str | None) -> PolicyVersion:
        """Version that was activated last, else the current one of the store."""
        versions = self.versions()
        if not versions:
            raise SettingError(f"the store {self.folder} has no finished version; `lostsales fleet fit` makes one")
        current = self.folder / "current"
        name = current.read_text(encoding="utf-8").strip() if current.is_file() else ""
        return _initial(versions, recorded, self.folder / "versions" / name) or versions[0]

    def load(self, version: PolicyVersion) -> SavedPolicy:
        """Policies of a version as one."""
        return FleetPolicy.of(Fleet.open(self.folder, version.name, MOST_LOADED))

    def rows(self, version: PolicyVersion) -> tuple[Path, Problem]:
        """Rows that a version was learned from, and their problem."""
        return version.path / "rows", Fleet.open(self.folder, version.name, MOST_LOADED).problem


def is_store(path: Path) -> bool:
    """Return True if a path is the store of a fleet."""
    return (path / "versions").is_dir()


def _initial(versions: tuple[PolicyVersion, ...], recorded: str | None, named: Path | None) -> PolicyVersion | None:
    """Recorded version, else the file of its name, else the named file, else the only one; None if it is not clear."""
    name = "" if recorded is None else recorded[: -DIGITS - 1]
    choices = (
        [each for each in versions if each.version == recorded],
        [each for each in versions if each.version[: -DIGITS - 1] == name],
        [each for each in versions if each.path == named],
        list(versions) if len(versions) == 1 else [],
    )
    return next((each[0] for each in choices if each), None)


def _version(name: str, path: Path, digest: str, size: int, modified: float) -> PolicyVersion:
    plain = re.sub(r"[^A-Za-z0-9._]", "_", name)[:60]
    moment = datetime.fromtimestamp(modified, UTC).replace(microsecond=0)
    return PolicyVersion(f"{plain}-{digest[:DIGITS]}", path.name, path, digest, size, moment)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_policy(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return {"metadata.npy", "checksum.npy"} <= set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
