"""The planner: learn the law of demand from censored rows, then plan on it with the known profit and balance."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import complete_latents
from lostsales.demand.law.selection import DemandModel, bootstrap_laws, fit_demand
from lostsales.learn.learner import Learner
from lostsales.learn.planner.market_states import MarketStates, market_states
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.plan import Grids, latent_table, solve
from lostsales.learn.planner.policy import NEVER, PlanPolicy, SeriesTable
from lostsales.learn.training_data import TrainingData
from lostsales.types import Array, Floats

THREADS = 2
MOST_PLANS = 12  # laws times scales
# A plan for the mean profit a period looks further than the 0.9 that a regression can bear (docs/decisions/planner.md).
PATIENCE = 0.97
Safe = Literal["none", "paper"]


class Planner(Learner):
    """The planner: learn the law of demand from censored rows, then plan on it with the known profit and balance.

    `iterations` are the greedy sweeps of the dynamic program.

    Examples
    --------
    >>> Planner(draws=5).draws
    5

    """

    method: ClassVar[str] = "planner"

    draws: Annotated[int, Field(ge=1)] = Field(
        3, description="Laws of demand planned on: the fitted one, and others from a bootstrap over series."
    )
    pessimism: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="0: act on the mean over the laws; towards 1: on an ever lower quantile."
    )
    discount: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description=f"Discount of the plan; the larger of the problem's and {PATIENCE} unless given."
    )
    families: Annotated[tuple[Family, ...], Field(min_length=1)] | None = Field(
        None, description="Families among which the law of demand is chosen; all that apply unless given."
    )
    safe: Safe = Field(
        "none", description='"paper": the highest price with the largest order from the log\'s max_depth on.'
    )

    def fit(self, log: SalesLog, progress: Progress | None = None, model: DemandModel | None = None) -> PlanPolicy:
        """Plan on the law of a log, or on a model of it that was fitted already."""
        with threadpool_limits(1):
            return self._fit(log, progress, model)

    def _fit(self, log: SalesLog, progress: Progress | None, model: DemandModel | None) -> PlanPolicy:
        data = TrainingData.of(log, least_rows=0)
        runs, grid, problem = data.runs, data.grid, data.problem
        may = self.rules.standing(grid)
        model = fit_demand(log, self.families, self.seed) if model is None else model
        for said in model.warnings:
            warnings.warn(said, stacklevel=5)
        evidence, law = model.evidence, model.law
        if len(model.prices) == 1:  # nothing is known of any other price
            may &= grid.pairs[:, 0] == model.prices[0]
        assert log.costs is not None  # TrainingData has checked
        physics = Physics.of(problem, log.costs, strict=log.stockout is not None)
        discount = max(problem.discount, PATIENCE) if self.discount is None else self.discount
        follows = np.r_[(np.diff(evidence.rows) == 1) & (np.diff(evidence.series) == 0), False]
        states = market_states(evidence, law, follows, self.seed)
        shops = SeriesTable.of(log, law)
        # Where series need many plans, each has seen many series, and fewer laws serve.
        draws = max(1, min(self.draws, MOST_PLANS // len(shops.group_scale)))
        laws = [law, *bootstrap_laws(log, model, draws - 1, self.seed)]
        latent = complete_latents(evidence, law, self.seed).latent
        highest = 1.2 * float(np.quantile(law.demand(latent, 1.0), 0.99))
        grids = Grids.of_scales(highest * shops.group_scale, grid.orders, physics, discount)
        tables = np.empty((len(grids), len(laws)), dtype=object)
        values = np.empty_like(tables)

        def plan(job: tuple[int, int]) -> None:
            group, at = job
            scale = float(shops.group_scale[group])
            tables[job] = latent_table(evidence, laws[at], states, grid.prices, grids[group].lags / scale)
            values[job] = solve(
                tables[job], laws[at], scale, states, grids[group], grid.prices, may, physics, discount,
                self.iterations, start=values[group, 0] if at else None,
            )  # fmt: skip

        # First the fitted law, from whose plan those of the draws are not far.
        jobs = [(group, at) for at in range(len(laws)) for group in range(len(grids))]
        done = 0
        with ThreadPoolExecutor(THREADS) as pool:
            for part in (jobs[: len(grids)], jobs[len(grids) :]):
                for _ in pool.map(plan, part):
                    done += 1
                    if progress:
                        progress(done, len(jobs))
        return PlanPolicy(
            problem=problem,
            rules=self.rules,
            states=states,
            shops=shops,
            latents=_stacked(tables),
            following=_stacked(np.vectorize(states.following, otypes=[object])(values)),
            steps=np.array([each.steps for each in grids]),
            costs=np.array(physics.costs),
            ranges=_ranges(log, states, evidence.market, law.effect[evidence.series]),
            barred=~may,
            multiplicative=law.family.multiplicative,
            integer=law.integer,
            demand_max=law.demand_max,
            strict=physics.strict,
            discount=discount,
            pessimism=self.pessimism,
            safe_depth=runs.max_depth if self.safe == "paper" else NEVER,
            learned_depth=runs.longest,
            usual_demand=data.usual_demand,
            family=law.family.name,
        )


def _stacked(tables: Array) -> Floats:
    """(groups, laws, ...), rounded to single precision, in which it is saved."""
    whole = np.stack(list(tables.reshape(-1))).astype(np.float32).astype(np.float64)
    return np.ascontiguousarray(whole.reshape(*tables.shape, *whole.shape[1:]))


def _ranges(log: SalesLog, states: MarketStates, market: Floats, effect: Floats) -> Floats:
    """(2, 2) least and most of the index of the market and of the stock, beyond which lies nothing that was seen."""
    z = states.index(market) + effect
    stock = np.asarray(log.stock)
    return np.array([[z.min(), stock.min()], [z.max(), stock.max()]])
