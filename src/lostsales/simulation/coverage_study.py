"""Whether 95 % intervals cover: a study in simulated shops, where the truth is known."""

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.reading.gate import Progress
from lostsales.data.writing import replacing
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.estimators.estimator import ESTIMATORS
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.results import Interval
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

SERIES = (5, 20, 50)
REPLICATIONS = 200
WANTED = 0.9  # share of the intervals that must cover
TRUTH_EPISODES = 40_000


@dataclass(frozen=True)
class Study:
    """What is asked: logs of so many series under a behaviour, and a policy of known value to judge from each."""

    scenario: Scenario
    policy: str = "base-stock"
    behaviour: str = "uniform"
    epsilon: float = 0.0  # share of the behaviour's decisions that are drawn uniformly
    series: tuple[int, ...] = SERIES
    replications: int = REPLICATIONS
    estimators: tuple[str, ...] = field(default_factory=lambda: ESTIMATORS.names)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.replications < 1 or min(self.series, default=0) < 1:
            raise SettingError("replications and numbers of series must be at least 1")
        ESTIMATORS.check(*self.estimators)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides a replication; how many there are does not."""
        asked = asdict(self) | {"scenario": self.scenario.model_dump(mode="json", by_alias=True)}
        asked = {key: value for key, value in asked.items() if key not in ("series", "replications")}
        return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def truth(self) -> tuple[float, float]:
        """What the policy and the behaviour earn a period."""
        policies = named_policy(self.policy, self.scenario), named_policy(self.behaviour, self.scenario, self.epsilon)
        own, was = (evaluate_policy(self.scenario, each, TRUTH_EPISODES, 1).mean_profit for each in policies)
        return own, was


@dataclass(frozen=True)
class Replication:
    """What one estimator said of one log; no figures where it refused."""

    series: int
    number: int
    estimator: str
    profit: Interval | None
    gain: Interval | None

    @classmethod
    def of(cls, saved: dict[str, Any]) -> "Replication":
        """From JSON."""
        intervals = {key: saved[key] and Interval(**saved[key]) for key in ("profit", "gain")}
        return cls(**saved | intervals)


@dataclass(frozen=True)
class Coverage:
    """How the intervals of an estimator fared."""

    series: int
    estimator: str
    replications: int
    scored: float  # share of the logs that the estimator did not refuse
    covers: float  # share of the intervals of the profit that hold the truth
    covers_error: float  # standard error of that share
    covers_gain: float  # the same of the gain over what was earned
    error: float  # mean error of the profit
    error_se: float
    width: float  # mean width
    errs: str  # in which direction, where too few cover

    @property
    def enough(self) -> bool:
        """True where the intervals cover as often as they must."""
        return self.covers >= WANTED


def run_study(
    study: Study, partial: Path | None = None, workers: int = 1, progress: Progress | None = None
) -> list[Replication]:
    """Every replication; those in the `partial` file of the same study are not done again."""
    done = _read(study, partial)
    wanted = [(series, number) for series in study.series for number in range(study.replications)]
    left = [each for each in wanted if each not in done]
    for finished in _each(study, left, workers):
        done[finished[0].series, finished[0].number] = finished
        if partial is not None:
            _write(study, partial, done)
        if progress:
            progress(sum(each in done for each in wanted), len(wanted))
    return [each for key in wanted for each in done[key]]


def replicate(study: Study, series: int, number: int) -> list[Replication]:
    """Draw a log and judge the policy from it by every estimator."""
    seed = int(np.random.SeedSequence([study.seed, series, number]).generate_state(1)[0])
    behaviour = named_policy(study.behaviour, study.scenario, study.epsilon)
    with threadpool_limits(1):
        log, _ = simulate(study.scenario, behaviour, series, seed)
        judged = evaluate(named_policy(study.policy, study.scenario), log, estimators=study.estimators, seed=seed)
    return [Replication(series, number, each.estimator, each.profit, each.gain) for each in judged.estimates]


def coverage(study: Study, replications: list[Replication], truth: tuple[float, float]) -> list[Coverage]:
    """The table of the study."""
    own, was = truth
    table = []
    for series in study.series:
        for name in study.estimators:
            cell = [each for each in replications if (each.series, each.estimator) == (series, name)]
            said = [each.profit for each in cell if each.profit is not None]
            gains = [each.gain for each in cell if each.gain is not None]
            covers = np.array([each.low <= own <= each.high for each in said], dtype=np.float64)
            errors = np.array([each.value - own for each in said])
            share, count = (float(covers.mean()), len(said)) if said else (np.nan, 0)
            mean = float(errors.mean()) if count else np.nan
            table.append(
                Coverage(
                    series=series,
                    estimator=name,
                    replications=len(cell),
                    scored=count / max(len(cell), 1),
                    covers=share,
                    covers_error=float(np.sqrt(share * (1 - share) / count)) if count else np.nan,
                    covers_gain=float(np.mean([g.low <= own - was <= g.high for g in gains])) if gains else np.nan,
                    error=mean,
                    error_se=float(errors.std(ddof=1) / np.sqrt(count)) if count > 1 else np.nan,
                    width=float(np.mean([each.high - each.low for each in said])) if said else np.nan,
                    errs="" if not count or share >= WANTED else "too low" if mean < 0 else "too high",
                )
            )
    return table


def _each(study: Study, left: list[tuple[int, int]], workers: int) -> Iterator[list[Replication]]:
    if workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")
    if workers == 1 or len(left) < 2:
        yield from (replicate(study, *each) for each in left)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            for future in as_completed([pool.submit(replicate, study, *each) for each in left]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _read(study: Study, partial: Path | None) -> dict[tuple[int, int], list[Replication]]:
    if partial is None or not partial.exists():
        return {}
    try:
        saved = json.loads(partial.read_text())
        same, lines = saved["study"] == study.fingerprint, [Replication.of(each) for each in saved["replications"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise LostSalesError(f"{partial} is not the file of a calibration study; choose another --out") from None
    if not same:
        raise LostSalesError(
            f"{partial} holds another study (scenario, policy, behaviour or seed); choose another --out"
        )
    done: dict[tuple[int, int], list[Replication]] = {}
    for each in lines:
        done.setdefault((each.series, each.number), []).append(each)
    return done


def _write(study: Study, partial: Path, done: dict[tuple[int, int], list[Replication]]) -> None:
    """The whole file anew, in the place of the last only when it is complete."""
    content = {"study": study.fingerprint, "replications": [asdict(each) for key in sorted(done) for each in done[key]]}
    with replacing(partial) as temporary:
        temporary.write_text(json.dumps(content))
