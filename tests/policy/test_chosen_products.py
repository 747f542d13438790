"""A policy for some of the products: what it saves, and how `recommend` marks the others."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.file_format import load
from lostsales.policy.recommendation import NOT_CHOSEN
from tests.evaluation.shop import Assortment

SHOP = Assortment(np.full(3, 5.0), np.array([8.0, 10.0, 12.0]), np.full(3, -2.0), np.full(3, 1.5))


@pytest.fixture(scope="module")
def policy() -> ChosenProducts:
    log = SHOP.log(60, 2)
    return ChosenProducts(lostsales.fit(log, "behaviour"), np.array(["product 0", "product 2"], dtype=object))


def today() -> pd.DataFrame:
    names = ["product 2", "product 1", "product 0", "new"]
    table = {"series": names, "period": ["2025-03-07"] * 4, "weekday": [4] * 4, "stock": [3.0] * 4}
    return pd.DataFrame(table | {"order_cost": 1.0, "holding_cost": 0.1, "last_sales": 5.0})


def test_products_that_were_not_chosen_are_marked(policy: ChosenProducts) -> None:
    found = policy.recommend(None, today())
    marked = [NOT_CHOSEN in flag for flag in found["flag"]]
    assert marked == [False, True, False, True]
    inside = policy.policy.recommend(None, today())
    assert (found["verdict"] == "keep").tolist() == marked
    ours = ["flag", "verdict"]
    pd.testing.assert_frame_equal(found.drop(columns=ours), inside.drop(columns=ours))


def test_a_saved_policy_marks_the_same(policy: ChosenProducts, tmp_path: Path) -> None:
    policy.save(tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.summary() == policy.summary()
    pd.testing.assert_frame_equal(loaded.recommend(None, today()), policy.recommend(None, today()))


def test_one_within_another_is_refused(policy: ChosenProducts, tmp_path: Path) -> None:
    ChosenProducts(policy, policy.products).save(tmp_path / "twice")
    with pytest.raises(LostSalesError, match="not one of its own"):
        load(tmp_path / "twice")


@pytest.mark.slow
def test_an_evaluation_of_a_chosen_policy_is_that_of_the_policy_inside(policy: ChosenProducts) -> None:
    log = SHOP.log(60, 2)
    whole, inside = (
        lostsales.evaluate(each, log, estimators=["model"], quick=True) for each in (policy, policy.policy)
    )
    assert whole.to_json() == inside.to_json()
