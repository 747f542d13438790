"""The study of pilots: error rate, power and alarms of the monitor, where the truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.log import DecisionLog, LogNotes
from lostsales.data.parallel import single_threaded
from lostsales.data.problem import Costs, Problem
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.evaluation.pilot.design import PilotSettings, design_pilot
from lostsales.evaluation.pilot.monitor import monitor
from lostsales.evaluation.pilot.plan import TriedPolicy
from lostsales.lab.studies.study import Study, seed_of
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.view import Action, View
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Bools, Floats

ASSORTED = "assorted"  # the shop that is no scenario
TRUTH_EPISODES = 20_000  # of 50 periods, behind the true profits
WEEK = np.array([0.85, 0.85, 0.9, 1.0, 1.15, 1.35, 0.9])  # relative demand by weekday


class PilotShop(Protocol):
    """A shop in which pilots are simulated."""

    def roll_out(self, is_new: Bools, seed: int, shift: tuple[int, float] | None = None) -> DecisionLog:
        """The log of series and periods (series, periods) that are decided by the new policy or as before.

        `shift` multiplies demand from a period on.
        """
        ...

    def true_profits(self, warm_up: int, periods: int) -> tuple[float, float]:
        """Mean profit a period and series as before and under the new policy, once both have settled."""
        ...


class ShiftedScenario(Scenario):
    """A scenario whose demand is multiplied by a factor from a period on."""

    shift_from: int = 0
    factor: float = 1.0

    def demand(self, period: int, *state: Any, **more: Any) -> Floats:
        """Demand of the scenario, times the factor, in whole units."""
        drawn = super().demand(period, *state, **more)
        return np.rint(drawn * self.factor) if period >= self.shift_from else drawn


@dataclass(frozen=True, eq=False)
class Scheduled(PolicyBase):
    """Policy that decides by the new one where the schedule has it, and as before elsewhere."""

    before: Policy
    new: Policy
    is_new: Bools  # (series, periods)

    @property
    def problem(self) -> Problem:
        """Problem of both policies."""
        return self.before.problem

    @property
    def observes(self) -> Observes:
        """The more that either of them needs."""
        return "history" if "history" in (self.before.observes, self.new.observes) else "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Decide by both, and choose by the schedule."""
        own = self.is_new[:, view.period]
        before, new = self.before.decide(view, rng), self.new.decide(view, rng)
        return Action(np.where(own, new.price, before.price), np.where(own, new.order, before.order))


