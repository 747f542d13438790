"""Differences to the published figures: intervals against Welch's test, and which points are compared."""

import numpy as np
import pytest
from scipy import stats

from lostsales.lab.experiments.against_published import (
    NORMAL_QUANTILE,
    PUBLISHED_RUNS,
    difference_to,
    differences_to_published,
    over_points,
)
from lostsales.lab.experiments.published import Published
from lostsales.lab.experiments.results import RunMean
from lostsales.simulation.scenario import Scenario
from tests.lab.experiments.small import made_up
from tests.lab.experiments.test_claims import AS_THE_PAPER_SAYS


def test_the_interval_is_that_of_welch() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = rng.normal(30.0, 2.0, 20), rng.normal(29.0, 1.0, PUBLISHED_RUNS)
    reach = NORMAL_QUANTILE * theirs.std(ddof=1) / np.sqrt(PUBLISHED_RUNS)
    point = Published("uniform", "c-fqi", 10, float(theirs.mean()), float(reach))
    found = difference_to(point, RunMean.of(ours))
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert (found.difference_low, found.difference_high) == pytest.approx((expected.low, expected.high))
    assert (found.published_low, found.published_high) == pytest.approx((point.mean - reach, point.mean + reach))
    assert (found.low, found.high) == (RunMean.of(ours).low, RunMean.of(ours).high)


def test_a_published_figure_without_an_interval_is_taken_as_exact() -> None:
    ours = np.random.default_rng(5).normal(33.0, 0.1, 20)
    found = difference_to(Published("reference", "oracle", 0, 32.62, np.nan), RunMean.of(ours))
    expected = stats.ttest_1samp(ours, 32.62).confidence_interval(0.95)
    shifted = expected.low - 32.62, expected.high - 32.62
    assert (found.difference_low, found.difference_high) == pytest.approx(shifted)
    assert np.isnan(found.published_low)


def test_one_run_has_a_difference_without_an_interval() -> None:
    found = difference_to(Published("uniform", "c-fqi", 10, 27.0, 0.8), RunMean.of(np.array([28.0])))
    assert found.difference == 1.0
    assert np.isnan(found.difference_low)
    assert over_points([found]).n == 0


def test_points_that_were_run_are_compared() -> None:
    results = made_up(AS_THE_PAPER_SAYS, scenario=Scenario.load("released"))  # 5 and 10 episodes, and the planner
    found = {(each.behaviour, each.method, each.episodes) for each in differences_to_published(results)}
    curves = {(behaviour, method, 10) for behaviour in ("uniform", "near-optimal") for method in ("c-fqi", "pc-fqi")}
    curves |= {("uniform", "fusion", 10), ("near-optimal", "fusion", 10)}
    assert found == curves | {("reference", "oracle", 0), ("reference", "pi-star", 0)}
    assert differences_to_published(made_up(AS_THE_PAPER_SAYS)) == []


def test_the_mean_over_levels_has_the_widest_interval() -> None:
    points = [
        difference_to(Published("uniform", "c-fqi", level, 27.0, 0.8), RunMean.of(np.array(values)))
        for level, values in ((10, [28.0, 29.0, 30.0]), (20, [30.0, 31.0, 32.0]))
    ]
    found = over_points(points)
    assert found.mean == pytest.approx(3.0)
    assert found.high - found.mean == pytest.approx(points[0].difference_high - points[0].difference)
