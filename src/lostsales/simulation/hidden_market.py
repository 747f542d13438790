"""Markets with a hidden state: features that only the manager sees, and demand with a second lag."""

import numpy as np

from lostsales.errors import SettingError
from lostsales.policy.policy import Policy
from lostsales.policy.rollout import Market, Opening
from lostsales.policy.view import Features
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats


class HiddenStateMarket:
    """A scenario whose views show the first `shown` features; it keeps the others and the demand before the last."""

    def __init__(self, scenario: Scenario, shown: int) -> None:
        self.scenario, self.shown = scenario, shown
        self._features: Features = ()
        self._before_last: Floats = np.zeros(0)

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """Open as the scenario does; the demand before the last one equals it."""
        opening = self.scenario.open(series, rng)
        self._features, self._before_last = opening.features, opening.last_demand
        return opening._replace(features=self._features[: self.shown])

    def demand(
        self,
        period: int,
        features: Features,  # noqa: ARG002, all of them are kept here
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw D_t."""
        drawn = self.scenario.demand(period, self._features, price, last_demand, rng, self._before_last)
        self._before_last = last_demand
        return drawn

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """Draw X_{t+1}."""
        self._features = self.scenario.next_features(self._features, price, rng)
        return self._features[: self.shown]


def market_of(scenario: Scenario, policy: Policy) -> Market:
    """The market as a policy sees it: hidden features are shown to a policy that asks for them, as the manager does."""
    if not scenario.has_hidden_state:
        return scenario
    asked = {each.name for each in policy.asks}
    sees_all = bool(scenario.hidden) and asked >= set(scenario.hidden)
    return HiddenStateMarket(scenario, len(scenario.features) if sees_all else scenario.shown)


def check_markov(scenario: Scenario, what: str) -> None:
    """Raise where demand depends on a hidden state, which `what` does not know."""
    if scenario.has_hidden_state:
        state = "hidden features, a drift or a second lag"
        raise SettingError(f"scenario {scenario.name} has a hidden state ({state}), which {what} does not know")
