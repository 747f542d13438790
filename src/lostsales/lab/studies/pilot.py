"""The study of pilots: how often the monitor errs, finds a gain, and raises an alarm, where the truth is known."""

from dataclasses import asdict, dataclass
from functools import partial as bind
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from lostsales.data.journal import Run, fingerprint, open_journal
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.evaluation.pilot.design import PilotSettings, design_pilot
from lostsales.evaluation.pilot.monitor import monitor
from lostsales.evaluation.pilot.plan import TriedPolicy
from lostsales.lab.studies.pilot_shops import PilotShop, shop_of

Part = Literal["no effect", "effect", "shift"]
PARTS: tuple[Part, ...] = get_args(Part)
SHIFT = 1.3  # of demand
SHIFT_AFTER = 20  # periods of a pilot
SPAN = 100  # periods of a pilot without effect
FALSE_SPAN = 200  # periods over which false alarms are counted
LONGEST = 400  # periods
TRIED = TriedPolicy(file=None, method="study", sha256=None)


@dataclass(frozen=True)
class PilotStudy:
    """Settings: pilots of series with a past, in a shop where a policy is tried against what was done before."""

    shop: str
    settings: tuple[str, ...] = ()
    before: str = "base-stock"
    new: str = "base-stock"
    series: int = 20
    past: int = 60
    replications: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.series, self.replications) < 1 or self.past < 10:
            raise SettingError("series and replications must be at least 1, and the past at least 10 periods")

    @property
    def fingerprint(self) -> str:
        """Checksum of all settings that determine a replication."""
        asked = {key: value for key, value in asdict(self).items() if key != "replications"}
        return fingerprint(asked)

    @property
    def of_shop(self) -> PilotShop:
        """Shop in which the pilot is simulated."""
        return shop_of(self.shop, self.settings, self.before, self.new)


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


def run_pilot_study(
    study: PilotStudy, partial: Path | None = None, workers: int = 1, progress: Progress | None = None
) -> tuple[PilotFigures, list[SimulatedPilot]]:
    """Simulate all pilots; those in the `partial` file of the same study are not repeated."""
    shop = study.of_shop
    truth = shop.true_profits(study.past, 200)
    wanted = [(part, number) for part in PARTS for number in range(study.replications)]
    with open_journal(partial, Run("a study of pilots", SimulatedPilot, study.fingerprint)) as journal:
        done = {(each.part, each.number): each for each in journal.entries}
        work = bind(_pilot_of, study, truth)
        pilots = journal.complete(wanted, done, lambda each: (each.part, each.number), work, workers, progress)
    return figures(pilots, truth), pilots


def simulate_pilot(study: PilotStudy, truth: tuple[float, float], part: Part, number: int) -> SimulatedPilot:
    """Design a pilot from the past of a shop, play it, and look at it."""
    shop = study.of_shop
    seed = int(np.random.SeedSequence([study.seed, PARTS.index(part), number]).generate_state(1)[0])
    with single_threaded():
        past = shop.roll_out(np.zeros((study.series, study.past), dtype=bool), seed)
        gain = (truth[1] - truth[0]) / abs(truth[0]) if part == "effect" else 0.05
        length = None if part == "effect" else SPAN
        plan = design_pilot(past, TRIED, PilotSettings(max(gain, 1e-6), length, "series", seed=seed))
        periods = min(plan.periods, LONGEST)
        refused = part == "effect" and bool(plan.notes)
        is_new = np.zeros((study.series, study.past + periods), dtype=bool)
        if part == "effect":
            is_new[:, study.past :] = plan.new[:, :1]
        shift = (study.past + SHIFT_AFTER, SHIFT) if part == "shift" else None
        log = shop.roll_out(is_new, seed, shift)
        found = monitor(plan, log, seed=seed)
    assert found.profit is not None
    return SimulatedPilot(
        part=part,
        number=number,
        planned=0 if refused else plan.periods,
        periods=periods,
        verdict=found.verdict,
        decided=None if found.decided is None else int(found.decided) - study.past,
        estimate=float(found.profit.estimates.estimate[-1]),
        alarms=tuple(int(each.found) - study.past for each in found.alarms),
    )


def _pilot_of(study: PilotStudy, truth: tuple[float, float], which: tuple[Part, int]) -> SimulatedPilot:
    return simulate_pilot(study, truth, *which)


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
