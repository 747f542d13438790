"""The results of an experiment as arrays, and means with intervals over its runs."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from lostsales.data.confidence import margin, standard_error
from lostsales.lab.experiments.design import REFERENCE, CellResult, Experiment
from lostsales.types import Floats


@dataclass(frozen=True)
class RunMean:
    """A mean over runs with its standard error and the 95 % interval of Student's t."""

    mean: float
    std_error: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Floats) -> "RunMean":
        """Mean of one value per run, NaN if the method failed.

        >>> RunMean.of(np.array([1.0, 3.0, np.nan]))
        RunMean(mean=2.0, std_error=1.0, low=-10.706..., high=14.706..., n=2)
        """
        kept = values[~np.isnan(values)]
        mean = float(kept.mean()) if len(kept) else np.nan
        if len(kept) < 2:
            return cls(mean, np.nan, np.nan, np.nan, len(kept))
        error = standard_error(kept)
        reach = margin(error, len(kept) - 1)
        return cls(mean, error, mean - reach, mean + reach, len(kept))


@dataclass(frozen=True, eq=False)
class ExperimentResults:
    """All finished cells of an experiment.

    Attributes
    ----------
    experiment : Experiment
        Its design.
    finished : list of CellResult
        One result a cell, in the order of `experiment.cells()`.

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> ExperimentResults(Experiment(scenario=Scenario.load("released")), []).has("planner")
    True

    """

    experiment: Experiment
    finished: list[CellResult]

    @cached_property
    def _values(self) -> dict[tuple[str, str], Floats]:
        runs, levels = self.experiment.runs, {level: at for at, level in enumerate(self.experiment.levels)}
        values: dict[tuple[str, str], Floats] = {}
        for each in self.finished:
            key = each.behaviour, each.method
            shape = (runs, 1 if each.behaviour == REFERENCE else len(levels))
            table = values.setdefault(key, np.full(shape, np.nan))
            table[each.run, levels.get(each.episodes, 0)] = np.nan if each.value is None else each.value
        return values

    def values(self, behaviour: str, method: str) -> Floats:
        """Mean profit a period, (runs, levels); NaN where the method failed or was not fitted."""
        return self._values[behaviour, method]

    def reference(self, name: str) -> Floats:
        """Mean profit a period of a reference in the same test episodes, (runs,)."""
        return self._values[REFERENCE, name][:, 0]

    def has(self, *methods: str) -> bool:
        """True if all these methods were run."""
        return set(methods) <= set(self.experiment.methods)

    @property
    def failures(self) -> dict[tuple[str, str], int]:
        """Number of failed cells by method and reason."""
        counts: dict[tuple[str, str], int] = {}
        for each in self.finished:
            if each.failure:
                counts[each.method, each.failure] = counts.get((each.method, each.failure), 0) + 1
        return counts

    @property
    def gain(self) -> float:
        """Gain of pi* over uniform decisions, a period: the scale of the problem."""
        return float(np.mean(self.reference("pi-star") - self.reference("uniform")))


@dataclass(frozen=True)
class Row:
    """A row of the summary: mean profit a period with its interval, its distribution over runs, and the gap to pi*.

    The gap is paired over runs. A run is lost if its policy earns less than uniform decisions.
    """

    behaviour: str
    method: str
    episodes: int
    mean: float
    std_error: float
    low: float
    high: float
    n: int
    failed: int
    gap: float
    gap_low: float
    gap_high: float
    median: float
    least: float
    lost_runs: int


def summarise_results(results: ExperimentResults) -> list[Row]:
    """One row a reference, then one a behaviour, method and level."""
    best, uniform = results.reference("pi-star"), results.reference("uniform")
    columns = [(REFERENCE, name, 0, results.reference(name)) for name in results.experiment.references]
    for behaviour, method in product(results.experiment.behaviours, results.experiment.methods):
        levels = zip(results.experiment.levels, results.values(behaviour, method).T, strict=True)
        fitted = results.experiment.levels_of(method)
        columns += [(behaviour, method, episodes, values) for episodes, values in levels if episodes in fitted]
    rows = []
    for behaviour, method, episodes, values in columns:
        own, gap = RunMean.of(values), RunMean.of(best - values)
        means = own.mean, own.std_error, own.low, own.high, own.n, len(values) - own.n
        kept = values[~np.isnan(values)]
        spread = (float(np.median(kept)), float(kept.min())) if len(kept) else (np.nan, np.nan)
        lost = int(np.count_nonzero(values < uniform))
        rows.append(Row(behaviour, method, episodes, *means, gap.mean, gap.low, gap.high, *spread, lost))
    return rows


@dataclass(frozen=True)
class Times:
    """Mean seconds of fitting a method to a number of episodes, and of testing its policy."""

    method: str
    episodes: int
    fit_seconds: float
    test_seconds: float
    cells: int


def times_of(results: ExperimentResults) -> list[Times]:
    """Times by method and level; no seed fixes them, so they are not part of the results."""
    spent: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for each in results.finished:
        spent.setdefault((each.method, each.episodes), []).append((each.fit_seconds, each.test_seconds))
    means = {key: np.mean(seconds, axis=0) for key, seconds in spent.items()}
    return [Times(*key, float(mean[0]), float(mean[1]), len(spent[key])) for key, mean in means.items()]
