"""Settings: their fields as people read them, KEY=VALUE, and TOML that is refused at once."""

import os
import time
from pathlib import Path

import pytest
from sklearn.base import clone

from lostsales.data.problem import Problem
from lostsales.data.setting_fields import keys_at, setting_fields
from lostsales.data.settings import read_toml, with_settings
from lostsales.data.supply import OrderDays, Supply
from lostsales.errors import SettingError
from lostsales.learn.cfqi.learn import CFQI
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.scenario import Scenario
from tests.tables import refusal


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device without an end")
def test_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    assert "no regular file" in refusal(read_toml, Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe.toml")
    assert "no regular file" in refusal(read_toml, tmp_path / "pipe.toml")
    assert "no regular file" in refusal(read_toml, tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("# " + "x" * 1_000_000)
    assert "over 1,000,000 bytes" in refusal(read_toml, tmp_path / "large.toml")


@pytest.mark.parametrize("text", ["a{} = 1", "[a{}]", "x = {{a{} = 1}}", "[[a{}]]"])
def test_a_key_of_very_many_parts_is_refused_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text.format(".a" * 200_000))
    began = time.monotonic()
    assert "a key has more than 50 parts" in refusal(read_toml, tmp_path / "deep.toml")
    assert time.monotonic() - began < 5
    with pytest.raises(SettingError, match="a key of 200,001 parts came"):
        with_settings({}, ["a" + ".a" * 200_000 + "=1"], "demand.rho=0.6")


def test_points_in_numbers_and_comments_are_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f"# {'.' * 99}\nprices = [{', '.join(['1.5'] * 99)}] # {'.' * 99}\n")
    assert read_toml(path) == {"prices": [1.5] * 99}


def test_a_list_that_is_too_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text("[rules]\nforbidden = [[2, 0], [2]]")
    with pytest.raises(SettingError, match=r"rules.forbidden.1.1: Field required"):
        Problem.from_toml(path)


@pytest.mark.parametrize("name", LEARNERS.names)
def test_every_setting_of_a_method_has_a_type(name: str) -> None:
    found = setting_fields(LEARNERS.get(name))
    assert {each.name for each in found} >= {"iterations", "seed", "rules.multiple"}
    assert all(each.type for each in found)
    assert "rules.mask" not in {each.name for each in found}  # a function has no text


def test_type_default_and_description_come_from_the_field() -> None:
    fields = {each.name: each for each in setting_fields(CFQI)}
    assert fields["eps"][1:3] == ("number, at least 0 and at most 1", "0.05")
    assert fields["boundary"][1:3] == ("safe or paper", "safe")
    assert fields["rules.forbidden"][1:3] == ("list of lists of numbers", "[]")
    assert fields["independent"][1:3] == ("true or false", "false")
    assert fields["rules.minimum"].description == "An order is none or at least this."


def test_keys_by_path_under_the_names_that_text_uses() -> None:
    assert keys_at(CFQI, ["rules"])[:2] == ["multiple", "minimum"]
    assert keys_at(CFQI, ["beta"]) == []
    assert "demand" in keys_at(Scenario, [])
    assert {"rho", "base"} <= set(keys_at(Scenario, ["demand"]))  # of every law


def test_key_value_pairs_lead_into_tables_and_leave_their_source_alone() -> None:
    keys = {"rules": {"multiple": 6}}
    found = with_settings(keys, ["rules.minimum=12", "safe=paper", "a.b.c=true"], "beta=5")
    assert found == {"rules": {"multiple": 6, "minimum": 12}, "safe": "paper", "a": {"b": {"c": True}}}
    assert keys == {"rules": {"multiple": 6}}
    for wrong, reason in (("beta", "looks like beta=5"), ("=5", "looks like beta=5"), ("rules.multiple.x=1", "no")):
        with pytest.raises(SettingError, match=reason):
            with_settings(keys, [wrong], "beta=5")


@pytest.mark.parametrize("method", LEARNERS.names)
def test_settings_follow_scikit_learn(method: str) -> None:
    """The class, called with the settings of an object, is equal to it; a clone is equal and not the same."""
    learner = LEARNERS.get(method)(seed=3)
    assert type(learner)(**learner.get_params(deep=False)) == learner
    copied = clone(learner)
    assert copied == learner
    assert copied is not learner
    assert copied.model_fields_set == learner.model_fields_set  # `quick` keeps what was given
    changed = learner.set_params(seed=7, rules__multiple=6)
    assert (changed.seed, changed.rules.multiple, learner.seed, learner.rules.multiple) == (7, 6.0, 3, None)
    assert changed.get_params()["rules__multiple"] == 6.0


def test_a_setting_within_settings_is_found_under_any_of_its_names() -> None:
    supply = Supply.model_validate({"order_days": {"from": 0, "every": 7}})
    assert supply.set_params(order_days__every=14).order_days == OrderDays.model_validate({"every": 14})


@pytest.mark.parametrize(
    ("params", "why"),
    [({"seeds": 1}, "no such key"), ({"seed": -1}, "greater than or equal to 0"), ({"seed__x": 1}, "within 'seed'")],
)
def test_params_are_checked_as_settings_are(params: dict[str, int], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        CFQI().set_params(**params)
