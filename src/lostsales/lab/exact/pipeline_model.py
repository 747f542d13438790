"""A scenario whose orders take time as a finite Markov decision process: its state has stock and pipeline."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from lostsales.data.economics import StockFlow, advanced, order_cost, order_room, sales_profit
from lostsales.data.supply import Supply
from lostsales.errors import SettingError
from lostsales.lab.exact.beliefs import BeliefGrid, tail_moments, widest_belief
from lostsales.lab.exact.chains import Chain, feature_chain, refuse_large
from lostsales.lab.exact.finite_model import COUNT_TAIL, Resolution, most_demand, refuse_fractions
from lostsales.lab.exact.pipeline_loops import Tables
from lostsales.lab.exact.pmf import demand_pmf, opening_pmf, opening_stocks, scenario_laws
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.deliveries import waiting_times
from lostsales.policy.view import Action, View
from lostsales.simulation.demand_laws import IndependentDemand
from lostsales.simulation.scenario import Scenario
from lostsales.types import Bools, Floats, Ints

MOST_STATES = 5_000_000  # bounds memory and time
LONG_RUN = 10  # stock-outs in a row over which beliefs widen, where nothing ends a run
DEEP_ORDERS = 0.5  # without a capacity, more largest orders in the position for every period of lead time beyond 1


@dataclass(frozen=True, eq=False)
class PipelineModel:
    """Arrays of the model. Axes: f feature state and order day, p price, d last demand, D demand, y stock, s pipeline.

    A pipeline s holds the index of an order at every remaining period, the last one varying fastest.
    """

    scenario: Scenario
    chain: Chain
    pmf: Floats  # (f, p, d, D), d a single one where demand has no memory
    first_pmf: Floats  # (f, p, d, D) in the first period
    order: Ints  # (o,) units, 0 among them
    most_stock: int
    limit: Floats  # (f, y, s) the most that may be ordered
    opening: Floats  # (f, d, y) in which the pipeline is `opening_pipeline`
    opening_pipeline: int
    beliefs: BeliefGrid | None  # what d counts where only sales are observed, demand has a memory; None: last demands

    @classmethod
    def of(cls, scenario: Scenario, grid: Resolution, sees_demand: bool = True) -> "PipelineModel":
        """The model of a scenario whose stock, orders and demand are whole numbers.

        If only sales are observed, the last demand is known up to a belief after a stock-out.
        """
        refuse_fractions(scenario)
        _refuse_hidden(scenario)
        chain = _with_order_days(feature_chain(scenario, grid.nodes), scenario.supply)
        bounds = _newsvendor_bounds(scenario)
        order, most_stock = _orders(scenario, bounds), _most_stock(scenario, grid, bounds)
        effect = _effect(scenario, chain)
        demands = most_demand(scenario, effect, most_stock) + 1
        refuse_large(scenario, len(scenario.prices) * chain.states * demands**2)
        pmf, first_pmf = scenario_laws(scenario, effect, demands - 1)
        lag = opening_pmf(scenario.start.last_demand, demands - 1)
        if (pmf == pmf[:, :, :1]).all() and (first_pmf == first_pmf[:, :, :1]).all():
            pmf, first_pmf, lag = pmf[:, :, :1], first_pmf[:, :, :1], np.ones(1)
        beliefs = None
        if not sees_demand and pmf.shape[2] > 1:
            beliefs = _beliefs(pmf, grid, scenario)
            pmf, first_pmf = beliefs.pmf @ pmf, beliefs.pmf @ first_pmf
            certain = np.zeros(len(beliefs.pmf))
            certain[_points(beliefs, demands)] = lag
            lag = certain
        pipelines = len(order) ** scenario.pipeline_length
        states = chain.states * pmf.shape[2] * (most_stock + 1) * pipelines
        if states > MOST_STATES:
            raise SettingError(
                f"scenario {scenario.name} is too large to be solved exactly: it has {states:,} states (features, last "
                f"demand, stock and orders on the way), and {MOST_STATES:,} are the most; shorten the lead "
                "time, or take fewer orders, a lower capacity or fewer feature states"
            )
        pipeline = _pipelines(order, scenario.pipeline_length)
        return cls(
            scenario=scenario,
            chain=chain,
            pmf=np.ascontiguousarray(pmf),
            first_pmf=np.ascontiguousarray(first_pmf),
            order=order,
            most_stock=most_stock,
            limit=_limits(scenario, chain, pipeline, bounds, most_stock),
            opening=chain.open[:, None, None] * lag[:, None] * opening_stocks(scenario, most_stock + 1),
            opening_pipeline=_opening_pipeline(scenario, order),
            beliefs=beliefs,
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of feature states, last demands, stocks and pipelines."""
        return (*self.opening.shape, self.limit.shape[2])

    @property
    def has_memory(self) -> bool:
        """True where demand depends on the last demand."""
        return bool(self.pmf.shape[2] > 1)

    def tables(self, *, truncates: bool = False, first: bool = False) -> Tables:
        """The arrays of a sweep; at the largest depth demand is cut, and the first period may have another law."""
        scenario, pmf = self.scenario, self.first_pmf if first else self.pmf
        chance, arrives = _deliveries(scenario)
        arriving, later = _moves(arrives, self.order, scenario.pipeline_length)
        allowed = ~(self.order > self.limit[..., None] + 1e-9)
        hidden_at, hidden_weight = _hidden(self.beliefs, pmf, self.most_stock)
        return Tables(
            pmf=pmf,
            expected_profit=_expected_profit(scenario, pmf, self.most_stock, truncates),
            order=self.order,
            order_cost=order_cost(self.order.astype(np.float64), scenario.unit_costs),
            most_order=np.maximum(allowed.sum(axis=-1), 1),
            above=_at_least(pmf, self.most_stock),
            chance=chance,
            arriving=arriving,
            later=later,
            share=scenario.supply.share,
            flow=self.flow,
            point=self.point,
            hidden_at=hidden_at,
            hidden_weight=hidden_weight,
            truncates=truncates,
            collapses=not self.has_memory and scenario.longest_run is None,
        )

    @property
    def flow(self) -> StockFlow:
        """Stock flow of the scenario, within the stocks of the model."""
        return self.scenario.flow._replace(capacity=self.most_stock)

    @property
    def point(self) -> Ints:
        """The d of every demand that is observed, (D,)."""
        demands = self.pmf.shape[3]
        if self.beliefs is not None:
            return _points(self.beliefs, demands)
        return np.arange(demands) if self.has_memory else np.zeros(demands, dtype=np.int64)

    def moved(self, value: Floats) -> Floats:
        """E[V(X_{t+1}, ...) | X_t, P_t], (p, f, ...), for V of shape (f, ...)."""
        return np.ascontiguousarray(np.tensordot(self.chain.move, value, axes=(2, 0)))

    def state_of(self, view: View) -> tuple[Ints, Ints, Ints]:
        """The positions of feature state, stock and pipeline of every series."""
        features = () if view.order_phase is None else (view.order_phase.astype(np.float64),)
        features = (*view.features, *features)
        at = self.chain.nearest(features) if features else np.zeros(len(view.stock), dtype=np.int64)
        stock = np.minimum(view.stock, self.most_stock).astype(np.int64)
        pipeline = np.zeros(len(view.stock), dtype=np.int64)
        for units in () if view.pipeline is None else view.pipeline.T:
            pipeline = pipeline * len(self.order) + np.minimum(np.searchsorted(self.order, units), len(self.order) - 1)
        return at, stock, pipeline

    def law(self, period: int) -> Floats:
        """P(D_t = D | X_t, P_t, D_{t-1}) of a period, (f, p, d, D)."""
        return (self.first_pmf if period == 0 else self.pmf)[:, :, self.point]

    def outcome(self, past: View, action: Action, after: View, rows: Ints) -> Ints:
        """Feature state, price and sales of a closed period, (3, rows)."""
        price = np.searchsorted(self.scenario.prices, action.price[rows])
        return np.stack([self.state_of(past)[0][rows], price, after.last_sales[rows].astype(np.int64)])

    def hidden(self, outcome: Ints) -> Bools:
        """True for the demands that a stock-out with these facts may have hidden, (rows, D)."""
        return np.asarray(np.arange(self.pmf.shape[3]) > outcome[2][:, None])

    @cached_property
    def actions(self) -> tuple[Floats, Floats]:
        """Price and order of every action."""
        price, order = np.array(self.scenario.prices), self.order.astype(np.float64)
        return np.repeat(price, len(order)), np.tile(order, len(price))


