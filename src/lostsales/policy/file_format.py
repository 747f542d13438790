"""Saved policies: one file of arrays and JSON, checked when read, and never code.

The file is an npz (a zip of plain arrays, nothing pickled). Its member `metadata` is JSON: format, kind, what the
policy observes, its horizon, its problem, the settings of its kind, and the SHA-256 of every array; `checksum` is the
SHA-256 of that JSON.
"""

import json
import struct
import zipfile
import zlib
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.output_files import replacing
from lostsales.data.problem import Problem
from lostsales.data.settings import checked
from lostsales.errors import LostSalesError
from lostsales.policy.policy import Observes, SavedPolicy
from lostsales.registry import Registry
from lostsales.types import Array

FORMAT = 1

# What numpy and zipfile raise on a file that is none of theirs, or no longer whole.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    OSError,
    EOFError,
    KeyError,
    RuntimeError,
    OverflowError,
    MemoryError,
)

# A file names the kind of its policy, and an installed package holds the code: reading a file runs none of its own.
POLICIES = Registry[type[SavedPolicy]]("lostsales.policies", "kind of policy")


@dataclass(frozen=True, eq=False)
class Artefact:
    """What is saved of a policy."""

    kind: str
    observes: Observes
    horizon: int | None  # None: it decides the same in every period
    problem: Problem
    settings: dict[str, Any]  # of the kind, as JSON can hold them
    arrays: dict[str, Array]


def arrays_of(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose name starts with a prefix, under the rest of the name.

    >>> arrays_of("a", {"a_x": 1, "b_x": 2})
    {'x': 1}
    """
    return {name.removeprefix(f"{prefix}_"): each for name, each in arrays.items() if name.startswith(f"{prefix}_")}


def save(policy: SavedPolicy, path: str | Path) -> None:
    """Write a policy to a file, which takes its place only when it is whole."""
    artefact = policy.to_artefact()
    metadata = {
        "format": FORMAT,
        "kind": artefact.kind,
        "observes": artefact.observes,
        "horizon": artefact.horizon,
        "problem": artefact.problem.model_dump(mode="json"),
        "settings": artefact.settings,
        "arrays": {name: _digest(array) for name, array in artefact.arrays.items()},
    }
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    members: dict[str, Any] = {f"array_{name}": array for name, array in artefact.arrays.items()}
    members |= {"metadata": np.frombuffer(text, np.uint8), "checksum": np.array(sha256(text).hexdigest())}
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **members)


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
        Where the file is damaged, altered, of a newer format or of a kind that no installed package has.

    Examples
    --------
    >>> import lostsales, tempfile
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy, path = lostsales.fit(log, "newsvendor"), Path(tempfile.mkdtemp()) / "policy"
    >>> policy.save(path)
    >>> load(path).summary() == policy.summary()
    True

    """
    artefact = read_artefact(Path(path))
    return POLICIES.get(artefact.kind).from_artefact(artefact)


def read_artefact(path: Path) -> Artefact:
    """The checked content of a policy file."""
    if not path.is_file():
        raise LostSalesError(f"there is no policy file {path}")
    try:
        content = np.load(BytesIO(path.read_bytes()), allow_pickle=False)
        members: dict[str, Array] = dict(content) if isinstance(content, np.lib.npyio.NpzFile) else {}
    except _DAMAGE:
        members = {}
    if not members:
        raise LostSalesError(f"{path} is not a policy file, or it is damaged")
    text = members.pop("metadata", np.zeros(0, np.uint8)).tobytes()
    if sha256(text).hexdigest() != str(members.pop("checksum", "")):
        raise LostSalesError(f"{path} is damaged or was altered: its metadata do not match their checksum")
    metadata = json.loads(text)
    if metadata["format"] > FORMAT:
        raise LostSalesError(
            f"{path} was saved by a newer lostsales: its format is {metadata['format']}, the latest known is {FORMAT}"
        )
    if metadata["kind"] not in POLICIES:
        raise LostSalesError(
            f"{path} holds a policy of kind {metadata['kind']!r}, and no installed package has it; "
            f"installed are {', '.join(POLICIES.names)}"
        )
    arrays = {name.removeprefix("array_"): array for name, array in members.items()}
    if {name: _digest(array) for name, array in arrays.items()} != metadata["arrays"]:
        raise LostSalesError(f"{path} is damaged or was altered: its arrays do not match their checksums")
    problem = checked(Problem, metadata["problem"], f"the problem of {path}")
    return Artefact(metadata["kind"], metadata["observes"], metadata["horizon"], problem, metadata["settings"], arrays)


def _digest(array: Array) -> str:
    described = f"{array.dtype.str} {array.shape} ".encode()
    return sha256(described + np.ascontiguousarray(array).tobytes()).hexdigest()
