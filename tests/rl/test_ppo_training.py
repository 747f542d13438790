"""PPO in its own environment (`make ppo`): batched dynamics, exported network, improvement by training."""

import numpy as np
import torch
from stable_baselines3 import PPO

from lostsales.lab.ppo import train
from lostsales.lab.ppo_training import PpoSettings, ShopsVecEnv, train_ppo
from lostsales.policy.simple import Uniform
from lostsales.simulation.environment import RetailerEnv
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy


def test_batched_and_single_shops_have_the_same_dynamics() -> None:
    """The batch of one, unscaled, is RetailerEnv under the same random numbers; episodes end at the horizon."""
    scenario = Scenario.load("released", ("horizon=5",))
    batch, env = ShopsVecEnv(scenario, 1, seed=3), RetailerEnv(scenario, observe_demand=True)
    env.reset(seed=0)
    env.np_random = np.random.default_rng(3)
    observation = batch.reset()
    expected, _ = env.reset()
    rng = np.random.default_rng(4)
    for period in range(12):
        np.testing.assert_allclose(observation[0] * batch.scale + batch.centre, expected, atol=1e-4)
        action = np.array([rng.integers(0, 3), rng.integers(0, 16)])
        observation, reward, done, infos = batch.step(action[None])
        expected, profit, _, over, _ = env.step(action)
        assert abs(reward[0] * batch.unit - profit) < 1e-4
        assert bool(done[0]) == over == (period % 5 == 4)
        if over:
            last = infos[0]["terminal_observation"] * batch.scale + batch.centre
            np.testing.assert_allclose(last, expected, atol=1e-4)
            assert infos[0]["TimeLimit.truncated"]
            expected, _ = env.reset()


def test_numpy_runs_the_network_that_torch_trained() -> None:
    """Same seed, same network; the modes of stable-baselines3 are the actions of the exported policy."""
    scenario, settings = Scenario.load("newsvendor"), PpoSettings(steps=3_200, width=8)
    policy = train_ppo(scenario, settings)
    again = train_ppo(scenario, settings)
    for one, other in zip(policy.weights, again.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    env = ShopsVecEnv(scenario, 64, seed=0)
    model = PPO("MlpPolicy", env, policy_kwargs={"net_arch": [8, 8]}, device="cpu")
    layers = [each for each in model.policy.mlp_extractor.policy_net if hasattr(each, "weight")]
    with torch.no_grad():
        for layer, weight, bias in zip([*layers, model.policy.action_net], policy.weights, policy.biases, strict=True):
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
    seen = np.random.default_rng(0).uniform(0, 30, (200, 2))
    chosen, _ = model.predict(((seen - policy.centre) / policy.scale).astype(np.float32), deterministic=True)
    logits = policy.logits(seen)
    np.testing.assert_array_equal(logits[:, :5].argmax(axis=1), chosen[:, 0])
    np.testing.assert_array_equal(logits[:, 5:].argmax(axis=1), chosen[:, 1])


def test_training_improves_on_uniform_and_reports_progress() -> None:
    scenario = Scenario.load("released")
    reported: list[tuple[int, int]] = []
    policy = train(scenario, steps=40_000, discount=0.9, seed=0, progress=lambda *done: reported.append(done))
    assert reported[-1] == (40_000, 40_000)
    trained, random = (
        evaluate_policy(scenario, each, 400, seed=1).mean_profit for each in (policy, Uniform(scenario.problem))
    )
    assert trained > 20 > 0 > random