def _beliefs(pmf: Floats, grid: Resolution, scenario: Scenario) -> BeliefGrid:
    """Beliefs about the last demand; means of all whole numbers, so that every demand that was observed is one."""
    widest = widest_belief(pmf, scenario.longest_run or LONG_RUN)
    return BeliefGrid.of(pmf.shape[3] - 1, np.linspace(0.0, widest, grid.widths), step=min(widest / grid.means, 1.0))


def _points(beliefs: BeliefGrid, demands: int) -> Ints:
    """The belief that is certain of each demand, (demands,)."""
    return np.asarray(np.searchsorted(beliefs.mean, np.arange(demands)) * beliefs.variance.shape[1])


def _hidden(beliefs: BeliefGrid | None, pmf: Floats, most_stock: int) -> tuple[Ints, Floats]:
    """Beliefs after a demand above what was available, and their weights times its chance, each (f, p, d, a, k)."""
    if beliefs is None:
        shape = (*pmf.shape[:3], most_stock + 1, 0)
        return np.zeros(shape, dtype=np.int64), np.zeros(shape)
    cut = np.minimum(np.arange(most_stock + 1), pmf.shape[3] - 1)
    chance, mean, variance = (each[..., cut] for each in tail_moments(pmf))
    position, weight = beliefs.locate(mean, variance)
    return position, weight * chance[..., None]


