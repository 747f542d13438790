"""Tables in memory: pandas, polars and Arrow behind narwhals."""

from dataclasses import dataclass

import narwhals as nw
import numpy as np

from lostsales.data.labels import coded
from lostsales.types import Array, Ints


@dataclass(frozen=True)
class FrameTable:
    """A table in memory; columns are copied, so that a log cannot change with its frame."""

    frame: nw.DataFrame[nw.typing.IntoDataFrame]
    columns: tuple[str, ...]
    name: str = "the table"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.frame)

    def values(self, column: str) -> Array:
        """The column as float64, bool, datetime64[us] or else objects."""
        series = self.frame[column]
        dtype = series.dtype
        if dtype.is_numeric():
            return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if dtype == nw.Date or dtype == nw.Datetime:
            return np.array(series.to_numpy(), dtype="datetime64[us]")
        if dtype == nw.Boolean:
            missing = series.is_null().to_numpy()
            truths = np.array(series.fill_null(value=False).to_numpy(), dtype=bool)
            return np.where(missing, np.nan, truths) if missing.any() else truths
        return _objects(series)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Text is coded by the frame's own library, everything else by numpy."""
        series = self.frame[column]
        if series.dtype == nw.String or series.dtype == nw.Categorical or series.dtype == nw.Enum:
            text = series.cast(nw.String)
            found = text.drop_nulls().unique(maintain_order=True).to_list()
            if not found:
                return np.full(len(text), -1), np.zeros(0, dtype=object)
            codes = text.replace_strict(found, range(len(found)), default=-1, return_dtype=nw.Int64)
            return np.array(codes.to_numpy(), dtype=np.int64), np.array(found, dtype=object)
        if series.dtype.is_integer():
            return coded(_objects(series) if series.is_null().any() else np.asarray(series.to_numpy()))
        return coded(self.values(column))


def _objects(series: nw.Series[nw.typing.IntoSeries]) -> Array:
    # As lists, since arrays within an array could not be compared.
    values = (each.tolist() if isinstance(each, np.ndarray) else each for each in series.to_list())
    objects: Array = np.fromiter(values, dtype=object, count=len(series))
    objects[series.is_null().to_numpy()] = None
    return objects
