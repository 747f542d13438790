"""Design of an experiment: settings, cells, and seeds that do not depend on the order of the cells."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from lostsales.data.settings import Settings
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.scenario import Scenario

LEVELS = tuple(range(5, 51, 5))
RUN = 50  # least episodes of a run, so that a level has the same rows whatever other levels there are
BEHAVIOURS = ("uniform", "near-optimal")
REFERENCES = ("oracle-horizon", "pi-star-horizon", "oracle", "pi-star", *BEHAVIOURS)
REFERENCE = "reference"  # in place of the behaviour, in the cells of the references, which have no log
# The paper's three, our two and the baselines: the default methods, as far as installed.
METHODS = (
    "c-fqi",
    "pc-fqi",
    "fusion",
    "planner",
    "replay-fqi",
    "behaviour",
    "base-stock",
    "s-S-p",
    "newsvendor",
    "fqi-observed",
    "fqi-dropped",
    "fqi-imputed",
    "fqi-plugin",
)


def default_methods() -> tuple[str, ...]:
    """Those of `METHODS` that are registered."""
    return tuple(name for name in METHODS if name in LEARNERS)


class Cell(NamedTuple):
    """One policy to fit and to test."""

    behaviour: str
    episodes: int
    run: int
    method: str


class Experiment(Settings):
    """Settings that determine the results; the number of workers does not."""

    scenario: Scenario
    levels: tuple[Annotated[int, Field(ge=1)], ...] = LEVELS  # episodes to learn from
    runs: Annotated[int, Field(ge=1)] = 50
    methods: Annotated[tuple[str, ...], Field(default_factory=default_methods)]
    iterations: Annotated[int, Field(ge=1)] = 10  # K of fitted Q-iteration
    test_episodes: Annotated[int, Field(ge=1)] = 500
    exploration: Annotated[float, Field(ge=0, le=1)] = 0.1  # share of near-optimal decisions that are drawn uniformly
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> "Experiment":
        if not self.levels or sorted(set(self.levels)) != list(self.levels):
            raise ValueError("levels must rise, as in 5,10,20")
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError("methods must be named once each, and one at least")
        return self

    def cells(self) -> Iterator[Cell]:
        """Run by run, so that a stopped experiment has whole runs, and the cells of one log follow each other."""
        for run in range(self.runs):
            for name in REFERENCES:
                yield Cell(REFERENCE, 0, run, name)
            for behaviour in BEHAVIOURS:
                for episodes in self.levels:
                    for method in self.methods:
                        yield Cell(behaviour, episodes, run, method)

    @property
    def episodes(self) -> int:
        """Episodes of a run; levels are nested, each the first episodes of the run (Appendix F)."""
        return max(RUN, *self.levels)

    def log_seed(self, behaviour: str, run: int) -> int:
        """Seed of the log of a run."""
        return self._seed(0, BEHAVIOURS.index(behaviour), run)

    def fit_seed(self, behaviour: str, run: int) -> int:
        """Seed of a learner."""
        return self._seed(1, BEHAVIOURS.index(behaviour), run)

    def test_seed(self, run: int) -> int:
        """Seed of the test episodes, common to all policies and references of a run."""
        return self._seed(2, 0, run)

    def _seed(self, *key: int) -> int:
        return int(np.random.SeedSequence((self.seed, *key)).generate_state(1)[0])

    def as_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return self.model_dump(mode="json", by_alias=True)
