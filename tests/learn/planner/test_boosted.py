"""The planner on a gradient-boosted mean of demand, from the log to the saved policy."""

from pathlib import Path

import pandas as pd
import pytest

import lostsales
from lostsales.demand.law.demand_law import Family
from lostsales.learn.planner.policy import PlanPolicy
from tests.learn.small import days, small_log


@pytest.mark.slow
@pytest.mark.parametrize(("name", "multiplicative"), [("paper", False), ("nonlinear", True)])
@pytest.mark.filterwarnings("ignore:the demand model does not fit")  # too few rows for trees
def test_a_boosted_law_is_fitted_planned_on_saved_and_loaded(name: str, multiplicative: bool, tmp_path: Path) -> None:
    family = Family("boosted", multiplicative)
    policy = lostsales.fit(small_log(name, 8), "planner", families=(family,), draws=1)
    recent, today = days(small_log(name, seed=2), 9)
    decided = policy.recommend(recent, today)
    policy.save(tmp_path / "policy")
    loaded = lostsales.load(tmp_path / "policy")
    assert isinstance(policy, PlanPolicy)
    assert isinstance(loaded, PlanPolicy)
    pd.testing.assert_frame_equal(loaded.recommend(recent, today), decided)
    assert policy.family == loaded.family == family.name
    assert decided["price"].nunique() > 1
    assert decided["order"].nunique() > 1
