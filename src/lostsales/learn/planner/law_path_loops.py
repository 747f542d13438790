"""Values of actions on sampled futures of a law of demand whose past matters, in compiled code.

Demand of a path follows the law given its last demand and the market, which moves among the cells of the plan. All
actions of a row are compared on the same random numbers. A constant price and an order-up-to level are found first:
the level counts in periods of the demand that is expected given the last one. Today's price and order are then varied
with these behind them (one step of policy improvement: Bertsekas, 2022).
"""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.lookahead_loops import nodes_around
from lostsales.learn.planner.paths.roll_out_loops import MIXED, Futures, Terms, Unit, open_shelf, rolled_out, work_of
from lostsales.learn.planner.paths.search_loops import (
    LEAST_ARRIVING,
    Draws,
    best_level,
    draw_lead_times,
    put_on_way,
)
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.types import Bools, Floats


class MarketPaths(NamedTuple):
    """Cells of the market, and the draws by which it moves among them."""

    z_node: Floats  # (cells,)
    w_node: Floats  # (cells, prices)
    reached: Floats  # (w nodes, cells) P(next cell is this one or before it | w)
    draws: Floats  # (paths, periods)


@compiled
def fill_expected(demand: Floats, span: int, cover: Floats) -> None:
    """Fill `cover` (periods, paths) with demand a period over the next `span`, regressed on the last one of a path."""
    periods, paths = demand.shape
    total = np.empty(paths)
    for t in range(periods):
        last = min(t + span, periods)
        total[:] = 0.0
        for k in range(t, last):
            for s in range(paths):
                total[s] += demand[k, s] / (last - t)
        mean = total.mean()
        if t == 0:
            cover[0, :] = mean
            continue
        before, middle, square, product = demand[t - 1], demand[t - 1].mean(), 0.0, 0.0
        for s in range(paths):
            square += (before[s] - middle) ** 2
            product += (before[s] - middle) * (total[s] - mean)
        slope = product / square if square > 0 else 0.0
        for s in range(paths):
            cover[t, s] = max(mean + slope * (before[s] - middle), 0.0)


@compiled
def one_demand(table: LatentTable, depth: int, z_position: float, price_position: float, lag: float, u: float) -> float:
    """Demand of a quantile `u` between the nodes of z, of the price and of the lag."""
    latents = table.latents[min(depth, len(table.latents) - 1)]
    n_atoms = latents.shape[3]
    k = min(int(u * n_atoms), n_atoms - 1)
    z, z_above = nodes_around(z_position, latents.shape[0] - 1)
    p, p_above = nodes_around(price_position, latents.shape[1] - 1)
    low, lag_above = nodes_around(lag / table.lag_step, latents.shape[2] - 1)
    latent = 0.0
    for i in range(2):
        for j in range(2):
            weight = (z_above if i else 1 - z_above) * (p_above if j else 1 - p_above)
            if weight > 0:
                own = latents[z + i, p + j]
                latent += weight * ((1 - lag_above) * own[low, k] + lag_above * own[low + 1, k])
    found = min(max(np.exp(latent) if table.multiplicative else latent, 0.0), table.demand_max)
    return float(np.rint(found)) if table.rounded else float(found)


@compiled
def draw_demand(
    rows: Rows,
    row: int,
    today: int,
    later: int,
    table: LatentTable,
    market: MarketPaths,
    draws: Draws,
    dynamics: Dynamics,
    demand: Floats,
) -> None:
    """Fill `demand` (periods, paths) with demands at the price of index `today` now and of `later` after it."""
    periods, paths = demand.shape
    memory, last_w, last_cell = dynamics.memory, len(market.reached) - 1, len(market.z_node) - 1
    for s in range(paths):
        z, w, lag = rows.z_position[row], rows.w_position[row, today], rows.lag[row]
        shape, place = rows.depth[row], rows.price_position[row, today]
        for t in range(periods):
            demand[t, s] = one_demand(table, shape, z, place, lag, draws.chances[s, t])
            stays = rows.stays[row] if t == 0 else memory.carry * lag + memory.offset
            lag = max(memory.weight * demand[t, s] + stays, 0.0)
            node, above = nodes_around(w, last_w)
            cell, other = 0, min(node + 1, last_w)
            while cell < last_cell:
                if (1 - above) * market.reached[node, cell] + above * market.reached[other, cell] >= market.draws[s, t]:
                    break
                cell += 1
            shape, place = 0, rows.price_position[row, later]
            p, dear = nodes_around(place, market.w_node.shape[1] - 1)
            z, w = market.z_node[cell], market.w_node[cell, p]
            if dear > 0:
                w += dear * (market.w_node[cell, p + 1] - w)


@compiled
def path_values(
    q: Floats,
    rows: Rows,
    may_order: Bools,
    chances: Floats,
    lost: float,
    table: LatentTable,
    market: MarketPaths,
    terms: Terms,
    draws: Draws,
    dynamics: Dynamics,
) -> None:
    """Fill Q of every action, (rows, actions); `may_order` is (rows, periods), `chances` are those of lead times."""
    (paths, periods), columns, longest = draws.chances.shape, rows.pipeline.shape[1], len(chances) - 1
    n_prices, n_orders, span = rows.price.shape[1], rows.order.shape[1], longest + terms.review
    demand, cover, price = np.empty((periods, paths)), np.empty((periods, paths)), np.empty(periods)
    arrivals, on_way = np.zeros((periods + longest + 1, paths)), np.empty(paths)
    lead, common_lead = np.empty((columns + periods, paths), dtype=np.int64), np.empty(periods, dtype=np.int64)
    draw_lead_times(chances, lost, columns, terms, draws, lead)
    for t in range(periods):
        times = lead[columns + t]
        common_lead[t] = times[0] if (times == times[0]).all() else MIXED
    work = work_of(demand, arrivals, rows.shelves.units.shape[1])
    arriving = max((1.0 - lost) * terms.share, LEAST_ARRIVING)
    levels, earned = np.empty(n_orders), np.empty(n_orders)
    for row in range(len(rows.stock)):
        orders = rows.order[row]
        put_on_way(rows.pipeline[row], lead, terms.share, arrivals, on_way)
        multiple = orders[1] - orders[0] if n_orders > 1 else 0.0
        for o in range(1, n_orders):
            if abs(orders[o] / multiple - np.rint(orders[o] / multiple)) > 1e-9:
                multiple = 0.0
                break
        unit = Unit(
            rows.stock[row],
            dynamics.physics.costs,
            multiple,
            0.0,
            arriving,
            dynamics.physics.costs.order,
            periods,
            open_shelf(rows.shelves, row, work),
        )
        later, level, best = 0, 0.0, -np.inf
        for p in range(n_prices):
            price[:] = rows.price[row, p]
            draw_demand(rows, row, p, p, table, market, draws, dynamics, demand)
            fill_expected(demand, span, cover)
            futures = Futures(demand, price, arrivals, on_way, lead[columns:], common_lead, cover, may_order[row])
            own, _, value = best_level(futures, orders[n_orders - 1], unit, terms, longest, work)
            if value > best:
                later, level, best = p, own, value
        levels[:] = level
        for p in range(n_prices):
            price[:] = rows.price[row, later]
            price[0] = rows.price[row, p]
            draw_demand(rows, row, p, later, table, market, draws, dynamics, demand)
            fill_expected(demand, span, cover)
            futures = Futures(demand, price, arrivals, on_way, lead[columns:], common_lead, cover, may_order[row])
            rolled_out(orders, levels, n_orders, futures, unit, terms, work, earned)
            for o in range(n_orders):
                q[row, p * n_orders + o] = earned[o]
