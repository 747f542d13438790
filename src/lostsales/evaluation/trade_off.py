"""Trade-off between profit, stock and service: the decisions of a policy if lost sales or stock cost more."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.evaluation.cross_fitted import CrossFittedPolicy
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.service import ServiceFigures, service_figures
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.targets import costs_at
from lostsales.policy.period import Flow
from lostsales.policy.policy import Policy
from lostsales.policy.shop_replay import replay_shop
from lostsales.types import Floats

POSITIONS = (-2.0, -1.0, 0.0, 0.7, 1.6)  # of `costs_at`: stock is ever less dear, lost sales are ever dearer
MOST_ROWS = 8_000  # that are replayed for each


@dataclass(frozen=True)
class TradeOffPoint:
    """Profit, service and stock of a policy; `added` names the costs that it decides by."""

    added: str
    profit: float  # a period, of all products, without a cost of lost sales; units are paid when they are sold
    service: ServiceFigures
    is_own: bool = False  # by the costs of the problem


@dataclass(frozen=True)
class TradeOff:
    """The log, and a policy by several costs, in the same periods."""

    log: TradeOffPoint
    points: tuple[TradeOffPoint, ...]  # less stock first


def trade_off(policy: Policy, prepared: PreparedLog, seed: int, horizon: int) -> TradeOff | None:
    """Replay a shop under several costs; None where it is no shop, or the policy cannot be given other costs."""
    if prepared.realised is None or _at(policy, 0.0) is None:
        return None
    log, realised = prepared.log, prepared.realised.shop.realised(1, seed)
    products = prepared.products_in_log or len(log.products)
    horizon = min(horizon, max(MOST_ROWS // len(log.starts), 2))

    def point(added: str, flow: Flow, price: Floats, counted: Floats, is_own: bool = False) -> TradeOffPoint:
        costs = log.costs
        earned = (price - costs.order) * flow.sales - costs.holding * flow.left
        profit = float(earned @ counted) / max(float(counted.sum()), 1.0) * products
        figures = service_figures(log, Flow(*(each * counted for each in flow)), counted, products)
        return TradeOffPoint(added, profit, figures, is_own)

    points, logged = [], None
    for position in POSITIONS:
        again = _at(policy, position)
        assert again is not None
        found = replay_shop(again, realised, seed, horizon)
        counted = found.is_counted.astype(np.float64)
        if not counted.any():
            return None
        points.append(point(_added(position), found.flow, found.price, counted, position == 0))
        logged = point("current practice", found.logged, log.price, counted)
    assert logged is not None
    return TradeOff(logged, tuple(points))


def _at(policy: Policy, position: float) -> Policy | None:
    """The policy by other costs, as shares of the price of each product; None where it has none of its own."""
    if isinstance(policy, CrossFittedPolicy):
        parts = [_at(each, position) for each in policy.policies]
        known = tuple(each for each in parts if each is not None)
        return replace(policy, policies=known) if len(known) == len(parts) else None
    if not isinstance(policy, PathPolicy):
        return None
    products = policy.products
    lost, held = costs_at(np.array(position), products.price)
    dearer = replace(products, lost_cost=products.lost_cost + lost, holding_cost=products.holding_cost + held)
    return replace(policy, products=dearer)


def _added(position: float) -> str:
    lost, held = (float(each) for each in costs_at(np.array(position), np.array(1.0)))
    if position == 0:
        return "the costs of the problem"
    return f"a lost sale costs {lost:.0%} of its price more" if lost else f"stock costs {held:.1%} of its price more"
