"""Logs by a sampled PPO policy: a hand-made network, as training needs torch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.experiments.design import REFERENCE, Experiment
from lostsales.lab.experiments.folder import MANIFEST, reference_path
from lostsales.lab.experiments.ppo_behaviour import ppo_behaviour, ppo_checksum
from lostsales.lab.experiments.run import run_experiment
from lostsales.lab.ppo_policy import PpoPolicy, PpoTraining
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.apps.running import run_json
from tests.lab.experiments.small import TINY, small

PRICES, ORDERS = np.log([0.75, 0.25]), np.log([0.2, 0.3, 0.5])


def policy(orders: tuple[float, ...] = tuple(ORDERS)) -> PpoPolicy:
    """One layer: the same distributions whatever is observed; a file of it has no other mark."""
    problem, bias = Scenario.load(TINY).problem, np.r_[PRICES, orders]
    trained = PpoTraining(steps=0, discount=0.9, seed=0)
    return PpoPolicy(problem, np.zeros(3), np.ones(3), (np.zeros((5, 3)),), (bias,), trained)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    policy().save(tmp_path / "ppo")
    return tmp_path / "ppo"


def asked(file: Path, *behaviours: str) -> Experiment:
    return small(behaviours=behaviours, ppo=ppo_checksum(file), runs=1, levels=(5,), methods=("base-stock",))


def test_actions_are_drawn_from_the_distributions_of_the_network(file: Path) -> None:
    rows = 20_000
    none = np.zeros(rows)
    view = View(0, (none,), none, none, none > 0, none.astype(np.int16), none)
    drawn = ppo_behaviour(file, Scenario.load(TINY)).decide(view, np.random.default_rng(1))
    np.testing.assert_allclose([np.mean(drawn.price == each) for each in (2, 4)], np.exp(PRICES), atol=0.01)
    np.testing.assert_allclose([np.mean(drawn.order == each) for each in (0, 2, 3)], np.exp(ORDERS), atol=0.01)
    assert np.mean((drawn.price == 4) & (drawn.order == 0)) == pytest.approx(0.25 * 0.2, abs=0.01)
    mode = lostsales.load(file).decide(view, np.random.default_rng(1))
    assert set(mode.price) == {2.0}
    assert set(mode.order) == {3.0}
    must_fit = Scenario.load(TINY, ("capacity_rule=forbid",)).problem
    full = replace(view, stock=none + 1)  # room for 2
    held = replace(policy(), problem=must_fit, sampled=True).decide(full, np.random.default_rng(1))
    np.testing.assert_array_equal(held.order, np.minimum(drawn.order, 2))


def test_an_experiment_learns_from_the_sampled_policy_and_keeps_its_file(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    finished = run_experiment(asked(file, "ppo"), folder, workers=1, ppo=file)
    assert not [each.failure for each in finished if each.failure]
    assert reference_path(folder, "ppo").read_bytes() == file.read_bytes()
    assert json.loads((folder / MANIFEST).read_text())["experiment"]["ppo"] == ppo_checksum(file)
    cells = {(each.behaviour, each.method): each.value for each in finished}
    assert (REFERENCE, "ppo") in cells
    log, _ = simulate(TINY, ppo_behaviour(file, Scenario.load(TINY)), 5, seed=1)
    assert set(np.asarray(log.order)) == {0.0, 2.0, 3.0}
    file.unlink()  # the folder has what it needs
    again = run_experiment(asked(reference_path(folder, "ppo"), "ppo", "uniform"), folder, workers=1)
    assert cells.items() <= {(each.behaviour, each.method): each.value for each in again}.items()


def test_a_folder_has_the_logs_of_one_policy(file: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "experiment", tmp_path / "other"
    policy(orders=(0.0, 0.0, 1.0)).save(other)
    run_experiment(small(behaviours=("uniform",), runs=1, levels=(5,), methods=("base-stock",)), folder, workers=1)
    run_experiment(asked(file, "ppo"), folder, workers=1, ppo=file)  # it may grow by this behaviour
    run_experiment(small(behaviours=("uniform",), runs=1, levels=(5,), methods=("base-stock",)), folder, workers=1)
    with pytest.raises(SettingError, match=r"holds another experiment: ppo was [0-9a-f]+\.\.\., now"):
        run_experiment(asked(other, "ppo"), folder, workers=1, ppo=other)
    reference_path(folder, "ppo").write_bytes(other.read_bytes())
    with pytest.raises(SettingError, match=r"ppo\.policy is not the policy file that the experiment was begun with"):
        run_experiment(asked(file, "ppo"), folder, workers=1, ppo=file)


def test_what_is_no_sampled_policy_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="the behaviour ppo needs the file of a policy"):
        small(behaviours=("ppo",))
    with pytest.raises(SettingError, match="the behaviour ppo needs the file of a policy"):
        run_experiment(asked(file, "ppo"), tmp_path / "experiment", workers=1)
    with pytest.raises(LostSalesError, match="nowhere cannot be read"):
        ppo_checksum(tmp_path / "nowhere")
    log, _ = simulate(TINY, episodes=5, seed=1)
    lostsales.fit(log, "base-stock").save(tmp_path / "rule")
    with pytest.raises(SettingError, match=r"needs a policy by `lostsales solve --target ppo`, but .*rule has another"):
        ppo_behaviour(tmp_path / "rule", Scenario.load(TINY))
    with pytest.raises(SettingError, match="was made for prices"):
        ppo_behaviour(file, Scenario.load("newsvendor"))


def test_the_command_takes_the_file(file: Path, tmp_path: Path) -> None:
    few = ["--levels", "5", "--runs", "2", "--methods", "base-stock", "--test-episodes", "5", "--workers", "1"]
    options = ["--behaviours", "ppo", "--ppo", str(file), "--out", str(tmp_path / "out"), *few]
    run_json("experiment", str(TINY), *options)
    assert "sampled PPO behaviour" in (tmp_path / "out" / "summary.md").read_text()


def test_the_verb_takes_behaviours_and_the_file(file: Path, tmp_path: Path) -> None:
    few: dict[str, Any] = {"levels": (5,), "runs": 1, "methods": ("base-stock",), "test_episodes": 5, "workers": 1}
    found = lostsales.experiment(TINY, tmp_path / "out", behaviours=("ppo", "pi-star"), ppo=file, **few)
    assert {each.behaviour for each in found.finished} == {REFERENCE, "ppo", "pi-star"}
    assert found.experiment.ppo == ppo_checksum(file)
    with pytest.raises(SettingError, match="the behaviour ppo needs the file of a policy"):
        lostsales.experiment(TINY, tmp_path / "other", behaviours=("ppo",), **few)
