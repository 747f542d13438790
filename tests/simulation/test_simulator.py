"""The simulator: known values, hand-computed episodes, and determinism by seed."""

from dataclasses import asdict
from pathlib import Path

import duckdb
import numpy as np
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.errors import SettingError
from lostsales.lab.exact.solve import solve
from lostsales.policy.simple import Uniform
from lostsales.simulation import simulator
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.presets import preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate, summarise
from tests.tables import assert_equal_logs

# `released` without chance: the economy is good, the rate is 0, and the noise is its least value, 3.5.
CERTAIN = (
    "demand.noise.scale=0",
    "features.economy.start=[0, 1]",
    "features.economy.transition=[[0, 1], [0, 1]]",
    "features.interest.shock=0",
    "features.interest.start_sd=0",
)


@pytest.mark.parametrize(("preset", "fact"), [("released", -16.1), ("paper", -8.7), ("steady", -9.1)])
def test_uniform_behaviour_has_the_value_of_exact_dynamic_programming(preset: str, fact: float) -> None:
    summary = evaluate_policy(Scenario.load(preset), episodes=200_000, seed=1)
    assert summary.std_error < 0.025
    assert abs(summary.mean_profit - fact) < 0.05 + 4 * summary.std_error  # the fact is rounded to one digit


def test_a_seventh_of_the_rows_of_released_is_truncated() -> None:
    log, truth = simulate(Scenario.load("released"), episodes=4000, seed=2)
    assert truth.truncated.mean() == pytest.approx(0.14, abs=0.005)
    assert not (truth.truncated & log.censored).any()
    assert (truth.demand[truth.truncated] == log.available[truth.truncated]).all()


def test_released_with_a_high_price_and_no_noise() -> None:
    """D = round(5 - 9 + 5 + 3.5) = 4, and round(1.2 * 4 - 0.5) = 4 for ever after.

    Stock 15 sells 4 and holds 11: 24 - 11 = 13. Then 4 are ordered every period: 24 - 12 - 11 = 1.
    """
    scenario = Scenario.load("released", CERTAIN)
    log, truth = simulate(scenario, named_policy("base-stock:15@6", scenario), episodes=2)
    assert set(truth.demand) == {4}
    assert truth.profit.tolist() == ([13] + [1] * 49) * 2
    assert log.order is not None
    assert log.order.tolist() == ([0] + [4] * 49) * 2
    assert evaluate_policy(
        scenario, named_policy("base-stock:15@6", scenario), episodes=2
    ).mean_profit == pytest.approx(1.24)


def test_released_with_a_low_price_an_empty_shop_and_no_noise() -> None:
    """The lag term of the first period is 5, D = 1.2 D + 5.5 after it, and the fourth stock-out in a row is cut to 0.

    D: 10.5 -> 10 of 15, 17.5 -> 18 of 5, 27.1 -> 27 of 0, 37.9 -> 38 of 0, cut to 0, 5.5 -> 6 of 0.
    """
    scenario = Scenario.load("released", (*CERTAIN, "horizon=6"))
    log, truth = simulate(scenario, named_policy("base-stock:0@2", scenario), episodes=1)
    assert truth.demand.tolist() == [10, 18, 27, 38, 0, 6]
    assert truth.truncated.tolist() == [False, False, False, False, True, False]
    assert log.sales.tolist() == [10, 5, 0, 0, 0, 0]
    assert log.censored.tolist() == [False, True, True, True, False, True]
    assert truth.profit.tolist() == [20 - 5, 10 - 2 * 13, -2 * 27, -2 * 38, 0, -2 * 6]
    assert log.last_sales.tolist() == [5]
    assert log.last_stockout.tolist() == [False]


@pytest.mark.parametrize("preset", preset_names())
def test_log_and_truth_are_consistent(preset: str) -> None:
    scenario = Scenario.load(preset)
    log, truth = simulate(scenario, episodes=20, seed=3)
    assert log.problem == scenario.problem
    np.testing.assert_array_equal(log.sales, np.minimum(log.available, truth.demand))
    np.testing.assert_array_equal(truth.lost, truth.demand - log.sales)
    np.testing.assert_array_equal(log.censored, truth.lost > 0)
    np.testing.assert_allclose(truth.profit, log.cash - scenario.costs.lost * truth.lost)


@pytest.mark.parametrize("preset", preset_names())
def test_summary_of_a_log_equals_evaluate_policy(preset: str) -> None:
    scenario = Scenario.load(preset)
    kept = asdict(summarise(*simulate(scenario, episodes=30, seed=4)))
    evaluated = asdict(evaluate_policy(scenario, episodes=30, seed=4))
    assert kept.pop("depth_share") == pytest.approx(evaluated.pop("depth_share"))
    assert kept == pytest.approx(evaluated)


