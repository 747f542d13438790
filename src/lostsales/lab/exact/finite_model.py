"""A scenario as a finite Markov decision process: state ranges, law of demand, profits and transitions."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from lostsales.data.economics import closing_stock, order_cost, sales_profit, units_available
from lostsales.errors import SettingError
from lostsales.lab.exact.chains import Chain, feature_chain, refuse_large
from lostsales.lab.exact.pmf import demand_pmf, opening_pmf, opening_stocks, scenario_laws
from lostsales.policy.view import Action, View
from lostsales.simulation.demand_laws import IndependentDemand
from lostsales.simulation.scenario import NormalStart, Scenario
from lostsales.types import Array, Bools, Floats, Ints

TAIL = 1e-6  # demand of a smaller probability does not extend its range
COUNT_TAIL = 1e-12  # probability of demand beyond its range, of laws of counts


@dataclass(frozen=True)
class Resolution:
    """Resolution of the discretisation where the scenario itself is not finite."""

    nodes: Annotated[int, Field(ge=1, le=1_000)] = 9  # values of a continuous feature
    orders_deep: Annotated[float, Field(ge=0, le=1_000)] = (
        2.0  # without a capacity, the stock range is the opening plus this many largest orders
    )
    widths: Annotated[int, Field(ge=2, le=1_000)] = 5  # of a belief about censored demand, from 0 to the widest
    means: Annotated[int, Field(ge=1, le=1_000)] = 4  # of such beliefs within one widest

    def coarser(self) -> "Resolution":
        """About half as fine, to estimate the discretisation error by the change of the value."""
        return Resolution(-(-self.nodes // 2), self.orders_deep / 1.5, -(-self.widths // 2), -(-self.means // 2))


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """Arrays of the model. Axes: f feature state, p price, y stock, o order, d last demand, D demand, j supply pair.

    A supply pair j = (available, arriving) holds the units that can be sold in t and those that arrive after. Every
    (stock, order) has one, and given demand it determines next stock and profit without the cost of the order.
    """

    scenario: Scenario
    chain: Chain
    pmf: Floats  # (f, p, d, D) P(D_t = D | X_t, P_t, D_{t-1})
    first_pmf: Floats  # (f, p, d, D) the same in the first period
    available: Ints  # (j,)
    arriving: Ints  # (j,)
    pair_of: Ints  # (y, o)
    allowed: Bools  # (y, o)
    next_stock: Ints  # (j, D)
    profit: Floats  # (p, D, j) of a period, without the cost of the order
    truncated_profit: Floats  # (p, D, j) the same where demand is cut to what is available
    order_cost: Floats  # (o,)
    opening: Floats  # (f, y, d)

    @classmethod
    def of(cls, scenario: Scenario, grid: Resolution) -> "FiniteModel":
        """The model of a scenario whose stock, orders and demand are integers."""
        refuse_fractions(scenario)
        chain = feature_chain(scenario, grid.nodes)
        most_stock = _most_stock(scenario, grid)
        refuse_large(scenario, (most_stock + 1) * len(scenario.orders))
        stocks = np.arange(most_stock + 1)
        effect = scenario.effect(chain.values(), chain.states) if chain.nodes else np.zeros(1)
        largest = most_demand(scenario, effect, most_stock)
        n_pairs = len(stocks) * len(scenario.orders) if scenario.arrival == "after" else len(stocks)
        refuse_large(scenario, len(scenario.prices) * largest * max(chain.states * largest, n_pairs))
        demands = np.arange(largest + 1)
        pmf, first_pmf = scenario_laws(scenario, effect, largest)
        order = np.array(scenario.orders, dtype=np.int64)
        pairs, pair_of, allowed = _supply_pairs(scenario, stocks, order)
        available, arriving = pairs.T
        return cls(
            scenario=scenario,
            chain=chain,
            pmf=pmf,
            first_pmf=first_pmf,
            available=available,
            arriving=arriving,
            pair_of=pair_of,
            allowed=allowed,
            next_stock=_next_stock(scenario, pairs, demands, int(stocks[-1])),
            profit=_profit(scenario, available, demands[:, None]),
            truncated_profit=_profit(scenario, available, np.minimum(demands[:, None], available)),
            order_cost=order_cost(order.astype(np.float64), scenario.unit_costs),
            opening=chain.open[:, None, None]
            * opening_stocks(scenario, len(stocks))[:, None]
            * opening_pmf(scenario.start.last_demand, largest),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of feature states, stocks and demands."""
        return self.opening.shape

    @cached_property
    def censors(self) -> Bools:
        """(D, j) where demand is above what is available."""
        return np.arange(self.shape[2])[:, None] > self.available

    @cached_property
    def lags(self) -> slice:
        """The last demands with distinct laws of demand: a single one where demand has no memory."""
        return slice(0, 1) if (self.pmf == self.pmf[:, :, :1]).all() else slice(None)

    def expected(self, value: Floats) -> Floats:
        """E[V(X_{t+1}, ...) | X_t, P_t], (f, p, ...), for V of shape (f, ...)."""
        return np.moveaxis(np.tensordot(self.chain.move, value, axes=(2, 0)), 0, 1)

    def best(self, pair_value: Floats, pair_of: Ints, allowed: Bools) -> tuple[Floats, Array]:
        """Maximum over allowed (price, order) and its action p * orders + o, each (..., y).

        `pair_value` is (..., p, j), `pair_of` (y, o), `allowed` broadcasts to (..., p, y, o); ties: the first.
        """
        value = pair_value[..., pair_of]  # (..., p, y, o)
        value -= self.order_cost
        np.copyto(value, -np.inf, where=~allowed)
        flat = np.moveaxis(value, -3, -2).reshape(*value.shape[:-3], value.shape[-2], -1)  # (..., y, p * o)
        action = np.argmax(flat, axis=-1)
        return np.take_along_axis(flat, action[..., None], axis=-1)[..., 0], action.astype(np.uint16)

    def taken(self, pair_value: Floats, action: Array) -> Floats:
        """Value (f, d, y) of given actions, from that of every price and supply pair (f, d, p, j)."""
        feature, demand, stock = np.indices(action.shape)
        price, order = np.divmod(action.astype(np.int64), len(self.scenario.orders))
        value: Floats = pair_value[feature, demand, price, self.pair_of[stock, order]]
        return value - self.order_cost[order]

    def state_of(self, view: View) -> Ints:
        """The feature state of every series."""
        return self.chain.nearest(view.features) if view.features else np.zeros(len(view.stock), dtype=np.int64)

    def law(self, period: int) -> Floats:
        """P(D_t = D | X_t, P_t, D_{t-1}) of a period, (f, p, d, D)."""
        return self.first_pmf if period == 0 else self.pmf

    def outcome(self, past: View, action: Action, after: View, rows: Ints) -> Ints:
        """Feature state, price, supply pair and next stock of a closed period, (4, rows)."""
        order = np.searchsorted(self.scenario.orders, action.order[rows])
        pair = self.pair_of[self.position(past.stock[rows]), order]
        price = np.searchsorted(self.scenario.prices, action.price[rows])
        return np.stack([self.state_of(past)[rows], price, pair, self.position(after.stock[rows])])

    def hidden(self, outcome: Ints) -> Bools:
        """True for the demands that a stock-out with these facts may have hidden, (rows, D)."""
        _, _, pair, stock_tp1 = outcome
        return np.asarray(self.censors.T[pair] & (self.next_stock[pair] == stock_tp1[:, None]))

    def position(self, stock: Floats) -> Ints:
        """Stock as a position, clipped to the range."""
        return np.minimum(stock, self.shape[1] - 1).astype(np.int64)

    def decode(self, action: Array) -> tuple[Floats, Floats]:
        """Price and order of an action."""
        orders = len(self.scenario.orders)
        return np.array(self.scenario.prices)[action // orders], np.array(self.scenario.orders)[action % orders]


def refuse_fractions(scenario: Scenario) -> None:
    """Raise where stock, orders or demand are not whole numbers."""
    start, law = scenario.start, scenario.demand_law
    stock = (float(start.stock),) if isinstance(start.stock, float) else ()
    lag = (start.last_demand,) if isinstance(start.last_demand, float) else ()
    units = {
        "orders": scenario.orders,
        "capacity": (scenario.capacity or 0.0,),
        "start.stock": stock,
        "start.last_demand": lag,
        "start.on_order": start.on_order,
        "demand bounds": (law.minimum, law.maximum or 0.0),
    }
    for name, values in units.items():
        if any(value != int(value) for value in values):
            raise SettingError(
                f"exact references need whole units, but {name} has fractions in scenario {scenario.name}"
            )
    if not law.integer:
        raise SettingError(
            f"exact references need whole demand, but scenario {scenario.name} sets demand.integer = false"
        )


def _most_stock(scenario: Scenario, grid: Resolution) -> int:
    """The capacity; else the opening stock and a few largest orders, beyond which no order is allowed."""
    if scenario.capacity is not None:
        return int(scenario.capacity)
    return int(scenario.start.highest_stock) + int(np.ceil(grid.orders_deep * scenario.orders[-1]))


def most_demand(scenario: Scenario, effect: Floats, most_stock: int) -> int:
    """The maximum of the law; else the fixed point under the most favourable market, at most twice the stock.

    Demand beyond is clipped: it is a stock-out in any case, and only the lost sales are understated.
    """
    law, start = scenario.demand_law, scenario.start.last_demand
    if law.maximum is not None:
        return int(law.maximum)
    if isinstance(law, IndependentDemand):
        return law.reach(COUNT_TAIL)
    price = np.array(scenario.prices)
    opening = start.mean + 4 * start.sd if isinstance(start, NormalStart) else start
    limit, reach = 0, int(opening)
    while True:
        lag = law.lag_term(np.array([float(reach)]))
        if limit == 0 and scenario.start.lag_term is not None:
            lag = np.append(lag, scenario.start.lag_term)
        middle = law.respond(np.ones(1), lag, price[:, None], effect[:, None, None]).max()
        refuse_large(scenario, len(price) * len(effect) * len(lag) * 2 * max(middle, reach, most_stock))
        span = 2 * int(max(middle, reach, most_stock, 10)) + 100
        pmf = demand_pmf(law, lag, price[:, None], effect[:, None, None], span).reshape(-1, span + 1).max(axis=0)
        further = int(np.flatnonzero(pmf > TAIL)[-1])
        limit = limit or 2 * max(most_stock, further)
        if further <= reach or further >= limit:
            return max(min(max(further, reach), limit), most_stock + 1)
        reach = further


def _supply_pairs(scenario: Scenario, stocks: Ints, order: Ints) -> tuple[Ints, Ints, Bools]:
    """The distinct (available, arriving), the index of each (stock, order) in them, and which of these are allowed."""
    most = int(stocks[-1])
    stock, arrives = (each.reshape(-1) for each in np.meshgrid(stocks, order, indexing="ij"))
    flow = scenario.flow._replace(capacity=most)
    pairs = np.column_stack([units_available(stock, arrives, flow), 0 * arrives if flow.before else arrives])
    pairs, pair_of = np.unique(pairs, axis=0, return_inverse=True)
    fits = (stock + arrives <= most).reshape(len(stocks), -1)
    if scenario.capacity is not None and scenario.capacity_rule == "discard":
        fits[:] = True
    fits[~fits.any(axis=1), 0] = True
    return pairs, pair_of.reshape(len(stocks), -1), fits


def _next_stock(scenario: Scenario, pairs: Ints, demands: Ints, most: int) -> Ints:
    available, arriving = pairs.T[:, :, None]
    return closing_stock(available, arriving, demands, scenario.flow._replace(before=False, capacity=most))


def _profit(scenario: Scenario, available: Ints, demand: Ints) -> Floats:
    sales = np.minimum(available, demand).astype(np.float64)
    price = np.array(scenario.prices)[:, None, None]
    return sales_profit(price, sales, demand - sales, available - sales, scenario.unit_costs)
