"""Design of an experiment: settings, cells, and seeds that do not depend on the order of the cells."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from lostsales.data.settings import Settings
from lostsales.lab.experiments.behaviours import EXPLORATION, TEMPERATURE
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.scenario import Scenario

LEVELS = tuple(range(5, 51, 5))
# The paper's learners are fitted at every level, the others, unless other levels are asked for, at a few.
PAPER = ("c-fqi", "pc-fqi", "fusion")
AT_EVERY_LEVEL, FEW_LEVELS = PAPER, (5, 10, 50)
TEST_EPISODES = 500  # of a policy (Appendix F); their sampling error is part of the intervals over runs
RUN = 50  # least episodes of a run, so that a level has the same rows whatever other levels there are
BEHAVIOURS = ("uniform", "near-optimal")  # unless others are asked for
# uniform; pi* with some uniform decisions; pi* itself; a softmax over the oracle's Q, and a sampled PPO policy, which
# both see true demand. A log has its seed by the place in this list, so that new ones come last.
ALL_BEHAVIOURS = (*BEHAVIOURS, "pi-star", "softmax", "ppo")
SOLVED = ("oracle-horizon", "pi-star-horizon", "oracle", "pi-star")
REFERENCE = "reference"  # instead of the behaviour, in the cells of the references, which have no log
# The paper's three, to the letter (`faithful`) and with our defaults, the planner and the baselines: the default
# methods, as far as installed.
METHODS = (
    *AT_EVERY_LEVEL,
    "c-fqi-default",
    "pc-fqi-default",
    "fusion-default",
    "planner",
    "behaviour",
    "base-stock",
    "s-S-p",
    "newsvendor",
    "fqi-observed",
    "fqi-dropped",
    "fqi-imputed",
    "fqi-plugin",
)


# The paper's learners are as the paper has them; those called default have the settings that users get.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {"faithful": True}) for name in PAPER},
    **{f"{name}-default": (name, {}) for name in PAPER},
}


def learner_and_settings(method: str) -> tuple[str, dict[str, Any]]:
    """The learner of a method, and its settings.

    >>> learner_and_settings("pc-fqi"), learner_and_settings("pc-fqi-default"), learner_and_settings("planner")
    (('pc-fqi', {'faithful': True}), ('pc-fqi', {}), ('planner', {}))
    """
    return VARIANTS.get(method, (method, {}))


def default_methods() -> tuple[str, ...]:
    """Methods of the experiment that are registered."""
    return tuple(name for name in METHODS if learner_and_settings(name)[0] in LEARNERS)


class Cell(NamedTuple):
    """One policy to fit and to test."""

    behaviour: str
    episodes: int
    run: int
    method: str


@dataclass(frozen=True)
class CellResult:
    """Result of a cell; `failure` is the reason where there is no value, else empty."""

    behaviour: str
    episodes: int
    run: int
    method: str
    value: float | None  # mean profit a period
    std_error: float | None  # over test episodes
    uncensored_share: float | None
    failure: str
    fit_seconds: float
    test_seconds: float

    @property
    def cell(self) -> Cell:
        """The cell."""
        return Cell(self.behaviour, self.episodes, self.run, self.method)


class Experiment(Settings):
    """Settings that determine the results; the number of workers does not."""

    scenario: Scenario
    levels: tuple[Annotated[int, Field(ge=1)], ...] = LEVELS  # episodes to learn from
    runs: Annotated[int, Field(ge=1)] = 50
    methods: Annotated[tuple[str, ...], Field(default_factory=default_methods)]
    iterations: Annotated[int, Field(ge=1)] = 10  # K of fitted Q-iteration
    test_episodes: Annotated[int, Field(ge=1)] = TEST_EPISODES
    behaviours: tuple[str, ...] = BEHAVIOURS
    exploration: Annotated[float, Field(ge=0, le=1)] = EXPLORATION  # uniform share of near-optimal decisions
    temperature: Annotated[float, Field(gt=0)] = TEMPERATURE  # of the softmax
    ppo: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None  # SHA-256 of the file of the behaviour `ppo`
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> "Experiment":
        if not self.levels or sorted(set(self.levels)) != list(self.levels):
            raise ValueError("levels must rise, as in 5,10,20")
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError("methods must be named once each, and one at least")
        if not self.behaviours or len(set(self.behaviours)) < len(self.behaviours):
            raise ValueError("behaviours must be named once each, and one at least")
        if unknown := sorted(set(self.behaviours) - set(ALL_BEHAVIOURS)):
            raise ValueError(f"there is no behaviour {', '.join(unknown)}; the names are {', '.join(ALL_BEHAVIOURS)}")
        if "ppo" in self.behaviours and self.ppo is None:
            raise ValueError("the behaviour ppo needs the file of a policy: --ppo FILE, by `solve --target ppo`")
        return self

    @property
    def references(self) -> tuple[str, ...]:
        """Solved policies and behaviours, tested in the same episodes; uniform decisions are the scale of claims."""
        return (*SOLVED, *dict.fromkeys(("uniform", *(each for each in self.behaviours if each not in SOLVED))))

    def cells(self) -> Iterator[Cell]:
        """Run by run, so that a stopped experiment has whole runs, and the cells of one log follow each other."""
        for run in range(self.runs):
            for name in self.references:
                yield Cell(REFERENCE, 0, run, name)
            for behaviour in self.behaviours:
                for episodes in self.levels:
                    for method in self.methods:
                        if episodes in self.levels_of(method):
                            yield Cell(behaviour, episodes, run, method)

    def levels_of(self, method: str) -> tuple[int, ...]:
        """Levels at which a method is fitted."""
        return self.levels if method in AT_EVERY_LEVEL or self.levels != LEVELS else FEW_LEVELS

    @property
    def episodes(self) -> int:
        """Episodes of a run; levels are nested, each the first episodes of the run (Appendix F)."""
        return max(RUN, *self.levels)

    def log_seed(self, behaviour: str, run: int) -> int:
        """Seed of the log of a run."""
        return self._seed(0, ALL_BEHAVIOURS.index(behaviour), run)

    def fit_seed(self, behaviour: str, run: int) -> int:
        """Seed of a learner."""
        return self._seed(1, ALL_BEHAVIOURS.index(behaviour), run)

    def test_seed(self, run: int) -> int:
        """Seed of the test episodes, common to all policies and references of a run."""
        return self._seed(2, 0, run)

    def _seed(self, *key: int) -> int:
        return int(np.random.SeedSequence((self.seed, *key)).generate_state(1)[0])

    def as_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return self.model_dump(mode="json", by_alias=True)
