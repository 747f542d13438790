"""Compiled decisions: the value of every action one period ahead, and what demand is expected, lost and hidden."""

from typing import Any, NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import order_cost, truncates, units_available
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.lookahead_loops import (
    Today,
    distinct_demands,
    expected_values,
    interpolate_demands,
    interpolate_next_values,
    nodes_around,
    within,
)
from lostsales.learn.planner.paths.roll_out_loops import FOR_EVER, Shelves
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.types import Floats, Ints


class Rows(NamedTuple):
    """Open rows, every array (rows,) unless said; a position is a fractional index into nodes."""

    z_position: Floats
    w_position: Floats  # (rows, prices)
    depth: Ints
    lag: Floats  # mean of the belief over the last demand
    stays: Floats  # of the earlier demands in the next lag
    stock: Floats
    price: Floats  # (rows, prices) that may be charged
    price_position: Floats  # (rows, prices)
    order: Floats  # (rows, orders) that may be placed, rising
    pipeline: Floats  # (rows, columns) ordered and not arrived, as in a `View`
    phase: Ints  # position in the cycle of order days
    shelves: Shelves = FOR_EVER

    def take(self, rows: Ints) -> "Rows":
        """Some of the rows."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in self._fields if name != "shelves"}
        return Rows(**columns, shelves=self.shelves.take(rows))


class PricedRows(NamedTuple):
    """Rows with their price, every array (rows,); a price between two of the grid lies at a fractional position."""

    z_position: Floats
    price_position: Floats
    depth: Ints
    lag: Floats  # mean of the belief over the last demand
    available: Floats

    def take(self, rows: Ints) -> "PricedRows":
        """Some of the rows."""
        return PricedRows._make(each[rows] for each in self)


@compiled
def demand_atoms(
    table: LatentTable, depth: int, z_position: float, price_position: float, lag: float, atoms: Floats
) -> None:
    """The atoms of demand between the nodes of z, of the price and of the lag."""
    latents = table.latents
    z_last, price_last, lag_last = latents.shape[1] - 1, latents.shape[2] - 1, latents.shape[3] - 1
    p, price_weight = nodes_around(price_position, price_last)
    z, z_weight = nodes_around(z_position, z_last)
    lag_node, weight = nodes_around(lag / table.lag_step, lag_last)
    lag_next, shape = min(lag_node + 1, lag_last), min(depth, len(latents) - 1)
    at_z, at_z_next = latents[shape, z], latents[shape, min(z + 1, z_last)]
    for k in range(len(atoms)):
        latent = at_z[p, lag_node, k] * (1 - weight) + at_z[p, lag_next, k] * weight
        if z_weight > 0:
            high = at_z_next[p, lag_node, k] * (1 - weight) + at_z_next[p, lag_next, k] * weight
            latent = latent * (1 - z_weight) + high * z_weight
        if price_weight > 0:
            dear = at_z[p + 1, lag_node, k] * (1 - weight) + at_z[p + 1, lag_next, k] * weight
            if z_weight > 0:
                high = at_z_next[p + 1, lag_node, k] * (1 - weight) + at_z_next[p + 1, lag_next, k] * weight
                dear = dear * (1 - z_weight) + high * z_weight
            latent = latent * (1 - price_weight) + dear * price_weight
        demand = min(max(np.exp(latent) if table.multiplicative else latent, 0.0), table.demand_max)
        atoms[k] = np.rint(demand) if table.rounded else demand


@compiled
def action_values(q: Floats, rows: Rows, table: LatentTable, by_node: Floats, dynamics: Dynamics) -> None:
    """Q of every action by one-period lookahead, (rows, actions); `by_node` is E[V(next state) | w]."""
    physics, _, stock_step, lag_step, memory = dynamics
    n_nodes, n_depths, n_lags, n_stocks = by_node.shape
    n_atoms, n_orders = table.latents.shape[4], rows.order.shape[1]
    next_values, by_demand = np.zeros((n_depths, n_lags, n_stocks)), np.empty((n_atoms, n_stocks))
    atoms, demands, probabilities, arrived = np.empty(n_atoms), np.empty(n_atoms), np.empty(n_atoms), np.zeros(1)
    for row in range(len(rows.stock)):
        stock, depth, orders = rows.stock[row], min(rows.depth[row], n_depths - 1), rows.order[row]
        next_depth = min(depth + 1, n_depths - 1)
        reach = int(within((stock + orders[n_orders - 1]) / stock_step, n_stocks - 2.0)) + 2
        for p in range(rows.price.shape[1]):
            place = rows.z_position[row], rows.price_position[row, p]
            demand_atoms(table, depth, *place, rows.lag[row], atoms)
            count = distinct_demands(atoms, demands, probabilities)
            demand, probability = demands[:count], probabilities[:count]
            node, weight = nodes_around(rows.w_position[row, p], n_nodes - 1)
            truncated = truncates(depth, physics.flow)
            least = memory.weight * demand[0] + rows.stays[row]
            most = memory.weight * demand[count - 1] + rows.stays[row]
            first = 0 if truncated else int(within(min(least, most) / lag_step, n_lags - 1.0))
            lags = (first, min(int(within(max(least, most) / lag_step, n_lags - 1.0)) + 1, n_lags - 1))
            interpolate_next_values(by_node, node, weight, 0, lags, reach, next_values)
            if next_depth > 0:
                interpolate_next_values(by_node, node, weight, next_depth, lags, reach, next_values)
            interpolate_demands(demand, rows.stays[row], next_values[0], dynamics, reach, by_demand)
            q_price = q[row, p * n_orders : (p + 1) * n_orders]
            today = Today(demand, probability, next_values, by_demand, rows.price[row, p], depth, rows.stays[row])
            if not physics.flow.before:
                expected_values(q_price, today, stock, orders, dynamics)
            for o in range(n_orders):
                order = orders[o]
                if physics.flow.before:
                    available = units_available(stock, order, physics.flow)
                    expected_values(q_price[o : o + 1], today, available, arrived, dynamics)
                q_price[o] -= order_cost(order, physics.costs)


@compiled
def mean_above(means: Floats, rows: PricedRows, table: LatentTable, strict: bool) -> None:
    """E[D | D > available], the mean of the belief after one more stock-out, (rows,); not strict: D >= available."""
    n_atoms = table.latents.shape[4]
    demand = np.empty(n_atoms)
    for row in range(len(means)):
        available = rows.available[row]
        place = rows.z_position[row], rows.price_position[row]
        demand_atoms(table, rows.depth[row], *place, rows.lag[row], demand)
        total, n_above = 0.0, 0
        for k in range(n_atoms):
            if demand[k] > available or (not strict and demand[k] >= available):
                total += demand[k]
                n_above += 1
        # If the law rules the stock-out out, demand was hardly more than what was available.
        means[row] = total / n_above if n_above else available + (demand[n_atoms - 1] - demand[0]) / n_atoms


@compiled
def atoms_of_rows(atoms: Floats, rows: PricedRows, table: LatentTable) -> None:
    """Equally likely demands of each row, rising, (rows, atoms)."""
    for row in range(len(rows.lag)):
        place = rows.z_position[row], rows.price_position[row]
        demand_atoms(table, rows.depth[row], *place, rows.lag[row], atoms[row])


@compiled
def expect_demand(expected: Floats, rows: PricedRows, table: LatentTable) -> None:
    """E[D], P(D > available), E[(D - available)^+] and the 95 % quantile of D, (rows, 4).

    The mean is that of the atoms. Chance, loss and quantile take demand to be even between atoms, each at the middle of
    its share of probability: the atoms alone would give chances in steps of 1 / atoms.
    """
    n_atoms = table.latents.shape[4]
    real = LatentTable(table.latents, table.lag_step, table.multiplicative, table.integer, False, table.demand_max)
    # Quantiles at 0, at the middles of the shares, and at 1.
    demand, levels = np.empty(n_atoms + 2), np.empty(n_atoms + 2)
    levels[0], levels[n_atoms + 1] = 0.0, 1.0
    for k in range(n_atoms):
        levels[k + 1] = (k + 0.5) / n_atoms
    for row in range(len(rows.lag)):
        place = rows.z_position[row], rows.price_position[row]
        demand_atoms(real, rows.depth[row], *place, rows.lag[row], demand[1 : n_atoms + 1])
        demand[0] = max(demand[1] - (demand[2] - demand[1]) / 2, 0.0)
        demand[n_atoms + 1] = demand[n_atoms] + (demand[n_atoms] - demand[n_atoms - 1]) / 2
        mean, available = 0.0, rows.available[row]
        for k in range(1, n_atoms + 1):
            mean += np.rint(demand[k]) if table.rounded else demand[k]
        # A whole demand above what is available is at least half a unit above it before it is rounded.
        above = np.floor(available) + 0.5 if table.integer else available
        expected[row, 0] = mean / n_atoms
        expected[row, 1] = 1 - np.interp(above, demand, levels) if above >= demand[0] else 1.0
        expected[row, 2] = 0.0
        for k in range(n_atoms + 1):
            low, high, share = demand[k] - available, demand[k + 1] - available, levels[k + 1] - levels[k]
            if low >= 0:
                expected[row, 2] += share * (low + high) / 2
            elif high > 0:
                expected[row, 2] += share * high * high / (2 * (high - low))
        expected[row, 3] = np.interp(0.95, levels, demand)
