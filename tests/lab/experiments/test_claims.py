"""Verdicts on claims from synthetic results of known means."""

import numpy as np
import pytest
from scipy import stats

from lostsales.lab.experiments.claims import Claim, above, check_claims, over_levels, slopes, within
from lostsales.lab.experiments.results import ExperimentResults, RunMean
from lostsales.simulation.scenario import Scenario
from tests.lab.experiments.small import Means, made_up

REFERENCES: Means = {
    ("reference", "oracle-horizon"): (34.0,),
    ("reference", "pi-star-horizon"): (33.5,),
    ("reference", "oracle"): (33.0,),
    ("reference", "pi-star"): (32.0,),
    ("reference", "uniform"): (-18.0,),  # the margin of near is 2.5
    ("reference", "near-optimal"): (30.0,),
}
AS_THE_PAPER_SAYS: Means = REFERENCES | {
    ("uniform", "c-fqi"): (26.0, 31.5),
    ("uniform", "pc-fqi"): (22.0, 30.5),
    ("uniform", "fusion"): (26.2, 31.3),
    ("uniform", "planner"): (31.9, 31.9),
    ("near-optimal", "c-fqi"): (20.0, 30.8),
    ("near-optimal", "pc-fqi"): (25.0, 31.5),
    ("near-optimal", "fusion"): (21.0, 31.0),
    ("near-optimal", "planner"): (31.9, 31.9),
}

WITH_BASELINES: Means = AS_THE_PAPER_SAYS | {
    ("uniform", "fqi-imputed"): (24.0, 29.0),
    ("uniform", "fqi-plugin"): (23.0, 28.0),
    ("near-optimal", "fqi-imputed"): (18.0, 28.0),
    ("near-optimal", "fqi-plugin"): (17.0, 27.0),
}


def claim(results: ExperimentResults, text: str, behaviour: str) -> Claim:
    (found,) = [each for each in check_claims(results) if (each.claim, each.behaviour) == (text, behaviour)]
    return found


def test_all_claims_hold_where_all_are_true() -> None:
    claims = check_claims(made_up(WITH_BASELINES, spread=0.1))
    assert {each.verdict for each in claims} == {"reproduced"}
    assert len(claims) == 1 + 2 * (6 + 2 + 2 + 1)
    assert all(each.low < each.mean < each.high and each.n == 20 for each in claims)


def test_claims_that_are_false_are_not_reproduced() -> None:
    turned = WITH_BASELINES | {
        ("reference", "oracle"): (31.0,),
        ("uniform", "c-fqi"): (26.0, 20.0),
        ("near-optimal", "pc-fqi"): (15.0, 25.0),
        ("near-optimal", "planner"): (25.0, 25.5),
        ("near-optimal", "fusion"): (12.0, 25.0),
        ("near-optimal", "fqi-imputed"): (22.0, 31.0),
        ("uniform", "fqi-plugin"): (26.0, 25.0),
    }
    results = made_up(turned, spread=0.1)
    for text, behaviour in (
        ("the oracle is above pi*", "any"),
        ("c-fqi rises with data", "uniform"),
        ("c-fqi comes near pi*", "uniform"),
        ("c-fqi beats pc-fqi", "uniform"),
        ("fusion is near c-fqi", "uniform"),
        ("pc-fqi beats c-fqi", "near-optimal"),
        ("planner beats all", "near-optimal"),
        ("fusion is near c-fqi", "near-optimal"),
        ("one Q per depth pays: c-fqi beats fqi-imputed", "near-optimal"),
        ("one Q per depth pays: c-fqi beats fqi-plugin", "uniform"),
    ):
        assert claim(results, text, behaviour).verdict == "not reproduced", text
    assert claim(results, "pc-fqi rises with data", "near-optimal").verdict == "reproduced"
    assert claim(results, "planner beats all", "uniform").verdict == "reproduced"
    assert claim(results, "one Q per depth pays: c-fqi beats fqi-plugin", "near-optimal").verdict == "reproduced"


LEVELS = (5, 10, 20, 40)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((20.0, 22.0, 24.0, 26.0), "reproduced"),
        ((20.0, 26.0, 26.0, 26.0), "reproduced"),  # level in the end, as curves are
        ((26.0, 24.0, 22.0, 20.0), "not reproduced"),
        ((20.0, 30.0, 25.0, 22.0), "not reproduced"),  # the last is above the first, but it does not rise
        ((20.0, 20.0, 20.0, 20.0), "inconclusive"),
    ],
)
def test_a_rise_is_a_trend_over_all_levels(means: tuple[float, ...], verdict: str) -> None:
    results = made_up(REFERENCES | {("uniform", "c-fqi"): means}, spread=0.5, levels=LEVELS)
    found = claim(results, "c-fqi rises with data", "uniform")
    assert found.verdict == verdict
    line = stats.linregress(np.log2(LEVELS), means).slope
    assert found.mean == pytest.approx(line, abs=0.3)
    assert found.low < found.mean < found.high


def test_a_fall_is_named_and_one_by_chance_is_not() -> None:
    falls = made_up(REFERENCES | {("uniform", "c-fqi"): (20.0, 30.0, 25.0, 31.0)}, spread=0.5, levels=LEVELS)
    note = claim(falls, "c-fqi rises with data", "uniform").note
    assert note == "2 of 3 steps between levels rise; beyond chance it falls from 10 to 20 episodes"
    chance = made_up(REFERENCES | {("uniform", "c-fqi"): (20.0, 25.0, 24.9, 31.0)}, spread=1.0, levels=LEVELS)
    assert claim(chance, "c-fqi rises with data", "uniform").verdict == "reproduced"


