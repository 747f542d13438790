"""PPO of stable-baselines3 on a batch of shops. The only module that imports torch."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from lostsales.data.progress import Progress
from lostsales.lab.ppo_policy import PpoPolicy, PpoTraining
from lostsales.simulation.environment import BatchedShop, Observation, observation_space
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats, Ints


@dataclass(frozen=True)
class PpoSettings:
    """Hyperparameters, as chosen in `released` (docs/decisions/references.md)."""

    steps: int = 1_000_000
    discount: float = 0.9
    seed: int = 0
    shops: int = 64
    rollout: int = 50  # periods between updates
    batch: int = 800
    epochs: int = 10
    rate: float = 1e-3  # falls to 0
    entropy: float = 0.002
    width: int = 64


class ShopsVecEnv(VecEnv):  # type: ignore[misc]
    """The environment with observed demand as a batch: scaled observations, rewards in units of the largest sale."""

    def __init__(self, scenario: Scenario, shops: int, seed: int) -> None:
        self.shops, self.rng = BatchedShop(scenario, shops, observe_demand=True), np.random.default_rng(seed)
        self.centre, self.scale = scaling(scenario)
        self.unit = scenario.prices[-1] * scenario.orders[-1]
        shape = observation_space(scenario, observe_demand=True).shape
        space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
        actions = gymnasium.spaces.MultiDiscrete([len(scenario.prices), len(scenario.orders)])
        super().__init__(shops, space, actions)

    def reset(self) -> Observation:
        """Open an episode in every shop."""
        return self._scaled(self.shops.open(self.rng))

    def step_async(self, actions: Ints) -> None:
        """Keep the actions for `step_wait`."""
        self.actions = actions

    def step_wait(self) -> tuple[Observation, Floats, Any, list[dict[str, Any]]]:
        """Step all shops; all episodes are truncated together, never terminated."""
        observation, profit = self.shops.close(self.actions)
        scaled, over = self._scaled(observation), self.shops.over
        infos = [{"terminal_observation": row, "TimeLimit.truncated": True} if over else {} for row in scaled]
        if over:
            scaled = self.reset()
        return scaled, (profit / self.unit).astype(np.float32), np.full(self.num_envs, over), infos

    def _scaled(self, observation: Observation) -> Observation:
        return ((observation - self.centre) / self.scale).astype(np.float32)

    def close(self) -> None:
        """No resources to release."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ARG002
        """Required by the interface."""
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not supported."""
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Not supported."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002
        """No wrapper is used."""
        return [False] * self.num_envs


def scaling(scenario: Scenario) -> tuple[Floats, Floats]:
    """Centre and scale of observations: moments of the features, the largest order for stock and demand."""
    features = simulate(scenario, episodes=200)[0].features
    spread = features.std(axis=0)
    most = scenario.orders[-1] or 1.0
    return np.r_[features.mean(axis=0), most, most], np.r_[np.where(spread > 0, spread, 1.0), most, most]


class _Report(BaseCallback):  # type: ignore[misc]
    def __init__(self, progress: Progress, steps: int) -> None:
        super().__init__()
        self.progress, self.steps = progress, steps

    def _on_step(self) -> bool:
        self.progress(min(self.num_timesteps, self.steps), self.steps)
        return True


def train_ppo(scenario: Scenario, settings: PpoSettings, progress: Progress | None = None) -> PpoPolicy:
    """Train an actor and return it as arrays."""
    torch.set_num_threads(1)  # small layers are slower on several threads
    env = ShopsVecEnv(scenario, settings.shops, settings.seed)
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: settings.rate * left,
        n_steps=settings.rollout,
        batch_size=settings.batch,
        n_epochs=settings.epochs,
        gamma=settings.discount,
        ent_coef=settings.entropy,
        policy_kwargs={"net_arch": [settings.width, settings.width]},
        seed=settings.seed,
        device="cpu",
    )
    model.learn(settings.steps, callback=_Report(progress, settings.steps) if progress else None)
    actor = [*(layer for layer in model.policy.mlp_extractor.policy_net if hasattr(layer, "weight"))]
    layers = [*actor, model.policy.action_net]
    return PpoPolicy(
        problem=scenario.problem,
        centre=env.centre,
        scale=env.scale,
        weights=tuple(layer.weight.detach().numpy().astype(np.float64) for layer in layers),
        biases=tuple(layer.bias.detach().numpy().astype(np.float64) for layer in layers),
        trained=PpoTraining(steps=settings.steps, discount=settings.discount, seed=settings.seed),
    )
