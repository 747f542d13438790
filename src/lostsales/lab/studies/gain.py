"""`calibrate --study gain`: share of logs whose estimated gain exceeds the true one, and the power that care costs.

Logs are made by the manager of a scenario. From each a method is compared and fitted; the truth is the profit of the
fitted policy less that of the manager, both simulated in the scenario with its hidden causes.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np

from lostsales.data.confidence import quantile
from lostsales.data.parallel import single_threaded
from lostsales.evaluation.compare import ComparedMethod, compare
from lostsales.evaluation.interval import degrees_of_freedom
from lostsales.lab.studies.study import TRUTH_SEED, ManagerLogs, seed_of
from lostsales.learn.fit import fit_in_shop_units, learner_of
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

TRUTH_EPISODES = 2_000  # behind the true gain


@dataclass(frozen=True)
class PromiseOutcome:
    """Promise from one log, and its outcome; None if the method has no figure."""

    number: int
    true_gain: float
    gain: float | None
    low: float | None  # end of the 95 % interval
    naive_low: float | None  # one-sided 95 % bound without allowance for hidden causes
    verdict: str  # deploy, pilot or keep
    price_setting: str  # freely, shown, hidden or unknown
    withheld: str  # reasons, empty where a gain is claimed


@dataclass(frozen=True)
class PromiseTable:
    """Shares over the logs of a study."""

    logs: int
    true_gain: float  # mean
    promised: float  # mean
    low_above_truth: float  # the lower bound lies above the true gain
    naive_above_truth: float  # the bound without allowance for hidden causes does
    deployed: float
    deployed_at_a_loss: float  # a true gain below zero
    found_naively: float  # a true gain that the bound without allowance proves
    found: float  # of these, proven with it and deployed
    price_settings: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: list[PromiseOutcome]) -> "PromiseTable":
        """Summarise the outcomes of all logs."""
        truth = np.array([each.true_gain for each in outcomes])
        gain, low, naive = (
            np.array([np.nan if getattr(each, name) is None else getattr(each, name) for each in outcomes])
            for name in ("gain", "low", "naive_low")
        )
        deployed = np.array([each.verdict == "deploy" for each in outcomes])
        naively = (naive > 0) & (truth > 0)
        settings = [each.price_setting for each in outcomes]
        return cls(
            logs=len(outcomes),
            true_gain=float(truth.mean()),
            promised=float(np.nanmean(gain)) if np.isfinite(gain).any() else np.nan,
            low_above_truth=float(np.mean(low > truth)),
            naive_above_truth=float(np.mean(naive > truth)),
            deployed=float(deployed.mean()),
            deployed_at_a_loss=float(np.mean(deployed & (truth < 0))),
            found_naively=float(naively.mean()),
            found=float(deployed[naively].mean()) if naively.any() else np.nan,
            price_settings={name: settings.count(name) / len(settings) for name in sorted(set(settings))},
        )


@dataclass(frozen=True)
class PromiseStudy(ManagerLogs[PromiseOutcome]):
    """Settings of a study of estimated gains."""

    series: int = 14
    replications: int = 100
    method: str = "planner"
    called: ClassVar[str] = "a study of promises"
    entry: ClassVar[type[PromiseOutcome]] = PromiseOutcome

    @property
    def learned(self) -> tuple[str, ...]:
        """The method that is compared."""
        return (self.method,)

    def replicate(self, key: int) -> PromiseOutcome:
        """Simulate a log, compare the method on it, fit it, and measure its true gain."""
        seed = seed_of(self.seed, self.series, key)
        scenario, manager = self.scenario, ManagerPolicy.of(self.scenario)
        with single_threaded():
            log, _ = simulate(scenario, manager, self.series, seed)
            found = compare(log, [self.method], seed=seed % 1000, quick=True, workers=1)
            policy = fit_in_shop_units(learner_of(self.method, {"seed": seed % 1000}).quick(), log)
            earns = evaluate_policy(scenario, policy, TRUTH_EPISODES, TRUTH_SEED).mean_profit
            true_gain = earns - _manager_earns(scenario.model_dump_json(by_alias=True))
        best = found.candidates[0]
        return PromiseOutcome(
            number=key,
            true_gain=true_gain,
            gain=None if best.gain is None else best.gain.value,
            low=None if best.gain is None else best.gain.low,
            naive_low=_naive_low(best),
            verdict=found.verdict,
            price_setting=found.price_setting,
            withheld="; ".join(each.text for each in best.concerns),
        )


@cache
def _manager_earns(scenario: str) -> float:
    """Mean profit of the manager of a scenario given as JSON, the same for all its logs."""
    manager = ManagerPolicy.of(Scenario.model_validate_json(scenario))
    return evaluate_policy(manager.scenario, manager, TRUTH_EPISODES, TRUTH_SEED).mean_profit


def _naive_low(found: ComparedMethod) -> float | None:
    """The one-sided bound of the interval without what hidden causes add to it."""
    if found.gain is None or found.contributions is None:
        return None
    degrees = degrees_of_freedom(len(found.contributions))
    error = (found.gain.value - found.gain.low) / quantile(0.975, degrees)
    added = 0.0 if found.sensitivity is None else found.sensitivity.uncertainty
    return found.gain.value - quantile(0.95, degrees) * float(np.sqrt(max(error**2 - added**2, 0.0)))
