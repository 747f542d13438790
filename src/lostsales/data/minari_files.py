"""Logs as datasets of Minari, for libraries of offline reinforcement learning.

An episode is a series. The observation of a step is what a retailer sees before deciding: features, stock, orders on
the way, and the sales and the stock-out of the period before. The action is price and order. The reward is cash: the
lost sales of a stock-out are hidden, so that their cost is not in it. The last row of a series has an observation and
no step, as nothing follows it. The infos have every column of the log, from which `read_log` gives it back.
"""

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lostsales.data.log import DecisionLog
from lostsales.data.output_files import check_utf8
from lostsales.data.reading.minari import KINDS, is_minari, minari
from lostsales.data.writing import WRITTEN
from lostsales.errors import LostSalesError
from lostsales.types import Array, Floats

ROOT = "MINARI_DATASETS_PATH"  # where Minari looks for datasets


def check_dataset(path: Path) -> None:
    """Raise where no dataset can be written to a path, before any work."""
    minari()
    check_utf8(path)
    if not path.parent.is_dir():
        raise LostSalesError(f"there is no folder {path.parent} to write {path.name} into")
    if path.exists() and not is_minari(path):
        raise LostSalesError(f"{path} is there and is no dataset of Minari; choose another name")


def write_minari(log: DecisionLog, path: Path) -> None:
    """Write a log as a dataset with its problem beside; a dataset at the path is replaced."""
    check_dataset(path)
    from gymnasium.spaces import Box
    from minari.data_collector import EpisodeBuffer

    ends = np.r_[log.starts[1:], len(log)]
    if len(short := np.flatnonzero(ends - log.starts < 2)):
        raise LostSalesError(f"an episode needs two periods, but series {log.names[short[0]]} has one")
    names, seen = _observations(log)
    action, reward = np.column_stack([log.price, log.order]), log.cash
    columns = {name: _without_mask(values) for name, values in log.table_columns.items()}
    kinds = {name: _kind(values) for name, values in columns.items()}
    infos = {name: _coded(values, kinds[name]) for name, values in columns.items()}
    episodes = [
        EpisodeBuffer(
            id=at,
            observations=seen[first:end],
            actions=action[first : end - 1],
            rewards=reward[first : end - 1].tolist(),
            terminations=[False] * (end - first - 1),
            truncations=[False] * (end - first - 2) + [True],
            infos={name: values[first:end] for name, values in infos.items()},
        )
        for at, (first, end) in enumerate(zip(log.starts.tolist(), ends.tolist(), strict=True))
    ]
    if path.exists():
        shutil.rmtree(path)
    about = f"Observations: {', '.join(names)}. Actions: price, order. Rewards: cash, without the cost of lost sales."
    with _datasets_in(path.parent), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of authors and links that it would like to have
        dataset = minari().create_dataset_from_buffers(
            dataset_id=path.name,
            buffer=episodes,
            observation_space=Box(-np.inf, np.inf, seen.shape[1:], np.float64),
            action_space=Box(0.0, np.inf, (2,), np.float64),
            description=about,
        )
    dataset.storage.update_metadata({KINDS: json.dumps(kinds)})
    problem = log.problem.model_copy(update={"order_placed": "open", "stock_includes_arrivals": None})
    (path / "problem.toml").write_text(WRITTEN + problem.to_toml(), encoding="utf-8")


def _observations(log: DecisionLog) -> tuple[list[str], Floats]:
    """Names and values of what is seen before deciding, (rows, values); NaN where it is unknown."""
    first = np.zeros(len(log), dtype=bool)
    first[log.starts] = True
    last_sales = np.where(first, log.last_sales[log.series], np.roll(log.sales, 1))
    last_stockout = np.where(first, log.last_stockout[log.series], np.roll(log.censored, 1))
    pipeline = np.zeros((len(log), 0)) if log.pipeline is None else log.pipeline
    on_way = [f"on_order_{at + 1}" for at in range(pipeline.shape[1])]
    names = [*(each.name for each in log.problem.features), "stock", *on_way, "last_sales", "last_stockout"]
    return names, np.column_stack([log.features, log.stock, pipeline, last_sales, last_stockout]).astype(np.float64)


def _without_mask(values: Array) -> Array:
    """Numbers, NaN where they are missing."""
    return np.ma.filled(values.astype(np.float64), np.nan) if np.ma.isMaskedArray(values) else values


def _kind(values: Array) -> str | list[str]:
    """Type of a stored column: a kind of numpy, or texts."""
    return sorted(set(values.tolist())) if values.dtype == object else values.dtype.str


def _coded(values: Array, kind: str | list[str]) -> Array:
    if isinstance(kind, list):
        return np.searchsorted(np.array(kind), values.astype(str))
    return values.astype(np.int64) if values.dtype.kind == "M" else values


@contextmanager
def _datasets_in(folder: Path) -> Iterator[None]:
    """Minari writes into the folder that an environment variable names."""
    before = os.environ.get(ROOT)
    os.environ[ROOT] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[ROOT]
        else:
            os.environ[ROOT] = before
