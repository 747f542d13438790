"""Saved policies: one file of arrays and JSON, checked when read, and never code.

The file is an npz (a zip of plain arrays, nothing pickled). Its member `metadata` is JSON: format, kind, the fields of
the policy that are no arrays, the learner with its settings and the verdict of its evaluation if known, and the
SHA-256 of every array; `checksum` is the
SHA-256 of that JSON, and so binds everything that is read.

Reading checks the structure first (members, sizes, metadata, then type and shape of every array), and what the numbers
may be (`policy/codec.py`) before a policy is made of them.
"""

import json
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from lostsales.data.output_files import replacing
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.errors import LostSalesError
from lostsales.policy.codec import Draft, encode
from lostsales.policy.policy import POLICIES, SavedPolicy
from lostsales.policy.provenance import (
    LearnedBy,
    PolicyVerdict,
    learned_by,
    verdict_of,
    with_provenance,
    with_verdict,
)
from lostsales.types import Array

FORMAT = 2  # files of another one are refused
MOST_METADATA = 16 << 20  # bytes
MOST_MEMBERS = 100_000  # arrays of a file
MOST_NPY_HEADER = 10_000  # bytes
# A file may unpack to so many bytes, and so many times its own size more; `save` does not compress what would not fit.
FREE_BYTES = 128 << 20
FREE_RATIO = 20

# What numpy, zipfile and json raise on a file that is none of theirs, or no longer whole.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    SyntaxError,
    ValueError,
    TypeError,
    OSError,
    EOFError,
    KeyError,
    IndexError,
    RuntimeError,  # also NotImplementedError and RecursionError
    OverflowError,
    MemoryError,
)


class PolicyMetadata(StrictSettings):
    """The JSON of a policy file."""

    format: int
    kind: str
    policy: dict[str, Any]
    arrays: dict[str, str]  # SHA-256 by name
    learned_by: LearnedBy | None = None
    verdict: PolicyVerdict | None = None


def save(policy: SavedPolicy, path: str | Path) -> None:
    """Write a policy to a file, which takes its place only when it is whole."""
    keys, arrays = encode(policy)
    metadata = {
        "format": FORMAT,
        "kind": POLICIES.name_of(type(policy)),
        "policy": keys,
        "arrays": {name: _digest(array) for name, array in arrays.items()},
    }
    if (learned := learned_by(policy)) is not None:
        metadata["learned_by"] = learned.model_dump(mode="json", exclude_defaults=True)
    if (verdict := verdict_of(policy)) is not None:
        metadata["verdict"] = verdict.model_dump(mode="json")
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    members: dict[str, Any] = {f"array_{name}": array for name, array in arrays.items()}
    members |= {"metadata": np.frombuffer(text, np.uint8), "checksum": np.array(sha256(text).hexdigest())}
    with replacing(Path(path)) as temporary:
        with temporary.open("wb") as file:
            np.savez_compressed(file, **members)
        unpacked = sum(array.nbytes + MOST_NPY_HEADER for array in members.values())
        if unpacked > _most_bytes(temporary):
            with temporary.open("wb") as file:
                np.savez(file, **members)


