"""Results of an evaluation: figures with their intervals as frozen dataclasses, and their form in JSON."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from lostsales import plots
from lostsales.evaluation.advice import KEEP_CURRENT, PILOT_FIRST, Advice, Concern, advice, texts
from lostsales.evaluation.assortment import AssortmentGain, Gain, decisive_gain
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.sensitivity import Sensitivity
from lostsales.evaluation.service import ServiceComparison
from lostsales.policy.provenance import PolicyVerdict
from lostsales.types import Array, Floats


@dataclass(frozen=True)
class Estimand:
    """Estimand: mean profit per period over `horizon` periods that start as `start` says."""

    horizon: int
    discount: float  # of the discounted value beside it
    start: str
    restarts: bool = False  # long series are cut: an episode starts anew every `horizon` periods

    def __str__(self) -> str:
        return f"mean profit per period over {self.horizon} periods, starting from {self.start}"


@dataclass(frozen=True)
class Overlap:
    """Overlap of the policy's actions with the log, as one estimator needs it."""

    judged_on: str  # what must overlap
    share: float  # of the policy's actions or visited points that the log shows
    effective_rows: float  # rows of the log that carry the estimate
    enough: bool
    sentence: str


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of one estimator; where it refuses, `reason` says why and there is no figure."""

    estimator: str
    overlap: Overlap
    profit: Interval | None = None  # a period, lost sales at their expected cost
    cash: Interval | None = None  # a period, without the cost of lost sales
    discounted: Interval | None = None  # sum of discounted profits
    gain: Interval | None = None  # profit less the logged profit, paired
    cash_gain: Interval | None = None
    contributions: Floats | None = None  # (units,) to the profit; their mean is its value
    model_uncertainty: float = 0.0  # of the gain: its spread over demand laws that the log does not rule out
    sensitivity: Sensitivity | None = None  # of the gain to a hidden cause of the prices; None where it is not known
    assortment: AssortmentGain | None = None  # by product; None for one, or if the estimator has none
    own_error: float = 0.0  # of the profit, on logs drawn from the demand model; 0 where it is not measured
    worth_of_stock: float = 0.0  # that the policy ends with beyond the log, at its order cost, a period
    reason: str | None = None
    notes: tuple[str, ...] = ()
    service: ServiceComparison | None = None  # None where the estimator replays no periods

    @property
    def scored(self) -> bool:
        """True where there is a figure."""
        return self.profit is not None


@dataclass(frozen=True, eq=False)
class Earned:
    """Logged profit, the mean of a period."""

    profit: Interval  # lost sales at their expected cost
    cash: Interval  # as observed
    contributions: Floats  # (units,) to the profit
    lost_by: str  # the estimator of censored lost sales


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The estimated profit of a policy, the logged profit and the gain, each with a 95 % interval.

    Attributes
    ----------
    estimand : Estimand
        Horizon, discount and start of the mean profit that is estimated.
    earned : Earned
        The logged profit and cash of a period.
    estimates : tuple of Estimate
        One an estimator, the most trusted first.
    units : array
        Names of what is resampled.
    resampled : str
        "series", "groups of series" or "blocks in time".
    notes : tuple of str
        What a reader must know beside the figures.
    concerns : tuple of Concern
        Reasons to doubt the gain: red ones withhold it, amber ones keep it from being called proven.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=8",)), episodes=12, seed=1)
    >>> policy = lostsales.fit(log, lostsales.Newsvendor())
    >>> found = lostsales.evaluate(policy, log, estimators=["fqe"])
    >>> print(found.estimand)
    mean profit per period over 8 periods, starting from where each series of the log starts
    >>> [(each.estimator, each.scored) for each in found.estimates]
    [('fqe', True)]

    """

    estimand: Estimand
    earned: Earned
    estimates: tuple[Estimate, ...]
    units: Array  # (units,) text
    resampled: str
    notes: tuple[str, ...] = ()
    concerns: tuple[Concern, ...] = ()

    @property
    def withheld(self) -> str:
        """Reasons to claim no gain whatever the figures are, such as a hidden cause of the prices; else empty."""
        return texts(self.concerns, "red")

    @property
    def verdict(self) -> Advice:
        """Verdict: deploy, pilot or keep."""
        return advice(None if self.decisive_gain is None else self.decisive_gain.interval, self.concerns)

    @property
    def decisive_gain(self) -> Gain | None:
        """The gain that the verdict rests on; None where no estimator has one."""
        if self.best is None or self.best.gain is None:
            return None
        return decisive_gain(self.best.gain, self.best.assortment)

    @property
    def best(self) -> Estimate | None:
        """The first estimate with a figure, None where every estimator refused."""
        return next((each for each in self.estimates if each.scored), None)

    @property
    def assortment(self) -> AssortmentGain | None:
        """Gains by product of the best estimate; None where no gain is claimed, or there are no products."""
        if self.best is None or self.best.assortment is None or self.withheld:
            return None
        return self.best.assortment.doubted if self.concerns else self.best.assortment

    @property
    def sentence(self) -> str:
        """The gain and its interval in words."""
        if self.decisive_gain is None:
            return "no estimator can evaluate this policy on this log"
        to_do = PILOT_FIRST if self.verdict == "pilot" else KEEP_CURRENT
        if self.withheld:
            return f"the gain cannot be determined: {self.withheld}; {to_do}"
        if (doubts := texts(self.concerns, "amber")) and self.decisive_gain.interval.high > 0:
            return f"the gain is not proven, {self.decisive_gain.text()}: {doubts}; {to_do}"
        return self.decisive_gain.sentence

    def policy_verdict(self, *, held_out: bool) -> PolicyVerdict:
        """The verdict as a policy file keeps it; a gain that may be in-sample is at most worth a pilot."""
        if self.verdict == "deploy" and not held_out and self.decisive_gain is not None:
            reason = f"an estimated gain of {self.decisive_gain.figures}"
            return PolicyVerdict(advice="pilot", reason=reason, held_out=False)
        reason = self.sentence.removesuffix(f"; {PILOT_FIRST}").removesuffix(f"; {KEEP_CURRENT}")
        return PolicyVerdict(advice=self.verdict, reason=reason, held_out=held_out)

    def plot(self) -> Any:
        """Picture of what was earned and what the policy would earn by each estimator."""
        figures = [("earned", self.earned.profit), *((each.estimator, each.profit) for each in self.estimates)]
        return plots.draw_intervals(figures, "Profit of the log and of the policy", "profit per period")

    def _repr_html_(self) -> str:
        return plots.html(self.sentence, self.plot)

    def by(self, estimator: str) -> Estimate:
        """The estimate of a name."""
        return next(each for each in self.estimates if each.estimator == estimator)

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        found: dict[str, Any] = plain(self)
        best = None if self.best is None else self.best.estimator
        told = {"sentence": self.sentence, "verdict": self.verdict, "withheld": self.withheld}
        return found | {"best": best, "assortment": assortment_json(self.assortment)} | told


def assortment_json(found: AssortmentGain | None) -> dict[str, Any] | None:
    """Gains by product as JSON can hold them."""
    if found is None:
        return None
    products = [plain(each) | {"verdict": each.verdict} for each in found.products]
    shown: dict[str, Any] = plain(found)
    return shown | {"products": products, "not_proven": list(found.not_proven), "sentence": found.sentence}


def plain(value: Any) -> Any:
    """Dataclasses as dicts, arrays and tuples as lists; gains by product are next to their estimate, not in it.

    >>> plain(Interval(1.0, 0.0, 2.0))
    {'value': 1.0, 'low': 0.0, 'high': 2.0}
    """
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name != "assortment"}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
