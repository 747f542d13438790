"""Scenarios: presets, files, overridden fields, and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lostsales.errors import SettingError
from lostsales.simulation.demand_laws import Linear, Saturating
from lostsales.simulation.presets import preset_names, preset_text
from lostsales.simulation.scenario import Scenario

OWN = """
horizon = 10
prices = [1, 2]
orders = [0, 5]
[costs]
lost = 1
order = 1
holding = 1
[start]
stock = 3
[features.day]
kind = "cycle"
length = 3
start = 2
[demand]
law = "linear"
intercept = 5
features = {day = [0, 10, 20]}
noise = {kind = "discrete", values = [0, 1], probabilities = [0.5, 0.5]}
"""


def own(folder: Path, text: str = OWN) -> Scenario:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return Scenario.load(path)


def reasons(name: str, *settings: str) -> str:
    with pytest.raises(SettingError) as caught:
        Scenario.load(name, settings)
    return str(caught.value)


def test_all_presets_ship() -> None:
    assert preset_names() == (
        "appendix", "confounded", "cost-shocks", "drift", "fixed-cost", "fixed-cost-autocorrelated", "long-runs",
        "lost-sales",
        "manager-after", "manager-before", "manager-slow", "markov-demand", "newsvendor", "nonlinear",
        "perishable", "reference-price", "regime", "released",
        "steady", "two-lag", "weekday-counts",
    )  # fmt: skip


def test_the_former_name_of_appendix_is_understood() -> None:
    assert Scenario.load("paper") == Scenario.load("appendix")
    assert Scenario.load("paper", ("horizon=7",)).name == "appendix"


def test_steady_is_appendix_without_truncation() -> None:
    lines = [
        [line for line in preset_text(name).splitlines() if not line.startswith(("about", "longest_run"))]
        for name in ("appendix", "steady")
    ]
    assert lines[0] == lines[1]
    assert Scenario.load("steady").longest_run is None


def test_scenario_from_a_file(tmp_path: Path) -> None:
    scenario = own(tmp_path)
    assert (scenario.name, scenario.arrival, scenario.horizon) == ("own", "after", 10)
    (day,) = scenario.problem.features
    assert (day.name, day.kind, day.levels) == ("day", "categorical", (0, 1, 2))
    rng = np.random.default_rng(0)
    features, stock, last_demand = scenario.open(4, rng)[:3]
    assert (features[0].tolist(), stock.tolist(), last_demand.tolist()) == ([2] * 4, [3] * 4, [0] * 4)
    demand = scenario.demand(1, features, np.ones(4), last_demand, rng)
    assert set(demand) <= {25, 26}  # 5 + 20 + noise
    assert scenario.next_features(features, np.ones(4), rng)[0].tolist() == [0] * 4


@pytest.mark.parametrize(
    ("setting", "read"),
    [
        ("demand.rho=0.6", lambda scenario: scenario.demand_law.rho == 0.6),
        ("demand.noise.scale=0", lambda scenario: scenario.demand_law.noise.scale == 0),
        ("arrival=after", lambda scenario: scenario.arrival == "after"),
        ("prices=[1, 2]", lambda scenario: scenario.prices == (1, 2)),
        ("capacity=30", lambda scenario: scenario.capacity == 30),
        ("start.last_demand={mean=9, sd=3}", lambda scenario: scenario.start.last_demand.sd == 3),
        ("costs.fixed_order=7", lambda scenario: scenario.unit_costs.fixed_order == 7),
        ("features.day={kind='cycle', length=7}", lambda scenario: scenario.features["day"].length == 7),
    ],
)
def test_any_field_can_be_overridden(setting: str, read: Any) -> None:
    assert not read_or_false(read, Scenario.load("released"))
    assert read(Scenario.load("released", (setting,)))


def read_or_false(read: Any, scenario: Scenario) -> bool:
    try:
        return bool(read(scenario))
    except (AttributeError, KeyError):
        return False


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("horizon=abc", "horizon: Input should be a valid integer"),
        ("horizon=0", "horizon: Input should be greater than or equal to 1, but it is 0"),
        ("arrival=never", "arrival: Input should be 'after' or 'before', but it is 'never'"),
        ("demand.noise.scale=-1", "demand.noise.scale: Input should be greater than or equal to 0, but it is -1"),
        ("demand.noise.kind=cauchy", "demand.noise.kind: Input should be 'normal'"),
        ("demand.law=cubic", "demand: Input tag 'cubic' found using 'law' does not match"),
        ("demand.rhoo=1", "demand.rhoo: no such key"),
        ("colour=1", "colour: no such key; the keys are arrival"),
        ("start.stock=[5, 1]", "start.stock: an opening stock between two values needs 0 <= low <= high"),
        ("start.stock=[-5, 1]", "start.stock: an opening stock between two values needs 0 <= low <= high"),
        ("capacity=10", "the opening stock must fit the capacity"),
        ("demand.minimum=9\ndemand.maximum=3", "must not lie below"),
        ("features.economy.start=[0.5, 0.6]", "features.economy: start and every row of transition must"),
        ("features.economy.kind=tide", "features.economy: Input tag 'tide'"),
        ("features.stock={kind='cycle', length=2}", "a feature cannot be called stock"),
        ("demand.features.weather=2", "demand names the feature 'weather', which [features] does not define"),
        ("demand.features.economy=[1, 2]", "the effect of 'economy' must be a number, or one number for each"),
        ("foo", "a setting looks like demand.rho=0.6, but 'foo' came"),
        ("=1", "a setting looks like demand.rho=0.6, but '=1' came"),
        ("horizon.x=1", "'horizon.x=1' cannot be set: 'horizon' is not a table"),
    ],
)
def test_error_names_the_field(setting: str, expected: str) -> None:
    assert expected in reasons("released", *setting.split("\n"))


def test_discrete_noise_needs_probabilities(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="as many probabilities that sum to 1"):
        own(tmp_path, OWN.replace("[0.5, 0.5]", "[0.5, 0.6]"))


def test_missing_scenarios_are_refused(tmp_path: Path) -> None:
    assert "no scenario 'nowhere'; give the path of a .toml file or one of appendix, confounded" in reasons("nowhere")
    assert "there is no file" in reasons(str(tmp_path / "nowhere.toml"))


def test_the_first_period_of_released_is_off_the_law() -> None:
    scenario = Scenario.load("released", ("demand.noise.scale=0",))
    rng, ones, good = np.random.default_rng(0), np.ones(1), (np.ones(1), np.zeros(1))
    # the lag term is 5 at first and 1.2 * 5 = 6 later; price 6, economy 1, noise 3.5
    assert scenario.demand(0, good, 6 * ones, 5 * ones, rng).tolist() == [4]  # 4.5 to even
    assert scenario.demand(1, good, 6 * ones, 5 * ones, rng).tolist() == [6]  # 5.5 to even


def test_demand_is_bounded_and_may_be_continuous() -> None:
    scenario = Scenario.load("paper", ("demand.integer=false", "demand.minimum=2.5"))
    rng = np.random.default_rng(0)
    features = (np.zeros(3), np.zeros(3))
    low = scenario.demand(1, features, np.full(3, 99.0), np.zeros(3), rng)
    high = scenario.demand(1, features, np.zeros(3), np.full(3, 99.0), rng)
    assert low.tolist() == [2.5] * 3
    assert high.tolist() == [30] * 3
    middle = scenario.demand(1, features, np.full(3, 4.0), np.full(3, 9.0), rng)
    assert (middle != np.rint(middle)).all()


def test_the_linear_law_of_the_paper() -> None:
    law = Scenario.load("paper").demand_law
    assert isinstance(law, Linear)
    scenario = Scenario.load("paper", ("demand.noise.scale=0", "demand.integer=false"))
    rng = np.random.default_rng(0)
    # 15.35 + 0.8 * 10 - 3 * 4 + 2 * 1 - 0.6 * 3 = 11.55
    drawn = scenario.demand(1, (np.ones(1), np.full(1, 3.0)), np.full(1, 4.0), np.full(1, 10.0), rng)
    assert drawn[0] == pytest.approx(11.55)


def test_the_saturating_law_is_one_where_demand_equals_half() -> None:
    law = Scenario.load("nonlinear").demand_law
    assert isinstance(law, Saturating)
    # floor 0.3: 0.3 + 0.7 * 2 d / (d + 10)
    np.testing.assert_allclose(law.lag_term(np.array([0.0, 10.0, 1e12])), [0.3, 1.0, 1.7])
    scenario = Scenario.load("nonlinear", ("demand.noise.scale=0", "demand.noise.loc=0", "demand.integer=false"))
    rng = np.random.default_rng(0)
    features = (np.ones(1), np.zeros(1))
    drawn = scenario.demand(1, features, np.full(1, 6.0), np.full(1, 10.0), rng)
    assert drawn[0] == pytest.approx(11 * np.exp(0.35))


def test_opening_laws() -> None:
    scenario = Scenario.load("paper")
    (economy, interest), stock, lag = scenario.open(50_000, np.random.default_rng(0))[:3]
    assert sorted(set(stock)) == list(range(26))
    assert np.mean(economy) == pytest.approx(0.5, abs=0.01)
    assert np.mean(interest) == pytest.approx(3, abs=0.02)
    assert np.std(interest) == pytest.approx(0.4 / 0.6, abs=0.01)  # stationary: shock / sqrt(1 - 0.8 ** 2)
    assert np.mean(lag) == pytest.approx(9, abs=0.05)
    assert (lag >= 0).all()
    assert (lag == np.rint(lag)).all()