def _refuse_hidden(scenario: Scenario) -> None:
    law, supply = scenario.lead_times, scenario.supply
    if 0 not in scenario.orders:
        raise SettingError(f"exact references with supply need an order of 0, but {scenario.name} has none")
    if law.lost and not supply.crossing:
        raise SettingError(
            f"scenario {scenario.name} cannot be solved exactly: where orders do not cross, arrivals show which others "
            "are lost, and that is not in the state; set supply.crossing = true"
        )
    if scenario.balance != "lost-sales" and scenario.arrival == "after":
        raise SettingError(
            f"exact references with supply need lost sales, but {scenario.name} has {scenario.balance!r}"
        )


def _effect(scenario: Scenario, chain: Chain) -> Floats:
    values = chain.values() if chain.nodes else ()
    features = values if scenario.supply.order_cycle is None else values[:-1]
    return scenario.effect(features, chain.states)


def _with_order_days(chain: Chain, supply: Supply) -> Chain:
    """The features with the position in the cycle of order days as the last one."""
    cycle = supply.order_cycle
    if cycle is None:
        return chain
    length, phase = len(cycle), np.asarray(supply.order_phase(np.zeros(1, dtype=np.int64)))
    move = np.repeat(np.roll(np.eye(length), 1, axis=1)[None], len(chain.move), axis=0)
    return chain.joined(Chain((np.arange(length, dtype=np.float64),), move, np.eye(length)[int(phase[0])]))


def _newsvendor_bounds(scenario: Scenario) -> Ints | None:
    """The most that may be worth having in stock and pipeline from each of its entries on, (longest + 1,), or None.

    With independent demands, one price and linear costs no order raises the sum of the entries l, ..., L beyond the
    critical fractile of the demand of as many periods (Morton, 1969; Zipkin, 2008, vector base-stock bound).
    """
    law, costs = scenario.demand_law, scenario.costs
    if not isinstance(law, IndependentDemand):
        return None
    plain = len(scenario.prices) == 1 and scenario.capacity is None
    steps = np.diff(np.array(scenario.orders))
    unit_orders = scenario.orders[0] == 0 and (steps == 1).all() and scenario.supply == _only_lead_time(scenario.supply)
    lead = scenario.lead_times
    if not plain or not unit_orders or not lead.is_fixed or costs.fixed_order or scenario.longest_run is not None:
        return None
    worth = scenario.prices[0] + costs.lost
    if not worth + costs.holding or scenario.arrival == "before" or not costs.holding:
        return None
    fractile = worth / (worth + costs.holding)
    one = demand_pmf(law, np.zeros(1), np.zeros(1), np.zeros(1), law.reach(COUNT_TAIL))[0]
    bounds, total = [], np.ones(1)
    for _ in range(lead.longest + 1):
        total = np.convolve(total, one)
        bounds.append(int(np.searchsorted(np.cumsum(total), fractile - 1e-12)))
    return np.array(bounds[::-1])


def _only_lead_time(supply: Supply) -> Supply:
    return Supply(lead_time=supply.lead_time)


def _orders(scenario: Scenario, bounds: Ints | None) -> Ints:
    order = ActionGrid.of(scenario).orders.astype(np.int64)
    return order if bounds is None else order[: bounds[-1] + 1]


def _most_stock(scenario: Scenario, grid: Resolution, bounds: Ints | None) -> int:
    """The capacity; else the most that is worth having, or a few largest orders more than at the opening."""
    if scenario.capacity is not None:
        return int(scenario.capacity)
    opening = int(scenario.start.highest_stock + sum(scenario.start.on_order))
    if bounds is not None:
        return max(opening, int(bounds[0]))
    deep = grid.orders_deep * (1 + DEEP_ORDERS * scenario.pipeline_length)
    return opening + int(np.ceil(deep * scenario.orders[-1]))


def _pipelines(order: Ints, length: int) -> Ints:
    """The units in every pipeline, (s, length)."""
    return np.array(list(product(order, repeat=length)), dtype=np.int64).reshape(len(order) ** length, length)


