"""Compiled values of actions where orders take time: today by its demands, what follows by projection."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import order_cost, sales_profit, units_available
from lostsales.learn.planner.arrivals import Arrivals
from lostsales.learn.planner.decision_loops import Rows, demand_atoms
from lostsales.learn.planner.demand_paths import LATER
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.lookahead_loops import (
    NEGLIGIBLE,
    after_stock_out,
    distinct_demands,
    is_observed,
    nodes_around,
)
from lostsales.learn.planner.projection_loops import Ahead, Outset, Scratch, add_values, project_orders, set_out
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.types import Floats, Ints

ALL_PROJECTED = 12  # demands of a day; of more, two neighbours are projected together


@compiled
def _scratch(ahead: Ahead, columns: int) -> Scratch:
    periods = ahead.paths.covariance.shape[3]
    return Scratch(
        np.zeros(periods + LATER),
        np.zeros((periods, periods)),
        np.zeros(periods),
        np.zeros(periods),
        np.zeros(columns + 1),
        np.zeros(columns + 1),
        np.zeros(columns + 1),
    )


@compiled
def pipeline_values(
    q: Floats, rows: Rows, table: LatentTable, ahead: Ahead, arrivals: Arrivals, dynamics: Dynamics
) -> None:
    """Q of every action, (rows, actions): profit of today, and the discounted value of the next period's beginning."""
    physics = dynamics.physics
    n_atoms, n_orders = table.latents.shape[4], rows.order.shape[1]
    scratch = _scratch(ahead, rows.pipeline.shape[1])
    atoms, demands, probabilities = np.empty(n_atoms), np.empty(n_atoms), np.empty(n_atoms)
    none = np.zeros(1)
    for row in range(len(rows.stock)):
        for j in range(rows.pipeline.shape[1]):
            scratch.units[j] = arrivals.share * rows.pipeline[row, j]
        for p in range(rows.price.shape[1]):
            place = rows.z_position[row], rows.shift[row, p], rows.price_position[row, p]
            demand_atoms(table, min(rows.depth[row], physics.depth_cap), *place, rows.lag[row], atoms)
            count = distinct_demands(atoms, demands, probabilities)
            law = demands[:count], probabilities[:count]
            q_price = q[row, p * n_orders : (p + 1) * n_orders]
            if arrivals.before:
                for o in range(n_orders):
                    available = units_available(rows.stock[row], arrivals.share * rows.order[row, o], physics.flow)
                    _today(q_price[o : o + 1], row, p, available, none, law, rows, ahead, arrivals, dynamics, scratch)
            else:
                orders = rows.order[row]
                _today(q_price, row, p, rows.stock[row], orders, law, rows, ahead, arrivals, dynamics, scratch)
            for o in range(n_orders):
                q_price[o] -= order_cost(rows.order[row, o], physics.costs)


