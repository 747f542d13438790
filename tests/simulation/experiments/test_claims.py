"""Verdicts on claims from synthetic results of known means."""

import numpy as np
import pytest
from scipy import stats

from lostsales.simulation.experiments.claims import Claim, above, check_claims, over_levels, within
from lostsales.simulation.experiments.results import ExperimentResults, RunMean
from tests.simulation.experiments.small import Means, made_up

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


def claim(results: ExperimentResults, text: str, behaviour: str) -> Claim:
    (found,) = [each for each in check_claims(results) if (each.claim, each.behaviour) == (text, behaviour)]
    return found


def test_all_claims_hold_where_all_are_true() -> None:
    claims = check_claims(made_up(AS_THE_PAPER_SAYS, spread=0.1))
    assert {each.verdict for each in claims} == {"holds"}
    assert len(claims) == 1 + 2 * 6 + 3 + 2
    assert all(each.low < each.mean < each.high and each.n == 20 for each in claims)


def test_claims_that_are_false_are_not_reproduced() -> None:
    turned = AS_THE_PAPER_SAYS | {
        ("reference", "oracle"): (31.0,),
        ("uniform", "c-fqi"): (26.0, 20.0),
        ("near-optimal", "pc-fqi"): (15.0, 25.0),
        ("near-optimal", "planner"): (25.0, 25.5),
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
    ):
        assert claim(results, text, behaviour).verdict == "not reproduced", text
    assert claim(results, "pc-fqi rises with data", "near-optimal").verdict == "holds"
    assert claim(results, "planner beats all", "uniform").verdict == "holds"


def test_noisy_differences_are_undecided() -> None:
    level = AS_THE_PAPER_SAYS | {("uniform", "pc-fqi"): (26.1, 31.4)}
    found = claim(made_up(level, spread=2.0), "c-fqi beats pc-fqi", "uniform")
    assert found.verdict == "cannot be told"
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
    assert found.verdict == "cannot be told"
    assert "beats 2 of 3; the closest is fusion" in found.note


def test_claims_about_methods_not_run_are_undecided() -> None:
    only = {key: value for key, value in AS_THE_PAPER_SAYS.items() if key[1] not in ("planner", "pc-fqi")}
    results = made_up(only)
    for text, behaviour in (("planner beats all", "uniform"), ("pc-fqi beats c-fqi", "near-optimal")):
        found = claim(results, text, behaviour)
        assert (found.verdict, found.n) == ("cannot be told", 0)
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

    assert above(interval(0.1, 2)) == "holds"
    assert above(interval(-2, -0.1)) == "not reproduced"
    assert above(interval(-1, 1)) == "cannot be told"
    assert above(interval(-1, 1), bound=-2) == "holds"
    assert within(interval(-0.5, 0.5), 1) == "holds"
    assert within(interval(-3, -2), 1) == "not reproduced"
    assert within(interval(0.5, 1.5), 1) == "cannot be told"
    nothing = RunMean.of(np.zeros(0))
    assert above(nothing) == within(nothing, 1) == "cannot be told"
