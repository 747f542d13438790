"""Q-functions of any regressor with `fit` and `predict`, such as those of scikit-learn."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lostsales.errors import SettingError
from lostsales.learn.function.q_function import ActionScaler, Deviations, Scaler
from lostsales.types import Floats, Ints

PAIRS = 200_000  # (history, action) pairs that are predicted at once


@runtime_checkable
class Regressor(Protocol):
    """A regressor; a copy is fitted at each depth and iteration."""

    def fit(self, inputs: Floats, targets: Floats) -> Any:
        """Learn from rows of (history, price, order), standardised."""
        ...

    def predict(self, inputs: Floats) -> Floats:
        """The expected target of each row."""
        ...


@dataclass(frozen=True, eq=False)
class RegressorQ:
    """One fitted Q^(i); the spread of the members of an ensemble is its uncertainty."""

    scaler: Scaler
    action_scaler: ActionScaler
    model: Regressor
    mean: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """Class of the regressor."""
        return type(self.model).__name__

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        found = self.mean + self._on_grid(self.model, block, actions, slice(None))
        return np.clip(found, self.low, self.high, out=found)

    def penalty(self, block: Floats, actions: Floats, beta: float, usual: Ints | None = None) -> Floats:
        """U = beta times the standard deviation over the members, (rows, actions)."""
        subsets = getattr(self.model, "estimators_features_", None)
        found = [
            self._on_grid(member, block, actions, slice(None) if subsets is None else subsets[index])
            for index, member in enumerate(members(self.model))
        ]
        if usual is not None:
            found = [each - np.take_along_axis(each, usual[:, None], axis=1) for each in found]
        return np.asarray(beta * np.std(found, axis=0))

    def _on_grid(self, model: Regressor, block: Floats, actions: Floats, columns: Any) -> Floats:
        history, acted = self.scaler(block), self.action_scaler(actions)
        found, step = np.empty((len(block), len(actions))), max(PAIRS // len(actions), 1)
        for start in range(0, len(block), step):
            rows = history[start : start + step]
            pairs = np.hstack([np.repeat(rows, len(acted), axis=0), np.tile(acted, (len(rows), 1))])
            found[start : start + step] = model.predict(pairs[:, columns]).reshape(len(rows), -1)
        return found


@dataclass(frozen=True, eq=False)
class RegressorDesign:
    """The standardised rows of a depth and the regressor."""

    regressor: Regressor
    scaler: Scaler
    action_scaler: ActionScaler
    inputs: Floats  # (rows, coordinates + 2)

    @classmethod
    def of(cls, regressor: Regressor, block: Floats, action: Floats) -> "RegressorDesign":
        """Build from the rows of a depth."""
        scaler, action_scaler = Scaler.of(block), ActionScaler.of(action)
        return cls(regressor, scaler, action_scaler, np.hstack([scaler(block), action_scaler(action)]))

    def q(self, targets: Floats, low: float, high: float, mean: float | None = None) -> tuple[RegressorQ, float]:
        """Fit a copy to targets less the prior mean, by default their own, and the root mean squared residual."""
        mean, model = float(targets.mean()) if mean is None else mean, deepcopy(self.regressor)
        model.fit(self.inputs, targets - mean)
        residual = float(np.sqrt(np.mean((mean + model.predict(self.inputs) - targets) ** 2)))
        return RegressorQ(self.scaler, self.action_scaler, model, mean, low, high), residual

    def scorer(
        self, block: Floats, actions: Floats, usual: Ints | None = None, known: dict[object, Deviations] | None = None
    ) -> None:
        """None, as nothing can be prepared: every fit is another function."""


def members(model: Regressor) -> list[Regressor]:
    """The members of a fitted averaging ensemble; a regressor without them has no penalty and is refused."""
    found = getattr(model, "estimators_", None)
    # The stages of a boosting correct each other: their spread is no uncertainty.
    if found is None or isinstance(found, np.ndarray) or len(found) < 2:
        raise SettingError(
            f"a {type(model).__name__} has no measure of uncertainty, so there is no penalty: take an averaging "
            "ensemble (a forest, bagging), a kernel or linear function, or method c-fqi"
        )
    return list(found)
