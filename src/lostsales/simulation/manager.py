"""Settings of a manager: how the price and the stock to fill up to follow what a manager sees."""

from typing import Literal

from pydantic import Field

from lostsales.data.settings import NonNegative, Settings
from lostsales.simulation.demand_laws import Effect
from lostsales.simulation.processes import Probability

Signal = Literal["last_sales", "stock"]
SIGNALS: tuple[Signal, ...] = ("last_sales", "stock")


class Rule(Settings):
    """base + sum of reactions + noise N, to the nearest value of the grid.

    A reaction is to a feature (a number, or one for each of its levels), to `last_sales` or to `stock`.
    """

    base: float
    on: dict[str, Effect] = Field(default_factory=dict)
    noise: NonNegative = 0.0


class Manager(Settings):
    """A manager who sees the hidden features too: rules of the price and of the level that orders fill up to.

    A share `stray` of the orders is drawn evenly from the grid instead: deliveries by mistake, promotions, other hands.
    """

    price: Rule
    level: Rule
    stray: Probability = 0.0
