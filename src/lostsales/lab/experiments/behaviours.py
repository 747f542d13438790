"""Behaviour policies by name: those of `named_policy`, and those that need the solved scenario."""

from lostsales.errors import SettingError
from lostsales.lab.exact.softmax_policy import SoftmaxPolicy
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.policy.policy import Policy
from lostsales.policy.simple import EpsilonGreedy
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario

EXPLORATION = 0.1  # share of near-optimal decisions that are drawn uniformly
# Temperature of the softmax. In `released` it then earns 0.5 less than the oracle, as the PPO policy of the published
# runs did.
TEMPERATURE = 2.0
NEAR_OPTIMAL, SOFTMAX = "near-optimal", "softmax"


def behaviour_policy(name: str, scenario: Scenario, epsilon: float = 0.0) -> Policy:
    """A policy by name or file, with a share `epsilon` of its decisions drawn uniformly.

    "pi-star" is optimal for an observer of sales at the scenario's discount; "near-optimal" is pi* with a tenth of
    uniform decisions; "softmax" or "softmax:TEMPERATURE" sees true demand and draws actions in proportion to
    exp(Q / temperature), Q that of the oracle. Other names are those of `named_policy`.

    >>> behaviour_policy("softmax:0.5", Scenario.load("newsvendor", ("horizon=5",))).temperature
    0.5
    """
    base, _, text = name.partition(":")
    if base == SOFTMAX:
        try:
            temperature = float(text) if text else TEMPERATURE
        except ValueError:
            raise SettingError(f"the temperature of a softmax must be a number, but {name!r} came") from None
        policy: Policy = SoftmaxPolicy.of(scenario, temperature)
    elif name in ("pi-star", NEAR_OPTIMAL):
        policy = solve_reference(scenario, "pi-star", criterion_of(scenario, None, None)).policy
    else:
        return named_policy(name, scenario, epsilon)
    if not 0 <= epsilon <= 1:
        raise SettingError(f"epsilon must lie between 0 and 1, but {epsilon:g} came")
    epsilon = epsilon or (EXPLORATION if name == NEAR_OPTIMAL else 0.0)
    return EpsilonGreedy(policy, epsilon) if epsilon else policy
