"""Expected profit of following a policy, as a function of the state: a ridge regression of replayed returns."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lostsales.learn.function.depth_regression import HyperparameterSearch, build
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QFunction, Scaler
from lostsales.saved_fields import numbers
from lostsales.types import Floats, Ints

FOLDS = 5  # of episodes, by which the kernel is chosen
MOST_RANK = 100  # landmarks: returns are noisy, and their mean is smooth


@dataclass(frozen=True, eq=False)
class ValueFunction:
    """Expected discounted profit of following a policy from a state on."""

    mean: QFunction  # of a single action
    states: Annotated[
        Floats, numbers(2, "?")
    ]  # (2, coordinates) least and most that were visited, to which states are clipped

    @classmethod
    def of(cls, states: Floats, returns: Floats, episode: Ints, seed: int) -> "ValueFunction":
        """Regression of returns (rows,) on states (rows, coordinates); folds hold out whole episodes."""
        scaler, no_action, function = (
            Scaler.of(states),
            np.zeros((len(states), 2)),
            FunctionClass(most_rank=MOST_RANK, pilot_share=0.0),
        )
        action_scaler, scaled, fold = ActionScaler.of(no_action), scaler(states), episode % FOLDS
        folds = [(fold == each, fold != each) for each in range(FOLDS)]
        search = HyperparameterSearch.of(scaled, no_action, folds, function, seed)
        design = build(
            scaler, action_scaler, scaled, no_action, search.choose(returns - returns.mean()), function, seed
        )
        mean = design.q(returns, float(returns.min()), float(returns.max()))[0]
        return cls(mean, np.array([states.min(axis=0), states.max(axis=0)]))

    def __call__(self, states: Floats) -> Floats:
        """Value of states (rows, coordinates), (rows,)."""
        return np.asarray(self.mean.values(np.clip(states, *self.states), np.zeros((1, 2)))[:, 0])
