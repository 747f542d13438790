"""The planner: prices and orders together, by a dynamic program or on sample paths of a learned demand."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.assortment import is_shop
from lostsales.data.candidate_grid import PRICE_CANDIDATES, CandidateGrid
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.progress import Progress
from lostsales.data.relative import at_usual_level, settings_in_units
from lostsales.demand.censoring.evidence import MOST_HIDDEN
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.demand_model import DemandModel, bootstrap_laws
from lostsales.demand.law.elasticities import product_elasticities
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import fit_demand
from lostsales.errors import LostSalesError, warn
from lostsales.learn.learner import Learner
from lostsales.learn.planner.latent_table import GroupShape, memory_reach
from lostsales.learn.planner.market_states import MarketStates, market_effects, market_states
from lostsales.learn.planner.moving_level import has_quantities, moving_levels
from lostsales.learn.planner.paths.fitting import fit_paths
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.planner.paths.search import AHEAD, MOST_AHEAD, MOST_PATHS, PATHS, Search
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import has_pipeline, pipeline_grids
from lostsales.learn.planner.plan_groups import PlanGroups
from lostsales.learn.planner.plan_values import NO_SAFE_DEPTH
from lostsales.learn.planner.plans import Plans
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.state_grid import LAGS, StateGrid, lag_nodes, state_grids
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.moving_level import LevelStates
from lostsales.policy.rules import Rules
from lostsales.policy.shop_units import InShopUnits
from lostsales.types import Bools, Floats

USUAL_LAWS = 3  # the fitted one and two draws: a mean over laws, at three times the time of one
# Groups of products that share a plan: at most so many, and together with so many nodes of the last demand.
MOST_PLANS = 12  # demand distributions times groups: bounds the time of a fit
MOST_GROUPS, MOST_LAG_NODES = 160, 24 * LAGS[-1]
# A plan for the mean profit a period looks further than the 0.9 of a regression (docs/decisions/planner.md).
LEAST_DISCOUNT = 0.97
PlannerSafe = Literal["none", "paper"]
PlannerLevel = Literal["learn", "follow", "fixed"]
DecidesBy = Literal["auto", "states", "paths"]
TOO_MANY_STATES = (
    "stock and orders on the way have too many states for a dynamic program; the planner decides such shops on sampled "
    "futures (decides_by=paths)"
)
NOT_FOLLOWED = (
    "the level of demand moved in this log and is not followed: {what} names quantities (a capacity, multiples, a "
    "least order), which a plan in units of the level cannot keep. The plan is for the mean level: fit it to recent "
    "rows, or leave those quantities out"
)


class TooManyStatesError(LostSalesError):
    """Raised where a dynamic program has too many states."""


class Planner(Learner):
    """Planner: prices and orders together, on a demand distribution that is estimated from the censored log.

    Profit and stock balance are known, and demand does not depend on the stock (Assumption 4), so only the law of
    demand given prices, features and its past is learned. If states are few and demand depends on its past, a
    dynamic program decides; in a run of stock-outs the hidden demand enters its state by the mean of the belief over
    it. Products, dates and long lead times are decided by a search on sampled futures with common random numbers.

    Parameters
    ----------
    iterations : int, optional
        Greedy sweeps of the dynamic program, at most; by default 40. Sweeps stop when the values have converged.
    rules : Rules
        Business rules that every action obeys.
    seed : int
        The same seed gives the same policy.
    draws : int, optional
        Demand distributions planned on: the fitted one, and others from a bootstrap over series. By default three,
        and one where orders take longer than a period.
    pessimism : float
        0: maximise the mean value over the laws; towards 1: an ever lower quantile of it.
    price_caution : float
        If products have price responses of their own, another price than the usual one is worth less by what so many
        standard errors of the elasticity cost today.
    discount : float, optional
        Discount of the plan; by default the larger of the problem's and 0.97.
    families : tuple of Family, optional
        Families among which the demand distribution is chosen; by default all that apply.
    safe : {"none", "paper"}
        "paper": from the log's max_depth on, the highest price with the largest order.
    decides_by : {"auto", "states", "paths"}
        "states": a dynamic program, where states are few and demand depends on its past; "paths": a search on sampled
        futures with common random numbers, for products, dates and long lead times; "auto" chooses.
    paths, ahead : int
        Sampled futures of each product, and their periods beyond the longest lead time.
    level : {"learn", "follow", "fixed"}
        Of the dynamic program. "follow": the level of demand is followed by series through recent rows, where it did
        not move in the log once it has moved beyond chance since; "learn": only where it moved in the log.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=4, seed=1)
    >>> policy = Planner(draws=1, iterations=2, families=(Family("linear", False),)).plan(log)
    >>> policy.discount, policy.family
    (0.97, 'linear mean, additive noise')

    References
    ----------
    Gundem and Qi, Offline Dynamic Inventory and Pricing Strategy: Addressing Censored and Dependent Demand.
    Puterman and Shin (1978), Modified Policy Iteration Algorithms for Discounted Markov Decision Problems.

    """

    method: ClassVar[str] = "planner"
    bytes_a_row: ClassVar[int] = 2_000
    models_products: ClassVar[bool] = True
    quick_settings: ClassVar[dict[str, Any]] = {
        "draws": 1,
        "families": (Family("linear", False), Family("linear", True), Family("kernel", False), Family("kernel", True)),
    }

    draws: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Demand distributions planned on: the fitted one, and others from a bootstrap over series; "
        f"By default {USUAL_LAWS}, and 1 where orders take longer than a period.",
    )
    pessimism: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="0: optimise the mean over these distributions; towards 1: an ever lower quantile."
    )
    price_caution: Annotated[float, Field(ge=0, le=10)] = Field(
        0.5,
        description="In an assortment, another price than a product's usual one is worth less by what so many standard "
        "errors of its elasticity cost today.",
    )
    discount: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description=f"Discount of the plan; by default the larger of the problem's and {LEAST_DISCOUNT}."
    )
    families: Annotated[tuple[Family, ...], Field(min_length=1)] | None = Field(
        None, description="Families among which the demand distribution is chosen; by default all that apply."
    )
    safe: PlannerSafe = Field(
        "none", description='"paper": the highest price with the largest order from the log\'s max_depth on.'
    )

    level: PlannerLevel = Field(
        "follow",
        description='"follow": follow the level of demand by series, through the log where it moved in it and through '
        'recent rows once it has moved beyond chance; "learn": only where it moved in the log; "fixed": do not.',
    )

    decides_by: DecidesBy = Field(
        "auto",
        description='"states": a dynamic program, where states are few; "paths": a search on sampled futures, for '
        'products, dates and long lead times; "auto": by what the log is.',
    )

    paths: Annotated[int, Field(ge=10, le=MOST_PATHS)] = Field(
        PATHS, description="Sampled futures of each product, where decisions are made on these."
    )
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = Field(
        AHEAD, description="Periods of them beyond the longest lead time."
    )

    def laws(self, problem: Problem) -> int:
        """Number of laws that are planned on."""
        usual = 1 if has_pipeline(problem) else USUAL_LAWS
        return usual if self.draws is None else self.draws

    def left_out(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are not learned from, by reason; last rows and every depth are.

        >>> import lostsales
        >>> log, _ = lostsales.simulate("steady", episodes=12, seed=1)
        >>> Planner().left_out(log), lostsales.CFQI().left_out(log)["last row of its series"]
        ({}, 12)
        """
        depth = find_runs(log).depth
        found = {
            "no earlier demand is known": int(np.count_nonzero(depth < 0)),
            f"after more than {MOST_HIDDEN} stock-outs in a row": int(np.count_nonzero(depth > MOST_HIDDEN)),
        }
        return {reason: rows for reason, rows in found.items() if rows}

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> PlanPolicy | InShopUnits | PathPolicy:
        """Learn the demand model of a log, and decide on its states or sample paths."""
        if self.decides_by == "paths" or (self.decides_by == "auto" and is_shop(log)):
            return self._on_paths(log)
        try:
            return self._by_states(log, progress)
        except TooManyStatesError:
            if self.decides_by == "states":
                raise
            return self._on_paths(log)

    def _on_paths(self, log: DecisionLog) -> PathPolicy:
        """Decide on sample paths."""
        search = Search(self.paths, self.ahead, self.seed)
        return fit_paths(log, self.rules, search, sets_prices=True, caution=self.price_caution, discount=self.discount)

    def _by_states(self, log: DecisionLog, progress: Progress | None) -> PlanPolicy | InShopUnits:
        """Dynamic program, relative to the level of demand where that moves."""
        if self.level == "fixed":
            return self.plan(log, progress)
        with single_threaded():
            TrainingData.of(log, self.rules, least_rows=0)  # or the log is refused
            model = fit_demand(log, self.families, self.seed)
            found = self._moving_levels(log, model)
        if found is None:
            return self.plan(log, progress, model)
        states, relative = found
        moved = bool((relative != 1).any())
        policy = self.plan(at_usual_level(log, relative), progress) if moved else self.plan(log, progress, model)
        problem = policy.problem.model_copy(update={"orders": log.problem.orders})
        products = ProductTable.of(log).without_scale()
        return InShopUnits(policy, problem, products, policy.usual_demand, level=states)

    def plan(self, log: DecisionLog, progress: Progress | None = None, model: DemandModel | None = None) -> PlanPolicy:
        """Plan at the mean level of a log; a `model` that was fitted to the log already is not fitted again."""
        with single_threaded():
            data = TrainingData.of(log, self.rules, least_rows=0)
            model = fit_demand(log, self.families, self.seed) if model is None else model
            for message in model.warnings:
                warn(message)
            return planned(data.with_all_prices() if model.is_causal else data, model, self, progress)

    def _moving_levels(self, log: DecisionLog, model: DemandModel) -> tuple[LevelStates, Floats] | None:
        """Levels of a log where they move; None where they do not, or where problem or rules name quantities."""
        of_problem, of_rules = has_quantities(log.problem), settings_in_units(self, 2.0) != self
        found = moving_levels(log, model, always=self.level == "follow" and not (of_problem or of_rules))
        if found is not None and (of_problem or of_rules):
            warn(NOT_FOLLOWED.format(what="the problem" if of_problem else "a rule"))
            return None
        return found


