"""Tables in memory: pandas, polars and Arrow behind narwhals, and rows or columns of Python values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Number
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np

from lostsales.data.labels import coded, is_missing, spelled
from lostsales.data.reading.cells import Cells, Texts
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints

NO_MOMENT = np.datetime64("NaT", "us")
LABELS = (str, bytes, Number, np.generic, date, time, timedelta, UUID, Enum)


@dataclass(frozen=True)
class FrameTable:
    """A table in memory; columns are copied, so that a log cannot change with its frame."""

    frame: nw.DataFrame[nw.typing.IntoDataFrame]
    columns: tuple[str, ...]
    name: str = "the table"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return f"row {row}"

    def cells(self, column: str) -> Cells:
        """The column as it came."""
        series, rows = self.frame[column], self.rows
        dtype = series.dtype
        if dtype.is_numeric():
            return Cells(rows, numbers=np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
        # Narwhals does not know pandas' zones with a _, such as America/New_York.
        own = getattr(series.to_native(), "dtype", None)
        zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else getattr(own, "tz", None)
        if zone is not None:
            local = series.dt.replace_time_zone(None)
            is_day = (local.dt.truncate("1d") == local).all()  # midnight is that day, wherever it is
            series = local if is_day else series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            dtype = series.dtype
        if dtype == nw.Date or dtype == nw.Datetime:
            return Cells(rows, moments=np.array(series.to_numpy(), dtype="datetime64[us]"), days=dtype == nw.Date)
        if dtype == nw.Boolean:
            missing = series.is_null().to_numpy()
            truths = np.array(series.fill_null(value=False).to_numpy(), dtype=np.float64)
            return Cells(rows, truths=np.where(missing, np.nan, truths))
        objects = _objects(series)
        return Cells(rows, texts=Texts.of(objects)) if all_text(objects) else cells_of_objects(objects)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Text is coded by the frame's own library, everything else by numpy."""
        series = self.frame[column]
        if series.dtype == nw.String or series.dtype == nw.Categorical or series.dtype == nw.Enum:
            try:
                return written(column, *_coded_text(series))
            except UnicodeEncodeError:  # text that cannot be written, which is named below
                return written(column, *coded(_objects(series)))
        if series.dtype.is_integer():
            return coded(_objects(series) if series.is_null().any() else np.asarray(series.to_numpy()))
        if series.dtype == nw.Date or series.dtype == nw.Datetime:
            return coded(np.asarray(self.cells(column).moments))
        if series.dtype.is_numeric():
            return coded(np.asarray(self.cells(column).numbers))
        return written(column, *coded(checked_labels(column, _objects(series))))

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came."""
        return _objects(self.frame[column][rows.tolist()])


def collected(
    lazy: nw.LazyFrame[Any], reads: Collection[str] | None
) -> tuple[nw.DataFrame[nw.typing.IntoDataFrame], tuple[str, ...]]:
    """Lazy table that computes only the columns in `reads`, and the names of all.

    All columns at once, since the order of rows may differ from one computation to the next.
    """
    try:
        names = tuple(lazy.collect_schema().names())
        chosen = [name for name in names if reads is None or name in reads] or list(names[:1])
        return lazy.select(*chosen).collect(), names
    except Exception as error:  # noqa: BLE001, a lazy table fails with whatever its library or its user's code raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise LostSalesError(f"the lazy table cannot be computed: {reason}") from None


def _coded_text(series: nw.Series[nw.typing.IntoSeries]) -> tuple[Ints, Array]:
    text = series.cast(nw.String)
    found = text.drop_nulls().unique(maintain_order=True).to_list()
    if not found:
        return np.full(len(text), -1), np.zeros(0, dtype=object)
    codes = text.replace_strict(found, range(len(found)), default=-1, return_dtype=nw.Int64)
    return np.array(codes.to_numpy(), dtype=np.int64), np.array(found, dtype=object)


def _objects(series: nw.Series[nw.typing.IntoSeries]) -> Array:
    # As lists, since arrays within an array could not be compared.
    values = (each.tolist() if isinstance(each, np.ndarray) else each for each in series.to_list())
    objects: Array = np.fromiter(values, dtype=object, count=len(series))
    try:
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    except ArithmeticError:  # a signalling NaN, at which pandas stumbles
        missing = np.fromiter(map(is_missing, objects), dtype=bool, count=len(objects))
    objects[missing] = None
    return objects


def cells_of_objects(objects: Array) -> Cells:
    """Objects of any type, each among its kind."""
    rows = len(objects)
    numbers, truths = np.full(rows, np.nan), np.full(rows, np.nan)
    moments, texts = np.full(rows, NO_MOMENT), np.full(rows, None, dtype=object)
    others = np.zeros(rows, dtype=bool)
    for row, value in enumerate(objects):
        match _plain(value):
            case None:
                pass
            case bool(truth):
                truths[row] = truth
            case float(number):
                numbers[row] = number
            case np.datetime64() as moment:
                moments[row] = moment
            case str(text):
                texts[row] = text
            case _:
                others[row] = True
    has_text = any(text is not None for text in texts)
    return Cells(rows, numbers, truths, moments, Texts.of(texts) if has_text else None, others)


def _plain(value: Any) -> object:
    """None, a bool, a float, a datetime64, a str that can be written, or anything else unchanged."""
    if isinstance(value, str):
        return str.__str__(value) if _can_be_written(value) else ...
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if is_missing(value):
        return None
    try:
        if isinstance(value, int | float | np.number | Decimal) and not isinstance(value, complex | np.complexfloating):
            return float(value)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        if isinstance(value, date):
            return np.datetime64(value, "us")
        if isinstance(value, np.datetime64):
            return value.astype("datetime64[us]")
        start = getattr(value, "start_time", None)  # a period of pandas is its first moment
    except Exception:  # noqa: BLE001, an object of any class may raise anything
        return ...
    return _plain(start) if isinstance(start, datetime) else ...


def checked_labels(column: str, objects: Array) -> Array:
    """Objects that have a text of their own: that of others would be an address in memory, or a whole table."""
    for row, value in enumerate(objects):
        try:
            written = value is None or (_is_label(value) and isinstance(spelled(value), str))
        except Exception:  # noqa: BLE001, an object of any class may raise anything
            written = False
        if not written:
            wanted = f"{column} must be text, a number or a date"
            raise LostSalesError(f"{wanted}, but row {row} has a {type(value).__name__}")
    return objects


def _is_label(value: object) -> bool:
    return isinstance(value, LABELS) or type(value).__name__ in ("Period", "Interval", "NAType")


def all_text(objects: Array) -> bool:
    """True if all objects are missing or text that can be written."""
    return all(value is None or (type(value) is str and _can_be_written(value)) for value in objects)


def written(column: str, codes: Ints, texts: Array) -> tuple[Ints, Array]:
    """Labels that can be written, or an error that names one that cannot."""
    if bad := [text for text in texts if not _can_be_written(text)]:
        raise LostSalesError(f"{column} must be text that UTF-8 can write, but {bad[0]!a} came")
    return codes, texts


def _can_be_written(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode()) or not text
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns of objects or numbers, each (rows,)."""

    values: Mapping[str, Array]
    name: str = "the rows"

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]], name: str = "the rows") -> "ColumnTable":
        """Build a table from records; a column that a record lacks is missing there.

        >>> ColumnTable.of_rows([{"series": "a", "stock": 3}, {"series": "b"}]).shown("stock", np.array([0, 1]))
        array([3, None], dtype=object)
        """
        names = dict.fromkeys(column for row in rows for column in row)
        return cls({name: _as_objects([row.get(name) for row in rows]) for name in names}, name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values()), ()))

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return f"row {row}"

    def cells(self, column: str) -> Cells:
        """A column as it came."""
        values = self.values[column]
        if values.dtype.kind in "iuf":
            return Cells(len(values), numbers=values.astype(np.float64))
        if values.dtype.kind == "M":
            return Cells(len(values), moments=values.astype("datetime64[us]"))
        return Cells(len(values), texts=Texts.of(values)) if all_text(values) else cells_of_objects(values)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        values = self.values[column]
        if values.dtype.kind in "iufM":
            return coded(values)
        return written(column, *coded(checked_labels(column, values)))

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came."""
        return self.values[column][rows].astype(object)


def _as_objects(values: list[Any]) -> Array:
    """Objects one by one: a list among them is a value, and no further dimension."""
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        objects[at] = value
    return objects
