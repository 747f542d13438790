"""Saved policies: the same decisions to the bit, and nothing but a whole, unaltered, known file is read."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.lab.exact.solve import Method, Target, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.fit import fit, learner_again
from lostsales.policy.codec import encode, field_types
from lostsales.policy.file_format import FORMAT, load, save
from lostsales.policy.policy import POLICIES, SavedPolicy
from lostsales.policy.rules import Rules
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.lab.exact.tiny import tiny
from tests.learn.small import small_log

RELEASED = Scenario.load("released")
MADE: list[tuple[Scenario, Target, Criterion, Method]] = [
    (RELEASED, "oracle", Criterion(0.9), "auto"),
    (RELEASED, "oracle", Criterion(1.0, 50), "auto"),
    (RELEASED, "pi-star", Criterion(1.0, 50), "beliefs"),
    (Scenario.load("steady"), "pi-star", Criterion(0.5), "beliefs"),
    (tiny(arrival="after"), "pi-star", Criterion(0.9), "histories"),
    (tiny(), "pi-star", Criterion(1.0, 4), "histories"),
]


@pytest.fixture(scope="module")
def oracle() -> SavedPolicy:
    return solve_reference(RELEASED, "oracle", Criterion(1.0, 3)).policy


@pytest.mark.parametrize(("scenario", "target", "criterion", "method"), MADE)
def test_a_loaded_policy_decides_the_same(
    scenario: Scenario, target: Target, criterion: Criterion, method: Method, tmp_path: Path
) -> None:
    policy = solve_reference(scenario, target, criterion, method=method).policy
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    assert type(again) is type(policy)
    assert (again.observes, again.horizon, again.problem) == (policy.observes, criterion.horizon, scenario.problem)
    (before, _), (after, _) = (simulate(scenario, each, 300, seed=5) for each in (policy, again))
    for column in ("price", "order", "stock", "sales"):
        np.testing.assert_array_equal(getattr(before, column), getattr(after, column))


def test_a_file_says_by_which_settings_and_from_which_log_its_policy_was_learned(tmp_path: Path) -> None:
    log, other = small_log("released", 5), small_log("released", 6)
    settings = BaseStock(rules=Rules(multiple=5), seed=3)
    fit(log, settings).save(tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert learner_again(loaded, log) == (settings, "")
    learner, reason = learner_again(loaded, other)
    assert learner is None
    assert "another log" in reason
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "policy").read_bytes()


def test_same_policy_same_bytes(oracle: SavedPolicy, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(oracle, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def rewritten(path: Path, change: Callable[[dict[str, Any]], None], *, sign: bool) -> None:
    """The file with changed metadata, and with a checksum that knows of it or not."""
    with np.load(path, allow_pickle=False) as file:
        members = {name: file[name] for name in file.files}
    metadata = json.loads(members["metadata"].tobytes())
    change(metadata)
    text = json.dumps(metadata).encode()
    members["metadata"] = np.frombuffer(text, np.uint8)
    if sign:
        members["checksum"] = np.array(sha256(text).hexdigest())
    with path.open("wb") as target:
        np.savez(target, **members)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": FORMAT + 1}, "saved by a newer lostsales: its format is 3, the latest known is 2"),
        ({"format": 1}, r"policy was saved by lostsales 0\.4 or older; fit the policy again"),
        ({"kind": "os:system"}, "kind 'os:system', and no installed package has it; installed are beh"),
    ],
)
def test_newer_older_and_unknown_files_are_refused(
    oracle: SavedPolicy, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "policy"
    save(oracle, path)
    rewritten(path, lambda metadata: metadata.update(change), sign=True)
    with pytest.raises(LostSalesError, match=message):
        load(path)


def test_altered_files_are_refused(oracle: SavedPolicy, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    save(oracle, path)
    rewritten(path, lambda metadata: metadata["policy"]["settings"].update(max_depth=1), sign=False)
    with pytest.raises(LostSalesError, match="metadata do not match their checksum"):
        load(path)
    save(oracle, path)
    with np.load(path, allow_pickle=False) as file:
        members = {name: file[name] for name in file.files}
    members["array_actions"] = members["array_actions"] + np.uint16(1)
    with path.open("wb") as target:
        np.savez(target, **members)
    with pytest.raises(LostSalesError, match="arrays do not match their checksums"):
        load(path)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_truncated_files_are_refused(oracle: SavedPolicy, tmp_path: Path, part: float) -> None:
    path = tmp_path / "policy"
    save(oracle, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(LostSalesError, match="not a policy file, or it is damaged"):
        load(path)


def test_any_flipped_byte_is_refused_or_harmless(oracle: SavedPolicy, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    save(oracle, path)
    whole, expected = path.read_bytes(), encode(load(path))
    for place in np.random.default_rng(0).integers(len(whole), size=200):
        broken = bytearray(whole)
        broken[place] ^= 0x55
        path.write_bytes(bytes(broken))
        try:
            found = encode(load(path))
        except LostSalesError:
            continue
        np.testing.assert_equal(found, expected)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match="there is no policy file"):
        load(tmp_path / "nothing")
    (tmp_path / "text").write_text("price, order")
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "arrays.npz", np.zeros(3))
    np.savez(tmp_path / "pickled.npz", metadata=np.array([{"format": 1}], dtype=object))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(LostSalesError, match="not a policy file"):
            load(path)


def test_a_failed_save_leaves_the_old_file(
    oracle: SavedPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy"
    save(oracle, path)
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(LostSalesError, match="cannot be written: no space left"):
        save(oracle, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["policy"]


def test_places_that_cannot_be_written_are_refused(oracle: SavedPolicy, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match="there is no folder"):
        save(oracle, tmp_path / "nowhere" / "policy")
    with pytest.raises(LostSalesError, match="is a folder"):
        save(oracle, tmp_path)


def test_every_registered_kind_declares_its_fields() -> None:
    for kind in POLICIES.names:
        assert field_types(POLICIES.get(kind))
        assert POLICIES.name_of(POLICIES.get(kind)) == kind