def planned(
    data: TrainingData,
    model: DemandModel,
    settings: Planner,
    progress: Progress | None,
    local: LocalResiduals | None = None,
) -> PlanPolicy:
    """Plan on the law of a model, with local residuals where they are given."""
    log, law, problem = data.log, model.law, data.log.problem
    discount = max(problem.discount, LEAST_DISCOUNT) if settings.discount is None else settings.discount
    states = market_states(model.evidence, law, settings.seed, problem.features)
    candidates = _candidates(data, model)
    lags = lag_nodes(memory_reach(model.evidence, law))
    caution = _price_caution(log, model, settings)
    most_groups = min(MOST_GROUPS, MOST_LAG_NODES // lags)
    series = PlanGroups.of(log, law, candidates, data.rules, caution, most_groups)
    common = Physics.of(problem, log.costs, strict=log.records_stockouts)
    physics = tuple(common.with_costs(costs) for costs in series.group_costs)
    latent = complete_latents(model.evidence, law, settings.seed).latent
    highest = 1.2 * float(np.quantile(law.demand(latent, 1.0), 0.99))
    prices = _price_nodes(candidates, model)
    orders = candidates.coarse().orders_of(series.group_scale, series.group_multiple * series.group_scale)
    grids = state_grids(highest * series.group_scale, prices, orders, physics, discount, lags)
    every_state = pipeline_grids(problem, grids, states, common)
    if has_pipeline(problem) and every_state is None:
        raise TooManyStatesError(TOO_MANY_STATES)
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
        every_state=every_state,
        local=local,
    )
    latents, following = plans.solved(progress)
    return PlanPolicy(
        problem=data.problem_with(candidates if not candidates.relative else data.shared_candidates),
        rules=data.rules,
        candidates=candidates,
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


def _price_caution(log: DecisionLog, model: DemandModel, settings: Planner) -> Floats:
    """Multiple of the standard error of each product's elasticity, 0 where these do not differ, (products,)."""
    products = len(log.products)
    if not (settings.price_caution and model.law.are_products and len(model.prices) > 1):
        return np.zeros(products)
    found = product_elasticities(log, model, seed=settings.seed)
    error = found.error[np.searchsorted(found.names.astype(str), log.products.names.astype(str))]
    return settings.price_caution * np.nan_to_num(error, nan=np.nanmax(error, initial=0.0))


def _candidates(data: TrainingData, model: DemandModel) -> CandidateGrid:
    """The candidates of the log; where the price never varied, of that price only."""
    candidates = data.candidates
    return replace(candidates, prices=model.prices) if len(model.prices) == 1 else candidates


def _price_nodes(candidates: CandidateGrid, model: DemandModel) -> Floats:
    """Prices relative to the usual one at which a plan is made, (prices,)."""
    if candidates.relative_prices or (model.law.usual_price == 1).all():
        return candidates.coarse().prices
    return np.unique(np.quantile(model.evidence.price, np.linspace(0, 1, PRICE_CANDIDATES), method="nearest"))


def _allowed(rules: Rules, series: PlanGroups, group: int, grid: StateGrid) -> Bools:
    """Actions of the plan of a group that pass the rules, (actions,): in money, at the usual price of the group."""
    usual = float(np.median(series.usual_price[series.group == group]))
    members = series.products.names[series.group[:-1] == group]
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


def _laws(log: DecisionLog, model: DemandModel, settings: Planner, n_groups: int) -> tuple[DemandLaw, ...]:
    """The fitted law and draws of it; fewer where many groups, each of many series, need plans."""
    draws = max(1, min(settings.laws(log.problem), MOST_PLANS // n_groups))
    return (model.law, *bootstrap_laws(log, model, draws - 1, settings.seed))


def _ranges(log: DecisionLog, states: MarketStates, model: DemandModel) -> Floats:
    """Least and most of z and of the stock, in units of scale, in the log, (2, 2)."""
    evidence = model.evidence
    z = states.z(evidence.market, market_effects(evidence, model.law))
    stock = log.stock / model.law.scale[log.series]
    return np.array([[z.min(), stock.min()], [z.max(), stock.max()]])
