"""Simulated supply: what arrival gave, logs that balance, and policies and the environment that obey it."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.simulation.environment import RetailerEnv
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.presets import preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

SUPPLIES: list[tuple[str, ...]] = [
    ("supply.lead_time=2",),
    ("supply.lead_time=8",),
    ("supply.lead_time={1=0.5, 2=0.3, 3=0.1, lost=0.1}",),
    ("supply.lead_time={1=0.5, 2=0.3, 3=0.1, lost=0.1}", "supply.crossing=false"),
    ("supply.lead_time={1=0.9, lost=0.1}",),
    ("supply.lead_time=3", "supply.share=0.8"),
    ("supply.lead_time=2", "supply.order_days=3"),
    ("supply.lead_time=2", 'supply.order_days=["Monday", "Friday"]', "supply.capacity=18"),
    ("supply.lead_time=2", "supply.multiple=4", "supply.minimum=8"),
    ("supply.lead_time=2", "supply.capacity=20", "capacity_rule=forbid"),
    ("supply.lead_time=3", "start.on_order=[5, 2]"),
]


@pytest.mark.parametrize("preset", preset_names())
def test_lead_times_0_and_1_are_bit_for_bit_what_arrival_gave(preset: str) -> None:
    for lead_time, arrival in ((0, "before"), (1, "after")):
        plain = Scenario.load(preset, (f"arrival={arrival}",))
        said = plain.model_copy(update={"supply": type(plain.supply)()})
        given = Scenario.load(preset, (f"supply.lead_time={lead_time}",))
        assert given.receives_orders
        (log, truth), (same_log, same_truth) = (
            simulate(each, episodes=3, seed=5) for each in (_by_arrival(said, arrival), given)
        )
        for each in fields(SalesLog):
            if isinstance(column := getattr(log, each.name), np.ndarray):
                np.testing.assert_array_equal(column, getattr(same_log, each.name))
        np.testing.assert_array_equal(truth.profit, same_truth.profit)
        assert log.received is None
        assert log.pipeline is None


def _by_arrival(scenario: Scenario, arrival: str) -> Scenario:
    keys = scenario.model_dump(by_alias=True) | {"arrival": arrival}
    del keys["supply"]
    return Scenario.model_validate(keys)


def test_a_policy_of_lead_time_1_is_that_of_arrival_after() -> None:
    policies = [
        lostsales.fit(simulate(Scenario.load("steady", settings), episodes=8, seed=2)[0], "c-fqi", iterations=5)
        for settings in ((), ("supply.lead_time=1",))
    ]
    first, second = (simulate("steady", each, episodes=20)[1].profit for each in policies)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("supply", SUPPLIES)
def test_every_simulated_log_balances_and_reads_back(supply: tuple[str, ...], tmp_path: Path) -> None:
    scenario = Scenario.load("steady", supply)
    log, _ = simulate(scenario, episodes=8, seed=1)
    write_log(log, tmp_path / "log.parquet")
    back = read_log(tmp_path / "log.parquet")
    assert back.notes.off_balance_rows == 0
    assert back.notes.balance_rows == 8 * 49
    assert back.notes.off_lead_time_rows == 0
    assert back.problem == log.problem
    assert log.order is not None
    for name in ("received", "pipeline"):
        mine, its = getattr(log, name), getattr(back, name)
        assert (mine is None) == (its is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, its)
    if scenario.supply.order_cycle is not None:
        phase = scenario.supply.order_phase(log.period)
        assert phase is not None
        assert not log.order[~scenario.supply.may_order(phase)].any()
        assert log.order.any()
    if scenario.supply.capacity is not None:
        assert log.pipeline is not None
        assert (log.pipeline.sum(axis=1) + log.order).max() <= scenario.supply.capacity
    if scenario.supply.multiple is not None:
        assert set(np.unique(log.order)) <= {0, 8, 12}


def test_a_changed_pipeline_column_is_refused(tmp_path: Path) -> None:
    log, _ = simulate(Scenario.load("steady", ("supply.lead_time=3",)), episodes=2, seed=1)
    assert log.pipeline is not None
    wrong = log.pipeline.copy()
    wrong[60, 1] += 1
    write_log(replace(log, pipeline=wrong), tmp_path / "log.parquet")
    with pytest.raises(lostsales.LogError, match=r"on_order must equal the orders of the periods before, but row 60"):
        read_log(tmp_path / "log.parquet")


@pytest.mark.parametrize(
    "method", ["base-stock", "capped-base-stock", "projected-level", "constant-order", "behaviour"]
)
def test_learned_policies_obey_supply(method: str) -> None:
    """A roll-out refuses an order off the order days, or beyond the capacity of the pipeline."""
    scenario = Scenario.load(
        "steady", ("supply.lead_time=3", "supply.order_days=2", "supply.capacity=24", "discount=0.99")
    )
    log, _ = simulate(scenario, episodes=8, seed=3)
    policy = lostsales.fit(log, method)
    played, _ = simulate(scenario, policy, episodes=4)
    assert played.order is not None
    assert played.order.any()


def test_the_environment_shows_the_pipeline() -> None:
    env = RetailerEnv(Scenario.load("lost-sales", ("supply.lead_time=3", "supply.order_days=2", "start.stock=9")))
    seen, _ = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert seen[:4].tolist() == [9, 0, 0, 0]  # stock, arriving in 1 and in 2 periods, position in the cycle
    seen, *_ = env.step(np.array([0, 7]))
    assert seen[1:4].tolist() == [0, 7, 1]
    seen, *_ = env.step(np.array([0, 7]))  # no order day: lowered to 0
    assert seen[1:4].tolist() == [7, 0, 0]


def test_base_stock_counts_what_is_on_the_way() -> None:
    scenario = Scenario.load("lost-sales", ("supply.lead_time=3",))
    log, _ = simulate(scenario, named_policy("base-stock:20", scenario), episodes=3)
    assert log.stock is not None
    assert log.order is not None
    assert log.pipeline is not None
    assert (log.stock + log.pipeline.sum(axis=1) + log.order == 20).all()