def test_a_level_curve_rises_in_few_of_many_experiments() -> None:
    """The error of the first kind: at most 2.5 % of level curves are said to rise, and 5 % more to fall."""
    verdicts = []
    for seed in range(200):
        level = REFERENCES | {("uniform", "c-fqi"): (20.0,) * len(LEVELS)}
        verdicts.append(
            claim(made_up(level, levels=LEVELS, noise_seed=seed), "c-fqi rises with data", "uniform").verdict
        )
    assert verdicts.count("reproduced") <= 12  # 5 expected
    assert verdicts.count("not reproduced") <= 24  # 5 + 10 expected


def test_slopes_are_least_squares_over_the_levels_that_did_not_fail() -> None:
    rng = np.random.default_rng(2)
    x, values = np.log2(LEVELS), rng.normal(size=(5, 4))
    values[1, 2] = np.nan
    found = slopes(x, values)
    for run in range(5):
        kept = ~np.isnan(values[run])
        assert found[run] == pytest.approx(stats.linregress(x[kept], values[run, kept]).slope)


def test_claims_about_published_figures_are_those_of_released_only() -> None:
    texts = {each.claim for each in check_claims(made_up(AS_THE_PAPER_SAYS))}
    assert not any("published" in text for text in texts)


@pytest.mark.parametrize(
    ("ours", "verdict", "note"),
    [
        ((27.3, 29.0), "reproduced", "below the published at 0 and above it at 0"),
        ((30.0, 31.5), "reproduced", "below the published at 0 and above it at 2"),
        ((20.0, 22.0), "not reproduced", "below the published at 2 and above it at 0"),
        ((23.5, 28.0), "inconclusive", ""),  # about the margin of 2.5 below
    ],
)
def test_a_curve_is_compared_with_the_published_one(ours: tuple[float, ...], verdict: str, note: str) -> None:
    released = Scenario.load("released")
    means = REFERENCES | {("uniform", "c-fqi"): ours, ("near-optimal", "c-fqi"): (20.0, 20.0)}
    results = made_up(means, spread=0.3, scenario=released, levels=(10, 20))
    found = claim(results, "c-fqi comes near the published figures", "uniform")
    assert found.verdict == verdict
    assert note in found.note
    assert found.mean == pytest.approx(np.mean(ours) - (27.341 + 28.977) / 2, abs=0.3)


def test_noisy_differences_are_undecided() -> None:
    level = AS_THE_PAPER_SAYS | {("uniform", "pc-fqi"): (26.1, 31.4)}
    found = claim(made_up(level, spread=2.0), "c-fqi beats pc-fqi", "uniform")
    assert found.verdict == "inconclusive"
    assert found.low < 0 < found.high


def test_a_difference_is_paired_over_runs() -> None:
    """Noise that all policies of a run share does not widen the interval."""
    results = made_up(AS_THE_PAPER_SAYS, spread=1.0)
    found = claim(results, "the oracle is above pi*", "any")
    assert (found.mean, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
    alone = RunMean.of(results.reference("oracle"))
    assert alone.high - alone.low > 0.5


def test_the_planner_must_beat_every_rival() -> None:
    close = AS_THE_PAPER_SAYS | {("uniform", "fusion"): (31.95, 31.85)}
    found = claim(made_up(close, spread=1.0), "planner beats all", "uniform")
    assert found.verdict == "inconclusive"
    assert "beats 2 of 3; the closest is fusion" in found.note


def test_claims_about_methods_not_run_are_undecided() -> None:
    only = {key: value for key, value in AS_THE_PAPER_SAYS.items() if key[1] not in ("planner", "pc-fqi")}
    results = made_up(only)
    for text, behaviour in (("planner beats all", "uniform"), ("pc-fqi beats c-fqi", "near-optimal")):
        found = claim(results, text, behaviour)
        assert (found.verdict, found.n) == ("inconclusive", 0)
        assert "not both run" in found.note


def test_runs_that_failed_are_left_out_of_the_pairs() -> None:
    failed = AS_THE_PAPER_SAYS | {("uniform", "pc-fqi"): (np.nan, 30.5)}
    found = claim(made_up(failed, spread=0.1), "c-fqi beats pc-fqi", "uniform")
    assert found.mean == pytest.approx(1.0, abs=0.1)  # the second level alone
    difference = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 4.0]])
    assert over_levels(difference) == pytest.approx([1.0, np.nan, 3.0], nan_ok=True)


def test_interval_is_students() -> None:
    values = np.random.default_rng(0).normal(size=12)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = RunMean.of(np.r_[values, np.nan])
    assert (found.low, found.high, found.n) == pytest.approx((expected.low, expected.high, 12))


def test_verdicts_at_their_edges() -> None:
    def interval(low: float, high: float) -> RunMean:
        return RunMean((low + high) / 2, 1.0, low, high, 9)

    assert above(interval(0.1, 2)) == "reproduced"
    assert above(interval(-2, -0.1)) == "not reproduced"
    assert above(interval(-1, 1)) == "inconclusive"
    assert above(interval(-1, 1), bound=-2) == "reproduced"
    assert within(interval(-0.5, 0.5), 1) == "reproduced"
    assert within(interval(-3, -2), 1) == "not reproduced"
    assert within(interval(0.5, 1.5), 1) == "inconclusive"
    nothing = RunMean.of(np.zeros(0))
    assert above(nothing) == within(nothing, 1) == "inconclusive"
