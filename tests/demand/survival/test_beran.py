"""The compiled loops against the plain curve, slow sums, and the marginal Kaplan-Meier curve."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales._jit import compiled
from lostsales.demand.survival import neighbour_loops as loops
from lostsales.demand.survival.beran import LEAST_EVENTS, CensoredSample
from lostsales.demand.survival.curve import SurvivalCurve, kaplan_meier
from lostsales.demand.survival.tail import TAIL_TO_MAX, Bound, Tail
from lostsales.types import Bools, Floats

ROWS = 120
NO_RESAMPLE = np.zeros((0, 1))


def sample_of(tail: Tail = "to_max", integer: bool = True, demand_max: float = 30.0) -> CensoredSample:
    """Demand that rises with two coordinates, censored at random; a series every ten rows."""
    rng = np.random.default_rng(5)
    points = rng.normal(0, 2, (ROWS, 2))
    demand = np.maximum(8 + points.sum(axis=1) + rng.normal(0, 2, ROWS), 0)
    least = rng.uniform(3, 18, ROWS)
    if integer:
        demand, least = np.rint(demand), np.rint(least)
    unit = np.arange(ROWS) // 10
    is_event = demand <= least
    bound = Bound(demand_max, tail, integer)
    return CensoredSample.of(points, np.minimum(demand, least), is_event, unit % 5, unit, least, bound)


QUERIES = np.random.default_rng(6).normal(0, 2, (25, 2))
LEAST = np.arange(25) / 2


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("tail", ["to_max", "exponential", "last", "refuse"])
@pytest.mark.parametrize("bandwidth", [0.5, 2.0, 1e7])
def test_mean_excess_is_that_of_the_curve_at_every_row(tail: Tail, integer: bool, bandwidth: float) -> None:
    sample = sample_of(tail, integer)
    least = np.rint(LEAST) if integer else LEAST
    for below in (0.0, 1.0):
        excess, _ = sample.mean_excess(QUERIES, least - below, least, bandwidth, NO_RESAMPLE)
        curves = [sample.curve(point, bandwidth) for point in QUERIES]
        direct = [curve.mean_excess(at - below, at) for curve, at in zip(curves, least, strict=True)]
        np.testing.assert_allclose(excess, direct, rtol=1e-9, atol=1e-9)


def test_an_endless_bandwidth_without_alignment_is_the_marginal_curve() -> None:
    sample = sample_of()
    marginal = kaplan_meier(sample.rows.demand, sample.rows.is_event, demand_max=30)
    everyone = sample.curve(QUERIES[0], 1e9, aligned=False)
    np.testing.assert_array_equal(everyone.times, marginal.times)
    np.testing.assert_allclose(everyone.survival, marginal.survival, rtol=1e-12)


def test_rows_in_one_place_give_the_marginal_curve_at_any_bandwidth() -> None:
    sample = sample_of()
    one = replace(sample, rows=sample.rows._replace(points=np.zeros_like(sample.rows.points)))
    excess, _ = one.mean_excess(np.zeros((25, 2)), LEAST, LEAST, 0.3, NO_RESAMPLE)
    marginal = kaplan_meier(sample.rows.demand, sample.rows.is_event, demand_max=30)
    np.testing.assert_allclose(excess, [marginal.mean_excess(at, at) for at in LEAST], rtol=1e-9)


def test_weights_fall_with_the_square_of_the_distance() -> None:
    """Four rows at distances 0, 1, 2 and 5 with h = 4: the last is no neighbour."""
    points = np.array([[0.0], [1.0], [2.0], [5.0]])
    sample = _plain(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=bool), points)
    kernel, near = loops.LocalKernel(4.0, 1, False, True, 9.0, TAIL_TO_MAX), loops.work_arrays(4)
    assert loops.neighbours(np.zeros(1), sample.rows, 0, 0, kernel, near) == 3
    np.testing.assert_allclose(near.weight[:3], [1, 15 / 16, 12 / 16])
    np.testing.assert_array_equal(near.level[:3], [1, 2, 3])


def _plain(demand: Floats, is_event: Bools, points: Floats) -> CensoredSample:
    zero = np.zeros(len(demand), dtype=np.int64)
    return CensoredSample.of(points, demand, is_event, zero, zero, demand, Bound(9.0, "to_max", True))


def test_aligned_neighbours_are_moved_by_the_expected_difference_in_whole_units() -> None:
    """Rows of demand 3, 5 and 1 at points 0, 1.6 and -2: seen from 1 they stand for 4, 4 and 4."""
    is_event = np.ones(3, dtype=bool)
    sample = _plain(np.array([3.0, 5.0, 1.0]), is_event, np.array([[0.0], [1.6], [-2.0]]))
    curve = sample.curve(np.array([1.0]), 1e6)
    np.testing.assert_array_equal(curve.times, [4])
    np.testing.assert_array_equal(curve.survival, [0])
    apart = sample.curve(np.array([1.0]), 1e6, aligned=False)
    np.testing.assert_array_equal(apart.times, [1, 3, 5])


def test_alignment_stays_between_nothing_and_the_largest_demand() -> None:
    sample = _plain(np.array([3.0, 5.0]), np.ones(2, dtype=bool), np.zeros((2, 1)))
    np.testing.assert_array_equal(sample.curve(np.array([-4.0]), 1e6).times, [0, 1])
    np.testing.assert_array_equal(sample.curve(np.array([5.0]), 1e6).times, [8, 9])


def test_the_bandwidth_grows_until_there_are_enough_events() -> None:
    sample = sample_of()
    far = np.array([40.0, 40.0])
    assert len(sample.curve(far, 0.01, aligned=False).times) > 0
    share, above = sample.support(far[None], np.zeros(1), np.zeros(1), radius=0.01)
    assert (share[0], above[0]) == (1.0, 0)  # identification uses no rows beyond the radius
    assert LEAST_EVENTS >= 2


def test_support_counts_unaligned_events() -> None:
    sample = sample_of()
    share, above = sample.support(QUERIES, LEAST, LEAST, radius=3.0)
    for row, point in enumerate(QUERIES):
        near = ((sample.rows.points - point) ** 2).sum(axis=1) < 9
        assert above[row] == np.count_nonzero(near & sample.rows.is_event & (sample.rows.demand > LEAST[row]))
        weights = 1 - ((sample.rows.points - point) ** 2).sum(axis=1)[near] / 9
        curve = kaplan_meier(sample.rows.demand[near], sample.rows.is_event[near], weights)
        left = float(curve.survival[-1]) if len(curve.survival) else 1.0
        at = float(np.r_[1.0, curve.survival][np.searchsorted(curve.times, LEAST[row], side="right")])
        assert share[row] == pytest.approx(left / at if at > 0 else 1.0)


def slow_brier(curve: SurvivalCurve, demand: float, least: float) -> float:
    """The integral as a sum over fine cells; whole numbers are edges of cells, so that it is exact for steps there."""
    cells = (np.arange(round(least * 1000)) + 0.5) / 1000
    steps = np.r_[1.0, curve.survival][np.searchsorted(curve.times, cells, side="right")]
    return float(np.mean(((demand > cells) - steps) ** 2) * least) if least else 0.0


@pytest.mark.parametrize("bandwidth", [1.0, 4.0, 1e7])
def test_brier_scores_are_the_integral_over_observable_levels_by_rows_of_other_folds(bandwidth: float) -> None:
    sample = sample_of()
    at = np.arange(0, ROWS, 7)
    points, demand, least = sample.rows.points[at], sample.rows.demand[at], sample.rows.available[at]
    fold = sample.rows.clock[at]
    scores = sample.brier_scores(points, demand, least, fold, fold + 1, bandwidth)
    for row, score in enumerate(scores):
        others = sample.rows.clock != fold[row]
        rest = replace(sample, rows=loops.SampleRows._make(column[others] for column in sample.rows))
        curve = rest.curve(points[row], bandwidth)
        assert score == pytest.approx(slow_brier(curve, demand[row], least[row]), rel=1e-9, abs=1e-9)


def test_the_score_of_a_continuous_demand() -> None:
    sample = sample_of(integer=False)
    none = np.zeros(1, dtype=np.int64)
    (score,) = sample.brier_scores(QUERIES[:1], np.array([4.2]), np.array([30.0]), none, none, 2.0)
    cells = (np.arange(300_000) + 0.5) / 10_000
    curve = sample.curve(QUERIES[0], 2.0)
    steps = np.r_[1.0, curve.survival][np.searchsorted(curve.times, cells, side="right")]
    assert score == pytest.approx(np.mean(((cells < 4.2) - steps) ** 2) * 30, rel=1e-3)


def test_hazard_and_supply_by_hand() -> None:
    """Five rows in one place, the row's own fold (clock 0) left out: events at 2 and 4 among 4 and 2 at risk."""
    demand, is_event = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([True, True, False, True, True])
    clock, unit = np.array([0, 1, 1, 1, 1]), np.zeros(5, dtype=np.int64)
    least = np.array([50.0, 10.0, 20.0, 30.0, 40.0])
    sample = CensoredSample.of(np.zeros((5, 1)), demand, is_event, clock, unit, least, Bound(9.0, "to_max", True))
    hazard, supply = sample.hazard_and_supply(
        np.zeros((3, 1)), np.array([1.0, 3.0, 4.0]), np.zeros(3, np.int64), np.ones(3, np.int64), 1.0
    )
    np.testing.assert_allclose(hazard, [0, 1 / 4, 1 / 4 + 1 / 2])
    np.testing.assert_allclose(supply, [25, 25, 25])


