"""Tables written as no tidy program writes them: odd types, odd CSV, extreme numbers, odd names, damaged bytes."""

import gzip
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.fuzzed_tables import FuzzedTable, damaged

PRICE = 2.0
QUOTING: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)
EXTREMES = (0.0, 5e-324, 1e-300, 1e-9, 0.1 + 0.2, 1e9, 1e15, 2.0**53 + 2, 1e100, 1e300, 1.7976931348623157e308)
# Whole words of them, since the names of series reach messages, terminals, JSON and files.
NAMES = (
    "a", "A", " a", "a ", "nan", "NULL", "None", "true", "1", "1.0", "01", "1e0", "-", "\u202eevil",
    "[/b][bold]x[/]", "\x1b[31mred",
    "a\x07b", "\x9b2J", "<script>alert(1)</script>", "=1+1", "'; DROP TABLE log; --", '"', "a,b", "a;b",
    "a\tb", "a / b", "é", "e\u0301",
    "😀", "\u0000x", "x" * 3_000, "%s%n", "{0}", "\\", "../../etc/passwd", "\ufeffa", "\u200b", "日本",
)  # fmt: skip

TYPES: dict[str, tuple[Callable[[int], Any], bool]] = {  # a price column of 2, and whether it is one
    "int8": (lambda n: pa.array([2] * n, pa.int8()), True),
    "uint64": (lambda n: pa.array([2] * n, pa.uint64()), True),
    "float16": (lambda n: pa.array(np.full(n, 2, np.float16)), True),
    "float32": (lambda n: pa.array([2] * n, pa.float32()), True),
    "decimal": (lambda n: pa.array([Decimal("2.00")] * n, pa.decimal128(10, 2)), True),
    "decimal256": (lambda n: pa.array([Decimal("2.00")] * n, pa.decimal256(60, 2)), True),
    "text": (lambda n: pa.array(["2"] * n, pa.large_string()), True),
    "dictionary": (lambda n: pa.array(["2.0"] * n).dictionary_encode(), True),
    "bool": (lambda n: pa.array([True] * n), False),
    "null": (lambda n: pa.nulls(n), False),
    "struct": (lambda n: pa.array([{"x": 2}] * n), False),
    "list": (lambda n: pa.array([[2]] * n), False),
    "map": (lambda n: pa.array([[("x", 2)]] * n, pa.map_(pa.string(), pa.int64())), False),
    "binary": (lambda n: pa.array([b"\x02\xff"] * n), False),
    "duration": (lambda n: pa.array([2] * n, pa.duration("s")), False),
    "date": (lambda n: pa.array([2] * n, pa.date32()), False),
    "time": (lambda n: pa.array([2] * n, pa.time64("us")), False),
    "timestamp": (lambda n: pa.array([2] * n, pa.timestamp("ns", "UTC")), False),
    "nested nulls": (lambda n: pa.array([[None]] * n, pa.list_(pa.null())), False),
}


KEYS = (
    'arrival = "before"',
    "balance = 5",
    "capacity = 5",
    "capacity = true",
    "capacity = nan",
    "discount = -1",
    "prices = [1, 2]",
    "prices = {}",
    "prices = {from = 1, to = 2, step = 0}",
    "prices = {from = 0, to = 1e300, step = 1e-300}",
    "orders = [[]]",
    "orders = {multiple = true, most = 3}",
    "features = [{}]",
    "features = ['price']",
    "features = 1979-05-27",
    "attributes = ['a', 1]",
    "price = true",
    "price = 2",
    "price = 1979-05-27T07:32:00Z",
    "longest_run = 1e30",
    "longest_run = true",
    "open_time = 0",
    "[costs]\nlost = true",
    "[costs]\nlost = 1e300",
    "[costs]\nlost = []",
    "[columns]\nseries = []",
    "[columns]\nprice = 2",
    "[columns]\nprice = {}",
    "[columns]\nseries = ['a', 'a']",
    "[columns]\nseries = ''",
    "[format]\ndecimal = ','",
    "[format]\nthousands = '\\\\'",
    "[format]\nthousands = ']'",
    "[format]\nthousands = '^'",
    "[format]\ncurrency = '(('",
    "[format]\ncurrency = ''''",
    "[format]\ndates = []",
    "[format]\ndates = '%Y%'",
    "[format]\ndates = ''",
    '[format]\ndates = "%Y\'"',
    "[rules]\nmultiple = true",
    "[rules]\nprice_endings = [2]",
    "x = 1",
    "[",
    "\x00",
    "a.b.c.d = 1",
    "price.x = 1",
    "a" + ".a" * 60_000 + " = 1",
    "price = {a" + ".a" * 60_000 + " = 1}",
    "# " + "." * 3_000,
    "price = " + "[" * 3_000,
    "price = " + "9" * 5_000,
    "capacity = 1e999",
    "prices = [1e15, 1e300]",
    "orders = {multiple = 5e-324, most = 1}",
    "features = [{name = 'price', kind = 'categorical', levels = []}]",
    "features = [{name = 'stock', levels = [nan]}]",
    "attributes = ['series', 'series']",
    "attributes = ['']",
    "open_time = 'sales'",
    "[columns]\nout_of_stock = 'sales'",
    "[columns]\nseries = ['series', 'period']",
    "[columns]\nperiod = 'price'",
    "[format]\nthousands = '.'",
    "[format]\ndates = ['%Y', '%d']",
    "[format]\ndates = '" + "%Y" * 999 + "'",
    "[rules]\nprice_endings = [0.99, nan]",
    "[rules]\nmost_change = -1",
    "[[costs]]",
)


