"""The planner: prices and orders together, by a dynamic program or on sample paths of a learned demand."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.assortment import is_assortment, is_shop
from lostsales.data.candidate_grid import PRICE_CANDIDATES, CandidateGrid
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductAttributes
from lostsales.data.progress import Progress
from lostsales.demand.censoring.evidence import MOST_HIDDEN
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel, bootstrap_laws
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import fit_law
from lostsales.errors import LostSalesError, SettingError, warn
from lostsales.learn.learner import Learner
from lostsales.learn.planner.latent_table import memory_reach
from lostsales.learn.planner.market_states import MarketStates, market_states
from lostsales.learn.planner.moving_level import level_moves
from lostsales.learn.planner.paths.fitting import fit_paths
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.planner.paths.search import AHEAD, MOST_AHEAD, MOST_PATHS, PATHS, Search
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import has_pipeline, pipeline_grid
from lostsales.learn.planner.plan_values import NO_SAFE_DEPTH
from lostsales.learn.planner.plans import Plans
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.state_grid import StateGrid, lag_nodes, state_grid
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats

USUAL_LAWS = 3  # the fitted one and two draws: a mean over laws, at three times the time of one
# A plan for the mean profit a period looks further than the 0.9 of a regression (docs/decisions/planner.md).
LEAST_DISCOUNT = 0.97
LAW_AHEAD = 12  # periods of a sampled future beyond the longest lead time, where a price moves later demand too
PlannerSafe = Literal["none", "paper"]
DecidesBy = Literal["auto", "states", "paths"]
TOO_MANY_STATES = (
    "stock by age and orders on the way have too many states for a dynamic program; the planner decides such shops on "
    "sampled futures (decides_by=paths)"
)
NO_STATES_OF_PRODUCTS = (
    "products and dates are decided on sampled futures: decides_by=states is for series that are episodes of one shop, "
    "with plain numbers for periods"
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
    meets_targets: ClassVar[bool | None] = True
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
        usual = 1 if has_pipeline(problem) or problem.product.shelf_life is not None else USUAL_LAWS
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

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> PlanPolicy | PathPolicy:
        """Learn the demand model of a log, and decide on its states or sample paths."""
        keys = log.problem.product
        if is_shop(log) or keys.season_end is not None or (keys.shelf_life is not None and not keys.is_one_shelf):
            if self.decides_by == "states":
                raise SettingError(NO_STATES_OF_PRODUCTS)
            return self._on_paths(log)
        with single_threaded():
            TrainingData.of(log, self.rules, least_rows=0)  # or the log is refused
            model = fit_law(log, self.families, self.seed)
        if self.decides_by == "auto" and level_moves(log, model):
            return self._on_paths(log, level_moves=True)
        return self.plan(log, progress, model)

    def _on_paths(self, log: DecisionLog, *, level_moves: bool = False) -> PathPolicy:
        """Decide on sample paths."""
        return fit_paths(
            log,
            self.rules,
            Search(self.paths, self.ahead, self.seed),
            sets_prices=True,
            caution=self.price_caution,
            discount=self.discount,
            one_shop=not (level_moves or is_assortment(log)),
        )

    def plan(self, log: DecisionLog, progress: Progress | None = None, model: DemandModel | None = None) -> PlanPolicy:
        """Plan at the mean level of a log; a `model` that was fitted to the log already is not fitted again."""
        with single_threaded():
            data = TrainingData.of(log, self.rules, least_rows=0)
            model = fit_law(log, self.families, self.seed) if model is None else model
            for message in model.warnings:
                warn(message)
            return planned(data.with_all_prices() if model.is_causal else data, model, self, progress)


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
    physics = Physics.of(problem, log.costs, strict=log.records_stockouts)
    latent = complete_latents(model.evidence, law, settings.seed).latent
    highest = 1.2 * float(np.quantile(law.demand(latent, 1.0), 0.99))
    prices, lags = _price_nodes(candidates, model), lag_nodes(memory_reach(model.evidence, law))
    grid = state_grid(highest, prices, candidates.coarse().orders, physics, discount, lags)
    perishes = problem.product.shelf_life is not None
    every_state = None if perishes else pipeline_grid(problem, grid, states, physics)
    on_paths = settings.decides_by == "paths" or perishes or (has_pipeline(problem) and every_state is None)
    if on_paths and settings.decides_by == "states":
        raise TooManyStatesError(TOO_MANY_STATES)
    plans = Plans(
        evidence=model.evidence,
        laws=(law, *bootstrap_laws(log, model, settings.laws(problem) - 1, settings.seed)),
        states=states,
        grid=grid,
        allowed=_allowed(data.rules, log, grid, physics),
        physics=physics,
        discount=discount,
        iterations=settings.iterations,
        every_state=every_state,
        on_paths=Search(settings.paths, max(settings.ahead, LAW_AHEAD), settings.seed).of(problem)
        if on_paths
        else None,
        local=local,
    )
    latents, following = plans.solved(progress)
    return PlanPolicy(
        problem=data.problem_with(candidates),
        rules=data.rules,
        candidates=candidates,
        attributes=ProductAttributes.of(log),
        prices=prices,
        unit_costs=np.array(physics.costs),
        strict=physics.strict,
        states=states,
        latents=latents,
        following=following,
        steps=plans.steps,
        ranges=_ranges(log, states, model),
        multiplicative=law.family.multiplicative,
        integer=law.integer,
        rounded=law.integer and not law.family.is_count,
        demand_max=law.demand_max,
        lag_weights=law.lag_weights,
        discount=discount,
        pessimism=settings.pessimism,
        safe_depth=data.runs.max_depth if settings.safe == "paper" else NO_SAFE_DEPTH,
        learned_depth=data.runs.longest,
        usual_demand=data.usual_demand,
        family=law.family.name,
    )


def _candidates(data: TrainingData, model: DemandModel) -> CandidateGrid:
    """The candidates of the log; where the price never varied, of that price only."""
    candidates = data.candidates
    return replace(candidates, prices=model.prices) if len(model.prices) == 1 else candidates


def _price_nodes(candidates: CandidateGrid, model: DemandModel) -> Floats:
    """Prices at which a plan is made, (prices,)."""
    if not candidates.relative_prices:
        return candidates.coarse().prices
    return np.unique(np.quantile(model.evidence.price, np.linspace(0, 1, PRICE_CANDIDATES), method="nearest"))


def _allowed(rules: Rules, log: SalesLog, grid: StateGrid, physics: Physics) -> Bools:
    """Actions of a plan that pass the rules, (actions,)."""
    own = rules.of_names(log.products.names)
    free = rules.model_copy(
        update={"price_endings": None, "price_ladder": None, "multiple": None}
        | {name: _of_most(getattr(own, name)) for name in ("minimum", "least_margin")}
    )
    return free.standing(ActionGrid(grid.prices, grid.orders, np.inf, physics.costs.order))


def _of_most(rule: Floats | float | None) -> float | None:
    """A rule of all series: the middle one, None where most have none."""
    values = np.atleast_1d(np.nan if rule is None else rule)
    return None if np.isnan(values).mean() > 0.5 else float(np.nanmedian(values))


def _ranges(log: DecisionLog, states: MarketStates, model: DemandModel) -> Floats:
    """Least and most of z and of the stock in the log, (2, 2)."""
    evidence = model.evidence
    z = states.z(evidence.market, model.law.level[evidence.series])
    return np.array([[z.min(), log.stock.min()], [z.max(), log.stock.max()]])
