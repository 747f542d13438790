"""Logs in datasets of Minari, as `data.minari_files` writes them: the infos of episodes are the columns."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.types import Array

KINDS = "lostsales"  # key of the metadata: what columns of numbers stand for, by name


def is_minari(path: Path) -> bool:
    """True for the folder of a dataset of Minari."""
    try:
        return (path / "data" / "metadata.json").is_file()
    except OSError:  # such as a name that is too long; what reads the path says so
        return False


def minari() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import minari
    except ImportError:
        raise LostSalesError("datasets of Minari need the package minari: pip install 'lostsales[minari]'") from None
    return minari


def minari_table(path: Path) -> Any:
    """The rows of a log in a dataset, as an Arrow table."""
    import pyarrow as pa

    try:
        dataset = minari().MinariDataset(path / "data")
        kinds = json.loads(dataset.storage.metadata[KINDS])
        episodes = [each.infos for each in dataset.iterate_episodes()]
        columns = {name: np.concatenate([each[name] for each in episodes]) for name in kinds}
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise LostSalesError(f"{path} is no log that lostsales wrote as a dataset of Minari: {error!r}") from None
    texts = {name: _decoded(values, kinds[name]) for name, values in columns.items()}
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in texts.items()})


def _decoded(values: Array, kind: str | list[str]) -> Array:
    """Numbers as they were: of a kind of numpy, or places in a list of texts."""
    return np.array(kind, dtype=object)[values.astype(np.int64)] if isinstance(kind, list) else values.astype(kind)
