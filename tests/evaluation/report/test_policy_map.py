"""Policy maps: decisions at the stated stock, last observed demand and market."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.report.policy_map import draw_maps, even_steps
from lostsales.policy.base import PolicyBase
from lostsales.policy.view import Action, View
from tests.learn.small import small_log


@dataclass(frozen=True)
class Echo(PolicyBase):
    """Charges the first feature plus the stock, and orders the last observed demand."""

    problem: Problem
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """From the view alone."""
        (depth,) = np.unique(view.depth)
        known = view.past[-depth].view.last_sales if depth else view.last_sales
        return Action(view.stock + 1000 * view.features[0], known)


@pytest.mark.parametrize("name", ["released", "steady"])
def test_every_cell_is_the_decision_at_its_stock_demand_and_market(name: str) -> None:
    log = small_log(name, episodes=20)
    runs = find_runs(log)
    drawn = draw_maps(Echo(log.problem), log, runs)
    usual = drawn.maps[0]
    assert [panel.depth for panel in usual.panels] == list(range(runs.max_depth + 1))
    markets = {each.market: each for each in drawn.maps}
    economy = float(drawn.usual.split(",")[0].removeprefix("economy "))
    other = markets[f"economy {1 - economy:g}"]
    for each, value in ((usual, economy), (other, 1 - economy)):
        for panel in each.panels:
            shape = len(panel.stocks), len(panel.demands)
            np.testing.assert_array_equal(panel.order, np.broadcast_to(panel.demands, shape))
            np.testing.assert_array_equal(panel.price - 1000 * value, np.broadcast_to(panel.stocks[:, None], shape))
            assert panel.rows == np.count_nonzero(runs.depth == panel.depth)
    assert log.stock is not None
    # With arrival before sales nothing is left after a stock-out: those panels have one row.
    assert (len(usual.panels[-1].stocks) == 1) == (name == "released")


def test_the_grid_is_round_and_within_the_data() -> None:
    np.testing.assert_array_equal(even_steps(np.array([3.0])), [3.0])
    np.testing.assert_array_equal(even_steps(np.array([0.0, 25.0] * 50)), np.arange(0, 26, 3))
    grid = even_steps(np.random.default_rng(0).random(500))
    assert grid.min() >= 0
    assert grid.max() <= 1
    assert 8 <= len(grid) <= 14