def test_the_standard_error_is_the_spread_over_resamples() -> None:
    sample = sample_of()
    counts = np.random.default_rng(7).multinomial(12, np.full(12, 1 / 12), size=30).astype(float)
    _, error = sample.mean_excess(QUERIES, LEAST, LEAST, 1e6, counts)
    shift = np.rint((QUERIES[:, None, :] - sample.rows.points[None]).sum(axis=2))
    for row in range(0, 25, 6):
        moved = sample.rows.demand + shift[row]
        level = np.where(sample.rows.is_event, np.maximum(moved, 0), moved)
        drawn = [
            kaplan_meier(
                np.minimum(level, 30)[kept], sample.rows.is_event[kept], weight[kept], demand_max=30
            ).mean_excess(LEAST[row], LEAST[row])
            for weight in counts[:, sample.rows.unit]
            for kept in [weight > 0]
        ]
        assert error[row] == pytest.approx(np.std(drawn, ddof=1), rel=1e-6)
    _, unknown = sample.mean_excess(QUERIES, LEAST, LEAST, 1e6, counts[:1])
    assert np.isnan(unknown).all()


def test_rows_are_the_same_in_chunks_and_progress_reaches_the_end() -> None:
    sample = sample_of()
    many = np.tile(QUERIES, (30, 1))
    seen: list[tuple[int, int]] = []
    excess, _ = sample.mean_excess(
        many, np.tile(LEAST, 30), np.tile(LEAST, 30), 2.0, NO_RESAMPLE, lambda done, total: seen.append((done, total))
    )
    np.testing.assert_array_equal(excess.reshape(30, 25), np.tile(excess[:25], (30, 1)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_loops_compile_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to decorate a function for which it finds no folder; then the loop is compiled anew each time."""
    from numba.core.caching import FunctionCache

    def refuse(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(FunctionCache, "__init__", refuse)
    assert compiled(lambda number: number + 1)(2) == 3


@pytest.mark.parametrize("kind", ["tied", "spread", "outlier"])
def test_levels_are_sorted_in_buckets_as_a_stable_sort_does(kind: str) -> None:
    rng = np.random.default_rng(7)
    values = {
        "tied": np.rint(rng.normal(20, 5, 5_000)),
        "spread": rng.gamma(2.0, 10.0, 5_000),
        "outlier": np.r_[rng.normal(0, 1, 4_999), 1e9],
    }[kind]
    order = loops._rising(values)
    assert sorted(order.tolist()) == list(range(5_000))
    np.testing.assert_array_equal(values[order], np.sort(values))
    if kind == "tied":
        np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


@pytest.mark.parametrize("integer", [True, False])
def test_the_error_is_the_spread_over_curves_of_resampled_units(integer: bool) -> None:
    """Each resample as a weighted Kaplan-Meier curve of its own."""
    sample, least = sample_of(integer=integer), np.rint(LEAST)
    counts = np.random.default_rng(8).multinomial(12, np.full(12, 1 / 12), size=30).astype(np.float64)
    _, error = sample.mean_excess(QUERIES, least, least, 3.0, counts)
    near = loops.work_arrays(ROWS)
    for row, point in enumerate(QUERIES):
        count = loops.neighbours(point, sample.rows, 0, 0, sample._kernel(3.0), near)
        found = []
        for drawn in counts:
            weight = near.weight[:count] * drawn[sample.rows.unit[near.row[:count]]]
            used = weight > 0
            curve = kaplan_meier(
                near.level[:count][used], near.is_event[:count][used], weight[used], demand_max=30, integer=integer
            )
            found.append(curve.mean_excess(least[row], least[row]))
        assert error[row] == pytest.approx(np.std(found, ddof=1), rel=1e-9)
