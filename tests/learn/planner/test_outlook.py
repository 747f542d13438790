"""What a plan says about today's demand: by hand, against closed forms, and against what happens in a simulation."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import norm

from lostsales.data.problem import Problem
from lostsales.data.relative import in_units
from lostsales.learn.fit import fit
from lostsales.learn.planner.decision_loops import PricedRows, expect_demand
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.planner.true_law import LINEAR, true_model, view_of
from tests.learn.small import days, small_log


@pytest.mark.parametrize(
    ("integer", "available", "chance", "lost"),
    [
        (False, 2.5, 0.5, 0.5),
        (False, 0.0, 1.0, 2.5),
        (False, 4.5, 0.0, 0.0),
        (False, 3.5, 0.25, 0.125),
        (True, 2.0, 0.5, 0.78125),  # a demand of 3 or 4, before it is rounded above 2.5
        (True, 2.9, 0.5, 0.32),
        (True, 9.0, 0.0, 0.0),
    ],
)
def test_demand_that_is_even_between_a_half_and_four_and_a_half(
    integer: bool, available: float, chance: float, lost: float
) -> None:
    """Of which 1, 2, 3 and 4 are the means of equal shares."""
    latents = np.arange(1.0, 5.0).reshape(1, 1, 1, 1, 4)
    table = LatentTable(
        latents,
        1.0,
        multiplicative=False,
        integer=integer,
        rounded=integer,
        demand_max=100.0,
    )
    one = np.zeros(1)
    rows = PricedRows(one, one, np.zeros(1, dtype=np.int64), one, np.array([available]))
    found = np.empty((1, 4))
    expect_demand(found, rows, table)
    np.testing.assert_allclose(found[0], [2.5, chance, lost, 0.5 + 0.95 * 4], atol=1e-12)


def true_policy(episodes: int) -> PlanPolicy:
    """A plan that knows the law of `steady`."""
    log, _ = simulate(Scenario.load("steady"), episodes=episodes, seed=3)
    return Planner(draws=1).plan(log, model=true_model(log, "paper"))


@pytest.fixture(scope="module")
def policy() -> PlanPolicy:
    return true_policy(30)


def test_chance_loss_and_quantile_are_those_of_the_normal_law(policy: PlanPolicy) -> None:
    """Demand is normal with a standard deviation of 3, rounded; 32 atoms give chances within a percentage point."""
    for stock, last, price in ((8.0, 9.0, 4.0), (4.0, 9.0, 4.5), (11.0, 12.0, 4.25), (14.0, 12.0, 4.0)):
        view = view_of([1.0, 3.0], stock, last, 0)
        belief = policy.tracker.belief(view)
        found = policy.tracker.outlook(np.zeros(1, np.int64), belief, np.array([price]), np.array([stock]))
        middle = 15.35 + 2 - 0.6 * 3 - 3 * price + 0.8 * last
        steps = np.arange(stock, 60)
        assert found.demand[0] == pytest.approx(middle, abs=0.1)
        assert found.stockout_chance[0] == pytest.approx(norm.sf(stock + 0.5, middle, 3), abs=0.01)
        assert found.lost[0] == pytest.approx(norm.sf(steps + 0.5, middle, 3).sum(), abs=0.04)
        assert found.high[0] == pytest.approx(norm.ppf(0.95, middle, 3), abs=0.3)


@dataclass
class Watched(PolicyBase):
    """Notes every decision with its reasons."""

    policy: PlanPolicy
    problem: Problem
    observes: Observes = "history"
    decisions: list[Decision] = field(default_factory=list)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """As the policy inside."""
        self.decisions.append(self.policy.explain(view))
        return Action(self.decisions[-1].price, self.decisions[-1].order)


def test_stated_chances_of_a_stock_out_are_how_often_it_happens(policy: PlanPolicy) -> None:
    """Within three standard errors, in all and by the size of the chance."""
    watched = Watched(policy, policy.problem)
    log, truth = simulate(Scenario.load("steady"), watched, episodes=200, seed=5)

    def stated(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.stack([each.more[name] for each in watched.decisions], axis=1).reshape(-1)

    chance, happened = stated("stockout_chance"), truth.demand > log.available
    for low, high in ((0.0, 1.0), (0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        rows = (chance >= low) & (chance <= high)
        assert rows.sum() > 300
        error = np.sqrt((chance[rows] * (1 - chance[rows])).sum()) / rows.sum()
        assert abs(chance[rows].mean() - happened[rows].mean()) < 3 * error
    for name, truly in (("expected_demand", truth.demand), ("expected_lost", truth.lost)):
        apart = stated(name) - truly
        assert abs(apart.mean()) < 3 * apart.std() / np.sqrt(len(apart))


def test_cover_is_what_is_on_hand_and_ordered_over_the_expected_demand(policy: PlanPolicy) -> None:
    decision = policy.explain(view_of([1.0, 3.0], 9.0, 9.0, 0))
    cover = (9.0 + decision.order) / decision.more["expected_demand"]
    np.testing.assert_allclose(decision.more["periods_of_cover"], cover)


def test_with_truncated_demand_nothing_is_lost_at_the_longest_run() -> None:
    log, _ = simulate(Scenario.load("paper"), episodes=20, seed=3)
    policy = Planner(draws=1).plan(log, model=true_model(log, "paper"))
    belief = policy.tracker.belief(view_of([1.0, 3.0], 2.0, 9.0, 0))
    for depth, is_lost in ((2, True), (3, False)):
        found = policy.tracker.outlook(np.array([depth]), belief, np.array([4.0]), np.array([2.0]))
        assert bool(found.stockout_chance[0] > 0) == bool(found.lost[0] > 0) == is_lost


def test_explanations_are_the_same_in_dozens() -> None:
    """Chances, covers and reasons to the letter; quantities and orders that may be recommended times twelve."""
    log = small_log("steady", 20)
    recent, today = days(small_log("steady", seed=2), 6)
    answers, most = [], []
    for unit in (1.0, 12.0):
        policy = fit(in_units(log, 1 / unit), Planner(draws=1, families=LINEAR))
        quantities = ["stock", "order", "sales", "last_sales"]
        closed = recent.assign(**{name: recent[name] * unit for name in quantities})
        answers.append(policy.recommend(closed, today.assign(stock=today["stock"] * unit)))
        assert policy.may_recommend is not None
        most.append(policy.may_recommend.orders[-1])
    one, dozen = answers
    for name in ("price", "stockout_chance", "periods_of_cover", "price_reason"):
        assert one[name].tolist() == dozen[name].tolist(), name
    for name in ("order", "expected_demand", "expected_lost", "advantage"):
        np.testing.assert_allclose(dozen[name], 12 * one[name], err_msg=name)
    assert most == [15.0, 180.0]
