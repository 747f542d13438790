"""Every array of every kind of policy, changed against its declaration: the file is refused, or the policy decides."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy.codec import Draft, Place
from lostsales.policy.policy import POLICIES
from tests.fuzz.made_policies import made_file
from tests.fuzz.policy_files import opened, sealed, used

# One of each kind, and those whose parts differ.
MANY_ARRAYS = ("c-fqi", "pc-fqi released", "pc-fqi linear released", "planner released", "planner with lead times")
NAMES = (
    *("base-stock", "newsvendor", "lookahead", "planner", "replay-fqi released", "projected-level with lead times"),
    *(
        "behaviour released",
        "fqi-plugin released",
        "base-stock in dozens for some",
        "solved oracle",
        "solved pi-star on beliefs",
    ),
    *("solved pi-star on histories", "solved by a network", "solved oracle with lead times"),
)

CASES = [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in MANY_ARRAYS)]


def outside(place: Place, array: Any) -> list[Any]:
    """Arrays of another type, of another number of axes, and with a number that the declaration excludes."""
    found = [array.astype("U4" if array.dtype.kind != "U" else "i8" if not array.size else "S4"), array[..., None]]
    if array.dtype.kind == "f" and array.size:
        least, most = place.spec.least, place.spec.most
        for value in (np.nan, *(() if place.spec.infinite else (np.inf, -np.inf)), 2 * most, least - abs(least) - 1):
            changed = array.astype(np.float64).copy()
            changed.flat[-1] = value
            found.append(changed.astype(array.dtype))
        found += [array.astype("<c16"), array.astype(array.dtype.newbyteorder())]
    if array.dtype.kind in "iu" and array.size:
        changed = array.astype(np.uint64)
        changed.flat[-1] = 2**63 if place.spec.below is None else place.scope.size(place.spec.below)
        found += [changed, array.astype(np.float64)]
        if place.spec.least == 0:
            found.append(-1 - array.astype(np.int64))
    if place.spec.rising and array.size > 1:
        found.append(array[::-1].copy())
    return found


def reshaped(array: Any) -> list[Any]:
    """Arrays that are shorter or longer along each axis."""
    found = []
    for axis in range(array.ndim):
        found += [np.delete(array, -1, axis)] if array.shape[axis] else []
        found.append(np.concatenate([array, array], axis))
    return found


def checked_places(members: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Place]:
    draft = Draft(metadata["kind"], metadata["policy"])
    for name, place in draft.places.items():
        place.check_shape((members[f"array_{name}"].dtype, members[f"array_{name}"].shape))
    return draft.places


@pytest.mark.parametrize("name", CASES)
def test_an_array_outside_its_declaration_is_refused(name: str, tmp_path: Path) -> None:
    origin = made_file(name)
    members, metadata = opened(origin)
    for array, place in checked_places(members, metadata).items():
        for changed in outside(place, members[f"array_{array}"]):
            sealed(members | {f"array_{array}": changed}, metadata, tmp_path / "policy")
            with pytest.raises(LostSalesError):
                lostsales.load(tmp_path / "policy")


@pytest.mark.parametrize("name", CASES)
def test_an_array_of_another_length_is_refused_or_gives_a_decision(name: str, tmp_path: Path) -> None:
    origin = made_file(name)
    members, metadata = opened(origin)
    for array in checked_places(members, metadata):
        for changed in reshaped(members[f"array_{array}"]):
            sealed(members | {f"array_{array}": changed}, metadata, tmp_path / "policy")
            used(tmp_path / "policy", origin)  # raises where answers differ or are none


def test_all_kinds_are_changed() -> None:
    kinds = {opened(made_file(name))[1]["kind"] for name in (*NAMES, "c-fqi", "planner released")}
    inside = {"q"}  # of others, whose arrays are changed as well
    assert kinds | inside == set(POLICIES.names)
