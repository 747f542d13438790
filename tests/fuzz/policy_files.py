"""Damaged and hostile policy files: policies of every kind with their bytes, metadata, arrays or archive changed.

    python -m tests.fuzz.policy_files --cases 10000 --seed 1

A file is refused by one error, or used twice with equal answers from its own grid.
"""

import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.made_policies import MAKERS, made_file
from tests.fuzz.running import main

Members = dict[str, Any]
HOSTILE_NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    -1e9,
    1e9,
    1e15,
    1e29,
    -1e29,
    1e-29,
    1e25,
    1e300,
    -1e300,
    5e-324,
    0.5,
    10**30,
    2**63,
    -(2**63),
    399,
)
HOSTILE_VALUES: tuple[Any, ...] = (
    *HOSTILE_NUMBERS,
    None,
    True,
    False,
    "",
    "x",
    "nan",
    [],
    {},
    [1, 2],
    [[1]],
    {"a": 1},
    "é\x1b[31m" * 9,
)
HOSTILE_FLOATS = (*HOSTILE_NUMBERS, np.nan, np.inf, -np.inf, 1.7e308, -0.0)


def policy_case(seed: int, number: int, folder: Path) -> str:
    """One changed policy file, loaded and used."""
    rng = np.random.default_rng([seed, number])
    origin = _origin(rng)
    what = write_hostile(origin, folder / "policy", rng)
    try:
        return "used" if used(folder / "policy", origin) else "refused"
    except Exception as error:
        error.add_note(f"{origin.name}, {what}")
        raise


def _origin(rng: np.random.Generator) -> Path:
    makers = list(MAKERS)
    return made_file(makers[rng.integers(len(makers))])


def used(path: Path, origin: Path) -> bool:
    """Load a policy and let it decide twice: False where it is refused, and an error where the answers differ."""
    import pandas as pd

    import lostsales
    from lostsales.simulation.named_policies import saved_policy

    try:
        if origin.with_name("scenario.toml").is_file():
            scenario = lostsales.Scenario.load(origin.with_name("scenario.toml"))
            runs = [lostsales.simulate(scenario, saved_policy(path, scenario), episodes=5, seed=3)[0] for _ in range(2)]
            answers = [np.stack([log.price, np.asarray(log.order)]) for log in runs]
            grid: tuple[Any, Any] | None = (np.array(scenario.prices), np.array(scenario.orders))
        else:
            policy: Any = lostsales.load(path)  # before the tables, since most files are refused
            recent, today = (pd.read_csv(origin.with_name(name), dtype=NAMES) for name in ("recent.csv", "today.csv"))
            most = 1e14 if policy.problem.capacity is None else policy.problem.capacity
            today = pd.concat([today, today.assign(stock=most, **_renamed(today))], ignore_index=True)
            found = [policy.recommend(recent, today) for _ in range(2)]
            answers = [each[["price", "order"]].to_numpy(np.float64).T for each in found]
            grid = _allowed(policy)
    except lostsales.errors.LostSalesError:
        return False
    np.testing.assert_array_equal(answers[0], answers[1], "two answers differ")
    assert (answers[0] >= 0).all(), "a decision is no price or no order"
    assert np.isfinite(answers[0]).all(), "a decision is not finite"
    for values, allowed in zip(answers[0], grid or answers[0], strict=True):
        assert np.isin(values, allowed).all(), "a decision is not of the grid"
    return True


def _allowed(policy: Any) -> tuple[Any, Any] | None:
    """Prices and orders that a policy may decide among; None where every product has its own."""
    if hasattr(policy, "policy") or policy.problem.attributes or getattr(policy.may_recommend, "relative", False):
        return None
    if policy.may_recommend is None:
        return (policy.problem.prices, policy.problem.orders) if policy.problem.prices else None
    return policy.may_recommend.prices, policy.may_recommend.orders


NAMES = {"series": str, "store": str, "product": str}


def _renamed(today: Any) -> dict[str, Any]:
    name = next(name for name in NAMES if name in today)
    return {name: today[name] + "!"}


