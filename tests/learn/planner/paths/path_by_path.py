"""The search for an order as its definition says it, one path after the other: what the compiled loops are held to."""

import math

import numpy as np

from lostsales.data.economics import carried, order_room, period_profit, stocked
from lostsales.demand.model.counts import count_quantile
from lostsales.demand.model.moving_level_loops import (
    DAMPING,
    FEW,
    LARGEST_ERROR,
    LEAST_EXCESS,
    LEAST_LEVEL,
    RATES,
)
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.learn.planner.paths.roll_out_loops import LOST, Terms, Unit, order_of
from lostsales.learn.planner.paths.search_loops import (
    LEAST_ARRIVING,
    LEVELS,
    ORDERS,
    REACH,
    Draws,
    Situation,
    lead_time,
)
from lostsales.types import Floats, Ints


def action_of_series(levels: MovingLevels, i: int, at: Situation, terms: Terms, draws: Draws) -> list[float]:
    """Price, order, value and mean demand of one series, and price, order and value of the second-best action."""
    demand, price = demand_paths(levels, i, at.exposure[i], draws), at.price[i]
    arrivals, lead = deliveries(at, i, terms, draws)
    periods, longest = demand.shape[1], at.chances.shape[1] - 1
    arriving = max((1.0 - at.lost[i]) * terms.share, LEAST_ARRIVING)
    unit = Unit(
        at.stock[i], at.costs.at(np.array(i)), at.multiple[i], at.minimum[i], arriving, at.costs.order[i], periods
    )
    span = longest + terms.review

    def covered(demand: Floats) -> tuple[float, list[float]]:
        means = [in_turn(demand[:, t]) / len(demand) for t in range(periods)]
        return means[0], [in_turn(part) / len(part) for part in (means[t : t + span] for t in range(periods))]

    def value(first: float, level: float, demand: Floats, price: Floats) -> float:
        cover = covered(demand)[1]
        return _value(first, level, demand, price, arrivals, lead, cover, at.may_order[i], unit, terms)

    def allowed(wanted: float) -> float:
        return order_of(wanted, at.limit[i], bool(at.may_order[i, 0]), unit)

    cover = covered(demand)[1]
    near = demand[:, : min(span, periods)].reshape(-1)
    mean = in_turn(near) / near.size
    spread = math.sqrt(in_turn((near - mean) ** 2) / near.size) / max(cover[0], 1e-12)
    top = span + 3.0 * max(1.0, spread * math.sqrt(span))
    on_way = in_turn(arrivals.reshape(-1)) / len(arrivals)
    start, earned, level = 0.0, -np.inf, 0.0
    for c in range(LEVELS):
        tried = top * c / (LEVELS - 1)
        wanted = allowed((tried * cover[0] - unit.stock - on_way) / arriving)
        if (found := value(wanted, tried, demand, price)) > earned:
            start, earned, level = wanted, found, tried

    def best_around(start: float, demand: Floats, price: Floats, penalty: float) -> list[list[float]]:
        mean, cover = covered(demand)
        reach = REACH * max(cover[0] * terms.review, 1.0 if unit.multiple == 1.0 else 0.0, unit.multiple)
        low, high = max(start - reach, 0.0), start + reach
        around = dict.fromkeys([start, *(allowed(low + c * ((high - low) / (ORDERS - 1))) for c in range(ORDERS))])
        found = [[price[0], wanted, value(wanted, level, demand, price) - penalty, mean] for wanted in around]
        return sorted(found, key=lambda action: -action[2])

    planned = best_around(start, demand, price, 0.0)
    actions = planned[:1]
    for choice, effect, penalty in zip(at.choices[i], at.effect[i], at.penalty[i], strict=True):
        if choice != price[0] and not np.isnan(choice):
            is_held = np.arange(periods) < terms.hold
            exposure = np.where(is_held, at.exposure[i] * effect, at.exposure[i])
            varied = demand_paths(levels, i, exposure, draws)
            start = allowed((level * covered(varied)[1][0] - unit.stock - on_way) / arriving)
            actions.append(best_around(start, varied, np.where(is_held, choice, price), penalty)[0])
    actions.sort(key=lambda action: -action[2])
    actions = actions if len(actions) > 1 else planned
    return actions[0] + (actions[1][:3] if len(actions) > 1 else [np.nan, np.nan, -np.inf])