def test_shares_sum_to_one_and_only_one_episode_has_no_standard_error() -> None:
    summary = evaluate_policy(Scenario.load("paper"), episodes=1)
    assert sum(summary.depth_share.values()) == pytest.approx(1)
    assert np.isnan(summary.std_error)
    assert (summary.episodes, summary.periods) == (1, 50)


def test_same_seed_same_log_same_bytes_on_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario.load("released", ("horizon=5",))
    connect = duckdb.connect
    written = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(simulator, "THREADS", threads)
        monkeypatch.setattr(
            duckdb, "connect", lambda config=None, count=threads: connect(config=(config or {}) | {"threads": count})
        )
        log, truth = simulate(scenario, episodes=40_000, seed=5)  # three blocks of episodes, two groups of rows
        write_log(log, tmp_path / "log.parquet")
        truth.write(log, tmp_path / "truth.parquet")
        written.append([(tmp_path / name).read_bytes() for name in ("log.parquet", "log.toml", "truth.parquet")])
    assert written[0] == written[1] == written[2]
    other, _ = simulate(scenario, episodes=40_000, seed=6)
    assert (other.sales != log.sales).any()


def test_more_episodes_do_not_change_the_blocks_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "BLOCK", 8)
    scenario = Scenario.load("released")
    few, _ = simulate(scenario, episodes=8, seed=7)
    many, _ = simulate(scenario, episodes=20, seed=7)
    np.testing.assert_array_equal(many.sales[: len(few)], few.sales)
    assert (many.sales[len(few) : 2 * len(few)] != few.sales).any()


def test_policies_share_common_random_numbers() -> None:
    """Without memory, demand differs by the price alone."""
    scenario = Scenario.load("newsvendor")
    cheap, dear = (
        simulate(scenario, named_policy(f"base-stock:{level}@{price}", scenario), episodes=50, seed=8)[1]
        for level, price in ((20, 4), (5, 5))
    )
    inside = (cheap.demand > 0) & (cheap.demand < 40) & (dear.demand > 0)
    np.testing.assert_array_equal((cheap.demand - dear.demand)[inside], 2)
    assert inside.mean() > 0.9


def test_features_do_not_depend_on_the_policy() -> None:
    scenario = Scenario.load("paper")
    uniform, _ = simulate(scenario, episodes=20, seed=9)
    filled, _ = simulate(scenario, named_policy("base-stock", scenario, epsilon=0.3), episodes=20, seed=9)
    np.testing.assert_array_equal(uniform.features, filled.features)


def test_the_hidden_truth_is_written_beside_the_keys_of_its_log(tmp_path: Path) -> None:
    log, truth = simulate(Scenario.load("released"), episodes=3)
    truth.write(log, tmp_path / "truth.parquet")
    write_log(log, tmp_path / "log.parquet")
    joined = duckdb.execute(
        f"SELECT count(*), bool_and(sales = least(demand, stock + \"order\")) FROM '{tmp_path}/log.parquet' "
        f"JOIN '{tmp_path}/truth.parquet' USING (series, period)"
    )
    assert joined.fetchall() == [(150, True)]


def test_log_does_not_contain_the_hidden_truth(tmp_path: Path) -> None:
    log, _ = simulate(Scenario.load("released"), episodes=3)
    write_log(log, tmp_path / "log.csv")
    names = (tmp_path / "log.csv").read_text().splitlines()[0].split(",")
    shown = ["series", "period", "economy", "interest", "stock", "price", "order", "sales", "stockout"]
    assert names == [*shown, "last_sales", "last_stockout"]
    assert_equal_logs(read_log(tmp_path / "log.csv"), log)


@pytest.mark.parametrize(("episodes", "seed", "expected"), [(0, 0, "episodes"), (-1, 0, "episodes"), (1, -1, "seed")])
def test_arguments_out_of_range_are_refused(episodes: int, seed: int, expected: str) -> None:
    for run in (simulate, evaluate_policy):
        with pytest.raises(SettingError, match=f"{expected} must"):
            run(Scenario.load("released"), episodes=episodes, seed=seed)


def test_progress_counts_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "BLOCK", 2)
    seen: list[tuple[int, int]] = []
    scenario = Scenario.load("newsvendor")
    policy = Uniform(scenario.problem)
    evaluate_policy(scenario, policy, episodes=5, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_scenarios_and_policies_may_be_named_or_lie_in_a_file(tmp_path: Path) -> None:
    scenario = Scenario.load("newsvendor")
    policy = named_policy("base-stock:12@6", scenario)
    log, _ = simulate(scenario, policy, episodes=3)
    assert_equal_logs(simulate("newsvendor", "base-stock:12@6", episodes=3)[0], log)
    solved = solve(scenario, horizon=scenario.horizon).policy
    solved.save(tmp_path / "oracle")
    assert_equal_logs(simulate(scenario, tmp_path / "oracle", 3)[0], simulate(scenario, solved, 3)[0])
    with pytest.raises(SettingError, match="no policy 'magic'"):
        simulate("newsvendor", "magic")
