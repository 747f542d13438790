"""`calibrate`: empirical coverage of the 95 % intervals of `evaluate`, in simulation, where the true value is known."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BeforeValidator

from lostsales.data.confidence import standard_error
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.evaluation.estimators.estimator import ESTIMATORS
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.interval import Interval
from lostsales.lab.studies.study import TRUTH_SEED, Study, seed_of
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario, as_scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

SERIES = (5, 20, 50)  # sizes of the simulated logs
REPLICATIONS = 200  # logs per size
WANTED = 0.9  # share of the intervals that must cover
TRUTH_EPISODES = 40_000  # behind the true profit


class TrueProfit(NamedTuple):
    """True mean profits a period."""

    policy: float
    behaviour: float


def _with_ends(saved: Any) -> Any:
    """JSON has null for an end that is not finite."""
    return {name: np.nan if end is None else end for name, end in saved.items()} if isinstance(saved, dict) else saved


SavedInterval = Annotated[Interval | None, BeforeValidator(_with_ends)]


@dataclass(frozen=True)
class Replication:
    """Intervals of one estimator from one log; None where it refused."""

    series: int
    number: int
    estimator: str
    profit: SavedInterval
    gain: SavedInterval


@dataclass(frozen=True)
class EvaluatedLog:
    """All estimates from one log."""

    series: int
    number: int
    replications: tuple[Replication, ...]


@dataclass(frozen=True)
class IntervalStudy(Study[tuple[int, int], EvaluatedLog]):
    """Settings of a coverage study: logs of each size under a behaviour policy, and a policy to evaluate from each."""

    scenario: Scenario
    policy: str = "base-stock"
    behaviour: str = "uniform"
    epsilon: float = 0.0  # share of the behaviour's decisions that are drawn uniformly
    series: tuple[int, ...] = SERIES
    replications: int = REPLICATIONS
    estimators: tuple[str, ...] = field(default_factory=lambda: ESTIMATORS.names)
    seed: int = 0
    called: ClassVar[str] = "a calibration study"
    entry: ClassVar[type[EvaluatedLog]] = EvaluatedLog
    extent: ClassVar[tuple[str, ...]] = ("series", "replications")

    def __post_init__(self) -> None:
        if self.replications < 1 or min(self.series, default=0) < 1:
            raise SettingError("replications and numbers of series must be at least 1")
        ESTIMATORS.check(*self.estimators)

    def truth(self) -> TrueProfit:
        """Monte Carlo values of the policy and of the behaviour."""
        policies = named_policy(self.policy, self.scenario), named_policy(self.behaviour, self.scenario, self.epsilon)
        found = (evaluate_policy(self.scenario, each, TRUTH_EPISODES, TRUTH_SEED).mean_profit for each in policies)
        return TrueProfit(*found)

    @property
    def wanted(self) -> Sequence[tuple[int, int]]:
        """Sizes and numbers of the logs."""
        return [(series, number) for series in self.series for number in range(self.replications)]

    def key_of(self, entry: EvaluatedLog) -> tuple[int, int]:
        """Size and number of a log."""
        return entry.series, entry.number

    def replicate(self, key: tuple[int, int]) -> EvaluatedLog:
        """Simulate a log and evaluate the policy from it by every estimator."""
        series, number = key
        seed = seed_of(self.seed, series, number)
        behaviour = named_policy(self.behaviour, self.scenario, self.epsilon)
        with single_threaded():
            log, _ = simulate(self.scenario, behaviour, series, seed)
            found = evaluate(named_policy(self.policy, self.scenario), log, estimators=self.estimators, seed=seed)
        estimates = (Replication(series, number, each.estimator, each.profit, each.gain) for each in found.estimates)
        return EvaluatedLog(series, number, tuple(estimates))


@dataclass(frozen=True)
class Coverage:
    """Empirical coverage of the intervals of one estimator from logs of one size."""

    series: int
    estimator: str
    replications: int
    scored: float  # share of the logs that the estimator did not refuse
    covers: float  # share of the intervals of the profit that contain the true value
    covers_error: float  # standard error of that share
    covers_gain: float  # the same of the gain over what was earned
    error: float  # mean error of the profit
    error_se: float
    width: float  # mean width
    errs: str  # sign of the bias where too few cover

    @property
    def enough(self) -> bool:
        """True where the share that covers reaches `WANTED`."""
        return self.covers >= WANTED


@dataclass(frozen=True)
class CoverageStudy:
    """Outcome of a coverage study.

    Attributes
    ----------
    study : IntervalStudy
        Its settings.
    truth : TrueProfit
        True mean profit a period of the policy and of the behaviour.
    coverage : tuple of Coverage
        A row for every number of series and estimator.

    Examples
    --------
    >>> study = IntervalStudy(Scenario.load("steady"))
    >>> CoverageStudy(study, TrueProfit(policy=4.0, behaviour=-9.0), ()).to_json()["truth"]
    4.0

    """

    study: IntervalStudy
    truth: TrueProfit
    coverage: tuple[Coverage, ...]

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object."""
        rows = [asdict(each) | {"enough": each.enough} for each in self.coverage]
        truth = {"truth": self.truth.policy, "behaviour": self.truth.behaviour}
        return {"scenario": self.study.scenario.name, **truth, "coverage": rows}


