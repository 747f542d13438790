"""Surprises of the past: as large as those of later periods."""

import numpy as np

from lostsales.evaluation.pilot.market import DemandBaseline, past_residuals
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel, clock_after, past_mean
from lostsales.lab.studies.pilot import shop_of
from lostsales.types import Floats

SERIES, LATER = 5, 200


def deviations(past: int, seed: int) -> tuple[float, float, float]:
    """Of period means: under the baseline of these periods, cross-fitted, and of later periods."""
    shop = shop_of("newsvendor", (), "base-stock:30@7", "base-stock:30@7")  # hardly a stock-out
    log = shop.roll_out(np.zeros((SERIES, past + LATER), dtype=bool), seed)
    clock = clock_after(log)
    panel, demand = PilotPanel.of(log, clock, log.names), Outcomes.of(log, 0).demand
    early = PilotPanel(log, panel.names, panel.offsets[:past], panel.row[:, :past])
    usual, price = (past_mean(early.table(each), past) for each in (demand, log.price))
    baseline = DemandBaseline.of(early, clock, demand, usual, price)

    def deviation(residuals: Floats) -> float:
        return float(residuals.mean(axis=0).std())

    own = baseline.residuals(panel, clock, demand, usual, price)
    fair = past_residuals(early, clock, demand, usual, price, baseline)
    return deviation(own[:, :past]), deviation(fair), deviation(own[:, past:])


def test_residuals_of_the_past_deviate_as_later_ones_do() -> None:
    own, fair, later = np.mean([deviations(35, seed) for seed in range(4)], axis=0)
    assert own < 0.95 * later
    assert abs(fair / later - 1) < 0.1


def test_a_short_past_is_judged_by_its_own_baseline() -> None:
    own, fair, _ = deviations(20, 1)
    assert fair == own
