"""Behaviours of an experiment by name: their seeds, references, published points and refusals."""

import pytest

from lostsales.errors import SettingError
from lostsales.lab.experiments.against_published import published_of
from lostsales.lab.experiments.design import Cell, Experiment
from lostsales.lab.experiments.published import published_results
from lostsales.simulation.scenario import Scenario

SHOP = Scenario.load("released")


def experiment(*behaviours: str) -> Experiment:
    return Experiment(scenario=SHOP, levels=(5,), runs=1, methods=("c-fqi",), behaviours=behaviours)


def test_a_log_has_its_seed_whatever_other_behaviours_there_are() -> None:
    usual, all_four = experiment("uniform", "near-optimal"), experiment("softmax", "pi-star", "near-optimal", "uniform")
    known = ("uniform", 3425265760), ("near-optimal", 364777921), ("pi-star", 2837061871), ("softmax", 3983356409)
    assert [(name, all_four.log_seed(name, 3)) for name, _ in known] == list(known)  # as logs were drawn before
    for behaviour in ("uniform", "near-optimal"):
        assert usual.log_seed(behaviour, 3) == all_four.log_seed(behaviour, 3)
        assert usual.fit_seed(behaviour, 3) == all_four.fit_seed(behaviour, 3)
    seeds = {all_four.log_seed(behaviour, 3) for behaviour in all_four.behaviours}
    assert len(seeds) == 4


def test_behaviours_are_references_too_and_uniform_always_is() -> None:
    asked = experiment("pi-star", "softmax")
    assert asked.references == ("oracle-horizon", "pi-star-horizon", "oracle", "pi-star", "uniform", "softmax")
    cells = list(asked.cells())
    assert Cell("softmax", 5, 0, "c-fqi") in cells
    assert Cell("pi-star", 5, 0, "c-fqi") in cells
    assert not [each for each in cells if each.behaviour == "uniform"]


def test_every_good_behaviour_is_compared_with_the_published_near_optimal_one() -> None:
    published = published_results(SHOP)
    softmax, near = (published_of(behaviour, published) for behaviour in ("softmax", "near-optimal"))
    assert [each[1:4] for each in softmax] == [each[1:4] for each in near]
    assert {each.behaviour for each in softmax} == {"softmax"}
    assert len(near) == 15
    assert {each.behaviour for each in published_of("uniform", published)} == {"uniform"}


@pytest.mark.parametrize(
    ("behaviours", "message"),
    [(("greedy",), "there is no behaviour greedy"), (("uniform", "uniform"), "once each"), ((), "one at least")],
)
def test_what_is_no_behaviour_is_refused(behaviours: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        experiment(*behaviours)


def test_methods_beside_the_papers_have_few_of_the_default_levels_and_all_that_are_asked_for() -> None:
    methods = ("c-fqi", "planner")
    usual = Experiment(scenario=SHOP, runs=1, methods=methods, behaviours=("uniform",))
    fitted = [(each.method, each.episodes) for each in usual.cells() if each.behaviour == "uniform"]
    assert [episodes for method, episodes in fitted if method == "c-fqi"] == list(range(5, 51, 5))
    assert [episodes for method, episodes in fitted if method == "planner"] == [5, 10, 50]
    asked = Experiment(scenario=SHOP, runs=1, methods=methods, behaviours=("uniform",), levels=(5, 20))
    assert asked.levels_of("planner") == asked.levels_of("c-fqi") == (5, 20)