def load(path: str | Path) -> SavedPolicy:
    """Load a policy from a file that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file; reading it runs no code of its own.

    Returns
    -------
    SavedPolicy
        A policy that decides as the saved one did.

    Raises
    ------
    LostSalesError
        If the file is damaged, altered, of another format or of a kind that no installed package has.

    Examples
    --------
    >>> import lostsales, tempfile
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy, path = lostsales.fit(log, "newsvendor"), Path(tempfile.mkdtemp()) / "policy"
    >>> policy.save(path)
    >>> load(path).summary() == policy.summary()
    True

    """
    path = Path(path)
    if not path.is_file():
        raise LostSalesError(f"there is no policy file {path}")
    with _whole(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        _check_members(archive, path)
        text = _read(archive, "metadata").tobytes()
        checksum = _read(archive, "checksum")
        if checksum.shape or sha256(text).hexdigest() != str(checksum):
            raise LostSalesError(f"{path} is damaged or was altered: its metadata do not match their checksum")
        metadata = _metadata(text, path)
        members = {name.removeprefix("array_"): name for name in _names(archive) - {"metadata", "checksum"}}
        if set(members) != set(metadata.arrays) or set(members.values()) != {f"array_{name}" for name in members}:
            raise LostSalesError(f"{path} is damaged or was altered: its arrays are not those that its metadata name")
        with _usable(path):
            draft = Draft(metadata.kind, metadata.policy)
            draft.check_names(members)
            for name, place in draft.places.items():
                place.check_shape(_described(archive, members[name]))
        arrays: dict[str, Array] = {}
        for name, place in draft.places.items():
            array = _read(archive, members[name])
            if _digest(array) != metadata.arrays[name]:
                raise LostSalesError(f"{path} is damaged or was altered: its arrays do not match their checksums")
            with _usable(path):
                arrays[name] = place.checked(array)
    with _usable(path):
        return with_verdict(with_provenance(draft.built(arrays), metadata.learned_by), metadata.verdict)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into one error."""
    try:
        yield
    except LostSalesError:
        raise
    except _DAMAGE:
        raise LostSalesError(f"{path} is not a policy file, or it is damaged") from None


@contextmanager
def _usable(path: str | Path) -> Iterator[None]:
    """Turn the contents of a file that is whole and yet no policy into one error with its name."""
    try:
        yield
    except LostSalesError as error:
        raise LostSalesError(f"{path} holds no usable policy: {error}") from None
    except _DAMAGE as error:
        raise LostSalesError(f"{path} holds no usable policy: {type(error).__name__}: {error}") from None


def _names(archive: zipfile.ZipFile) -> set[str]:
    return {info.filename.removesuffix(".npy") for info in archive.infolist()}


def _check_members(archive: zipfile.ZipFile, path: Path) -> None:
    """Plain arrays under different names, of a size that such a file can have."""
    members = archive.infolist()
    plain = all(
        info.filename.endswith(".npy") and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        for info in members
    )
    if not plain or not {"metadata", "checksum"} <= _names(archive) or len(_names(archive)) < len(members):
        raise LostSalesError(f"{path} is not a policy file, or it is damaged")
    unpacked, most = sum(info.file_size for info in members), _most_bytes(path)
    if unpacked > most or len(members) > MOST_MEMBERS or archive.getinfo("metadata.npy").file_size > MOST_METADATA:
        raise LostSalesError(
            f"{path} is refused: it would unpack to {unpacked / 1e6:,.0f} MB in {len(members):,} arrays, more than a "
            "policy file of its size can need"
        )


def _most_bytes(path: Path) -> int:
    return FREE_BYTES + FREE_RATIO * path.stat().st_size


def _metadata(text: bytes, path: Path) -> PolicyMetadata:
    keys = json.loads(text, parse_constant=_refuse_constant)
    if isinstance(keys, dict) and isinstance(keys.get("format"), int) and keys["format"] < FORMAT:
        raise LostSalesError(f"{path} was saved by lostsales 0.4 or older; fit the policy again")
    if isinstance(keys, dict) and isinstance(keys.get("format"), int) and keys["format"] > FORMAT:
        raise LostSalesError(
            f"{path} was saved by a newer lostsales: its format is {keys['format']}, the latest known is {FORMAT}"
        )
    with _usable(path):
        metadata = checked_json(PolicyMetadata, keys, "its metadata")
    if metadata.kind not in POLICIES:
        raise LostSalesError(
            f"{path} holds a policy of kind {metadata.kind!r}, and no installed package has it; "
            f"installed are {', '.join(POLICIES.names)}"
        )
    return metadata


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _described(archive: zipfile.ZipFile, member: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Type and shape of an array, whose numbers are not read."""
    with archive.open(f"{member}.npy") as stream:
        return _npy_header(stream)


def _npy_header(stream: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject or dtype.names is not None or any(size < 0 for size in shape):
        raise ValueError("not an array of plain values")
    return dtype, shape


def _read(archive: zipfile.ZipFile, member: str) -> Array:
    """An array, which fills its member to the last byte."""
    dtype, shape = _described(archive, member)
    if dtype.itemsize * int(np.prod(shape, dtype=object)) > archive.getinfo(f"{member}.npy").file_size:
        raise ValueError("an array larger than its member")
    with archive.open(f"{member}.npy") as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):
            raise ValueError("more than an array")
    return array


def _digest(array: Array) -> str:
    digest = sha256(f"{array.dtype.str} {array.shape} ".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
