"""Tables from anywhere (CSV, Parquet, pandas, polars, Arrow), one column at a time, as numpy arrays."""

from pathlib import Path
from typing import Any, Protocol

from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints


class Table(Protocol):
    """The protocol of a source that the gate can read."""

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...

    def values(self, column: str) -> Array:
        """A column as float64, bool, datetime64[us] (in UTC) or else objects; what is missing is NaN, NaT or None."""
        ...

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        ...


def open_table(source: Any) -> Table:
    """`source` is a path of a CSV or Parquet file, or a pandas, polars or Arrow table."""
    if isinstance(source, str | Path):
        from lostsales.data.reading.files import open_file

        return open_file(Path(source))
    import narwhals as nw

    from lostsales.data.reading.frames import FrameTable

    try:
        frame = nw.from_native(source, eager_only=True)
        return FrameTable(frame, tuple(frame.columns))
    except TypeError:
        wanted = "a path (CSV, Parquet) or a pandas, polars or Arrow table"
        raise LostSalesError(f"a log is read from {wanted}, but a {type(source).__name__} came") from None
    except nw.exceptions.DuplicateError as error:
        raise LostSalesError(f"the columns of a table must have different names: {error}") from None
