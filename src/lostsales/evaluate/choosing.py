"""`compare`: fit several methods, judge each on series it has not seen, and name the one to deploy, or none."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.demand.runs import find_runs
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluate.judge import evaluate_on, named
from lostsales.evaluate.ledger import Ledger
from lostsales.evaluate.parts import without
from lostsales.evaluate.results import Earned, Estimand, Estimate, Interval, plain
from lostsales.learn.fit import fit, learners

FEW_SERIES = 4  # below so many, the halves are halves in time
KEEP = "keep what you do"
USUAL = ("planner", "c-fqi", "pc-fqi", "fusion", "base-stock", "s-S-p", "newsvendor")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method, fitted on each half of the log and judged on the other."""

    method: str
    profit: Interval | None = None
    gain: Interval | None = None  # over what was earned
    behind: Interval | None = None  # how much less than the best, paired; None for the best itself
    contributions: Floats | None = None  # (units,) to the gain
    reason: str | None = None  # why it is not judged


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods, the best first."""

    candidates: tuple[Candidate, ...]
    choice: str | None  # the method to deploy; None: keep what you do
    sentence: str
    estimand: Estimand
    estimator: str
    profit: Interval  # what was earned, a period
    cash: Interval
    held_out: str  # "series" or "halves in time"
    units: int

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        found: dict[str, Any] = plain(self)
        return found


def compare(
    log: SalesLog,
    methods: tuple[str, ...],
    *,
    estimator: str | None = None,
    horizon: int | None = None,
    seed: int = 0,
    options: dict[str, dict[str, Any]] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Rank methods by what they would earn, cross-fitted: the half that teaches a policy never judges it.

    Judges need as much data as pupils do (a law of demand is learned on the half that was held out), so there are two
    folds and every series is held out once. The estimator is the model's where one can be learned, else fitted
    Q-evaluation. `options` are those of a method by its name.
    """
    if unknown := [name for name in methods if name not in learners()]:
        raise SettingError(f"no method {unknown[0]!r}; the methods are {', '.join(learners())}")
    if not methods:
        raise SettingError("give at least one method to compare")
    named(None if estimator is None else (estimator,))
    halves, held_out = split(log, seed)
    steps, done = 2 * (1 + len(methods)), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, steps)

    ledgers = []
    for half in halves:
        ledgers.append(Ledger.of(half, seed))
        tick()
    if estimator is None:
        estimator = "fqe" if any(ledger.laws is None for ledger in ledgers) else "model"
    judged: dict[str, list[Estimate] | str] = {}  # or why a method has none
    estimand = None
    for method in methods:
        judged[method] = found = []
        for teacher, ledger in zip(halves[::-1], ledgers, strict=True):
            try:
                policy = fit(teacher, method, seed=seed, **(options or {}).get(method, {}))
                evaluation = evaluate_on(policy, ledger, estimators=(estimator,), horizon=horizon, seed=seed)
            except LostSalesError as error:
                judged[method] = str(error)
                break
            estimand = evaluation.estimand
            found.append(evaluation.estimates[0])
            tick()
    earned = _joined([ledger.earned for ledger in ledgers], ledgers)
    candidates = _ranked({name: _candidate(name, each, ledgers) for name, each in judged.items()})
    choice, sentence = _choose(candidates)
    if estimand is None:
        raise LostSalesError(f"no method could be fitted: {candidates[0].method}: {candidates[0].reason}")
    return Comparison(
        candidates=candidates,
        choice=choice,
        sentence=sentence,
        estimand=estimand,
        estimator=estimator,
        profit=earned[0],
        cash=earned[1],
        held_out=held_out,
        units=sum(len(ledger.units) for ledger in ledgers),
    )


def usual_methods() -> tuple[str, ...]:
    """What is compared unless methods are named."""
    return tuple(name for name in USUAL if name in learners())


def split(log: SalesLog, seed: int) -> tuple[list[SalesLog], str]:
    """Two halves: of the series, or of the periods with a gap between where series are few."""
    first: Bools
    if len(log.names) >= FEW_SERIES:
        order = np.random.default_rng(seed).permutation(len(log.names))
        first = np.isin(log.series, order[: (len(order) + 1) // 2])
        return [without(log, ~first), without(log, first)], "series"
    gap = find_runs(log).max_depth + 1
    lengths = np.diff(np.r_[log.starts, len(log)])
    place = np.arange(len(log)) - log.starts[log.series]
    middle = lengths[log.series] // 2
    return [without(log, place >= middle), without(log, place < middle + gap)], "halves in time"


def _pooled(parts: list[Floats], ledgers: list[Ledger]) -> Floats:
    """Contributions of both halves to the mean over all rows."""
    units, rows = sum(map(len, parts)), sum(len(ledger.log) for ledger in ledgers)
    mean = sum(len(ledger.log) * float(part.mean()) for part, ledger in zip(parts, ledgers, strict=True)) / rows
    moved = [
        (part - part.mean()) * (len(ledger.log) / rows) * (units / len(part))
        for part, ledger in zip(parts, ledgers, strict=True)
    ]
    return np.asarray(mean + np.concatenate(moved))


def _joined(earned: list[Earned], ledgers: list[Ledger]) -> tuple[Interval, Interval]:
    profit = _pooled([each.contributions for each in earned], ledgers)
    cash = _pooled([ledger.units.mean(ledger.log.cash) for ledger in ledgers], ledgers)
    return Interval.of(profit), Interval.of(cash)


def _candidate(method: str, found: list[Estimate] | str, ledgers: list[Ledger]) -> Candidate:
    if isinstance(found, str):
        return Candidate(method, reason=found)
    if refused := [each.reason for each in found if not each.scored]:
        return Candidate(method, reason=refused[0])
    profits = [each.contributions for each in found if each.contributions is not None]
    gains = _pooled([own - ledger.contributions for own, ledger in zip(profits, ledgers, strict=True)], ledgers)
    doubt = float(np.mean([each.doubt for each in found]))
    profit = Interval.of(_pooled(profits, ledgers), doubt)
    return Candidate(method, profit, Interval.of(gains, doubt), contributions=gains)


def _ranked(candidates: dict[str, Candidate]) -> tuple[Candidate, ...]:
    """The best first, each with how far it is behind; the unjudged last."""
    scored = [(each, each.gain.value, each.contributions) for each in candidates.values() if each.gain is not None]
    scored.sort(key=lambda each: -each[1])
    ranked = [
        each if place == 0 else replace(each, behind=Interval.of(scored[0][2] - contributions))
        for place, (each, _, contributions) in enumerate(scored)
        if contributions is not None and scored[0][2] is not None
    ]
    return (*ranked, *(each for each in candidates.values() if each.gain is None))


def _choose(candidates: tuple[Candidate, ...]) -> tuple[str | None, str]:
    """The best, where its gain is proven; else the best of those whose gain is."""
    proven = [each for each in candidates if each.gain is not None and each.gain.proven]
    if not proven:
        return None, f"{KEEP}: no method has a proven gain"
    best = proven[0]
    assert best.gain is not None
    sure = f"a gain of {best.gain.value:.2f} a period, with 95 % certainty {best.gain.low:.2f} to {best.gain.high:.2f}"
    return best.method, f"deploy {best.method}: {sure}"
