"""Unit costs from a small table, and as a share of the order cost."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.errors import LogError
from tests.tables import frame

KEYS = 'attributes = ["supplier"]\n[costs]\ntable = "costs.csv"\nlost = 1\nholding = "10 % of order"\n'


def shop(folder: Path, costs: pd.DataFrame) -> Path:
    frame(supplier=["x", "x", "x", "y", "y"]).to_csv(folder / "sales.csv", index=False)
    costs.to_csv(folder / "costs.csv", index=False)
    (folder / "sales.toml").write_text(KEYS)
    return folder / "sales.csv"


@pytest.mark.parametrize("key", [{"series": ["b", "a"]}, {"supplier": ["y", "x"]}])
@pytest.mark.parametrize("cost", ["order", "order_cost", "Unit cost", "Einkaufspreis"])
def test_costs_come_by_product_or_supplier(tmp_path: Path, key: dict[str, list[str]], cost: str) -> None:
    log = read_log(shop(tmp_path, pd.DataFrame(key | {cost: [4.0, 2.0]})))
    assert log.costs is not None
    np.testing.assert_array_equal(log.costs.order, [2, 2, 2, 4, 4])
    np.testing.assert_allclose(log.costs.holding, [0.2, 0.2, 0.2, 0.4, 0.4])
    write_log(log, tmp_path / "again.parquet")
    again = read_log(tmp_path / "again.parquet")
    assert again.costs is not None
    np.testing.assert_array_equal(again.costs.holding, log.costs.holding)


def test_a_product_without_a_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        LogError, match=r"series must have a row in .*costs.csv, but row 3 \(series=b, period=1\) has none"
    ):
        read_log(shop(tmp_path, pd.DataFrame({"series": ["a"], "order_cost": [2.0]})))


def test_a_table_without_a_key_or_a_cost_is_refused(tmp_path: Path) -> None:
    for table in (
        pd.DataFrame({"colour": ["red"], "order_cost": [2.0]}),
        pd.DataFrame({"series": ["a"], "note": ["x"]}),
    ):
        with pytest.raises(LogError, match=r"costs\.csv must have a column of the series or an attribute"):
            read_log(shop(tmp_path, table))


def test_a_share_of_a_constant_cost_is_a_constant() -> None:
    log = read_log(frame(), Problem(costs=Costs(lost=0, order=4, holding="0.5 % of order")))
    assert log.costs is not None
    assert log.costs.holding == pytest.approx(0.02)
    assert log.problem.costs.holding == pytest.approx(0.02)
