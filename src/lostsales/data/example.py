"""Example data sets that ship with the package; `tools/corner_shop.py` makes them."""

from pathlib import Path

from lostsales.data.log import SalesLog
from lostsales.data.output_files import replacing_together
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import check_log, check_table
from lostsales.errors import LostSalesError, SettingError

EXAMPLES = ("corner-shop",)
_FOLDER = Path(__file__).parent / "examples"


def load_example(name: str = "corner-shop") -> SalesLog:
    """Open an example data set.

    Parameters
    ----------
    name : {"corner-shop"}
        A simulated corner shop: twelve products in four categories from two suppliers, 26 weeks of days, prices in
        euros, promotions, deliveries and stock-outs.

    Returns
    -------
    SalesLog
        The log with its problem: timing, unit costs and case sizes.

    Examples
    --------
    >>> log = load_example("corner-shop")
    >>> len(log), len(log.products), f"{log.censored.mean():.0%}"
    (2184, 12, '13%')

    """
    return read_log(_example(name, ".csv"))


def write_example(name: str, out: Path, truth: Path | None = None) -> list[Path]:
    """Write the table of an example, its problem file beside it and, where wanted, the true demand; list the files."""
    tables = [(out, ".csv")] + ([] if truth is None else [(truth, "-truth.csv")])
    for path, _ in tables:
        if path.suffix.lower() != ".csv":
            raise LostSalesError(f"an example is written as CSV, but {path} does not end in .csv")
    if truth is not None and truth.resolve() == out.resolve():
        raise LostSalesError(f"--out and --truth need different files, but both are {out}")
    copies = {path: _example(name, ending) for path, ending in [*tables, (out.with_suffix(".toml"), ".toml")]}
    check_log(out)  # and the problem file beside it
    for path, _ in tables[1:]:
        check_table(path)
    with replacing_together(*copies) as parts:
        for part, source in zip(parts, copies.values(), strict=True):
            part.write_bytes(source.read_bytes())
    return list(copies)


def _example(name: str, ending: str) -> Path:
    if name not in EXAMPLES:
        raise SettingError(f"there is no example {name!r}; there is {', '.join(EXAMPLES)}")
    return _FOLDER / f"{name}{ending}"
