"""Store of a fleet: versions, each with its rows, policies and ledger; one writer, any number of readers.

    STORE/
      lock                     locked by the process that writes
      current                  the name of the version that readers use
      versions/00001/
        fleet.json             settings and problem; written when the rows are in their shards
        products.parquet       every product with its shard
        rows/00000.parquet     the rows of a shard
        policies/00000.policy  its policy
        ledger/00000.json      written when it is finished: checksum of the policy, failures
        failures.parquet       products that could not be learned, with the reason
        finished.json          checksums of the policies; the version is complete

Files are put into place by renaming, whole or not at all. A shard is finished when its entry is in the ledger; a
version is used when `current` names it. No file contains a time, a path or the name of a worker: the same rows,
settings and seed give the same bytes.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from lostsales.apps.fleet.sharding import Sharding, ShardRows, rows_file
from lostsales.data.journal import JournalFolder
from lostsales.data.json_files import read_json
from lostsales.data.output_files import replacing, try_lock
from lostsales.data.problem import Problem
from lostsales.data.reading.cells import connect, fetched
from lostsales.data.reading.files import execute, parquet_rows
from lostsales.data.settings import StrictSettings, checked, checked_json
from lostsales.data.sql_names import identifier
from lostsales.data.writing import write_table
from lostsales.errors import LostSalesError
from lostsales.types import Array

FORMAT = 1
PATIENCE = 1.0  # seconds to wait for the lock, which a status query holds for a moment
_VERSION = re.compile(r"[0-9]{5}")


class Failure(StrictSettings):
    """Product that could not be learned."""

    series: str
    reason: str


class Entry(StrictSettings):
    """Finished shard in the ledger; without a checksum it has no policy, as none of its products could be learned."""

    shard: int
    products: int
    learned: int
    rows: int
    sha256: str | None  # of the file of the policy
    notes: tuple[str, ...]  # on the policy
    failures: tuple[Failure, ...]


class VersionInputs(StrictSettings):
    """Source and settings of a version, which determine all of it; `settings` are those of the method."""

    lostsales: str
    source: dict[str, Any]
    problem: dict[str, Any]
    method: str
    settings: dict[str, Any]
    by: tuple[str, ...]
    shard_size: int
    least_rows: int
    drop_bad_rows: bool


class Manifest(VersionInputs):
    """Inputs and sizes of a version."""

    format: int
    products: int
    rows: int
    nameless_rows: int  # without a product name
    shard_rows: tuple[str, ...]  # checksums of the files of rows, by shard


@dataclass(frozen=True)
class Version:
    """Version of a store."""

    folder: Path

    @property
    def name(self) -> str:
        """Number of the version as text."""
        return self.folder.name

    @property
    def is_planned(self) -> bool:
        """True if the rows are in their shards."""
        return (self.folder / "fleet.json").is_file()

    @property
    def is_finished(self) -> bool:
        """True if every shard is finished."""
        return (self.folder / "finished.json").is_file()

    @cached_property
    def manifest(self) -> Manifest:
        """Manifest of the version."""
        path = self.folder / "fleet.json"
        keys = read_json(path)
        if isinstance(keys.get("format"), int) and keys["format"] > FORMAT:
            raise LostSalesError(f"{path} was written by a newer lostsales; its format is {keys['format']}")
        return checked_json(Manifest, keys, str(path))

    @cached_property
    def problem(self) -> Problem:
        """Problem of all shards."""
        return checked(Problem, self.manifest.problem, f"the problem of {self.folder}")

    @property
    def shards(self) -> range:
        """Numbers of the shards."""
        return range(len(self.manifest.shard_rows))

    def rows_path(self, shard: int) -> Path:
        """Path of the rows of a shard."""
        return rows_file(self.folder / "rows", shard)

    def policy_path(self, shard: int) -> Path:
        """Path of the policy of a shard."""
        return self.folder / "policies" / f"{shard:05}.policy"

    @property
    def ledger(self) -> JournalFolder:
        """Ledger of the finished shards."""
        return JournalFolder(self.folder / "ledger")

    def shard_rows(self, shard: int) -> ShardRows:
        """Rows of a shard, after a check of their checksum, with the settings to read them."""
        manifest = self.manifest
        rows = checked_bytes(self.rows_path(shard), manifest.shard_rows[shard])
        return ShardRows(shard, rows, manifest.problem, manifest.least_rows, manifest.drop_bad_rows)

    @cached_property
    def products(self) -> dict[str, Array]:
        """Table of products: `series`, the attributes of `--by` as `by_...`, `shard` and `rows`."""
        path = self.folder / "products.parquet"
        with connect() as connection:
            sql = parquet_rows((path,))
            names = [name for name, *_ in execute(connection, str(path), f"DESCRIBE FROM {sql}").fetchall()]
            return {name: fetched(connection, f"SELECT {identifier(name)} AS c FROM {sql}") for name in names}

    def products_by_shard(self) -> list[int]:
        """Number of products of each shard."""
        return list(np.bincount(self.products["shard"], minlength=len(self.shards)).tolist())

    def entry(self, shard: int) -> Entry | None:
        """Entry of a shard in the ledger; None if it is not finished."""
        found = self.ledger.read(shard)
        return None if found is None else checked_json(Entry, found, str(self.ledger.path(shard)))

    def entries(self) -> dict[int, Entry]:
        """Entries of the finished shards."""
        return {shard: entry for shard in self.ledger.numbers() if (entry := self.entry(shard)) is not None}

    def is_whole(self, entry: Entry) -> bool:
        """Return True if the policy of a finished shard is intact."""
        if entry.sha256 is None:
            return True
        try:
            return sha256(self.policy_path(entry.shard).read_bytes()).hexdigest() == entry.sha256
        except OSError:
            return False


@dataclass(frozen=True)
class Store:
    """Folder with the versions of a fleet."""

    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Store":
        """Store in a folder; raise if it is none."""
        store = cls(Path(folder))
        if not (store.folder / "versions").is_dir():
            raise LostSalesError(
                f"there is no store {store.folder}; `lostsales fleet fit SOURCE --out STORE` makes one"
            )
        return store

    def versions(self) -> list[Version]:
        """Versions with their rows in shards, the oldest first."""
        return [version for version in self._folders() if version.is_planned]

    def version(self, name: str | None = None) -> Version:
        """Version by name, by default the current one."""
        if name is None and (name := self.current_name()) is None:
            raise LostSalesError(f"{self.folder} has no finished version; the same `fleet fit` resumes the first")
        version = Version(self.folder / "versions" / name)
        if not _VERSION.fullmatch(name) or not version.is_planned:
            known = ", ".join(each.name for each in self.versions())
            raise LostSalesError(f"{self.folder} has no version {name!r}; it has {known or 'none'}")
        return version

    def current_name(self) -> str | None:
        """Name of the version that readers use, None if there is none."""
        path = self.folder / "current"
        try:
            if path.exists() and not path.is_file():
                raise LostSalesError(f"{path} cannot be read: it is no regular file")
            return path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise LostSalesError(f"{path} cannot be read: {error}") from None

    def activate(self, version: Version) -> None:
        """Make a version current; readers that opened another keep it."""
        if not version.is_finished:
            raise LostSalesError(f"version {version.name} of {self.folder} is not finished")
        with replacing(self.folder / "current") as temporary:
            temporary.write_text(f"{version.name}\n", encoding="ascii")

    def new_version(self) -> Version:
        """Create an empty folder for the next version; leftovers of an interrupted start are removed."""
        versions = self._folders()
        if versions and not versions[-1].is_planned:
            shutil.rmtree(versions[-1].folder)
            versions.pop()
        number = int(versions[-1].name) + 1 if versions else 1
        version = Version(self.folder / "versions" / f"{number:05}")
        version.folder.mkdir(parents=True)
        return version

    def _folders(self) -> list[Version]:
        found = (self.folder / "versions").glob("*")
        return sorted((Version(each) for each in found if _VERSION.fullmatch(each.name)), key=lambda each: each.name)

    @property
    def is_being_written(self) -> bool:
        """True if a process is writing to the store."""
        try:
            with self.lock(patience=0.0):
                return False
        except StoreLockedError:
            return True

    @contextmanager
    def lock(self, patience: float = PATIENCE) -> Iterator[None]:
        """Lock the store for one writer; the lock ends with the process, however that ends."""
        with (self.folder / "lock").open("ab") as file:
            end = monotonic() + patience
            while try_lock(file.fileno()) == "taken":
                if monotonic() > end:
                    raise StoreLockedError(f"another process is writing to {self.folder}; wait until it has ended")
                sleep(0.05)
            yield


class StoreLockedError(LostSalesError):
    """Error if another process writes to the store."""


def write_products(version: Version, sharding: Sharding) -> None:
    """Write the list of products with the shard of each."""
    columns = {"series": sharding.names} | {f"by_{name}": values for name, values in sharding.by.items()}
    write_table(columns | {"shard": sharding.shard, "rows": sharding.rows}, version.folder / "products.parquet")


def write_failures(version: Version, entries: dict[int, Entry]) -> None:
    """Write the products that could not be learned, with the reason and their fallback."""
    found: list[tuple[Failure, Entry | None]] = [
        (failure, entry) for entry in entries.values() for failure in entry.failures
    ]
    if version.manifest.nameless_rows:
        found.append((Failure(series="", reason=f"{version.manifest.nameless_rows:,} rows name no product"), None))
    found.sort(key=lambda each: each[0].series)
    lent = {shard: policy_shard(entries, shard) for shard in entries}
    columns = {
        "series": [failure.series for failure, _ in found],
        "reason": [failure.reason for failure, _ in found],
        "fallback": [fallback(entry, lent) for _, entry in found],
    }
    texts = {name: np.array(values, dtype=object) for name, values in columns.items()}
    shards = np.array([-1 if entry is None else entry.shard for _, entry in found], dtype=np.int64)
    write_table({"series": texts.pop("series"), "shard": shards} | texts, version.folder / "failures.parquet")


def fallback(entry: Entry | None, lent: dict[int, int | None]) -> str:
    """Fallback of a product that could not be learned, in words."""
    if entry is None:
        return "none"
    shard = lent[entry.shard]
    whose = "its shard" if shard == entry.shard else f"shard {shard}"
    return f"the policy of {whose}, as for an unknown product"


def policy_shard(entries: dict[int, Entry], shard: int) -> int | None:
    """Shard whose policy decides for the products of a shard: itself, else the nearest with a policy."""
    with_policy = [each for each, entry in entries.items() if entry.sha256 is not None]
    return min(with_policy, key=lambda each: (abs(each - shard), each), default=None)


def checked_bytes(path: Path, checksum: str) -> bytes:
    """Content of a file; raise if it does not match the checksum."""
    try:
        if path.exists() and not path.is_file():
            raise LostSalesError(f"{path} cannot be read: it is no regular file")
        content = path.read_bytes()
    except OSError as error:
        raise LostSalesError(f"{path} cannot be read: {error.strerror}") from None
    if sha256(content).hexdigest() != checksum:
        raise LostSalesError(f"{path} is damaged or was altered: it does not match its checksum")
    return content


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
