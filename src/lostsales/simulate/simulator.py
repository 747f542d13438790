"""The vectorised simulator: blocks of episodes advance together as arrays, on as many threads as there are cores."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.data.gate import Progress
from lostsales.data.log import LogNotes, SalesLog
from lostsales.data.write import write_table
from lostsales.demand.runs import depth_of_rows
from lostsales.errors import SettingError
from lostsales.policy.actions import ActionGrid
from lostsales.policy.behaviour import Uniform
from lostsales.policy.rollout import Policy, Step, roll_out
from lostsales.simulate.scenario import Scenario

# Large enough that threads seldom wait for the interpreter, small enough for the cache (docs/decisions/simulator.md);
# the size decides the random streams, so it is fixed.
BLOCK = 16384
THREADS = min(2, os.cpu_count() or 1)


@dataclass(frozen=True, eq=False)
class HiddenTruth:
    """What a retailer never sees, row by row of the log; only simulations, experiments and tests may read it."""

    demand: Floats  # (rows,) after truncation, as it drives the next period
    lost: Floats  # (rows,)
    profit: Floats  # (rows,) with the true cost of lost sales
    truncated: Bools  # (rows,) demand was cut to what was available by the longest run

    def write(self, log: SalesLog, path: str | Path) -> None:
        """Write the truth beside the series and period of its log."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        write_table({"series": log.names[log.series], "period": log.period, **columns}, path)


@dataclass(frozen=True)
class Summary:
    """What a policy earned in simulation; the standard error is over episodes."""

    mean_profit: float
    std_error: float
    uncensored_share: float
    depth_share: dict[str, float]
    episodes: int
    periods: int

    @classmethod
    def of(cls, profit: Floats, uncensored: Floats, depth_counts: Ints, horizon: int) -> "Summary":
        """From the mean profit and uncensored share of each episode, and the number of rows at each depth."""
        episodes = len(profit)
        deepest = int(np.flatnonzero(depth_counts)[-1])
        return cls(
            mean_profit=float(profit.mean()),
            std_error=float(profit.std(ddof=1) / np.sqrt(episodes)) if episodes > 1 else float("nan"),
            uncensored_share=float(uncensored.mean()),
            depth_share={str(depth): float(depth_counts[depth]) / (episodes * horizon) for depth in range(deepest + 1)},
            episodes=episodes,
            periods=episodes * horizon,
        )


