"""Small files that unpack to gigabytes are refused, with little memory and in little time."""

import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import duckdb
import pytest

from lostsales.data.memory import memory_limit
from tests.fuzz.made_policies import made_file
from tests.fuzz.policy_files import npy

HEADER = b"series,period,stock,price,order,sales\n"
READ = """
import resource, sys
import lostsales
from lostsales.data.reading import gate, opening
from lostsales.policy import file_format
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    lostsales.load(sys.argv[1]) if sys.argv[1].endswith("policy") else lostsales.read_log(sys.argv[1])
except lostsales.errors.LostSalesError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def read_apart(path: Path) -> tuple[str, int]:
    """What reading in a process of its own says, and the MB that it takes."""
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True, timeout=600)  # noqa: S603
    message, megabytes = done.stdout.strip().rsplit("\n", 1)
    return message, int(megabytes)


def write_packed(path: Path, part: bytes, times: int) -> None:
    """A compressed CSV of the same bytes many times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(HEADER))
        for _ in range(times):
            file.write(packer.compress(part))
        file.write(packer.flush())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "times", "expected"),
    [
        (b"a,1,5,2,0,1\n" * 87_381, 6_500, " rows needs about "),
        (b"x" * 1_900_000 + b",1,5,2,0,1\n", 3_500, "unpacks to more than 200 times its size"),
        (b"x" * 2_000_000, 1_500, "it has a line of over 2,097,152 bytes"),
        (b"\n" * 2_000_000, 1_500, " rows needs about "),
    ],
    ids=["rows", "long names", "one line", "blank lines"],
)
def test_a_compressed_table_of_gigabytes(tmp_path: Path, part: bytes, times: int, expected: str) -> None:
    write_packed(tmp_path / "log.csv.gz", part, times)
    message, megabytes = read_apart(tmp_path / "log.csv.gz")
    assert expected in message
    assert megabytes < 300


@pytest.mark.slow
@pytest.mark.skipif(memory_limit() > 20 * 2**30, reason="this machine has room for it")
def test_a_parquet_file_of_150_million_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    rows = '1 AS series, 1 AS period, 5 AS stock, 2 AS price, 0 AS "order", 1 AS sales'
    duckdb.sql(f"COPY (SELECT {rows} FROM range(150000000)) TO '{path}' (FORMAT parquet)")
    message, megabytes = read_apart(path)
    assert "with 150,000,000 rows needs about 20.1 GiB of memory" in message
    assert megabytes < 300


@pytest.mark.slow
def test_a_policy_of_four_megabytes_that_unpacks_to_four_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_bytes(made_file("planner").read_bytes())
    zeros = bytes(1 << 24)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("array_x.npy", "w", force_zip64=True) as member,
    ):
        member.write(npy("|u1", (268 << 24,)))
        for _ in range(268):
            member.write(zeros)
    assert path.stat().st_size < 5e6
    message, megabytes = read_apart(path)
    assert "is refused: it would unpack to 4,4" in message
    assert megabytes < 100
