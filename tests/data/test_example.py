"""The example data set: what it contains, that its script makes it, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.example import write_example
from lostsales.errors import LostSalesError, SettingError
from tools import corner_shop


def test_corner_shop_is_a_shop_that_follows_its_balance() -> None:
    log = lostsales.load_example("corner-shop")
    assert len(log.products) == 12
    assert len(log) == 12 * 26 * 7
    assert {len(np.unique(each)) for each in log.attributes.values()} == {4, 2}
    assert log.notes.off_balance_rows == 0
    assert log.notes.warnings == ()
    assert 0.05 < log.censored.mean() < 0.3


def test_true_demand_is_what_was_sold_or_more_where_it_sold_out(tmp_path: Path) -> None:
    write_example("corner-shop", tmp_path / "sales.csv", tmp_path / "truth.csv")
    sales, truth = pd.read_csv(tmp_path / "sales.csv"), pd.read_csv(tmp_path / "truth.csv")
    assert (sales[["date", "product"]] == truth[["date", "product"]]).all(axis=None)
    assert (sales["sales"] == np.minimum(truth["demand"], sales["stock"])).all()


def test_shipped_files_are_those_that_the_script_makes(tmp_path: Path) -> None:
    corner_shop.write(tmp_path)
    for made in tmp_path.iterdir():
        assert made.read_bytes() == (corner_shop.FOLDER / made.name).read_bytes()


def test_unknown_examples_and_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="corner-shop"):
        lostsales.load_example("supermarket")
    with pytest.raises(LostSalesError, match=r"\.csv"):
        write_example("corner-shop", tmp_path / "sales.xlsx")
    with pytest.raises(LostSalesError, match="different files"):
        write_example("corner-shop", tmp_path / "sales.csv", tmp_path / "sales.csv")
    assert list(tmp_path.iterdir()) == []
