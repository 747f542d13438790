"""The board of orange juice on a made-up table: the protocol, and the metric's own point forecast."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma

from lostsales.demand.model.model import DemandAhead
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.boards import open_board
from lostsales.lab.benchmarks.orange_juice import BRANDS, ROUNDS, OrangeJuice, percentage_point


def made_up_table(path: Path) -> Path:
    rng = np.random.default_rng(1)
    weeks = np.arange(60, 161)
    rows = []
    for store in (2, 5):
        prices = np.exp(rng.normal(-3, 0.15, (len(weeks), BRANDS)))
        for brand in range(1, BRANDS + 1):
            feature = (rng.random(len(weeks)) < 0.2).astype(float)
            own = np.log(prices[:, brand - 1]) + 3
            columns = {f"price{k + 1}": prices[:, k] for k in range(BRANDS)}
            moved = 8 - 2.5 * own + 0.5 * feature + rng.normal(0, 0.2, len(weeks))
            keys = {"store": store, "brand": brand, "week": weeks, "logmove": moved, "deal": 0, "feat": feature}
            rows.append(pd.DataFrame(keys | columns))
    pd.concat(rows).to_csv(path, index=False)
    return path


def test_rounds_forecast_the_second_and_third_week_with_known_prices(tmp_path: Path) -> None:
    board = OrangeJuice.read(made_up_table(tmp_path / "yx.csv"))
    assert [part.key for part in board.parts][:2] == ["to-week-135", "to-week-137"]
    assert len(board.parts) == ROUNDS
    measured = {part.key: part.run() for part in board.parts[-2:]}
    assert [each["forecasts"] for each in measured.values()] == [44, 44]  # two weeks of 22 series
    error, *_, covered = board.rows(measured)
    assert error.ours < 25  # a lognormal error of 0.2 has 15 at the best
    assert error.published == 36.28
    assert 60 < covered.ours <= 100


def test_the_point_of_the_percentage_error_is_the_weighted_median() -> None:
    law = gamma(4.0, scale=25.0)
    ahead = DemandAhead(np.full((1, 1), law.mean()), np.full((1, 1), law.var()), False, np.ones((1, 1)))
    draws = law.ppf((np.arange(20_000) + 0.5) / 20_000)
    grid = np.linspace(20, 120, 1001)
    errors = [np.mean(np.abs(draws - point) / draws) for point in grid]
    assert percentage_point(ahead)[0, 0] == pytest.approx(grid[np.argmin(errors)], rel=0.01)


def test_another_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("store,week\n1,2\n")
    with pytest.raises(LostSalesError, match="not the table of orange juice"):
        open_board("orange-juice", path)
    with pytest.raises(LostSalesError, match="bayesm"):
        open_board("orange-juice", None)
