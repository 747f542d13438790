"""The planner: learn the law of demand from censored rows, then plan on it with the known profit and balance."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.log import SalesLog
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import complete_latents
from lostsales.demand.law.selection import DemandModel, bootstrap_laws, fit_demand
from lostsales.errors import SettingError
from lostsales.learn.fit import grid_of, problem_of, usable_runs
from lostsales.learn.options import Options
from lostsales.learn.planner.market_states import MarketStates, market_states
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.plan import Grids, latent_table, solve
from lostsales.learn.planner.policy import NEVER, PlanPolicy, SeriesTable
from lostsales.types import Array, Floats

THREADS = 2
MOST_PLANS = 12  # laws times scales
# A plan for the mean profit a period looks further than the 0.9 that a regression can bear (docs/decisions/planner.md).
PATIENCE = 0.97
Safe = Literal["none", "paper"]


@dataclass(frozen=True)
class Planner(Options):
    """The settings of the planner; `iterations` are the sweeps that seek better actions."""

    draws: int = 3  # laws planned on: the fitted one, and others from a bootstrap over series
    pessimism: float = 0.0  # 0: act on the mean over the draws; towards 1: on an ever lower quantile
    discount: float | None = None  # the larger of the problem's and PATIENCE unless given: see below
    families: tuple[Family, ...] | None = None  # among which the law is chosen
    safe: Safe = "none"  # or "paper": the highest price with the largest order from the log's max_depth on

    def fit(self, log: SalesLog, model: DemandModel | None = None) -> PlanPolicy:
        """Plan on the law of a log, or on a model of it that was fitted already."""
        self._check()
        with threadpool_limits(1):
            return self._fit(log, model)

    def _fit(self, log: SalesLog, model: DemandModel | None) -> PlanPolicy:
        runs, grid, problem = usable_runs(log, least=0), grid_of(log), problem_of(log)
        may = self.rules.standing(grid)
        model = fit_demand(log, self.families, self.seed) if model is None else model
        for said in model.warnings:
            warnings.warn(said, stacklevel=4)
        evidence, law = model.evidence, model.law
        if len(model.prices) == 1:  # nothing is known of any other price
            may &= grid.pairs[:, 0] == model.prices[0]
        assert log.costs is not None  # usable_runs has seen to it
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
                    if self.progress:
                        self.progress(done, len(jobs))
        known = runs.observed.is_observed
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
            usual_demand=float(np.median(runs.observed.demand[known])),
            family=law.family.name,
        )

    def _check(self) -> None:
        if self.draws < 1:
            raise SettingError(f"draws must be at least 1, but {self.draws} came")
        if not 0 <= self.pessimism <= 1:
            raise SettingError(f"pessimism must lie between 0 and 1, but {self.pessimism:g} came")
        if self.discount is not None and not 0 <= self.discount < 1:
            raise SettingError(f"discount must lie between 0 and 1, but {self.discount:g} came")
        if self.safe not in get_args(Safe):
            raise SettingError(f"safe must be one of {', '.join(get_args(Safe))}, but {self.safe!r} came")


def fit_planner(log: SalesLog, **options: Any) -> PlanPolicy:
    """Learn a policy by planning on the learned law of demand; see `Planner` for the options."""
    return Planner.of("planner", options).fit(log)


def _stacked(tables: Array) -> Floats:
    """(groups, laws, ...), rounded to single precision, in which it is saved."""
    whole = np.stack(list(tables.reshape(-1))).astype(np.float32).astype(np.float64)
    return np.ascontiguousarray(whole.reshape(*tables.shape, *whole.shape[1:]))


def _ranges(log: SalesLog, states: MarketStates, market: Floats, effect: Floats) -> Floats:
    """(2, 2) least and most of the index of the market and of the stock, beyond which lies nothing that was seen."""
    z = states.index(market) + effect
    stock = np.asarray(log.stock)
    return np.array([[z.min(), stock.min()], [z.max(), stock.max()]])
