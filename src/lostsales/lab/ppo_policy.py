"""The actor of PPO as arrays: trained by torch, run by numpy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.problem import Problem
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.errors import LostSalesError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.file_content import POSITIVE, Content, Header, action_sizes, numbers
from lostsales.policy.file_format import Artefact
from lostsales.policy.view import Action, View
from lostsales.types import Array, Floats, Ints


class PpoTraining(StrictSettings):
    """The training, in a policy file."""

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
    centre: Floats  # (inputs,) subtracted from an observation
    scale: Floats  # (inputs,) divisor
    weights: tuple[Floats, ...]  # by layer, (outputs, inputs)
    biases: tuple[Floats, ...]  # by layer, (outputs,)
    trained: dict[str, Any]  # steps, discount and seed of the training
    sampled: bool = False  # of a behaviour; not part of a file
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
    def content(cls, header: Header) -> Content:
        """Content of a file of this kind: the layers of one network."""
        checked_json(PpoTraining, header.settings, "its settings")
        layers = sum(name.startswith("bias_") for name in header.names)
        sizes = action_sizes(header.problem) | {"width 0": len(header.problem.features) + 2}
        arrays = {"centre": numbers("width 0"), "scale": numbers("width 0", least=POSITIVE)}
        for layer in range(layers):
            width = f"width {layer + 1}" if layer < layers - 1 else "prices+orders"
            arrays |= {f"weight_{layer}": numbers(width, f"width {layer}"), f"bias_{layer}": numbers(width)}
        if not layers:
            raise LostSalesError("it has no network")
        return Content(arrays, sizes)

    def to_artefact(self) -> Artefact:
        """Artefact with everything to be saved."""
        arrays: dict[str, Array] = {"centre": self.centre, "scale": self.scale}
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight_{layer}": weight, f"bias_{layer}": bias}
        return Artefact("ppo", self.observes, None, self.problem, self.trained, arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "PpoPolicy":
        """The policy again."""
        arrays = artefact.arrays
        layers = range(sum(name.startswith("bias_") for name in arrays))
        weights, biases = (tuple(arrays[f"{kind}_{each}"] for each in layers) for kind in ("weight", "bias"))
        return cls(artefact.problem, arrays["centre"], arrays["scale"], weights, biases, artefact.settings)
