"""The study of pilots: error rate, power and alarms of the monitor, where the truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.evaluation.pilot.design import PilotSettings, design_pilot
from lostsales.evaluation.pilot.monitor import monitor
from lostsales.evaluation.pilot.plan import TriedPolicy
from lostsales.lab.studies.pilot_shops import PilotShop, shop_of
from lostsales.lab.studies.study import Study, seed_of

Part = Literal["no effect", "effect", "shift"]
PARTS: tuple[Part, ...] = get_args(Part)
SHIFT = 1.3  # of demand
SHIFT_AFTER = 20  # periods of a pilot
SPAN = 100  # periods of a pilot without effect
FALSE_SPAN = 200  # periods over which false alarms are counted
LONGEST = 400  # periods
TRIED = TriedPolicy(file=None, method="study", sha256=None)


@dataclass(frozen=True)
class SimulatedPilot:
    """Result of one pilot."""

    part: Part
    number: int
    planned: int  # periods
    periods: int  # played
    verdict: str
    decided: int | None  # period of the pilot in which a stop was due
    estimate: float
    alarms: tuple[int, ...]  # periods of the pilot in which there was one


@dataclass(frozen=True)
class PilotFigures:
    """Figures of the study."""

    true_profit: float  # a period and series, as before
    true_gain: float
    false_stops: float  # share of pilots without effect that ever said harm or success
    false_harm: float
    false_success: float
    found: float  # share of pilots with the gain that said success by the planned end
    promised: float  # power that the designs promised
    refused: int  # designs that found no length for the gain
    planned: float  # median length
    delay: float  # median periods from a shift of demand to the first alarm
    false_alarms: float  # in 200 periods without a shift
    pilots: int  # of each part


@dataclass(frozen=True)
class PilotStudy(Study[tuple[Part, int], SimulatedPilot]):
    """Settings: pilots of series with a past, in a shop where a policy is tried against what was done before."""

    shop: str
    settings: tuple[str, ...] = ()
    before: str = "base-stock"
    new: str = "base-stock"
    series: int = 20
    past: int = 60
    replications: int = 200
    seed: int = 0
    called: ClassVar[str] = "a study of pilots"
    entry: ClassVar[type[SimulatedPilot]] = SimulatedPilot

    def __post_init__(self) -> None:
        if min(self.series, self.replications) < 1 or self.past < 10:
            raise SettingError("series and replications must be at least 1, and the past at least 10 periods")

    @property
    def of_shop(self) -> PilotShop:
        """Shop in which the pilot is simulated."""
        return shop_of(self.shop, self.settings, self.before, self.new)

    @cached_property
    def truth(self) -> tuple[float, float]:
        """True profits a period and series as before and under the new policy, once both have settled."""
        return self.of_shop.true_profits(self.past, 200)

    @property
    def wanted(self) -> Sequence[tuple[Part, int]]:
        """Parts and numbers of the pilots."""
        return [(part, number) for part in PARTS for number in range(self.replications)]

    def key_of(self, entry: SimulatedPilot) -> tuple[Part, int]:
        """Part and number of a pilot."""
        return entry.part, entry.number

    def run(
        self, journal: Path | None = None, workers: int = 1, progress: Progress | None = None
    ) -> list[SimulatedPilot]:
        """All pilots; the truth is simulated once, before worker processes copy the study."""
        _ = self.truth
        return super().run(journal, workers, progress)

    def replicate(self, key: tuple[Part, int]) -> SimulatedPilot:
        """Design a pilot from the past of a shop, play it, and look at it."""
        (part, number), shop, truth = key, self.of_shop, self.truth
        seed = seed_of(self.seed, PARTS.index(part), number)
        with single_threaded():
            past = shop.roll_out(np.zeros((self.series, self.past), dtype=bool), seed)
            gain = (truth[1] - truth[0]) / abs(truth[0]) if part == "effect" else 0.05
            length = None if part == "effect" else SPAN
            plan = design_pilot(past, TRIED, PilotSettings(max(gain, 1e-6), length, "series", seed=seed))
            periods = min(plan.periods, LONGEST)
            refused = part == "effect" and bool(plan.notes)
            is_new = np.zeros((self.series, self.past + periods), dtype=bool)
            if part == "effect":
                is_new[:, self.past :] = plan.new[:, :1]
            shift = (self.past + SHIFT_AFTER, SHIFT) if part == "shift" else None
            found = monitor(plan, shop.roll_out(is_new, seed, shift), seed=seed)
        return SimulatedPilot(
            part=part,
            number=number,
            planned=0 if refused else plan.periods,
            periods=periods,
            verdict=found.verdict,
            decided=None if found.decided is None else int(found.decided) - self.past,
            estimate=np.nan if found.profit is None else float(found.profit.estimates.estimate[-1]),
            alarms=tuple(int(each.found) - self.past for each in found.alarms),
        )


def figures(pilots: list[SimulatedPilot], truth: tuple[float, float]) -> PilotFigures:
    """Shares and medians over the pilots."""
    by = {part: [each for each in pilots if each.part == part] for part in PARTS}
    null, effect, shifted = (by[part] for part in PARTS)
    planned = [each for each in effect if each.planned]
    delays = [
        min((at - SHIFT_AFTER + 1 for at in each.alarms if at >= SHIFT_AFTER), default=LONGEST) for each in shifted
    ]
    span = sum(each.periods for each in null)

    def share(own: list[SimulatedPilot], *verdicts: str) -> float:
        return float(np.mean([each.verdict in verdicts for each in own])) if own else np.nan

    return PilotFigures(
        true_profit=truth[0],
        true_gain=truth[1] - truth[0],
        false_stops=share(null, "harm", "success"),
        false_harm=share(null, "harm"),
        false_success=share(null, "success"),
        found=share(planned, "success"),
        promised=0.8,
        refused=len(effect) - len(planned),
        planned=float(np.median([each.planned for each in planned])) if planned else np.nan,
        delay=float(np.median(delays)) if delays else np.nan,
        false_alarms=FALSE_SPAN * sum(len(each.alarms) for each in null) / span if span else np.nan,
        pilots=len(null),
    )