def demand_paths(levels: MovingLevels, i: int, exposure: Floats, draws: Draws) -> Floats:
    """Demands that a series may have, (paths, periods)."""
    state, (paths, periods) = levels.weighted, draws.chances.shape
    shares = np.exp(state.score[i] - state.score[i].max())
    reached, found = np.cumsum(shares / in_turn(shares)), np.zeros((paths, periods))
    least = LEAST_LEVEL if levels.counted else 1e-9
    for s in range(paths):
        k = min(int(np.searchsorted(reached, (s + 0.5) / paths)), len(shares) - 1)
        level, trend = state.level[i, k], state.trend[i, k]
        excess = max(state.squares[i, k] / state.weight[i, k], LEAST_EXCESS)
        rate = max(RATES[k, 0], 1.0 / (state.shown[i] + 1.0))
        for t in range(periods):
            base = level + DAMPING * trend
            base = max(base + RATES[k, 2] * (state.level[i, 0] - base), least)
            mean = base * exposure[t]
            if mean <= 0.0:
                continue
            relative = excess + (1.0 / mean if levels.counted else 0.0)
            if levels.counted and mean < FEW:
                units = count_quantile(draws.chances[s, t], mean, relative * mean * mean)
            else:
                units = mean * (1.0 + min(max(draws.errors[s, t] * math.sqrt(relative), -1.0), LARGEST_ERROR))
                units = float(np.rint(units)) if levels.counted else units
            found[s, t] = units
            error = min(units / mean - 1.0, LARGEST_ERROR + 3.0 * math.sqrt(relative))
            trend = DAMPING * trend + RATES[k, 1] * base * error if RATES[k, 1] > 0 else trend
            level = max(base * (1.0 + rate * error), least)
    return found


def deliveries(at: Situation, i: int, terms: Terms, draws: Draws) -> tuple[Floats, Ints]:
    """What is on the way by its arrival, and lead times of new orders, both (paths, periods)."""
    (paths, periods), columns, longest = draws.chances.shape, at.pipeline.shape[1], at.chances.shape[1] - 1
    arrivals, lead = np.zeros((paths, periods + longest + 1)), np.zeros((paths, periods), dtype=np.int64)
    law = at.chances[i], at.lost[i]
    for s in range(paths):
        for k in range(columns):
            waited = columns - k
            least = waited + terms.shown
            time = lead_time(*law, least, -waited, s, draws.orders[s, k], draws, terms.crossing)
            if time != LOST:
                arrivals[s, time - waited] += terms.share * at.pipeline[i, k]
        for t in range(periods):
            lead[s, t] = lead_time(*law, 0, t, s, draws.orders[s, columns + t], draws, terms.crossing)
    return arrivals, lead


def _value(
    first: float,
    level: float,
    demand: Floats,
    price: Floats,
    arrivals: Floats,
    lead: Ints,
    cover: list[float],
    may_order: Floats,
    unit: Unit,
    terms: Terms,
) -> float:
    """Mean discounted profit of ordering `first` today, and later up to `level` times the usual demand of a period."""
    total = 0.0
    for s in range(len(demand)):
        coming = arrivals[s].copy()
        on_way, held, worth = in_turn(coming), unit.stock, 1.0
        for t, units in enumerate(demand[s].tolist()):
            order = first
            if t > 0:
                most = order_room(max(held, 0.0), on_way, terms.flow)
                wanted = (level * cover[t] - held - on_way) / unit.arriving
                order = order_of(wanted, max(most, 0.0), bool(may_order[t]), unit)
            if lead[s, t] != LOST:
                coming[t + lead[s, t]] += terms.share * order
                on_way += terms.share * order
            on_way -= coming[t]
            available = stocked(held, coming[t], terms.flow)
            sold = min(available, units)
            total += worth * period_profit(price[t], order, sold, units - sold, available - sold, unit.costs)
            worth *= terms.discount
            held = carried(available, units, terms.flow)
        total += worth * unit.costs.order * (max(held, 0.0) + on_way)
    return float(total / len(demand))


def in_turn(values: Floats | list[float]) -> float:
    """The sum, one number after the other: numpy adds in another order."""
    total = 0.0
    for each in values:
        total += float(each)
    return total
