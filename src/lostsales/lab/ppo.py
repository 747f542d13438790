"""Training by PPO, where torch and stable-baselines3 are installed."""

from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.ppo_policy import PpoPolicy
from lostsales.simulation.scenario import Scenario


def train(scenario: Scenario, *, steps: int, discount: float, seed: int, progress: Progress | None = None) -> PpoPolicy:
    """Train a policy, where torch and stable-baselines3 are installed."""
    if steps < 1 or seed < 0:
        raise SettingError(f"steps must be at least 1 and seed at least 0, but {steps} and {seed} came")
    try:
        from lostsales.lab.ppo_training import PpoSettings, train_ppo
    except ModuleNotFoundError as missing:
        raise LostSalesError(
            f"PPO needs {missing.name}, which is not installed: run `pip install 'lostsales[rl]'`, or `make ppo`, "
            "which makes an environment of its own"
        ) from None
    return train_ppo(scenario, PpoSettings(steps=steps, discount=discount, seed=seed), progress)