def _limits(scenario: Scenario, chain: Chain, pipeline: Ints, bounds: Ints | None, most_stock: int) -> Floats:
    """The most that may be ordered, (f, y, s)."""
    stock, on_order = np.broadcast_arrays(np.arange(most_stock + 1)[:, None], pipeline.sum(axis=1))
    position, flow = stock + on_order, scenario.flow
    # Without a capacity, orders keep within the stocks of the model.
    flow = flow._replace(capacity=float(most_stock), forbids=flow.forbids or scenario.capacity is None)
    limit = np.minimum(order_room(stock, on_order, flow), float(max(scenario.orders)))
    if bounds is not None:
        from_entry = np.cumsum(pipeline[:, ::-1], axis=1)[:, ::-1]  # of the entries k, ..., L - 1
        for entry in range(pipeline.shape[1]):
            limit = np.minimum(limit, bounds[entry + 1] - from_entry[:, entry])
        limit = np.minimum(limit, bounds[0] - position)
    return np.where(_may_order(scenario, chain)[:, None, None], limit, 0.0)


def _may_order(scenario: Scenario, chain: Chain) -> Bools:
    """Feature states in which orders may be placed, (f,)."""
    days, values = scenario.supply.order_days, chain.values() if chain.nodes else ()
    if scenario.supply.order_cycle is not None:
        return scenario.supply.may_order(values[-1].astype(np.int64))
    if isinstance(days, str):
        return np.asarray(values[list(scenario.features).index(days)] != 0)
    return np.ones(chain.states, dtype=bool)


def _deliveries(scenario: Scenario) -> tuple[Floats, Bools]:
    """Every pattern of arrivals of the pipeline and today's order, oldest first, (m, entries), and its chance, (m,)."""
    law, entries = scenario.lead_times, scenario.pipeline_length + 1
    waited = waiting_times(law)
    if law.is_fixed:
        return np.ones(1), np.arange(entries)[None] == 0
    if not scenario.supply.crossing:
        chance = law.hazards[waited]  # falls from the oldest on
        return -np.diff(np.r_[1.0, chance, 0.0]), np.tri(entries + 1, entries, -1, dtype=bool)
    lost = law.lost_after[np.maximum(waited - 1, 0)] if law.longest else np.array([law.lost])
    chance = law.hazards[waited] * (1 - lost)
    patterns = np.array(list(product([False, True], repeat=entries)))
    return np.where(patterns, chance, 1 - chance).prod(axis=1), patterns


def _moves(arrives: Bools, order: Ints, length: int) -> tuple[Ints, Ints]:
    """Units that arrive and the pipeline that follows, each (m, s, o), for every pattern of arrivals."""
    entries = np.array(list(product(range(len(order)), repeat=length + 1))).reshape(-1, length + 1)
    arriving, _ = advanced(order[entries], arrives[:, None])
    _, kept = advanced(entries, arrives[:, None])  # index 0 is no order
    later = kept @ (len(order) ** np.arange(length - 1, -1, -1))
    shape = len(arrives), -1, len(order)
    return arriving.reshape(shape), later.reshape(shape)


def _expected_profit(scenario: Scenario, pmf: Floats, most_stock: int, truncates: bool) -> Floats:
    """E[R_t] without the cost of the order, (f, p, d, available)."""
    demand, available = np.arange(pmf.shape[3])[:, None], np.arange(most_stock + 1)
    sales = np.minimum(available, demand).astype(np.float64)
    lost = np.zeros(1) if truncates else demand - sales
    price = np.array(scenario.prices)[:, None, None]
    profit = sales_profit(price, sales, lost, available - sales, scenario.unit_costs)  # (p, D, a)
    return np.ascontiguousarray(pmf @ profit)


def _at_least(pmf: Floats, most_stock: int) -> Floats:
    """P(D >= available), (f, p, d, available)."""
    tail = np.cumsum(pmf[..., ::-1], axis=-1)[..., ::-1]
    reach = np.zeros((*pmf.shape[:3], max(most_stock + 1, pmf.shape[3])))
    reach[..., : pmf.shape[3]] = tail
    return np.ascontiguousarray(reach[..., : most_stock + 1])


def _opening_pipeline(scenario: Scenario, order: Ints) -> int:
    on_order = (*scenario.start.on_order, *(0.0,) * scenario.pipeline_length)[: scenario.pipeline_length]
    at = 0
    for units in on_order:
        if units not in order:
            raise SettingError(f"start.on_order must consist of orders to be solved exactly, but has {units:g}")
        at = at * len(order) + int(np.searchsorted(order, units))
    return at
