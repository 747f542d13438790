"""An experiment that runs in seconds, and synthetic results of given means."""

from pathlib import Path
from typing import Any

import numpy as np

from lostsales.lab.experiments.design import REFERENCE, CellResult, Experiment
from lostsales.lab.experiments.results import ExperimentResults
from lostsales.simulation.scenario import Scenario

Means = dict[tuple[str, str], tuple[float, ...]]
TINY = Path(__file__).with_name("tiny.toml")


def small(**changes: Any) -> Experiment:
    keys = {"levels": (5, 10), "runs": 2, "methods": ("c-fqi", "pc-fqi"), "iterations": 2, "test_episodes": 20}
    return Experiment(**({"scenario": Scenario.load(TINY)} | keys | changes))


def made_up(means: Means, spread: float = 1.0, noise_seed: int = 1, **changes: Any) -> ExperimentResults:
    """Results whose method earns `means[behaviour, method]` at each level, plus noise of scale `spread` a run.

    All policies of a run share a noise of that size too, as common test episodes do.
    """
    methods = tuple(dict.fromkeys(method for behaviour, method in means if behaviour != REFERENCE))
    experiment = small(runs=20, methods=methods, **changes)
    rng = np.random.default_rng(noise_seed)
    shared = rng.normal(size=experiment.runs) * spread
    finished = []
    for cell in experiment.cells():
        levels = means.get((cell.behaviour, cell.method), (0.0,) * len(experiment.levels))
        mean = levels[0 if cell.behaviour == REFERENCE else experiment.levels.index(cell.episodes)]
        own = 0.0 if cell.behaviour == REFERENCE else rng.normal() * spread
        value = mean + shared[cell.run] + own
        finished.append(CellResult(*cell, None if np.isnan(mean) else value, 0.1, 0.5, "", 0.2, 0.1))
    return ExperimentResults(experiment, finished)