def calibrate(
    scenario: Scenario | str | Path,
    policy: str = "base-stock",
    *,
    behaviour: str = "uniform",
    epsilon: float = 0.0,
    series: tuple[int, ...] = SERIES,
    replications: int = REPLICATIONS,
    estimators: tuple[str, ...] | None = None,
    workers: int = 1,
    partial: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CoverageStudy:
    """Measure how often the 95 % intervals of `evaluate` contain the true value, in simulation.

    Parameters
    ----------
    scenario : Scenario, str or Path
        The shop: a scenario, the name of a preset, or the path of a TOML file.
    policy : str
        The policy to evaluate: a name such as `"base-stock:20@6"`, or the path of a policy file.
    behaviour : str
        The policy that makes the logs, likewise.
    epsilon : float
        Share of the decisions of the behaviour that are drawn uniformly.
    series : tuple of int
        Numbers of series in a log.
    replications : int
        Logs of each size.
    estimators : tuple of str, optional
        Estimators of `evaluate`; by default all.
    workers : int
        Processes; results do not depend on it.
    partial : str or Path, optional
        File that keeps finished replications; those it holds already are not repeated.
    seed : int
        Seed of the logs.
    progress : callable, optional
        Called with the numbers of finished and of all replications.

    Returns
    -------
    CoverageStudy
        True values and the table of coverage.

    Raises
    ------
    SettingError
        If a number is out of range, or there is no such scenario, policy or estimator.
    LostSalesError
        If `partial` is the file of another study.

    Examples
    --------
    >>> shop = Scenario.load("newsvendor", ("horizon=10",))
    >>> found = calibrate(shop, series=(5,), replications=1, estimators=("model",))
    >>> found.coverage[0].covers
    1.0

    """
    chosen = ESTIMATORS.names if estimators is None else estimators
    study = IntervalStudy(as_scenario(scenario), policy, behaviour, epsilon, series, replications, chosen, seed)
    truth = study.truth()
    done = study.run(None if partial is None else Path(partial), workers, progress)
    return CoverageStudy(study, truth, tuple(coverage(study, done, truth)))


def coverage(study: IntervalStudy, logs: list[EvaluatedLog], truth: tuple[float, float]) -> list[Coverage]:
    """The table of coverage, by number of series and estimator."""
    target, behaviour = truth
    table = []
    for series in study.series:
        for name in study.estimators:
            of_size = [each for log in logs if log.series == series for each in log.replications]
            cell = [each for each in of_size if each.estimator == name]
            profits = [each.profit for each in cell if each.profit is not None]
            gains = [each.gain for each in cell if each.gain is not None]
            covers = np.array([each.low <= target <= each.high for each in profits], dtype=np.float64)
            errors = np.array([each.value - target for each in profits])
            share, count = (float(covers.mean()), len(profits)) if profits else (np.nan, 0)
            mean = float(errors.mean()) if count else np.nan
            table.append(
                Coverage(
                    series=series,
                    estimator=name,
                    replications=len(cell),
                    scored=count / max(len(cell), 1),
                    covers=share,
                    covers_error=float(np.sqrt(share * (1 - share) / count)) if count else np.nan,
                    covers_gain=float(np.mean([g.low <= target - behaviour <= g.high for g in gains]))
                    if gains
                    else np.nan,
                    error=mean,
                    error_se=standard_error(errors),
                    width=float(np.mean([each.high - each.low for each in profits])) if profits else np.nan,
                    errs="" if not count or share >= WANTED else "too low" if mean < 0 else "too high",
                )
            )
    return table
