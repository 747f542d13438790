"""What `import lostsales` offers."""

import gymnasium
import pytest

import lostsales
from lostsales.simulation.presets import environment_id, preset_names


def test_every_name_is_there_and_is_no_module() -> None:
    for name in lostsales.__all__:
        assert callable(getattr(lostsales, name)), name


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lostsales.nonsense


def test_one_environment_a_preset() -> None:
    ours = {name for name in gymnasium.registry if name.startswith("lostsales/")}
    assert ours == {environment_id(preset) for preset in preset_names()}
    assert "lostsales/ReferencePrice-v0" in ours
