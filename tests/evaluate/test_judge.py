"""What `evaluate` promises, for every estimator."""

import json

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluate.judge import evaluate
from lostsales.evaluate.parts import without
from lostsales.evaluate.results import Interval
from lostsales.policy.actions import ActionGrid
from lostsales.policy.behaviour import BaseStock, EpsilonGreedy, Uniform
from lostsales.policy.rollout import Action, View
from lostsales.simulate.scenario import load_scenario
from lostsales.simulate.simulator import evaluate_policy, simulate
from tests.learn.small import scenario, small_log


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def base_stock_log(name: str, level: float, episodes: int, epsilon: float = 0.0) -> tuple[SalesLog, EpsilonGreedy]:
    grid = ActionGrid.of(scenario(name))
    policy = EpsilonGreedy(BaseStock(grid, level, float(grid.prices[1])), epsilon, grid)
    return simulate(scenario(name), policy, episodes, 5)[0], policy


@pytest.mark.parametrize("name", ["steady", "nonlinear"])
def test_evaluating_the_behaviour_policy_gives_back_what_was_earned(name: str) -> None:
    log, policy = base_stock_log(name, 18, 20, epsilon=0.2)
    judged = evaluate(policy, log, estimators=("fqe",))
    found = judged.by("fqe")
    assert found.profit is not None
    assert found.cash is not None
    assert found.cash.value == pytest.approx(float(log.cash.mean()), abs=0.15 * width(judged.earned.cash) + 0.1)
    assert found.profit.value == pytest.approx(judged.earned.profit.value, abs=0.15 * width(judged.earned.profit) + 0.1)


@pytest.mark.parametrize("name", ["released", "steady", "nonlinear"])
def test_on_policy_evaluation_matches_the_monte_carlo_mean(name: str) -> None:
    world = scenario(name)
    grid = ActionGrid.of(world)
    log, _ = simulate(world, None, 40, 8)
    truth = evaluate_policy(load_scenario(name, ("costs.lost=0",)), Uniform(grid), 4000, 1)  # what cash counts
    found = evaluate(Uniform(grid), log, estimators=("fqe",)).by("fqe")
    assert found.cash is not None
    assert found.cash.low < truth.mean_profit < found.cash.high


def test_the_interval_narrows_as_the_square_root_of_the_number_of_series() -> None:
    policy = BaseStock(ActionGrid.of(scenario("steady")), 18, 4.25)
    widths = [
        np.mean(
            [width(evaluate(policy, small_log("steady", n, s), estimators=("fqe",)).by("fqe").cash) for s in range(3)]
        )
        for n in (8, 32)
    ]
    assert 1.4 < widths[0] / widths[1] < 2.9


class Never:
    """Charges what the log never did."""

    observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """The same for all."""
        rows = len(view.stock)
        return Action(np.full(rows, 60.0), np.zeros(rows))


def test_a_policy_that_never_appears_in_the_data_is_flagged_and_not_scored() -> None:
    judged = evaluate(Never(), small_log("steady", 8), estimators=("fqe",))  # type: ignore[arg-type]
    found = judged.by("fqe")
    assert not found.scored
    assert judged.best is None
    assert not found.overlap.enough
    assert "in 0 of" in str(found.reason)


def test_series_of_any_length_and_with_gaps() -> None:
    log = small_log("nonlinear", 9)
    rng = np.random.default_rng(3)
    torn = without(log, (rng.random(len(log)) < 0.05) | ((log.series == 2) & (log.period > 7)))
    judged = evaluate(Uniform(ActionGrid.of(scenario("nonlinear"))), torn, estimators=("fqe",))
    assert judged.best is not None
    one = evaluate(Uniform(ActionGrid.of(scenario("nonlinear"))), small_log("nonlinear", 1), estimators=("fqe",))
    assert one.resampled == "blocks in time"
    assert len(one.units) == 5


def test_results_are_plain_json_and_say_the_same_for_the_same_seed() -> None:
    grid = ActionGrid.of(scenario("released"))
    log = small_log("released", 8)
    first, again = (evaluate(Uniform(grid), log, seed=4).to_json() for _ in range(2))
    assert json.dumps(first) == json.dumps(again)
    assert first["estimand"]["horizon"] == 50


def test_bad_requests_are_refused_with_a_reason() -> None:
    log, policy = small_log("steady", 6), Uniform(ActionGrid.of(scenario("steady")))
    with pytest.raises(SettingError, match="no estimator 'guess'"):
        evaluate(policy, log, estimators=("guess",))
    with pytest.raises(SettingError, match="horizon must be at least 1"):
        evaluate(policy, log, horizon=0)
    with pytest.raises(LostSalesError, match="true demand"):
        evaluate(Uniform(policy.grid, observes="demand"), log)
    with pytest.raises(LostSalesError, match="read_log"):
        evaluate(policy, "log.parquet")  # type: ignore[arg-type]
