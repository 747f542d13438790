"""The instances of InventoryBench: from its own folder, or from one table with a row an instance."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.errors import LogError, LostSalesError
from lostsales.lab.benchmarks.board import csv_rows, parquet_columns
from lostsales.types import Array, Floats, Ints

KINDS, LEADS = ("real", "synthetic"), ("0", "4", "stochastic")
COLUMNS = ("kind", "lead", "profit", "holding", "train", "demand", "lead_times")
PROMISED = 2  # periods of a random lead time, as the publisher announces it
NEVER = -1  # instead of the lead time of an order that never arrives
LONGEST = 100  # periods of a lead time
WHERE = (
    "get the folder benchmark/ of https://github.com/TianyiPeng/InventoryBench (MIT licence; its files are kept by git "
    "LFS: git lfs pull) and give its path, or a Parquet file with a row an instance and the columns "
    + ", ".join(COLUMNS)
)


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one kind and lead time, of equal length."""

    kind: str
    lead: str
    profit: Floats  # (instances,) of a unit sold
    holding: Floats  # (instances,) of a unit left
    train: Floats  # (instances, periods) demands before the start
    demand: Floats  # (instances, periods)
    lead_times: Ints  # (instances, periods) until the order of a period arrives

    def __len__(self) -> int:
        return len(self.profit)

    @property
    def history(self) -> dict[str, Array]:
        """The demands before the start, as columns."""
        n, periods = self.train.shape
        series, period = np.repeat(np.arange(n), periods), np.tile(np.arange(-periods, 0), n)
        return {"series": series, "period": period, "sales": self.train.ravel()}

    def columns(self, t: int) -> dict[str, Array]:
        """Columns of every instance that are known in a period, without its state."""
        n = len(self)
        promised = PROMISED if self.lead == "stochastic" else int(self.lead)
        keys = {"series": np.arange(n), "period": np.full(n, t), "lead_time": np.full(n, promised)}
        return keys | {"price": self.profit, "holding_cost": self.holding}


@dataclass(frozen=True)
class _Instance:
    name: str
    kind: str
    lead: str
    profit: float
    holding: float
    train: list[float]
    demand: list[float]
    lead_times: list[int]


def read_instances(path: Path) -> list[Batch]:
    """All instances, by kind and lead time."""
    if not path.exists():
        raise LostSalesError(f"{path} is not there; {WHERE}")
    instances = _from_folder(path) if path.is_dir() else _from_table(path)
    for each in instances:
        _check(each)
    batches = []
    for kind in KINDS:
        for lead in LEADS:
            chosen = [each for each in instances if (each.kind, each.lead) == (kind, lead)]
            if chosen:
                batches.append(_batch(kind, lead, chosen))
    return batches


def _batch(kind: str, lead: str, instances: list[_Instance]) -> Batch:
    for field in ("train", "demand"):
        lengths = {len(getattr(each, field)) for each in instances}
        if len(lengths) > 1:
            raise LostSalesError(f"{field} of {kind} instances must have one length, but has {sorted(lengths)}")
    return Batch(
        kind,
        lead,
        np.array([each.profit for each in instances]),
        np.array([each.holding for each in instances]),
        np.array([each.train for each in instances]),
        np.array([each.demand for each in instances]),
        np.array([each.lead_times for each in instances], dtype=np.int64),
    )


def _check(found: _Instance) -> None:
    problems = []
    if found.kind not in KINDS or found.lead not in LEADS:
        problems.append(f"kind must be one of {KINDS} and lead of {LEADS}, but they are {found.kind!r}, {found.lead!r}")
    if not (np.isfinite(found.profit) and found.profit > 0 and np.isfinite(found.holding) and found.holding >= 0):
        problems.append(f"profit must be above 0 and holding at least 0, but are {found.profit}, {found.holding}")
    for name, values in (("train", found.train), ("demand", found.demand)):
        if not values or not np.isfinite(values).all() or min(values) < 0:
            problems.append(f"{name} must be numbers of at least 0")
    if len(found.lead_times) != len(found.demand):
        problems.append(f"there are {len(found.lead_times)} lead times for {len(found.demand)} demands")
    if any(each != NEVER and not 0 <= each <= LONGEST for each in found.lead_times):
        problems.append(f"lead times must lie from 0 to {LONGEST}, or be infinite")
    if problems:
        raise LogError(found.name, tuple(problems))


def _from_table(path: Path) -> list[_Instance]:
    columns = parquet_columns(path, COLUMNS, WHERE, optional=("instance",))
    rows = zip(*(np.ma.getdata(each) for each in columns.values()), strict=True)
    return [_instance(path, at, dict(zip(columns, row, strict=True))) for at, row in enumerate(rows)]


def _instance(path: Path, at: int, row: dict[str, Any]) -> _Instance:
    name = f"row {at} of {path.name} ({row.get('instance', 'no name')})"
    try:
        return _Instance(
            name,
            str(row["kind"]),
            str(row["lead"]),
            float(row["profit"]),
            float(row["holding"]),
            [float(each) for each in row["train"]],
            [float(each) for each in row["demand"]],
            [int(each) for each in row["lead_times"]],
        )
    except (TypeError, ValueError) as error:
        raise LogError(name, (f"it must hold numbers and lists of numbers: {error}",)) from None


def _from_folder(path: Path) -> list[_Instance]:
    home = path / "benchmark" if (path / "benchmark").is_dir() else path
    tests = sorted(home.glob("*_trajectory/lead_time_*/**/test.csv"))
    if not tests:
        raise LostSalesError(f"{path} holds no *_trajectory/lead_time_*/.../test.csv; {WHERE}")
    found = []
    for test in tests:
        kind, lead = (part for part in test.relative_to(home).parts[:2])
        after, before = csv_rows(test), csv_rows(test.with_name("train.csv"))
        item = _item(test, after)
        try:
            found.append(
                _Instance(
                    str(test.parent.relative_to(home)),
                    kind.removesuffix("_trajectory"),
                    lead.removeprefix("lead_time_"),
                    float(after[0][f"profit_{item}"]),
                    float(after[0][f"holding_cost_{item}"]),
                    [float(row[f"demand_{item}"]) for row in before],
                    [float(row[f"demand_{item}"]) for row in after],
                    [_lead_time(row[f"lead_time_{item}"]) for row in after],
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LogError(str(test.parent), (f"a column is missing or holds no number: {error}",)) from None
    return found


def _item(path: Path, rows: list[dict[str, str]]) -> str:
    for name in rows[0]:
        if name and name.startswith("demand_"):
            return name.removeprefix("demand_")
    raise LostSalesError(f"{path} has no column demand_...; it has {', '.join(map(str, rows[0]))}")


def _lead_time(text: str) -> int:
    value = float(text)
    return NEVER if np.isinf(value) else int(value)