@dataclass(frozen=True)
class ScenarioShop:
    """A scenario of the simulator, with policies by name."""

    scenario: Scenario
    before: str
    new: str

    def roll_out(self, is_new: Bools, seed: int, shift: tuple[int, float] | None = None) -> DecisionLog:
        """Roll out by the simulator."""
        keys = self.scenario.model_dump(by_alias=True) | {"horizon": is_new.shape[1]}
        if shift is not None:
            keys |= {"shift_from": shift[0], "factor": shift[1]}
        shop = ShiftedScenario.model_validate(keys)
        decides = Scheduled(named_policy(self.before, shop), named_policy(self.new, shop), is_new)
        return simulate(shop, decides, len(is_new), seed)[0]

    def true_profits(self, warm_up: int, periods: int) -> tuple[float, float]:
        """True profits from two horizons: of periods that begin at the opening, and of those that are counted."""
        found = []
        for name in (self.before, self.new):
            totals = []
            for horizon in (warm_up, warm_up + periods):
                shop = self.scenario.model_copy(update={"horizon": horizon})
                episodes = max(TRUTH_EPISODES // 10, TRUTH_EPISODES * 50 // horizon)
                totals.append(horizon * evaluate_policy(shop, named_policy(name, shop), episodes, 1).mean_profit)
            found.append((totals[1] - totals[0]) / periods)
        return found[0], found[1]


@dataclass(frozen=True)
class AssortedShop:
    """Products of different size and price, with weekdays, autocorrelation, shocks that all share, and heavy tails.

    The new policy raises prices by a few per cent, which customers hardly mind.
    """

    price_factor: float = 1.04
    autocorrelation: float = 0.6
    noise: float = 1.0  # of demand
    spread: float = 1.0  # of the logarithms of sizes and prices

    def roll_out(self, is_new: Bools, seed: int, shift: tuple[int, float] | None = None) -> DecisionLog:
        """Roll out by a separate simulation, independent of the simulator."""
        series, periods = is_new.shape
        rng = np.random.default_rng([seed, 7])
        size, price = (
            middle * each ** (self.spread * rng.uniform(-0.5, 0.5, series)) for middle, each in ((14.0, 12), (4.0, 4))
        )
        price = np.round(price, 1)
        level, elasticity = rng.uniform(1.2, 1.9, series), rng.uniform(-0.9, -0.3, series)
        deviation = 0.35 * self.noise
        own, common = rng.normal(0, deviation, series), 0.0
        stock, columns = (
            np.ceil(size),
            {name: np.empty((series, periods)) for name in ("stock", "price", "order", "sales")},
        )
        stockout = np.empty((series, periods), dtype=bool)
        for period in range(periods):
            usual = price * rng.choice([1.0, 0.9, 0.8], series, p=[0.7, 0.2, 0.1])
            asked = np.round(usual * np.where(is_new[:, period], self.price_factor, 1.0), 4)
            keep = np.sqrt(1 - self.autocorrelation**2)
            own = self.autocorrelation * own + keep * rng.normal(0, deviation, series)
            common = self.autocorrelation * common + keep * rng.normal(0, 0.08)
            tail = 0.15 * self.noise * rng.standard_t(3, series)
            mean = size * WEEK[period % 7] * np.exp(np.clip(own + common + tail, -2.5, 2.5))
            mean = mean * (asked / price) ** elasticity
            if shift is not None and period >= shift[0]:
                mean = mean * shift[1]
            demand = rng.poisson(mean).astype(np.float64)
            order = np.maximum(np.rint(size * WEEK[period % 7] * level * (price / usual) - stock), 0.0)
            sales = np.minimum(stock + order, demand)
            for name, values in zip(columns, (stock, asked, order, sales), strict=True):
                columns[name][:, period] = values
            stockout[:, period] = demand > stock + order
            stock = stock + order - sales
        rows = {name: values.reshape(-1) for name, values in columns.items()}
        repeated = np.repeat(price, periods)
        return DecisionLog(
            problem=Problem(
                arrival="before", costs=Costs(lost="lost_cost", order="order_cost", holding="holding_cost")
            ),
            names=np.array([f"product {number}" for number in range(series)], dtype=object),
            series=np.repeat(np.arange(series), periods),
            period=np.tile(np.arange(periods), series),
            features=np.empty((series * periods, 0)),
            stockout=stockout.reshape(-1),
            last_sales=np.full(series, np.nan),
            last_stockout=np.zeros(series, dtype=bool),
            costs=UnitCosts(0.3 * repeated, 0.5 * repeated, 0.02 * repeated),
            notes=LogNotes(balance_rows=series * (periods - 1)),
            stock=rows["stock"],
            price=rows["price"],
            order=rows["order"],
            sales=rows["sales"],
        )

    def true_profits(self, warm_up: int, periods: int) -> tuple[float, float]:
        """Cash over many products; lost sales hardly differ, as the orders are the same."""
        found = []
        for is_new in (False, True):
            log = self.roll_out(np.full((4_000, warm_up + periods), is_new), 99)
            found.append(float(log.cash.reshape(4_000, -1)[:, warm_up:].mean()))
        return found[0], found[1]


def shop_of(name: str, settings: tuple[str, ...], before: str, new: str) -> PilotShop:
    """The shop of a name: `assorted`, or a scenario with the policies of these names."""
    return AssortedShop() if name == ASSORTED else ScenarioShop(Scenario.load(name, settings), before, new)


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
