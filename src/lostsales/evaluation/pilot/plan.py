"""The class `Pilot`: a designed pilot with its schedule, as a file."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from lostsales import plots
from lostsales.data.calendar.periods import PeriodGrid
from lostsales.data.json_files import read_json
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.data.writing import write_tables
from lostsales.errors import LostSalesError
from lostsales.evaluation.pilot.assignment import draw_series, draw_switches, draws_for
from lostsales.evaluation.pilot.drift import Detector
from lostsales.evaluation.pilot.market import DemandBaseline
from lostsales.types import Array, Bools, Floats, Ints

FORMAT = 1
NEW, AS_BEFORE = "new", "as before"
MOST_PERIODS = 1_000_000  # of a pilot in a file
MOST_MOMENT = 9 * 10**18  # latest period in a file, which int64 can hold

Design = Literal["series", "switchback"]


class PilotSeries(StrictSettings):
    """A series of a pilot."""

    name: str = Field(description="Its name in the log.")
    stratum: int = Field(ge=0, description="Number of its stratum; series of similar past profit share one.")
    new: tuple[bool, ...] = Field(min_length=1, description="True in the blocks in which it tries the new policy.")
    past_profit: float = Field(description="Mean profit per period before the pilot, the covariate of the estimate.")
    past_cash: float = Field(description="Mean cash per period before the pilot.")
    usual_demand: float = Field(ge=0, description="Mean demand per period before the pilot.")
    usual_price: float = Field(ge=0, description="Mean price before the pilot.")
    weight: float = Field(ge=0, description="Weight in the alarms: inverse variance of its demand, within bounds.")


class NeededPeriods(StrictSettings):
    """Periods that a pilot needs to detect a gain."""

    share: float | None = Field(description="The gain as a share of the past profit; null if that is not positive.")
    gain: float = Field(description="The gain per period and series.")
    periods: int | None = Field(
        description="Periods needed to detect it with the power of the design; null if none suffice."
    )
    weeks: float | None = Field(description="Weeks needed, if periods are dates.")


class TriedPolicy(StrictSettings):
    """The policy that is tried."""

    file: str | None = Field(description="Its file, if it has one.")
    method: str = Field(description="The method that learned it, or its kind.")
    sha256: str | None = Field(description="Checksum of the file.")


class Pilot(StrictSettings):
    """Design of a pilot: which series try a new policy, when and how long, and the gain that it can detect.

    Examples
    --------
    >>> import lostsales
    >>> shop = lostsales.Scenario.load("newsvendor", ("horizon=30",))
    >>> log, _ = lostsales.simulate(shop, "base-stock:12", episodes=12, seed=1)
    >>> found = lostsales.pilot(log, lostsales.fit(log, "newsvendor"), seed=1)
    >>> found.design, len(found.series), sum(each.new[0] for each in found.series)
    ('series', 12, 6)

    """

    format: int = Field(FORMAT, description="Version of the file.")
    design: Design = Field(description="Split by series, or blocks of periods in which every series switches.")
    seed: int = Field(ge=0, description="Seed of the randomisation.")
    start: int = Field(description="The first period; timestamps are in microseconds since 1970.")
    step: int = Field(gt=0, description="Step from one period to the next.")
    dated: bool = Field(description="True if periods are timestamps.")
    periods: int = Field(ge=1, le=MOST_PERIODS, description="Planned length, periods that are not counted included.")
    wash_out: int = Field(ge=0, le=MOST_PERIODS, description="Periods after a change of policy that are not counted.")
    block: int = Field(
        ge=1, le=MOST_PERIODS, description="Periods between two changes; all of them in a split by series."
    )
    policy: TriedPolicy = Field(description="The policy that is tried.")
    series: tuple[PilotSeries, ...] = Field(min_length=1, description="Series of the pilot.")
    profit: float = Field(description="Mean profit per period and series before the pilot.")
    cash: float = Field(description="Mean cash per period and series before the pilot.")
    power: float = Field(gt=0, lt=1, description="Power: probability of detecting the gains of the table.")
    findable: float | None = Field(description="Gain that the planned length detects with this power; null if none.")
    needed: tuple[NeededPeriods, ...] = Field(description="Periods needed for other gains.")
    demand: DemandBaseline = Field(description="Model of expected demand.")
    detectors: tuple[Detector, ...] = Field(description="Detectors of changes in the market.")
    notes: tuple[str, ...] = Field((), description="Remarks for the reader.")

    @property
    def clock(self) -> PeriodGrid:
        """Clock of its periods."""
        return PeriodGrid(self.dated, self.step, self.start)

    @property
    def names(self) -> Array:
        """Names of the series, (series,)."""
        return np.array([each.name for each in self.series], dtype=object)

    @property
    def new(self) -> Bools:
        """Assignment to the new policy, (series, blocks)."""
        return np.array([each.new for each in self.series])

    @property
    def pairs(self) -> int:
        """Pairs of blocks of a switchback."""
        return len(self.series[0].new) // 2

    def of_series(self, what: str) -> Floats:
        """Column of the series table, (series,)."""
        return np.array([getattr(each, what) for each in self.series], dtype=np.float64)

    def block_of(self, offsets: Ints) -> Ints:
        """Block of periods, by their offset; in a split by series the last block never ends."""
        return (
            np.minimum(offsets // self.block, len(self.series[0].new) - 1)
            if self.design == "series"
            else (offsets // self.block)
        )

    def is_counted(self, offsets: Ints) -> Bools:
        """Mask of counted periods: not in the wash-out after a change, nor outside the schedule."""
        if self.design == "series":
            return np.asarray(offsets >= self.wash_out)
        inside = (offsets >= 0) & (offsets < self.block * len(self.series[0].new))
        return np.asarray(inside & (offsets % self.block >= self.wash_out))

    def draws(self) -> Bools:
        """Random assignments, the observed one first: (draws, series), or (draws, series, pairs)."""
        rng = np.random.default_rng([self.seed, 1])
        if self.design == "series":
            strata = np.array([each.stratum for each in self.series])
            drawn = draw_series(strata, draws_for(len(strata)) - 1, rng)
            return np.concatenate([self.new[:, 0][None], drawn])
        drawn = draw_switches(len(self.series), self.pairs, draws_for(len(self.series) * self.pairs) - 1, rng)
        return np.concatenate([self.new[:, 1::2][None], drawn])

    def schedule(self) -> dict[str, Array]:
        """Schedule as columns: series, policy, first and last period, first counted period."""
        clock, blocks = self.clock, len(self.series[0].new)
        ends = [self.periods if self.design == "series" else (block + 1) * self.block for block in range(blocks)]
        names, policies, strata, spans = [], [], [], []
        for each in self.series:
            for block, new in enumerate(each.new):
                begins = block * self.block
                names.append(each.name)
                policies.append(NEW if new else AS_BEFORE)
                strata.append(each.stratum)
                spans.append([clock.period(at) for at in (begins, ends[block] - 1, begins + self.wash_out)])
        kind = "datetime64[us]" if self.dated else "int64"
        first, last, counted = (np.array(column, dtype=kind) for column in zip(*spans, strict=True))
        if clock.is_daily:
            first, last, counted = (column.astype("datetime64[D]") for column in (first, last, counted))
        return {
            "series": np.array(names, dtype=object),
            "policy": np.array(policies, dtype=object),
            "from": first,
            "to": last,
            "counted_from": counted,
            "stratum": np.array(strata),
        }

    def to_json(self) -> dict[str, Any]:
        """Content for JSON: the design, its randomisation, and the gains it can detect."""
        keys = ("design", "seed", "periods", "wash_out", "block", "profit", "cash", "power", "findable", "notes")
        series = [{"name": each.name, "stratum": each.stratum, "new": list(each.new)} for each in self.series]
        span = {"from": self.clock.name(0), "to": self.clock.name(self.periods - 1)}
        shown = {key: getattr(self, key) for key in keys}
        return shown | span | {"needed": [each.model_dump() for each in self.needed], "series": series}

    def plot(self) -> Any:
        """Picture of the schedule: which series or blocks use the new policy."""
        return plots.draw_schedule(self.names, self.new, f"Pilot of {self.periods} periods")

    def save(self, path: str | Path, schedule: str | Path | None = None) -> None:
        """Write the pilot as JSON with a checksum, and its schedule as a table, by default next to it."""
        beside = schedule_beside(Path(path)) if schedule is None else Path(schedule)
        content: dict[str, Any] = {"pilot": self.model_dump(mode="json", by_alias=True)}
        content["sha256"] = _checksum(content["pilot"])
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_tables({beside: self.schedule()}, {Path(path): text})

    @classmethod
    def load(cls, path: str | Path) -> "Pilot":
        """Read a pilot that `save` wrote; a file that is damaged or altered is refused."""
        found = read_json(Path(path))
        if set(found) != {"pilot", "sha256"} or not isinstance(found["pilot"], dict):
            raise LostSalesError(f"{path} is no pilot: `lostsales pilot LOG --policy P --out PILOT` writes one")
        if _checksum(found["pilot"]) != found["sha256"]:
            raise LostSalesError(f"{path} is damaged or was altered: its content does not match its checksum")
        if found["pilot"].get("format") != FORMAT:
            raise LostSalesError(f"{path} has format {found['pilot'].get('format')}, but this version reads {FORMAT}")
        pilot = checked_json(cls, found["pilot"], str(path))
        if wrong := pilot._contradiction():
            raise LostSalesError(f"{path} is no usable pilot: {wrong}")
        return pilot

    def _contradiction(self) -> str | None:
        """Contradiction in a file with a valid checksum, None if there is none."""
        blocks = {len(each.new) for each in self.series}
        if len(blocks) > 1:
            return "its series differ in their numbers of blocks"
        if self.design == "switchback" and max(blocks) % 2:
            return "the blocks of a switchback come in pairs"
        if max(each.stratum for each in self.series) >= len(self.series):
            return "it has more strata than series"
        if abs(self.start) + self.step * (max(self.periods, self.block * max(blocks)) + self.wash_out) > MOST_MOMENT:
            return "its periods are too far away"
        return self.demand.contradiction


def schedule_beside(path: Path) -> Path:
    """Default path of the schedule: pilot.schedule.csv next to pilot or pilot.json."""
    return path.with_name(f"{path.stem if path.suffix == '.json' else path.name}.schedule.csv")


def _checksum(content: dict[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
