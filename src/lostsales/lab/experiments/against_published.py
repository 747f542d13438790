"""Our results beside the published ones, each with its interval, and their difference."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.confidence import margin
from lostsales.lab.experiments.design import REFERENCE
from lostsales.lab.experiments.published import Published, published_results
from lostsales.lab.experiments.results import ExperimentResults, RunMean

PUBLISHED_RUNS = 50  # runs behind each figure of the paper
NORMAL_QUANTILE = 1.96  # of the published intervals: 1.96 standard deviations over the root of 50 runs


@dataclass(frozen=True)
class PublishedDifference:
    """A point of a published curve, our result there, and ours less the published with Welch's 95 % interval."""

    behaviour: str
    method: str
    episodes: int
    mean: float
    low: float
    high: float
    n: int
    published: float
    published_low: float  # NaN where no interval was published
    published_high: float
    difference: float
    difference_low: float
    difference_high: float


def differences_to_published(results: ExperimentResults) -> list[PublishedDifference]:
    """One a published point that was run; none for a scenario without published results."""
    published, levels = published_results(results.experiment.scenario), results.experiment.levels
    found = []
    for behaviour in results.experiment.behaviours:
        for point in published_of(behaviour, published):
            if results.has(point.method) and point.episodes in levels:
                own = results.values(behaviour, point.method)[:, levels.index(point.episodes)]
                found.append(difference_to(point, RunMean.of(own)))
    solved = [point for point in published if point.behaviour == REFERENCE]
    return found + [difference_to(point, RunMean.of(results.reference(point.method))) for point in solved]


def published_of(behaviour: str, published: list[Published]) -> list[Published]:
    """The published points that go with a behaviour: those of near-optimal behaviour with every good one."""
    kind = "uniform" if behaviour == "uniform" else "near-optimal"
    return [point._replace(behaviour=behaviour) for point in published if point.behaviour == kind]


def difference_to(point: Published, ours: RunMean) -> PublishedDifference:
    """Ours less the published, two independent means; a published one without an interval is taken as exact."""
    error = 0.0 if np.isnan(point.reach) else point.reach / NORMAL_QUANTILE
    spread = float(np.hypot(ours.std_error, error))
    difference, reach = ours.mean - point.mean, np.nan
    if ours.n > 1:
        parts = ours.std_error**4 / (ours.n - 1) + error**4 / (PUBLISHED_RUNS - 1)
        degrees = spread**4 / parts if parts else np.inf
        reach = margin(spread, degrees)
    return PublishedDifference(
        behaviour=point.behaviour,
        method=point.method,
        episodes=point.episodes,
        mean=ours.mean,
        low=ours.low,
        high=ours.high,
        n=ours.n,
        published=point.mean,
        published_low=point.mean - point.reach,
        published_high=point.mean + point.reach,
        difference=difference,
        difference_low=difference - reach,
        difference_high=difference + reach,
    )


def over_points(points: list[PublishedDifference]) -> RunMean:
    """Mean difference over the points of one curve.

    Levels are nested, so their errors are correlated, and nobody published how much: the interval is that of full
    correlation, the widest there is.
    """
    kept = [each for each in points if each.n > 1]
    if not kept:
        return RunMean.of(np.zeros(0))
    mean = float(np.mean([each.difference for each in kept]))
    reach = float(np.mean([each.difference_high - each.difference for each in kept]))
    return RunMean(mean, reach / NORMAL_QUANTILE, mean - reach, mean + reach, min(each.n for each in kept))
