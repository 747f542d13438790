"""The value of a learned policy by replayed episodes: what it earns in a market whose demand is drawn from the log.

Q itself is no forecast of profit: it looks as many periods ahead as there were iterations, and the surrogate profits of
stock-outs and the greatest of uncertain values are in it. Here the policy is rolled out with the known profit and stock
balance, and discounted profits are regressed on the states from which they were earned.
"""

from dataclasses import replace

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.errors import LostSalesError, warn
from lostsales.learn.cfqi.policy import QPolicy, q_functions, q_policy
from lostsales.learn.cfqi.value_function import ValueFunction
from lostsales.learn.replay.replayed_market import ReplayedMarket
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import learned_by, with_provenance
from lostsales.policy.rollout import play
from lostsales.policy.shop_units import InShopUnits
from lostsales.types import Floats

EPISODES = 200  # rolled out; enough for a regression on SAMPLED periods of each
SAMPLED = 20  # periods from which returns are taken
BEYOND = 0.1  # of the value lies beyond the periods that follow each of them, which are at least and at most so many
LEAST_AHEAD, MOST_AHEAD = 20, 100


def with_replayed_value(policy: SavedPolicy, log: SalesLog, seed: int = 0) -> SavedPolicy:
    """Let a policy of C-FQI, PC-FQI or fusion show what it earns in replayed episodes as the `value` of its decisions.

    Parameters
    ----------
    policy : SavedPolicy
        What `fit` returns. Without replayed episodes it shows Q (less U), which is no forecast of profit. Decisions
        are the same.
    log : SalesLog
        The log that it was fitted to, from which demand is drawn.
    seed : int
        Of the episodes.

    Returns
    -------
    SavedPolicy
        The policy with that value, also in its file; unchanged, with a warning, if no episodes can be replayed, and
        without one where it has no Q-functions.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, "c-fqi", iterations=2)
    >>> policy.summary()["value"], with_replayed_value(policy, log).summary()["value"]
    ('Q', 'replayed episodes')

    """
    learned = q_policy(policy)
    if learned is None or not q_functions(policy):
        return policy
    try:
        asked, rows = policy.counted(log) if isinstance(policy, InShopUnits) else (policy, log)
        with single_threaded():
            valued = replace(learned, value=replayed_value(asked, learned, rows, seed))
        found = replace(policy, policy=valued) if isinstance(policy, InShopUnits) else valued
        return with_provenance(found, learned_by(policy))
    except LostSalesError as error:
        warn(f"the value of a decision is Q, as no episodes can be replayed: {error}")
        return policy


def replayed_value(policy: SavedPolicy, learned: QPolicy, log: SalesLog, seed: int) -> ValueFunction:
    """Roll a policy out from states of the log, and regress its returns on the states of its Q-functions.

    A return is the discounted profit of the periods that are replayed, and beyond them the mean profit for ever.
    """
    market, problem = ReplayedMarket.of(log, EPISODES, seed), log.problem
    ahead = np.ceil(np.log(BEYOND) / np.log(max(problem.discount, BEYOND)))
    periods = SAMPLED + int(np.clip(ahead, LEAST_AHEAD, MOST_AHEAD))
    rng, costs = np.random.default_rng(seed), market.log.costs
    profit, states = np.empty((periods, EPISODES)), []
    for step in play(policy, market, problem, UnitCosts(0.0, 0.0, 0.0), periods, EPISODES, rng, rng):
        view, outcome = step.view, step.outcome
        own = costs.at(market.log_rows)
        earned = period_profit(*step.action, outcome.sales, outcome.lost, outcome.leftover, own)
        inside, money = view, np.ones(EPISODES)
        if isinstance(policy, InShopUnits):
            rows = policy.rows(view)
            inside, money = policy.inside(view, rows), rows.scale * rows.usual_price
        profit[view.period] = earned / money
        if view.period < SAMPLED:
            states.append(learned.state(inside))
    found = _returns(profit, problem.discount)
    episode = np.tile(np.arange(EPISODES), SAMPLED)
    return ValueFunction.of(np.concatenate(states), found[:SAMPLED].reshape(-1), episode, seed)


def _returns(profit: Floats, discount: float) -> Floats:
    """Discounted profit from each period on, (periods, episodes); beyond the last one the mean after `SAMPLED`."""
    returns = np.empty_like(profit)
    after = np.full(profit.shape[1], profit[SAMPLED:].mean() / (1 - discount))
    for period in reversed(range(len(profit))):
        after = returns[period] = profit[period] + discount * after
    return returns