def plain(rows: int) -> dict[str, list[Any]]:
    """A table that can be read."""
    return {
        "series": [f"s{row % 3}" for row in range(rows)],
        "period": list(range(rows)),
        "stock": [50.0] * rows,
        "price": [PRICE] * rows,
        "order": [0.0] * rows,
        "sales": [1.0] * rows,
    }


def odd_type(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """One column in a type that few tables have; a price among them that is one must be read."""
    rows = int(rng.integers(1, 6))
    kind = list(TYPES)[int(rng.integers(len(TYPES)))]
    make, is_price = TYPES[kind]
    column = str(rng.choice(["price", "series", "period", "sales", "stock", "unused"]))
    table = pa.table({name: pa.array(values) for name, values in plain(rows).items()} | {column: make(rows)})
    container = str(rng.choice(["arrow", "pandas", "polars", "parquet"]))
    source: Any = table
    try:
        if container == "pandas":
            source = table.to_pandas(types_mapper=pd.ArrowDtype if rng.random() < 0.5 else None)
        elif container == "polars" and kind != "decimal256":  # at which polars itself panics
            source = pl.from_arrow(table)
        elif container == "parquet":
            source = folder / "log.parquet"
            pq.write_table(table, source)
    except (pa.ArrowException, pl.exceptions.PolarsError, ValueError, TypeError):
        source, container = table, "arrow"  # the library that writes has no such type
    what = f"{kind} as {column} in {container}"
    prices = np.full(rows, PRICE)
    if kind == "duration" and container == "parquet":  # which has no such type: these are whole numbers
        is_price = True
    if column == "price" and not is_price:
        return FuzzedTable(what, source, None)
    return FuzzedTable(what, source, prices, may_be_refused=column not in ("price", "unused"))


def odd_csv(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """Line ends, quotes, encodings and blank lines of all kinds; rows are never lost in silence."""
    rows = int(rng.integers(1, 9))
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    text = pd.DataFrame(plain(rows)).to_csv(index=False, lineterminator=end, quoting=QUOTING[int(rng.integers(3))])
    lines = text.split(end)[:-1]
    row = int(rng.integers(1, rows + 1))
    changes: dict[str, tuple[str, bool | None]] = {  # the text, and whether it is a table of these rows
        "no end": (end.join(lines), True),
        "BOM": ("\ufeff" + text, True),
        "blank lines": (end.join([*lines, "", ""]) + end, True),
        "repeated header": (end.join([*lines[: row + 1], lines[0], *lines[row + 1 :]]) + end, False),
        "ragged row": (end.join([*lines[:row], lines[row] + ",1,2", *lines[row + 1 :]]) + end, False),
        "short row": (end.join([*lines[:row], "s0,99", *lines[row + 1 :]]) + end, False),
        "open quote": (end.join([*lines[:row], f'"{lines[row].lstrip(chr(34))}', *lines[row + 1 :]]) + end, None),
        "NUL": (text.replace("2.0", "2\x00", 1), False),
        "quoted end of line": (text.replace("s0", f'"s{end}0"', 1), None),
        "spaces": (text.replace(",", " , "), None),
        "header alone": (lines[0] + end, False),
        "nothing": ("", False),
        "only ends": (end * 5, False),
    }
    kind = list(changes)[int(rng.integers(len(changes)))]
    changed, is_table = changes[kind]
    content = changed.encode()
    if kind == "no end" and rng.random() < 0.3:
        kind, is_table, content = "UTF-16", False, changed.encode("utf-16")
    path = folder / str(rng.choice(["log.csv", "log.CSV", "log.txt", "a[1]*?.csv", "log.csv.gz", "log.CSV.GZ"]))
    if path.name.lower().endswith(".gz"):
        cut = len(content) // 2  # several members, as `cat a.gz b.gz` makes them
        content = (
            gzip.compress(content[:cut]) + gzip.compress(content[cut:])
            if rng.random() < 0.5
            else gzip.compress(content)
        )
    path.write_bytes(content)
    prices = None if is_table is False else np.full(rows, PRICE)
    return FuzzedTable(f"{kind} in {path.name}, {end!r}", path, prices, may_be_refused=is_table is None)


def extreme_numbers(rng: np.random.Generator, folder: Path) -> FuzzedTable:  # noqa: ARG001, one signature
    """Numbers that are finite and not negative, some of them absurd."""
    rows = int(rng.integers(2, 30))
    table = plain(rows) | {"series": ["s"] * rows}
    chosen = rng.choice(["stock", "price", "order", "sales", "lost_cost", "order_cost", "holding_cost"], 3)
    for column in chosen:
        table[column] = [float(rng.choice(EXTREMES))] * rows
        if rng.random() < 0.5:
            table[column][int(rng.integers(rows))] = float(rng.choice(EXTREMES))
    frame = pd.DataFrame(table)
    return FuzzedTable(f"extreme {', '.join(map(str, chosen))}", frame, frame["price"].to_numpy(), may_be_refused=True)


def odd_names(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """Names of series and columns that are anything."""
    rows = int(rng.integers(2, 20))
    table = plain(rows)
    names = [NAMES[int(rng.integers(len(NAMES)))] for _ in range(3)]
    table["series"] = [names[row % 3] for row in range(rows)]
    if rng.random() < 0.5:
        table[NAMES[int(rng.integers(len(NAMES)))]] = list(range(rows))
    frame = pd.DataFrame(table)
    source: Any = frame
    if rng.random() < 0.6:
        ending = str(rng.choice(["csv", "parquet"]))
        source = folder / f"log.{ending}"
        frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    return FuzzedTable(f"names {names!r}", source, np.full(rows, PRICE), may_be_refused=True)


def odd_frame(rng: np.random.Generator, folder: Path) -> FuzzedTable:  # noqa: ARG001, one signature
    """A frame whose columns or index are named by anything."""
    frame = pd.DataFrame(plain(4))
    odd: tuple[Callable[[], Any], ...] = (
        lambda: frame.rename(columns={"price": 1}),
        lambda: frame.assign(x=1).rename(columns={"x": None}),
        lambda: pd.concat([frame, frame], axis=1),
        lambda: frame.set_index(["series", "period"]),
        lambda: pd.DataFrame({(name, "x"): values for name, values in plain(4).items()}),
        lambda: frame.rename(columns={"stock": ("stock", 2.5)}),
        lambda: frame.iloc[:0],
        lambda: frame[[]],
        lambda: frame.T,
        lambda: pl.DataFrame(plain(4)).lazy().filter(pl.col("absent") > 1),
        lambda: pl.DataFrame(plain(4)).lazy().map_batches(lambda _: 1 / 0),  # type: ignore[arg-type, return-value]
        lambda: frame["price"],
        lambda: frame.to_numpy(),
        lambda: frame.to_dict(),
        lambda: (row for row in frame),
        list,
        lambda: ["."],
        lambda: b"log.csv",
    )
    at = int(rng.integers(len(odd)))
    return FuzzedTable(
        f"odd frame {at}", odd[at](), frame["price"].to_numpy() if at == 1 else None, may_be_refused=True
    )


def odd_problem(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """A table beside a problem of keys at random, some of them not TOML."""
    table = pd.DataFrame(plain(6))
    keys = [KEYS[int(each)] for each in rng.integers(len(KEYS), size=rng.integers(1, 4))]
    text = "\n".join(sorted(keys, key=lambda key: key.startswith("[")))
    content = text.encode()
    if rng.random() < 0.3:
        content = damaged(content, rng)
    (folder / "problem.toml").write_bytes(content)
    what = f"problem {content!r}"
    return FuzzedTable(what, table, None, may_be_refused=True, may_be_read=True, problem=folder / "problem.toml")


def damaged_file(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """Bytes of a file changed: what is still a table says what it now says."""
    path = folder / str(rng.choice(["log.csv", "log.csv.gz", "log.parquet"]))
    frame = pd.DataFrame(plain(int(rng.integers(1, 9))))
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    path.write_bytes(damaged(path.read_bytes(), rng))
    return FuzzedTable(f"damaged {path.name}", path, None, may_be_refused=True, may_be_read=True)
