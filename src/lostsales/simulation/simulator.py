"""`simulate`: the vectorised simulator; blocks of episodes advance as arrays, on several threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.confidence import standard_error
from lostsales.data.log import DecisionLog, LogNotes, SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.data.reading.checks import noted_sellouts
from lostsales.data.writing import write_table
from lostsales.demand.censoring.runs import depth_of_rows
from lostsales.errors import SettingError
from lostsales.policy.policy import Policy
from lostsales.policy.rollout import Step, play
from lostsales.policy.simple import Uniform
from lostsales.simulation.hidden_market import market_of
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario, as_scenario
from lostsales.types import Array, Bools, Floats, Ints

# Episodes of a block (docs/decisions/simulator.md); the size determines the random streams, so it is fixed.
BLOCK = 16384
THREADS = min(2, os.cpu_count() or 1)


@dataclass(frozen=True, eq=False)
class HiddenTruth:
    """True demand and profit behind a log, row by row; only simulations, experiments and tests may read it.

    Attributes
    ----------
    demand : ndarray of shape (rows,)
        D_t after truncation, as it drives the next period.
    lost : ndarray of shape (rows,)
        Units of lost sales.
    profit : ndarray of shape (rows,)
        R_t with the true cost of lost sales.
    truncated : ndarray of bool, shape (rows,)
        Rows whose demand the truncation rule `longest_run` cut to what was available.
    ages : ndarray of shape (rows, shelf life), optional
        Stock at the opening by the periods that its units can still be sold, 1 first; None where units keep for ever.

    Examples
    --------
    >>> log, truth = simulate("released", episodes=2)
    >>> bool((log.sales <= truth.demand).all())
    True

    """

    demand: Floats  # (rows,)
    lost: Floats  # (rows,)
    profit: Floats  # (rows,)
    truncated: Bools  # (rows,)
    ages: Floats | None = None  # (rows, shelf life)

    def columns(self, log: SalesLog) -> dict[str, Array]:
        """The truth with the series and period of its log, by name of the column."""
        rows = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "ages"}
        ages = () if self.ages is None else self.ages.T[::-1]
        return log.key_columns | rows | {f"age_{at}": units for at, units in enumerate(ages, start=1)}

    def write(self, log: SalesLog, path: str | Path) -> None:
        """Write the columns as a table."""
        write_table(self.columns(log), path)


@dataclass(frozen=True)
class SimulationSummary:
    """Profit and censoring of a policy in simulation.

    Attributes
    ----------
    mean_profit : float
        Mean profit a period, with the true cost of lost sales.
    std_error : float
        Standard error of `mean_profit` over episodes; NaN of a single episode.
    uncensored_share : float
        Share of the periods without a stock-out.
    depth_share : dict of str to float
        Share of the periods at each depth.
    episodes, periods : int
        Numbers of episodes and of periods in all.

    """

    mean_profit: float
    std_error: float
    uncensored_share: float
    depth_share: dict[str, float]
    episodes: int
    periods: int

    @classmethod
    def of(cls, profit: Floats, uncensored: Floats, depth_counts: Ints, horizon: int) -> "SimulationSummary":
        """Summarise the mean profit and uncensored share of each episode, and the number of rows at each depth."""
        episodes = len(profit)
        deepest = int(np.flatnonzero(depth_counts)[-1])
        return cls(
            mean_profit=float(profit.mean()),
            std_error=standard_error(profit),
            uncensored_share=float(uncensored.mean()),
            depth_share={str(depth): float(depth_counts[depth]) / (episodes * horizon) for depth in range(deepest + 1)},
            episodes=episodes,
            periods=episodes * horizon,
        )


def simulate(
    scenario: Scenario | str | Path,
    policy: Policy | str | Path | None = None,
    episodes: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[DecisionLog, HiddenTruth]:
    """Simulate a policy and return the log that a retailer would have, and apart from it the hidden truth.

    Parameters
    ----------
    scenario : Scenario, str or Path
        The shop: a scenario, the name of a preset, or the path of a TOML file.
    policy : Policy, str or Path, optional
        A policy, its name (`"uniform"`, `"base-stock"`, `"base-stock:20@6"`) or its file; by default uniform.
    episodes : int
        Series of the log, each of `scenario.horizon` periods.
    seed : int
        Seed of the random streams; the same seed shows every policy the same market.
    progress : callable, optional
        Called with the numbers of finished and of all blocks of episodes.

    Returns
    -------
    log : DecisionLog
        What the retailer observes.
    truth : HiddenTruth
        Demand, lost sales and profit of the same rows.

    Raises
    ------
    SettingError
        If a number is out of range, there is no such scenario or policy, or the policy was made for another problem.

    Examples
    --------
    >>> log, truth = simulate("released", "base-stock:20@6", episodes=2)
    >>> len(log), bool((log.sales <= truth.demand).all())
    (100, True)

    """
    scenario = as_scenario(scenario)
    _check_request(episodes, seed)
    decides = named_policy(str(policy), scenario) if isinstance(policy, str | Path) else policy
    rows = (episodes, scenario.horizon)
    log = {name: np.empty(rows) for name in ("stock", "price", "order", "sales")}
    received = None if scenario.receives_orders else np.empty(rows)
    pipeline = np.empty((*rows, scenario.pipeline_length)) if scenario.pipeline_length else None
    features = np.empty((scenario.shown, *rows))
    stockout = np.empty(rows, dtype=bool)
    life = scenario.product.shelf_life
    wasted, ages = (np.empty(rows), np.empty((*rows, life))) if isinstance(life, int) else (None, None)
    truth = HiddenTruth(np.empty(rows), np.empty(rows), np.empty(rows), np.zeros(rows, dtype=bool), ages)
    last_sales = np.empty(episodes)

    def keep(block: slice, step: Step) -> None:
        view, action, outcome = step.view, step.action, step.outcome
        at = block, view.period
        log["stock"][at], log["price"][at], log["order"][at] = view.stock, action.price, action.order
        log["sales"][at], stockout[at] = outcome.sales, outcome.stockout
        if received is not None:
            received[at] = outcome.arrived
        if pipeline is not None:
            pipeline[at] = view.pipeline
        for index, feature in enumerate(view.features[: scenario.shown]):
            features[index][at] = feature
        truth.demand[at], truth.lost[at], truth.profit[at] = outcome.demand, outcome.lost, outcome.profit
        if outcome.truncated is not None:
            truth.truncated[at] = outcome.truncated
        if ages is not None and wasted is not None and step.shelf is not None:
            ages[at], wasted[at] = step.shelf.seen, outcome.wasted
        if view.period == 0:
            last_sales[block] = view.last_sales

    _each_block(scenario, decides, episodes, seed, keep, progress)
    series = np.arange(episodes)
    recorded = DecisionLog(
        problem=scenario.problem,
        names=series.astype(str).astype(object),
        series=np.repeat(series, scenario.horizon),
        period=np.tile(np.arange(scenario.horizon), episodes),
        features=features.reshape(len(features), episodes * scenario.horizon).T,
        stockout=stockout.reshape(-1),
        last_sales=last_sales,
        last_stockout=np.zeros(episodes, dtype=bool),
        costs=scenario.unit_costs,
        notes=LogNotes(balance_rows=episodes * (scenario.horizon - 1)),
        stock=log["stock"].reshape(-1),
        price=log["price"].reshape(-1),
        order=log["order"].reshape(-1),
        sales=log["sales"].reshape(-1),
        received=None if received is None else received.reshape(-1),
        pipeline=None if pipeline is None else pipeline.reshape(-1, scenario.pipeline_length),
        **({} if wasted is None else _perishing(scenario, wasted.reshape(-1))),
    )
    kept = (getattr(truth, each.name) for each in fields(truth) if each.name != "ages")
    by_age = None if ages is None else ages.reshape(-1, ages.shape[2])
    return noted_sellouts(recorded), replace(HiddenTruth(*(each.reshape(-1) for each in kept)), ages=by_age)


def _perishing(scenario: Scenario, wasted: Floats) -> dict[str, Any]:
    """Fields of a log of goods that perish, as if its table were read."""
    keys = scenario.product
    fixed: dict[str, Any] = {"shelf_life": keys.shelf_life, "from_oldest": keys.oldest_first}
    fixed["waste_cost"] = keys.unit_waste_cost
    columns = {name: np.full(len(wasted), each, dtype=np.float64) for name, each in fixed.items()}
    return columns | {"wasted": wasted, "adjustment": -wasted}


def evaluate_policy(
    scenario: Scenario,
    policy: Policy | None = None,
    episodes: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> SimulationSummary:
    """Mean profit of a policy, without keeping the log; the same seed shows every policy the same market."""
    _check_request(episodes, seed)
    profit, stockouts = np.zeros(episodes), np.zeros(episodes)
    depths = np.zeros((-(-episodes // BLOCK), scenario.horizon), dtype=np.int64)  # a row a block, as threads share it

    def keep(block: slice, step: Step) -> None:
        profit[block] += step.outcome.profit
        stockouts[block] += step.outcome.stockout
        depths[block.start // BLOCK] += np.bincount(step.view.depth, minlength=scenario.horizon)

    _each_block(scenario, policy, episodes, seed, keep, progress)
    horizon = scenario.horizon
    return SimulationSummary.of(profit / horizon, 1 - stockouts / horizon, depths.sum(axis=0), horizon)


def summarise(log: SalesLog, truth: HiddenTruth) -> SimulationSummary:
    """The summary of a log and its hidden truth."""
    episodes = len(log.names)
    profit, censored = (column.reshape(episodes, -1).mean(axis=1) for column in (truth.profit, log.censored))
    counts = np.bincount(depth_of_rows(log.censored, log.starts))
    return SimulationSummary.of(profit, 1 - censored, counts, len(log) // episodes)


def _check_request(episodes: int, seed: int) -> None:
    if episodes < 1:
        raise SettingError(f"episodes must be at least 1, but {episodes} came")
    if seed < 0:
        raise SettingError(f"seed must not be negative, but {seed} came")


def _each_block(
    scenario: Scenario,
    policy: Policy | None,
    episodes: int,
    seed: int,
    keep: Callable[[slice, Step], None],
    progress: Progress | None,
) -> None:
    """Roll out block by block; each has its own random streams, so that threads cannot change a result."""
    decides = Uniform(scenario.problem) if policy is None else policy
    seeds = np.random.SeedSequence(seed).spawn(-(-episodes // BLOCK))

    def run(number: int) -> None:
        block = slice(number * BLOCK, min((number + 1) * BLOCK, episodes))
        market_rng, policy_rng = (np.random.Generator(np.random.SFC64(each)) for each in seeds[number].spawn(2))
        series, costs = block.stop - block.start, scenario.unit_costs
        market = market_of(scenario, decides)
        for step in play(decides, market, scenario, costs, scenario.horizon, series, market_rng, policy_rng):
            keep(block, step)

    # BLAS threads of a policy would multiply these threads.
    with single_threaded(), ThreadPoolExecutor(THREADS) as pool:
        for done, _ in enumerate(pool.map(run, range(len(seeds))), start=1):
            if progress:
                progress(done, len(seeds))
