"""The Gymnasium environments: Gymnasium's checks, and censored demand is not observable."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from lostsales.policy.action_grid import ActionGrid
from lostsales.simulation.environment import RetailerEnv
from lostsales.simulation.presets import environment_id, preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy

# `released` without chance: the economy is good, the rate is 0, and the noise is its least value, 3.5.
CERTAIN = (
    "demand.noise.scale=0",
    "features.economy.start=[0, 1]",
    "features.economy.transition=[[0, 1], [0, 1]]",
    "features.interest.shock=0",
    "features.interest.start_sd=0",
)


def play(env: RetailerEnv, seed: int = 0) -> tuple[list[np.ndarray[tuple[int], np.dtype[np.float32]]], list[float]]:
    """Every observation and reward of an episode with random actions."""
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    observations, rewards, over = [observation], [], False
    while not over:
        observation, reward, _, over, _ = env.step(env.action_space.sample())
        observations.append(observation)
        rewards.append(float(reward))
    return observations, rewards


@pytest.mark.parametrize("observe_demand", [False, True])
@pytest.mark.parametrize("preset", preset_names(hidden_state=False))
def test_gymnasium_checks_pass(preset: str, observe_demand: bool) -> None:
    env = gymnasium.make(environment_id(preset), observe_demand=observe_demand).unwrapped
    assert isinstance(env, RetailerEnv)
    check_env(env)
    observations, rewards = play(env)
    assert len(rewards) == env.scenario.horizon
    assert all(env.observation_space.contains(each) for each in observations)


def test_the_vector_api_steps_several_shops() -> None:
    envs = gymnasium.make_vec("lostsales/Released-v0", num_envs=3, vectorization_mode="sync")
    observation, _ = envs.reset(seed=1)
    assert observation.shape == (3, 5)
    observation, reward, terminated, truncated, _ = envs.step(np.array([[2, 0], [2, 4], [2, 9]]))
    assert observation.shape == (3, 5)
    assert reward.shape == (3,)
    assert not terminated.any()
    assert not truncated.any()
    envs.close()


def test_an_episode_by_hand() -> None:
    """Stock 15, price 6, no order: demand round(5 - 9 + 5 + 3.5) = 4, so 24 - 11 = 13; the next is 4 again."""
    env = RetailerEnv(Scenario.load("released", CERTAIN))
    observation, _ = env.reset(seed=0)
    assert observation.tolist() == [1, 0, 15, 5, 0]  # economy, interest, stock, sales, stock-out
    observation, reward, terminated, truncated, info = env.step(np.array([2, 0]))
    assert observation.tolist() == [1, 0, 11, 4, 0]
    assert (reward, terminated, truncated, info) == (13, False, False, {})
    observation, reward, *_ = env.step(np.array([2, 4]))
    assert observation.tolist() == [1, 0, 11, 4, 0]
    assert reward == 1


@pytest.mark.parametrize("preset", ["released", "steady"])
def test_censored_demand_is_not_observable(preset: str) -> None:
    """Two scenarios that differ only in the demand of an empty shop have equal observations."""
    shown = []
    for intercept in (60, 75):
        scenario = Scenario.load(preset, (f"demand.intercept={intercept}", "demand.maximum=200", "demand.rho=0"))
        env = RetailerEnv(scenario.model_copy(update={"longest_run": None}))
        observations, rewards = play(env)
        shown.append((np.array(observations), rewards))
    np.testing.assert_array_equal(shown[0][0], shown[1][0])
    assert shown[0][1] != shown[1][1]  # the cost of lost sales differs


def test_true_demand_is_observed_on_request_only() -> None:
    scenario = Scenario.load("released", (*CERTAIN, "start.stock=1", "orders=[0]"))
    seller, oracle = RetailerEnv(scenario), RetailerEnv(scenario, observe_demand=True)
    for env in (seller, oracle):
        env.reset(seed=0)
    action = np.array([2, 0])  # demand is 4, and 1 is there
    assert seller.step(action)[0].tolist()[-2:] == [1, 1]
    assert oracle.step(action)[0].tolist()[-1:] == [4]


def test_an_order_that_does_not_fit_is_lowered_where_that_is_forbidden() -> None:
    env = RetailerEnv("fixed-cost")  # room for 40, 10 are there
    env.reset(seed=0)
    observation, *_ = env.step(np.array([4, 40]))
    sold = observation[-2]
    assert observation[-3] == 40 - sold


def test_environment_and_simulator_agree() -> None:
    """Means over many random episodes agree within four standard errors."""
    env = RetailerEnv("newsvendor")
    means = [np.mean(play(env, seed)[1]) for seed in range(200)]
    summary = evaluate_policy(env.scenario, episodes=20_000)
    error = np.hypot(np.std(means) / np.sqrt(len(means)), summary.std_error)
    assert abs(np.mean(means) - summary.mean_profit) < 4 * error
    assert len(ActionGrid.of(env.scenario)) == 5 * 21


def test_goods_that_perish_are_seen_by_remaining_life() -> None:
    """Two orders of 3 into an empty shop with a shelf life of 2: the second joins what is left of the first."""
    env = RetailerEnv(Scenario.load("perishable", ("demand.mean=0.01", "costs={lost=0, order=0, holding=1}")))
    observation, _ = env.reset(seed=0)
    assert observation[:3].tolist() == [0, 0, 0]
    env.step(np.array([0, 3]))
    observation, reward, *_ = env.step(np.array([0, 3]))
    assert observation[:3].tolist() == [6, 3, 3]
    assert reward == -3
    _, reward, *_ = env.step(np.array([0, 0]))
    assert reward == -3 - 7 * 3
    assert env.observation_space.contains(observation)
