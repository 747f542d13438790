"""Fields of settings as people read them, and KEY=VALUE."""

import pytest

from lostsales.data.setting_fields import keys_at, setting_fields
from lostsales.data.settings import with_settings
from lostsales.errors import SettingError
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.scenario import Scenario


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
