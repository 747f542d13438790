"""Proven products, the choice of products and the bound on its gain."""

import numpy as np
import pytest

from lostsales.evaluation.assortment import choose_products, cross_fitted_gain, proven_products, root_mean_square
from lostsales.evaluation.interval import Interval
from lostsales.types import Bools, Floats

NO_SHIFTS = np.zeros((0, 2))


def test_products_with_gains_far_above_their_error_are_chosen_and_others_not() -> None:
    noise = np.array([[1.0], [-1.0]] * 4)
    contributions = np.array([10.0, -10.0]) + noise
    np.testing.assert_array_equal(choose_products(contributions, NO_SHIFTS), [True, False])
    np.testing.assert_array_equal(proven_products(contributions, NO_SHIFTS, np.array([8, 8])), [True, False])


def test_a_product_that_offsets_the_error_of_another_is_chosen_with_it() -> None:
    """The lower bound is of the total, so what products share counts."""
    noise = np.array([3.0, -3.0] * 4)
    contributions = np.column_stack([2.0 + noise, 1.0 - noise])
    np.testing.assert_array_equal(choose_products(contributions, NO_SHIFTS), [True, True])


def test_nothing_is_chosen_where_nothing_gains() -> None:
    contributions = np.array([[1.0, -3.0], [-1.0, -1.0]] * 5)
    assert not choose_products(contributions, NO_SHIFTS).any()


def test_a_shift_under_another_law_counts_as_uncertainty() -> None:
    contributions = np.array([10.0, 10.0]) + np.array([[1.0], [-1.0]] * 4)
    shifts = np.array([[0.0, 30.0]])
    np.testing.assert_array_equal(choose_products(contributions, shifts), [True, False])
    np.testing.assert_array_equal(proven_products(contributions, shifts, np.array([8, 8])), [True, False])
    np.testing.assert_array_equal(root_mean_square(np.array([[3.0], [4.0]])), [np.sqrt(12.5)])


def test_with_one_product_proven_means_an_interval_above_zero() -> None:
    rng = np.random.default_rng(1)
    cases = rng.normal(0.8, 1.0, (200, 12, 1))
    proven = [bool(proven_products(each, np.zeros((0, 1)), np.array([12]))[0]) for each in cases]
    assert proven == [Interval.of(each[:, 0]).proven for each in cases]
    assert 20 < sum(proven) < 180


def test_of_many_products_without_a_gain_hardly_any_is_called_proven() -> None:
    rng = np.random.default_rng(2)
    units = np.full(200, 20)
    wrong = [proven_products(rng.normal(size=(20, 200)), np.zeros((0, 200)), units).any() for _ in range(200)]
    assert np.mean(wrong) < 0.06  # 0.025 by the procedure; each alone would give 99 %


def test_the_cross_fitted_gain_of_a_choice_that_never_changes_is_that_of_the_products() -> None:
    contributions = np.array([10.0, -10.0]) + np.array([[1.0], [-1.0]] * 5)
    chosen = choose_products(contributions, NO_SHIFTS)
    found = cross_fitted_gain(contributions, NO_SHIFTS, chosen, np.array([7.0, 7.0]))
    wanted = Interval.of(7.0 * contributions[:, 0])
    assert found == wanted


def _share_above_the_truth(gain: Floats, reps: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often the lower bounds on the gain of the choice lie above it: as if not chosen, and cross-fitted."""
    naive, honest = [], []
    for _ in range(reps):
        products = len(gain)
        noise = rng.normal(size=(20, products)) + 0.3 * rng.normal(size=(20, 1))
        contributions, shifts = gain + noise, np.zeros((0, products))
        chosen: Bools = choose_products(contributions, shifts)
        if not chosen.any():
            naive.append(False)
            honest.append(False)
            continue
        truth = float(gain[chosen].sum())
        naive.append(Interval.of(contributions[:, chosen].sum(axis=1)).low > truth)
        honest.append(cross_fitted_gain(contributions, shifts, chosen, np.ones(products)).low > truth)
    return float(np.mean(naive)), float(np.mean(honest))


@pytest.mark.parametrize("kind", ["no gains", "some gain", "most lose"])
def test_the_lower_bound_on_a_choice_of_products_allows_for_the_choice(kind: str) -> None:
    rng = np.random.default_rng(3)
    gain = {"no gains": np.zeros(50), "some gain": rng.normal(0.1, 0.3, 50), "most lose": rng.normal(-0.3, 0.2, 50)}
    naive, honest = _share_above_the_truth(gain[kind], 300, rng)
    assert naive > 0.1
    assert honest <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
