"""Learning a fleet: partition the rows once, learn every shard that is not finished, and switch to the new version."""

import shutil
from contextlib import suppress
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from lostsales.apps.fleet.engine import Engine, Processes
from lostsales.apps.fleet.shard_tasks import FittedShard, fit_shard, run_on_shards
from lostsales.apps.fleet.sharding import partition
from lostsales.apps.fleet.source import FleetSource, source_of
from lostsales.apps.fleet.store import (
    FORMAT,
    Entry,
    Manifest,
    Store,
    Version,
    VersionInputs,
    write_bytes,
    write_failures,
    write_products,
)
from lostsales.data.json_files import write_json
from lostsales.data.output_files import check_utf8
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.reading.cells import connect
from lostsales.data.reading.files import open_query, parquet_rows
from lostsales.data.reading.gate import check_columns, read_good_series
from lostsales.errors import LogError, LostSalesError, SettingError
from lostsales.learn.fit import DEFAULT, learner_of
from lostsales.learn.learner import Learner

SHARD_SIZE = 500  # products (docs/decisions/fleet.md)
LEAST_ROWS = 10  # of a product, below which its shard says more about it than its own rows
SAMPLE = 5_000  # rows that are checked before any work


def fit_fleet(
    source: str | Path | FleetSource,
    store: str | Path,
    method: str | Learner = DEFAULT,
    *,
    query: str | None = None,
    problem: Problem | str | Path | None = None,
    by: tuple[str, ...] = (),
    shard_size: int = SHARD_SIZE,
    least_rows: int = LEAST_ROWS,
    drop_bad_rows: bool = False,
    restart: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Version:
    """Learn a policy for every product of a source, and make the result the current version of a store.

    Parameters
    ----------
    source : path or FleetSource
        A folder of Parquet files, or the address of a database.
    store : path
        The folder of the store; an interrupted version is resumed, a finished one is followed by a new version.
    method : str or Learner
        As for `fit`.
    query : str, optional
        The query for the rows, if the source is a database; it is run again for the next version.
    problem : Problem or path, optional
        As for `read_log`.
    by : tuple of str
        Columns, the coarsest first: products with equal values are learned together.
    shard_size : int
        Approximate largest number of products in a shard.
    least_rows : int
        Products with fewer rows are not learned from.
    drop_bad_rows : bool
        Leave out bad rows only; by default a product with a bad row is left out.
    restart : bool
        Delete an unfinished version that was begun with other settings or rows.
    engine : Engine, optional
        Executor of the work; by default this process.
    progress : callable, optional
        Called with products done and products in total.

    Returns
    -------
    Version
        The finished version, now current.

    Raises
    ------
    LostSalesError
        The source cannot be read, another process writes to the store, the store is of another problem, or no product
        could be learned.

    Examples
    --------
    >>> import tempfile, lostsales
    >>> folder = Path(tempfile.mkdtemp())
    >>> log, _ = lostsales.simulate("newsvendor", episodes=6, seed=1)
    >>> lostsales.write_log(log, folder / "log.parquet")
    >>> version = fit_fleet(folder / "log.parquet", folder / "store", "newsvendor", shard_size=3)
    >>> version.name, len(version.shards)
    ('00001', 2)

    """
    if shard_size < 1 or least_rows < 1:
        raise SettingError(f"shard_size and least_rows must be at least 1, but {shard_size} and {least_rows} came")
    learner = learner_of(method, {})
    opened = source_of(source, query) if isinstance(source, str | Path) else source
    chosen = Problem.of(problem, opened.problem_file)
    target = _prepared(Path(store))
    with target.lock():
        inputs = VersionInputs(
            lostsales=installed("lostsales"),
            source=opened.identity(),
            problem=chosen.model_dump(mode="json", exclude_unset=True),
            method=learner.method,
            settings=learner.model_dump(mode="json", exclude_unset=True),
            by=by,
            shard_size=shard_size,
            least_rows=least_rows,
            drop_bad_rows=drop_bad_rows,
        )
        version = _version(target, opened, chosen, inputs, restart)
        _learn_shards(version, engine or Processes(1), progress)
        target.activate(version)
    return version


def _prepared(folder: Path) -> Store:
    """Store in a folder, which is created if it does not exist."""
    check_utf8(folder)
    if folder.exists() and not (folder / "versions").is_dir() and (not folder.is_dir() or any(folder.iterdir())):
        raise LostSalesError(f"{folder} exists and is not a store; choose another name with --out")
    try:
        (folder / "versions").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LostSalesError(f"{folder} cannot be created: {error.strerror}") from None
    return Store(folder)


def _version(store: Store, source: FleetSource, problem: Problem, inputs: VersionInputs, restart: bool) -> Version:
    """Version to resume, or a new one with its rows in shards."""
    last = store.versions()[-1:]
    if not last:
        return _planned(store, source, problem, inputs)
    found = last[0].manifest
    if differs := _differing(found.problem, inputs.problem):
        raise SettingError(
            f"{store.folder} was made for another problem, which differs in {', '.join(differs)}; "
            "choose another store with --out"
        )
    differs = _differing(found.model_dump(include=set(VersionInputs.model_fields)), inputs.model_dump())
    if not differs and (source.is_fixed or not last[0].is_finished):
        return last[0]
    if differs and not last[0].is_finished:
        if not restart:
            raise SettingError(
                f"{store.folder} has an unfinished version with other {', '.join(differs)}; give the same again "
                "to resume it, or --restart to delete it"
            )
        shutil.rmtree(last[0].folder)
    return _planned(store, source, problem, inputs)


def _differing(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return sorted(key for key in {*found, *wanted} if _plain(found.get(key)) != _plain(wanted.get(key)))


def _plain(value: Any) -> Any:
    """Value with tuples as lists, for comparison."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _planned(store: Store, source: FleetSource, problem: Problem, inputs: VersionInputs) -> Version:
    """Create a new version with its rows in shards; on failure nothing of it remains."""
    version = store.new_version()
    try:
        files = source.parquet_files(version.folder)
        _check_sample(files, problem, source.name)
        sharding, checksums = partition(
            files, problem, inputs.by, inputs.shard_size, version.folder / "rows", source.name
        )
        for fetched in version.folder.glob("fetched*"):
            fetched.unlink()
        write_products(version, sharding)
        manifest = Manifest(
            format=FORMAT,
            **inputs.model_dump(),
            products=len(sharding.names),
            rows=int(sharding.rows.sum()),
            nameless_rows=sharding.nameless,
            shard_rows=checksums,
        )
        write_json(manifest.model_dump(mode="json"), version.folder / "fleet.json")
    except BaseException:
        shutil.rmtree(version.folder, ignore_errors=True)
        raise
    return version


def _check_sample(files: tuple[Path, ...], problem: Problem, name: str) -> None:
    """Check that the columns are there, and that a decision can be learned from them."""
    with connect() as connection:
        sample = open_query(connection, name, f"SELECT * FROM {parquet_rows(files)} LIMIT {SAMPLE}")
        check_columns(sample, problem)
        log = None
        with suppress(LogError):  # contradictions in single rows are reported by their shards
            log, _ = read_good_series(sample, problem, drop_bad_rows=True)
    if log is not None:
        log.decisions("fit")


def _learn_shards(version: Version, engine: Engine, progress: Progress | None) -> None:
    whole = {shard: entry for shard, entry in version.entries().items() if version.is_whole(entry)}

    def finish(result: FittedShard) -> tuple[int, Entry]:
        entry = result.entry
        if result.policy is not None:
            write_bytes(result.policy, version.policy_path(entry.shard))
        version.ledger.add(entry.shard, entry.model_dump(mode="json"))
        return entry.shard, entry

    entries = run_on_shards(version, fit_shard, whole, finish, version.shards, engine, progress)
    if not version.is_finished:
        _finish(version, entries)


def _finish(version: Version, entries: dict[int, Entry]) -> None:
    """Write the files of the whole version; the last one marks it as finished."""
    if not any(entry.learned for entry in entries.values()):
        reason = next(failure.reason for entry in entries.values() for failure in entry.failures)
        raise LostSalesError(f"no product could be fitted; the first one: {reason}")
    write_failures(version, entries)
    checksums = {f"{shard:05}": entries[shard].sha256 for shard in version.shards}
    learned = sum(entry.learned for entry in entries.values())
    failed = sum(len(entry.failures) for entry in entries.values())
    write_json({"learned": learned, "failed": failed, "policies": checksums}, version.folder / "finished.json")
