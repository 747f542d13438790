"""The board of goods that perish: the planner that knows demand and ages, and the figures of one shop."""

import numpy as np

from lostsales.lab.benchmarks import perishables
from lostsales.lab.benchmarks.perishables import InformedPlanner, Instance, Perishables
from lostsales.policy.view import View


def informed(ages: list[float]) -> float:
    shop = Instance(2, 1, "fifo", 7).shop(20)
    none = np.zeros(1)
    units = np.array([ages])
    view = View(0, (), units.sum(axis=1), none, none > 0, none.astype(np.int16), None, ages=units)
    return float(InformedPlanner(shop.problem, shop).decide(view, np.random.default_rng(0)).order[0])


def test_units_in_the_last_period_of_their_life_are_ordered_for() -> None:
    assert informed([8.0, 0.0]) > informed([0.0, 8.0]) + 2


def test_figures_of_one_shop() -> None:
    measured = Instance(2, 1, "lifo", 7, logs=1).run()
    planner, informed, base_stock = (float(np.max(measured[name])) for name in ("planner", "informed", "base-stock"))
    assert informed < 0.5
    assert planner < 3.0
    assert base_stock > informed
    board = Perishables()
    assert len(board.parts) == 8
    assert len(board.rows({part.key: measured for part in board.parts})) == 8 * len(perishables.FIGURES)
