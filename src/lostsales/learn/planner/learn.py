"""From a log to the policy of the planner: law of demand, market states, grids, plans of every law and scale."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.estimation import complete_latents
from lostsales.demand.law.selection import DemandModel, bootstrap_laws, fit_demand
from lostsales.learn.planner.latent_table import latent_atoms
from lostsales.learn.planner.market_states import MarketStates, market_states
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.policy import NO_SAFE_DEPTH, PlanPolicy
from lostsales.learn.planner.policy_iteration import solve
from lostsales.learn.planner.series_table import SeriesTable
from lostsales.learn.planner.state_grid import Dynamics, StateGrid, state_grids
from lostsales.learn.training_data import TrainingData
from lostsales.types import Array, Bools, Floats

if TYPE_CHECKING:
    from lostsales.learn.planner.planner import Planner

THREADS = 2
MOST_PLANS = 12  # laws times scales
# A plan for the mean profit a period looks further than the 0.9 of a regression (docs/decisions/planner.md).
LEAST_DISCOUNT = 0.97


def learn(
    log: SalesLog, settings: "Planner", progress: Progress | None = None, model: DemandModel | None = None
) -> PlanPolicy:
    """Fit the law of demand unless a model is given, and plan on it."""
    with threadpool_limits(1):
        data = TrainingData.of(log, least_rows=0)
        model = fit_demand(log, settings.families, settings.seed) if model is None else model
        for message in model.warnings:
            warnings.warn(message, stacklevel=4)
        return _plan(data, model, settings, progress)


def _plan(data: TrainingData, model: DemandModel, settings: "Planner", progress: Progress | None) -> PlanPolicy:
    log, law, problem = data.log, model.law, data.problem
    assert log.costs is not None  # TrainingData has checked
    physics = Physics.of(problem, log.costs, strict=log.records_stockouts)
    discount = max(problem.discount, LEAST_DISCOUNT) if settings.discount is None else settings.discount
    states = market_states(model.evidence, law, settings.seed)
    series = SeriesTable.of(log, law)
    latent = complete_latents(model.evidence, law, settings.seed).latent
    highest = 1.2 * float(np.quantile(law.demand(latent, 1.0), 0.99))
    grids = state_grids(highest * series.group_scale, data.grid.prices, data.grid.orders, physics, discount)
    allowed = _allowed(data, model, settings)
    planning = _Planning(
        evidence=model.evidence,
        laws=_laws(log, model, settings, len(grids)),
        states=states,
        scales=series.group_scale,
        grids=grids,
        allowed=allowed,
        physics=physics,
        discount=discount,
        iterations=settings.iterations,
    )
    latents, next_values = planning.run(progress)
    return PlanPolicy(
        problem=problem,
        rules=settings.rules,
        physics=physics,
        states=states,
        series=series,
        latents=latents,
        next_values=next_values,
        steps=np.array([grid.steps for grid in grids]),
        ranges=_ranges(log, states, model),
        allowed=allowed,
        multiplicative=law.family.multiplicative,
        integer=law.integer,
        demand_max=law.demand_max,
        discount=discount,
        pessimism=settings.pessimism,
        safe_depth=data.runs.max_depth if settings.safe == "paper" else NO_SAFE_DEPTH,
        learned_depth=data.runs.longest,
        usual_demand=data.usual_demand,
        family=law.family.name,
    )


def _allowed(data: TrainingData, model: DemandModel, settings: "Planner") -> Bools:
    """Actions that pass the rules; where the price never varied, of that price only."""
    allowed = settings.rules.standing(data.grid)
    if len(model.prices) == 1:
        allowed &= data.grid.pairs[:, 0] == model.prices[0]
    return allowed


def _laws(log: SalesLog, model: DemandModel, settings: "Planner", n_groups: int) -> tuple[DemandLaw, ...]:
    """The fitted law and draws of it; fewer where many groups, each of many series, need plans."""
    draws = max(1, min(settings.draws, MOST_PLANS // n_groups))
    return (model.law, *bootstrap_laws(log, model, draws - 1, settings.seed))


@dataclass(frozen=True, eq=False)
class _Planning:
    """The plans of every group of series and every law."""

    evidence: Evidence
    laws: tuple[DemandLaw, ...]
    states: MarketStates
    scales: Floats  # (groups,)
    grids: tuple[StateGrid, ...]  # by group
    allowed: Bools  # (actions,)
    physics: Physics
    discount: float
    iterations: int | None

    def run(self, progress: Progress | None) -> tuple[Floats, Floats]:
        """Latents and next values of all plans, (groups, laws, ...)."""
        groups, laws = range(len(self.grids)), range(len(self.laws))
        latents = np.empty((len(groups), len(laws)), dtype=object)
        values = np.empty_like(latents)

        def plan(job: tuple[int, int]) -> None:
            group, law = job
            latents[job], values[job] = self._one(group, law, start=values[group, 0] if law else None)

        # First the fitted law, from whose values the plans of the draws start.
        stages = [[(group, 0) for group in groups], [(group, law) for law in laws[1:] for group in groups]]
        done = 0
        with ThreadPoolExecutor(THREADS) as pool:
            for stage in stages:
                for _ in pool.map(plan, stage):
                    done += 1
                    if progress:
                        progress(done, latents.size)
        next_values = np.vectorize(self.states.next_values, otypes=[object])(values)
        return _stacked(latents), _stacked(next_values)

    def _one(self, group: int, law: int, start: Floats | None) -> tuple[Floats, Floats]:
        """Latents and values of one plan."""
        grid, scale = self.grids[group], float(self.scales[group])
        latents = latent_atoms(self.evidence, self.laws[law], self.states, grid.prices, grid.lags / scale)
        demand = self.laws[law].demand(latents, scale)
        dynamics = Dynamics(self.physics, self.discount, *grid.steps)
        allowed = self.allowed.reshape(len(grid.prices), -1)[:, : len(grid.orders)].ravel()
        return latents, solve(demand, self.states, grid, dynamics, allowed, self.iterations, start)


def _stacked(tables: Array) -> Floats:
    """(groups, laws, ...), rounded to single precision, in which it is saved."""
    whole = np.stack(list(tables.reshape(-1))).astype(np.float32).astype(np.float64)
    return np.ascontiguousarray(whole.reshape(*tables.shape, *whole.shape[1:]))


def _ranges(log: SalesLog, states: MarketStates, model: DemandModel) -> Floats:
    """Least and most of z and of the stock in the log, (2, 2)."""
    evidence = model.evidence
    z = states.z(evidence.market, model.law.effect[evidence.series])
    stock = np.asarray(log.stock)
    return np.array([[z.min(), stock.min()], [z.max(), stock.max()]])
