"""Finished version of a store, for recommendations."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from lostsales.apps.fleet.store import Entry, Store, Version, checked_bytes, policy_shard
from lostsales.data.labels import texts_of
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.table import SomeRows, Table, open_table
from lostsales.errors import LostSalesError
from lostsales.policy.coming_periods import rows_that_are_open
from lostsales.policy.file_format import load
from lostsales.policy.limits import AppliedLimit, DayOrders, settle_parts
from lostsales.policy.open_day import OpenDay
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import Recommendation, as_frame, open_day, recommended
from lostsales.types import Array, Ints

MOST_LOADED = 8  # policies in memory, about 60 MB each with the planner


@dataclass(eq=False)
class Fleet:
    """Policies of a fleet, loaded when needed and checked against the ledger.

    An opened version stays the same, whatever is fitted or activated meanwhile.

    Examples
    --------
    >>> import tempfile, lostsales
    >>> from lostsales.apps.fleet.fit import fit_fleet
    >>> folder = Path(tempfile.mkdtemp())
    >>> log, _ = lostsales.simulate("newsvendor", episodes=6, seed=1)
    >>> lostsales.write_log(log, folder / "log.parquet")
    >>> version = fit_fleet(folder / "log.parquet", folder / "store", "newsvendor")
    >>> fleet = Fleet.open(folder / "store")
    >>> fleet.name, len(fleet.products["series"])
    ('00001', 6)

    """

    version: Version
    most_loaded: int = MOST_LOADED
    _loaded: "OrderedDict[int, SavedPolicy]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, store: str | Path, version: str | None = None, most_loaded: int = MOST_LOADED) -> "Fleet":
        """Open the current version of a store, or another by its name."""
        found = Store.at(store).version(version)
        if not found.is_finished:
            raise LostSalesError(f"version {found.name} of {store} is not finished; the same `fleet fit` resumes it")
        return cls(found, most_loaded)

    def __reduce__(self) -> tuple[type["Fleet"], tuple[Version, int]]:
        return type(self), (self.version, self.most_loaded)  # another process loads policies by itself

    @property
    def name(self) -> str:
        """Name of the version."""
        return self.version.name

    @property
    def problem(self) -> Problem:
        """Problem of all products."""
        return self.version.problem

    @property
    def products(self) -> dict[str, Array]:
        """Table of products: `series`, the attributes of `--by` as `by_...`, `shard` and `rows`."""
        return self.version.products

    @cached_property
    def entries(self) -> dict[int, Entry]:
        """Entries of the ledger by shard."""
        return self.version.entries()

    @cached_property
    def _shard_of_product(self) -> dict[str, int]:
        return dict(zip(self.products["series"].tolist(), self.products["shard"].tolist(), strict=True))

    @cached_property
    def _shard_of_group(self) -> dict[tuple[str, ...], int]:
        """First shard of each combination of the attributes of `--by`."""
        by = [self.products[f"by_{name}"].tolist() for name in self.version.manifest.by]
        found: dict[tuple[str, ...], int] = {}
        for *group, shard in zip(*by, self.products["shard"].tolist(), strict=True):
            found.setdefault(tuple(group), shard)
        return found

    @cached_property
    def policy_shard(self) -> dict[int, int]:
        """Shard whose policy decides for each shard: itself, else the nearest one that has a policy."""
        found = {shard: policy_shard(self.entries, shard) for shard in self.version.shards}
        return {shard: own for shard, own in found.items() if own is not None}

    def shards_of(self, table: Table) -> Ints:
        """Shard whose policy decides for each row of a table, (rows,).

        An unknown product belongs to the shard of its attributes, else to the first.
        """
        parts = self.problem.columns.series_parts
        if missing := [column for column in parts if column not in table.columns]:
            raise LostSalesError(
                f"{table.name} must have the column {', '.join(map(repr, missing))}; it has {listed(table.columns)}"
            )
        findings = Findings(table.name, table.place)
        codes, texts = ColumnReader(table, findings, self.problem.format).series(parts)
        findings.raise_if_any()
        shard_of = np.array([self._shard_of_product.get(text, -1) for text in texts], dtype=np.int64)[codes]
        unknown = np.flatnonzero(shard_of < 0)
        if len(unknown):
            shard_of[unknown] = self._shards_by_attributes(SomeRows(table, unknown))
        own = np.array([self.policy_shard[shard] for shard in self.version.shards])
        return np.asarray(own[shard_of])

    def _shards_by_attributes(self, table: Table) -> list[int]:
        by = self.version.manifest.by
        if not by or any(name not in table.columns for name in by):
            return [0] * table.rows
        groups = zip(*(texts_of(table.labels(name)).tolist() for name in by), strict=True)
        return [self._shard_of_group.get(group, 0) for group in groups]

    def policy(self, shard: int) -> SavedPolicy:
        """Policy of a shard, from memory if it was used recently."""
        with self._lock:
            if shard in self._loaded:
                self._loaded.move_to_end(shard)
                return self._loaded[shard]
        entry = self.entries[shard]
        path = self.version.policy_path(shard)
        if entry.sha256 is None:
            raise LostSalesError(f"shard {shard} has no policy: none of its products could be fitted")
        checked_bytes(path, entry.sha256)
        policy = load(path)
        with self._lock:
            self._loaded[shard] = policy
            while len(self._loaded) > self.most_loaded:
                self._loaded.popitem(last=False)
        return policy

    def recommend(self, recent: Any, today: Any) -> Any:
        """Price and order for today's open rows of any products, as `recommend` of a policy."""
        return as_frame(self.recommendation(recent, today), today)

    def recommendation(self, recent: Any, today: Any) -> Recommendation:
        """Recommendation for rows in memory or in files, each by the policy of its shard."""
        open_rows = open_table(today)
        closed_rows = None if recent is None else open_table(recent)
        shard_of = self.shards_of(open_rows)
        shard_of_recent = None if closed_rows is None else self.shards_of(closed_rows)
        days: list[tuple[Ints, SavedPolicy, OpenDay]] = []
        for shard in np.unique(shard_of).tolist():
            rows = np.flatnonzero(shard_of == shard)
            past = None
            if closed_rows is not None and shard_of_recent is not None:
                past = SomeRows(closed_rows, np.flatnonzero(shard_of_recent == shard))
            own = SomeRows(open_rows, rows)
            decided = rows[rows_that_are_open(self.problem, own)]
            policy = self.policy(shard)
            days.append((decided, policy, open_day(policy, past, own)))
        applied: tuple[AppliedLimit, ...] = ()
        if self.problem.limits and days:
            parts = [DayOrders.of(policy, day.view) for _, policy, day in days]
            orders, applied = settle_parts(self.problem.limits, parts)
            settled = zip(days, orders, strict=True)
            days = [
                (rows, policy, replace(day, view=replace(day.view, settled=own)))
                for (rows, policy, day), own in settled
            ]
        found = [(rows, recommended(policy, day)) for rows, policy, day in days]
        return replace(in_order(self.problem, found), limits=applied)


def in_order(problem: Problem, parts: Iterable[tuple[Ints, Recommendation]]) -> Recommendation:
    """Merge the recommendations of parts of today's rows, in the order of the rows."""
    every = list(parts)
    if not every:
        raise LostSalesError("today must have at least one row, but it has none")
    order = np.argsort(np.concatenate([rows for rows, _ in every]))

    def together(columns: list[dict[str, Array]]) -> dict[str, Array]:
        return {name: np.concatenate([each[name] for each in columns])[order] for name in columns[0]}

    keys, columns = ([getattr(part, which) for _, part in every] for which in ("keys", "columns"))
    return Recommendation(problem, together(keys), together(columns))