def simulate(
    scenario: Scenario,
    policy: Policy | None = None,
    episodes: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[SalesLog, HiddenTruth]:
    """Let a policy (uniform unless given) run and keep the log that a retailer would have, and apart from it the truth.

    >>> from lostsales.simulate.scenario import load_scenario
    >>> log, truth = simulate(load_scenario("released"), episodes=2)
    >>> len(log), bool((log.sales <= truth.demand).all())
    (100, True)
    """
    rows = (episodes, scenario.horizon)
    log = {name: np.empty(rows) for name in ("stock", "price", "order", "sales")}
    features = np.empty((len(scenario.features), *rows))
    stockout = np.empty(rows, dtype=bool)
    truth = HiddenTruth(np.empty(rows), np.empty(rows), np.empty(rows), np.zeros(rows, dtype=bool))
    last_sales = np.empty(episodes)

    def keep(block: slice, steps: list[Step]) -> None:
        _fill(log["stock"][block], (step.view.stock for step in steps))
        _fill(log["price"][block], (step.action.price for step in steps))
        _fill(log["order"][block], (step.action.order for step in steps))
        _fill(log["sales"][block], (step.outcome.sales for step in steps))
        _fill(stockout[block], (step.outcome.stockout for step in steps))
        for index in range(len(features)):
            _fill(features[index, block], (step.view.features[index] for step in steps))
        _fill(truth.demand[block], (step.outcome.demand for step in steps))
        _fill(truth.lost[block], (step.outcome.lost for step in steps))
        _fill(truth.profit[block], (step.outcome.profit for step in steps))
        if scenario.longest_run is not None:
            _fill(
                truth.truncated[block], (step.outcome.truncated for step in steps if step.outcome.truncated is not None)
            )
        last_sales[block] = steps[0].view.last_sales

    _each_block(scenario, policy, episodes, seed, keep, progress)
    series = np.arange(episodes)
    return (
        SalesLog(
            problem=scenario.problem,
            names=series.astype(str).astype(object),
            series=np.repeat(series, scenario.horizon),
            period=np.tile(np.arange(scenario.horizon), episodes),
            features=features.reshape(len(features), -1).T,
            stockout=stockout.reshape(-1),
            last_sales=last_sales,
            last_stockout=np.zeros(episodes, dtype=bool),
            costs=scenario.unit_costs,
            notes=LogNotes(balance_rows=episodes * (scenario.horizon - 1)),
            stock=log["stock"].reshape(-1),
            price=log["price"].reshape(-1),
            order=log["order"].reshape(-1),
            sales=log["sales"].reshape(-1),
        ),
        HiddenTruth(*(getattr(truth, each.name).reshape(-1) for each in fields(truth))),
    )


def evaluate_policy(
    scenario: Scenario,
    policy: Policy | None = None,
    episodes: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> Summary:
    """What a policy earns, without keeping the log; the same seed shows every policy the same customers."""
    profit = np.empty(episodes)
    uncensored = np.empty(episodes)
    depths: list[Ints] = []

    def keep(block: slice, steps: list[Step]) -> None:
        profit[block] = np.mean([step.outcome.profit for step in steps], axis=0)
        uncensored[block] = 1 - np.mean([step.outcome.stockout for step in steps], axis=0)
        depths.append(np.bincount(np.concatenate([step.view.depth for step in steps]), minlength=scenario.horizon))

    _each_block(scenario, policy, episodes, seed, keep, progress)
    return Summary.of(profit, uncensored, np.sum(depths, axis=0), scenario.horizon)


def summarise(log: SalesLog, truth: HiddenTruth) -> Summary:
    """The summary of a log that was kept."""
    episodes = len(log.names)
    profit, censored = (column.reshape(episodes, -1).mean(axis=1) for column in (truth.profit, log.censored))
    counts = np.bincount(depth_of_rows(log.censored, log.starts))
    return Summary.of(profit, 1 - censored, counts, len(log) // episodes)


def _each_block(
    scenario: Scenario,
    policy: Policy | None,
    episodes: int,
    seed: int,
    keep: Callable[[slice, list[Step]], None],
    progress: Progress | None,
) -> None:
    """Roll out block by block; each has its own random streams, so that threads cannot change a result."""
    if episodes < 1:
        raise SettingError(f"episodes must be at least 1, but {episodes} came")
    if seed < 0:
        raise SettingError(f"seed must not be negative, but {seed} came")
    decides = Uniform(ActionGrid.of(scenario)) if policy is None else policy
    seeds = np.random.SeedSequence(seed).spawn(-(-episodes // BLOCK))

    def run(number: int) -> None:
        block = slice(number * BLOCK, min((number + 1) * BLOCK, episodes))
        market_rng, policy_rng = (np.random.Generator(np.random.SFC64(each)) for each in seeds[number].spawn(2))
        series = block.stop - block.start
        steps = roll_out(
            decides, scenario, scenario, scenario.unit_costs, scenario.horizon, series, market_rng, policy_rng
        )
        keep(block, steps)

    with ThreadPoolExecutor(THREADS) as pool:
        for done, _ in enumerate(pool.map(run, range(len(seeds))), start=1):
            if progress:
                progress(done, len(seeds))


def _fill(target: Array, columns: Iterator[Array]) -> None:
    """Put one array a period side by side, (series, periods)."""
    target[...] = np.array(list(columns)).T