@compiled
def _today(
    q: Floats,
    row: int,
    p: int,
    available: float,
    orders: Floats,
    law: tuple[Floats, Floats],
    rows: Rows,
    ahead: Ahead,
    arrivals: Arrivals,
    dynamics: Dynamics,
    scratch: Scratch,
) -> None:
    """E[profit + discount * V(next state)] without the cost of the order, (orders,)."""
    physics, discount, _, lag_step, memory = dynamics
    stays = rows.stays[row]
    demand, probability = law
    n_nodes, n_shapes, periods = len(ahead.paths.mean), ahead.paths.mean.shape[1], ahead.paths.covariance.shape[3]
    w, depth = nodes_around(rows.w_position[row, p], n_nodes - 1), min(rows.depth[row], physics.depth_cap)
    price, phase = rows.price[row, p], (rows.phase[row] + 1) % len(arrivals.horizons)
    profits, lefts, horizon = np.empty(len(orders)), np.empty(len(orders)), arrivals.horizons[phase]
    start = Outset(scratch.mean, scratch.covariance, phase)
    truncated, next_depth = after_stock_out(depth, physics)
    reveals = physics.flow.netted and not truncated  # a positive stock after the delivery reveals the demand
    certain = 0.0  # units that are sure to arrive after today's sales
    for j in range(len(scratch.units) - 1):
        certain += scratch.units[j] if arrivals.chances[j, 0] == 1 else 0.0
    q[:] = 0.0
    sold, lost, leftover, p_hidden, excess = 0.0, 0.0, 0.0, 0.0, 0.0
    at_once = 2 if len(demand) > ALL_PROJECTED else 1
    n_pending, p_pending, demand_pending = 0, 0.0, 0.0  # what follows neighbouring demands is projected from their mean
    for k in range(len(demand)):
        left = available - demand[k]
        if is_observed(left, physics):
            sold += probability[k] * demand[k]
            leftover += probability[k] * left
        else:
            sold += probability[k] * available
            lost -= 0.0 if truncated else probability[k] * left
            if not (reveals and left + certain > 0):
                p_hidden += probability[k]
                excess -= probability[k] * left
                continue
        n_pending, p_pending = n_pending + 1, p_pending + probability[k]
        demand_pending += probability[k] * demand[k]
        is_last = k + 1 == len(demand) or not is_observed(available - demand[k + 1], physics)
        if n_pending < at_once and not is_last:
            continue
        mean = demand_pending / p_pending
        set_out(ahead.paths, w, 0, memory.weight * mean + stays, lag_step, periods, scratch)
        project_orders(profits, lefts, available - mean, orders, start, arrivals, ahead, dynamics, scratch)
        add_values(q, discount * p_pending, profits, lefts, start, horizon, ahead, discount)
        n_pending, p_pending, demand_pending = 0, 0.0, 0.0
    q += sales_profit(price, sold, lost, leftover, physics.costs)
    if p_hidden > NEGLIGIBLE:
        mean = available if truncated else available + excess / p_hidden
        set_out(ahead.paths, w, min(next_depth, n_shapes - 1), memory.weight * mean + stays, lag_step, periods, scratch)
        stock = -certain if reveals else 0.0
        project_orders(profits, lefts, stock, orders, start, arrivals, ahead, dynamics, scratch)
        add_values(q, discount * p_hidden, profits, lefts, start, horizon, ahead, discount)


class Begun(NamedTuple):
    """States in which a period begins, every array (rows,) unless said."""

    w: Ints  # node of the forecast that was made before
    depth: Ints
    lag: Floats
    stock: Floats
    pipeline: Floats  # (rows, columns)
    phase: Ints


@compiled
def project_states(found: Floats, begun: Begun, ahead: Ahead, arrivals: Arrivals, dynamics: Dynamics) -> None:
    """Profit until the horizon, what is left, mean demand then and after it, and periods by gap, (rows, 4 + GAPS).

    `arrivals` are those from the beginning of a period on. A gap between two nodes is counted at both, in proportion.
    """
    n_shapes, periods = ahead.paths.mean.shape[1], ahead.paths.covariance.shape[3]
    scratch, none, left, by_gap = _scratch(ahead, begun.pipeline.shape[1]), np.zeros(1), np.empty(1), ahead.by_gap
    for row in range(len(begun.w)):
        for j in range(begun.pipeline.shape[1]):
            scratch.units[j] = arrivals.share * begun.pipeline[row, j]
        shape, phase = min(begun.depth[row], n_shapes - 1), begun.phase[row]
        set_out(ahead.paths, (begun.w[row], 0.0), shape, begun.lag[row], dynamics.lag_step, periods, scratch)
        start = Outset(scratch.mean, scratch.covariance, phase)
        own, stock = found[row], begun.stock[row]
        by_gap[:] = 0.0
        project_orders(own[0:1], own[1:2], stock, none, start, arrivals, ahead, dynamics, scratch)
        horizon = arrivals.horizons[phase]
        own[2], own[3] = scratch.mean[horizon], scratch.mean[horizon + 1]
        for node in range(len(by_gap)):
            by_gap[:] = 0.0
            by_gap[node] = 1.0
            project_orders(own[4 + node : 5 + node], left, stock, none, start, arrivals, ahead, dynamics, scratch)
            own[4 + node] -= own[0]
