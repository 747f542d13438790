"""From a log to the policy of the planner: law of demand, market states, grids, plans of every law and scale."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.ladders import PRICE_RUNGS, Ladders
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel, bootstrap_laws
from lostsales.demand.law.elasticities import product_elasticities
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import fit_demand
from lostsales.errors import warn
from lostsales.learn.planner.latent_table import GroupShape, memory_reach
from lostsales.learn.planner.market_states import MarketStates, market_effects, market_states
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import pipeline_grids
from lostsales.learn.planner.pipeline_simulation import PipelineSetting
from lostsales.learn.planner.plans import Plans
from lostsales.learn.planner.policy import NO_SAFE_DEPTH, PlanPolicy
from lostsales.learn.planner.series_table import SeriesTable
from lostsales.learn.planner.state_grid import LAGS, StateGrid, lag_nodes, state_grids
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats

if TYPE_CHECKING:
    from lostsales.learn.planner.planner import Planner

MOST_PLANS = 12  # laws times scales
# Groups of series that share a plan: at most so many, and together with so many nodes of the last demand.
MOST_GROUPS, MOST_LAG_NODES = 160, 24 * LAGS[-1]
# A plan for the mean profit a period looks further than the 0.9 of a regression (docs/decisions/planner.md).
LEAST_DISCOUNT = 0.97


def learn(
    log: SalesLog, settings: "Planner", progress: Progress | None = None, model: DemandModel | None = None
) -> PlanPolicy:
    """Fit the law of demand unless a model is given, and plan on it."""
    with single_threaded():
        data = TrainingData.of(log, settings.rules, least_rows=0)
        model = fit_demand(log, settings.families, settings.seed) if model is None else model
        for message in model.warnings:
            warn(message)
        data = data.with_all_prices() if model.is_causal else data
        return plan(data, model, settings, progress)


def plan(
    data: TrainingData,
    model: DemandModel,
    settings: "Planner",
    progress: Progress | None,
    local: LocalResiduals | None = None,
) -> PlanPolicy:
    """Plan on the law of a model, with local residuals where they are given."""
    log, law, problem = data.log, model.law, data.log.problem
    assert log.costs is not None  # TrainingData has checked
    discount = max(problem.discount, LEAST_DISCOUNT) if settings.discount is None else settings.discount
    states = market_states(model.evidence, law, settings.seed, problem.features)
    ladders = _ladders(data, model)
    lags = lag_nodes(memory_reach(model.evidence, law))
    caution = _price_caution(log, model, settings)
    most_groups = min(MOST_GROUPS, MOST_LAG_NODES // lags)
    series = SeriesTable.of(log, law, ladders, data.rules, caution, most_groups)
    common = Physics.of(problem, log.costs, strict=log.records_stockouts)
    physics = tuple(common.with_costs(costs) for costs in series.group_costs)
    latent = complete_latents(model.evidence, law, settings.seed).latent
    highest = 1.2 * float(np.quantile(law.demand(latent, 1.0), 0.99))
    prices = _price_nodes(ladders, model)
    orders = ladders.coarse().orders_of(series.group_scale, series.group_multiple * series.group_scale)
    grids = state_grids(highest * series.group_scale, prices, orders, physics, discount, lags)
    plans = Plans(
        evidence=model.evidence,
        laws=_laws(log, model, settings, len(grids)),
        shapes=tuple(
            map(GroupShape, *series.group_slopes.T.tolist(), series.group_spread.tolist(), series.group_scale.tolist())
        ),
        states=states,
        scales=series.group_scale,
        grids=grids,
        allowed=tuple(_allowed(data.rules, series, group, grid) for group, grid in enumerate(grids)),
        physics=physics,
        discount=discount,
        iterations=settings.iterations,
        problem=problem,
        pipeline=PipelineSetting.of(problem, law, settings.seed),
        every_state=pipeline_grids(problem, grids, states, common),
        local=local,
    )
    latents, following = plans.solved(progress)
    return PlanPolicy(
        problem=data.problem_with(ladders if not ladders.relative else data.shared_ladders),
        rules=data.rules,
        ladders=ladders,
        prices=prices,
        unit_costs=np.array(common.costs),
        strict=common.strict,
        states=states,
        series=series,
        latents=latents,
        following=following,
        steps=plans.steps,
        ranges=_ranges(log, states, model),
        multiplicative=law.family.multiplicative,
        log_link=law.family.log_link,
        integer=law.integer,
        rounded=law.integer and not law.family.is_count,
        demand_max=law.demand_max,
        near_zero=law.near_zero,
        saturates=law.family.saturates,
        lag_weights=law.lag_weights,
        discount=discount,
        pessimism=settings.pessimism,
        safe_depth=data.runs.max_depth if settings.safe == "paper" else NO_SAFE_DEPTH,
        learned_depth=data.runs.longest,
        usual_demand=data.usual_demand,
        family=law.family.name,
    )


def _price_caution(log: SalesLog, model: DemandModel, settings: "Planner") -> Floats:
    """By product: so many standard errors of its elasticity, 0 where products have no response of their own."""
    products = len(log.products)
    if not (settings.price_caution and model.law.are_products and len(model.prices) > 1):
        return np.zeros(products)
    error = product_elasticities(log, model, seed=settings.seed).error
    return settings.price_caution * np.nan_to_num(error, nan=np.nanmax(error, initial=0.0))


def _ladders(data: TrainingData, model: DemandModel) -> Ladders:
    """The ladders of the log; where the price never varied, of that price only."""
    ladders = data.ladders
    return replace(ladders, prices=model.prices) if len(model.prices) == 1 else ladders


def _price_nodes(ladders: Ladders, model: DemandModel) -> Floats:
    """Prices relative to the usual one at which a plan is made, (prices,)."""
    if ladders.relative_prices or (model.law.usual_price == 1).all():
        return ladders.coarse().prices
    return np.unique(np.quantile(model.evidence.price, np.linspace(0, 1, PRICE_RUNGS), method="nearest"))


def _allowed(rules: Rules, series: SeriesTable, group: int, grid: StateGrid) -> Bools:
    """Actions of the plan of a group that pass the rules, (actions,): in money, at the usual price of the group."""
    usual = float(np.median(series.usual_price[series.group == group]))
    members = series.names[series.group[:-1] == group]
    own = rules.of_names(members if len(members) else None)
    free = rules.model_copy(
        update={"price_endings": None, "price_ladder": None, "multiple": None}
        | {name: _of_most(getattr(own, name)) for name in ("minimum", "least_margin")}
    )
    return free.standing(ActionGrid(grid.prices * usual, grid.orders, np.inf, usual * series.group_costs[group, 1]))


def _of_most(rule: Floats | float | None) -> float | None:
    """A rule of a group: the middle one of its series, None where most have none."""
    values = np.atleast_1d(np.nan if rule is None else rule)
    return None if np.isnan(values).mean() > 0.5 else float(np.nanmedian(values))


def _laws(log: SalesLog, model: DemandModel, settings: "Planner", n_groups: int) -> tuple[DemandLaw, ...]:
    """The fitted law and draws of it; fewer where many groups, each of many series, need plans."""
    draws = max(1, min(settings.laws(log.problem), MOST_PLANS // n_groups))
    return (model.law, *bootstrap_laws(log, model, draws - 1, settings.seed))


def _ranges(log: SalesLog, states: MarketStates, model: DemandModel) -> Floats:
    """Least and most of z and of the stock, in units of scale, in the log, (2, 2)."""
    evidence = model.evidence
    z = states.z(evidence.market, market_effects(evidence, model.law))
    stock = np.asarray(log.stock) / model.law.scale[log.series]
    return np.array([[z.min(), stock.min()], [z.max(), stock.max()]])