def write_hostile(origin: Path, path: Path, rng: np.random.Generator) -> str:
    """Write one change of a policy, and say which."""
    change = CHANGES[rng.integers(len(CHANGES))]
    change(origin, path, rng)
    return change.__name__


def damaged_bytes(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """Flipped, cut, repeated or inserted bytes."""
    whole = bytearray(origin.read_bytes())
    place = int(rng.integers(len(whole)))
    kind = rng.integers(4)
    if kind == 0:
        for at in rng.integers(len(whole), size=rng.integers(1, 9)):
            whole[at] ^= int(rng.integers(1, 256))
    elif kind == 1:
        del whole[place : place + int(rng.integers(1, len(whole)))]
    elif kind == 2:
        whole[place:place] = rng.bytes(int(rng.integers(1, 99)))
    else:
        whole[place:place] = whole[: int(rng.integers(len(whole)))]
    path.write_bytes(bytes(whole))


def hostile_metadata(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """One or two places of the metadata changed, and the checksum with them."""
    members, metadata = opened(origin)
    for _ in range(rng.integers(1, 3)):
        table, key = _place(metadata, rng)
        kind = rng.integers(6)
        value = deepcopy(HOSTILE_VALUES[rng.integers(len(HOSTILE_VALUES))])  # a second change may go into it
        if kind == 0 and isinstance(table, dict):
            table.pop(key, None)
        elif kind == 1 and isinstance(table, dict):
            table[f"{key}_"] = value
        elif kind == 2 and isinstance(table[key], int | float) and not isinstance(table[key], bool):
            table[key] = table[key] * float(HOSTILE_NUMBERS[rng.integers(9)])
        else:
            table[key] = value
    sealed(members, metadata, path)


def hostile_arrays(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """One or two arrays changed, and the checksums with them."""
    members, metadata = opened(origin)
    names = [name for name in members if name.startswith("array_")]
    if not names:
        hostile_metadata(origin, path, rng)
        return
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        with np.errstate(all="ignore"):
            members[name] = _changed(members[name], rng)
    sealed(members, metadata, path)


def other_arrays(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """An array left out, added, or under the name of another; the checksums say the same."""
    members, metadata = opened(origin)
    names = [name for name in members if name.startswith("array_")]
    kind = rng.integers(3)
    if kind == 0 and names:
        del members[names[rng.integers(len(names))]]
    elif kind == 1 and names:
        one, two = (names[at] for at in rng.integers(len(names), size=2))
        members[one], members[two] = members[two], members[one]
    else:
        members["array_foreign"] = np.zeros(3)
    sealed(members, metadata, path)


def odd_archive(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """A zip that no policy is: foreign, doubled or pickled members, odd headers and compressions, much in little."""
    content = origin.read_bytes()
    kind = int(rng.integers(9))
    method = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[rng.integers(4)]
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(path, "w", method) as new,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of names that come twice
        for info in old.infolist():
            new.writestr(info.filename, old.read(info.filename))
        first = old.infolist()[0].filename
        if kind == 0:
            new.writestr("foreign.txt", b"hello")
        elif kind == 1:
            new.writestr(first, old.read(first))
        elif kind == 2:
            new.writestr("array_x.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': (((((" + rng.bytes(20))
        elif kind == 3:
            new.writestr("array_x.npy", npy("<f8", (10**12, 10**9)))
        elif kind == 4:
            new.writestr("array_x.npy", npy("|O", (3,)) + rng.bytes(50))
        elif kind == 5:
            new.writestr("array_x.npy", _much(), zipfile.ZIP_DEFLATED, compresslevel=1)
        elif kind == 6:
            new.writestr("../../evil.npy", npy("<f8", (1,)) + bytes(8))
        elif kind == 7:
            new.writestr("array_x.npy", npy("<f8", (-5,)))
        else:
            new.comment = rng.bytes(99)


@cache
def _much() -> bytes:
    """An array of more bytes than a small file may unpack to."""
    return npy("<f8", (18_000_000,)) + bytes(144_000_000)


def deep_metadata(origin: Path, path: Path, rng: np.random.Generator) -> None:
    """Metadata that a parser chokes on: nested deeply, numbers of many digits, not JSON, not UTF-8, constants."""
    members, _ = opened(origin)
    texts = (
        b"[" * 100_000,
        b'{"format":' + b"9" * 5_000 + b"}",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"format": NaN}',
    )
    _write(members | {"metadata": texts[rng.integers(len(texts))]}, path)


CHANGES: list[Callable[[Path, Path, np.random.Generator], None]] = [
    damaged_bytes,
    hostile_metadata,
    hostile_metadata,
    hostile_metadata,
    hostile_arrays,
    hostile_arrays,
    hostile_arrays,
    other_arrays,
    odd_archive,
    deep_metadata,
]


def opened(origin: Path) -> tuple[Members, dict[str, Any]]:
    """The members of a policy file and its metadata."""
    with np.load(origin, allow_pickle=False) as file:
        members: Members = {name: file[name] for name in file.files}
    return members, json.loads(members["metadata"].tobytes())


def sealed(members: Members, metadata: dict[str, Any], path: Path) -> None:
    """Write a file whose checksums are right."""
    arrays = {name.removeprefix("array_"): each for name, each in members.items() if name.startswith("array_")}
    if isinstance(metadata.get("arrays"), dict) and "format" in metadata:
        metadata["arrays"] = {name: _digest(array) for name, array in arrays.items()}
    _write(members | {"metadata": json.dumps(metadata).encode()}, path)


def npy(descr: str, shape: tuple[int, ...]) -> bytes:
    """The header of an array file."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def _write(members: Members, path: Path) -> None:
    text: bytes = members["metadata"]
    sealed_members = members | {
        "metadata": np.frombuffer(text, np.uint8),
        "checksum": np.array(sha256(text).hexdigest()),
    }
    with path.open("wb") as file:
        np.savez(file, **sealed_members)


def _digest(array: Any) -> str:
    described = f"{array.dtype.str} {array.shape} ".encode()
    return sha256(described + np.ascontiguousarray(array).tobytes()).hexdigest()


def _place(metadata: dict[str, Any], rng: np.random.Generator) -> tuple[Any, Any]:
    """A table or list somewhere in the metadata, and one of its keys."""
    table: Any = metadata
    wanted = ("policy", "policy", "policy", "policy", "policy", "format", "kind")
    keys: Any = [key for key in wanted if key in metadata]  # a change before may have taken one away
    key: Any = keys[rng.integers(len(keys))]
    while isinstance(table[key], dict | list) and len(table[key]) and rng.random() < 0.9:
        table = table[key]
        keys = list(table) if isinstance(table, dict) else range(len(table))
        key = keys[rng.integers(len(keys))]
    return table, key


def _changed(array: Any, rng: np.random.Generator) -> Any:
    """An array with other values, another type or another shape."""
    kind = rng.integers(10)
    if array.dtype.kind == "U" or kind < 2:
        return _reshaped(array, rng)
    if kind == 2:
        return array.astype(("<f4", "<f8", "<i8", "<u2", "|b1", "<c16", "<U8", ">f8", "<f2")[rng.integers(9)])
    if array.dtype.kind != "f" or not array.size:
        other = array.astype(np.int64)
        values = (-1, 2**40, 399, -(2**62), 65_535)
        if other.size:
            other.flat[rng.integers(other.size, size=rng.integers(1, 4))] = values[rng.integers(5)]
        return other.astype(array.dtype) if kind < 7 else other
    other = array.copy()
    value = float(HOSTILE_FLOATS[rng.integers(len(HOSTILE_FLOATS))])
    if kind < 7:
        other.flat[rng.integers(other.size, size=rng.integers(1, 4))] = value
    elif kind == 7:
        other[...] = value
    elif kind == 8:
        other *= value
    else:
        other = -other[::-1]
    return other


def _reshaped(array: Any, rng: np.random.Generator) -> Any:
    kind = rng.integers(6)
    if kind == 0:
        return array.reshape(-1)
    if kind == 1:
        return array[..., None]
    if kind == 2:
        return array.T
    if not array.ndim:
        return array
    if kind == 3:
        return np.concatenate([array, array])
    return array[:0] if kind == 4 else array[:-1]


if __name__ == "__main__":
    main(policy_case, "tests.fuzz.policy_files")
