"""The actor of PPO as arrays: trained by torch, run by numpy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.problem import Problem
from lostsales.data.settings import StrictSettings
from lostsales.errors import LostSalesError
from lostsales.policy.action_grid import ActionGrid, action_sizes
from lostsales.policy.base import PolicyBase
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NOT_SAVED, POSITIVE, Length, numbers
from lostsales.types import Floats, Ints


class PpoTraining(StrictSettings):
    """The training."""

    steps: Annotated[int, Field(ge=0)]
    discount: Annotated[float, Field(ge=0, le=1)]
    seed: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, eq=False)
class PpoPolicy(PolicyBase):
    """An oracle: it observes (features, stock, last demand) and has a distribution of prices and one of orders.

    It takes their modes, or draws from them as in its training where it is `sampled`.
    A network of layers x -> tanh(W x + b); the last one gives the logits of the prices and of the orders.
    """

    problem: Problem
    centre: Annotated[Floats, numbers("inputs")]  # subtracted from an observation
    scale: Annotated[Floats, numbers("inputs", least=POSITIVE)]  # divisor
    weights: Annotated[tuple[Annotated[Floats, numbers("?", "?")], ...], Length("layers")]  # (outputs, inputs)
    biases: Annotated[tuple[Annotated[Floats, numbers("?")], ...], Length("layers")]  # (outputs,)
    trained: PpoTraining
    sampled: Annotated[bool, NOT_SAVED] = False  # of a behaviour; a file does not say so
    observes: Literal["demand"] = "demand"
    usual_demand: ClassVar[float] = 0.0  # never asked for, as it does not recommend

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def logits(self, observation: Floats) -> Floats:
        """Logits of the prices, then of the orders, (rows, prices + orders)."""
        layer = (observation - self.centre) / self.scale
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layer = np.tanh(layer @ weight.T + bias)
        return np.asarray(layer @ self.weights[-1].T + self.biases[-1])

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series; an order above the capacity is lowered to the largest that fits."""
        if view.last_demand is None:
            raise ValueError("an oracle must be shown true demand")
        logits, prices = self.logits(np.column_stack([*view.features, view.stock, view.last_demand])), self.grid.prices
        price, order = (self._taken(each, rng) for each in (logits[:, : len(prices)], logits[:, len(prices) :]))
        order = np.minimum(order, self.grid.feasible_orders(view.stock) - 1)
        return Action(prices[price], self.grid.orders[order])

    def _taken(self, logits: Floats, rng: np.random.Generator) -> Ints:
        """The mode of each row, or a draw with probabilities proportional to exp(logits), (rows,)."""
        if not self.sampled:
            return np.asarray(logits.argmax(axis=1))
        up_to = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
        return np.asarray((up_to <= rng.random((len(logits), 1)) * up_to[:, -1:]).sum(axis=1))

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The grid of the problem, and what is observed of it."""
        return action_sizes(saved["problem"]) | {"inputs": len(saved["problem"].features) + 2}

    def validate(self) -> None:
        """Raise where the layers are no network from observations to prices and orders."""
        width = len(self.centre)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if weight.shape != (len(bias), width):
                raise LostSalesError("its layers do not fit each other")
            width = len(bias)
        if not self.weights or width != len(self.grid.prices) + len(self.grid.orders):
            raise LostSalesError("its network does not lead to its prices and orders")
