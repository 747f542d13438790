"""Blocks drawn from the evidence of a large log."""

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law import evidence_sample
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import bootstrap_laws
from lostsales.demand.law.estimation import fit_family, with_levels
from lostsales.demand.law.evidence_sample import sample_blocks, segment_starts
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_law
from tests.demand.logs import log_of_draws
from tests.learn.small import small_log

LINEAR = Family("linear", False)


def shop(series: int, periods: int, seed: int = 0) -> SalesLog:
    """D = own + 12 + 0.3 D - price + noise, a fifth of it hidden; the sizes of series differ by `own`."""
    rng = np.random.default_rng(seed)
    price = rng.choice([2.0, 3.0, 4.0], (series, periods))
    own, last = rng.normal(0, 1.5, series), np.full(series, 13.0)
    demand = np.empty(price.shape)
    for period in range(periods):
        last = demand[:, period] = np.maximum(own + 12 + 0.3 * last - price[:, period] + rng.normal(0, 2, series), 0)
    return log_of_draws(np.rint(demand), np.rint(rng.uniform(12, 24, demand.shape)), price=price)


def with_hidden_parents(part: Evidence) -> None:
    hidden = part.depth > 0
    assert hidden.any()
    np.testing.assert_array_equal(part.rows[part.parent[hidden]], part.rows[hidden] - 1)
    np.testing.assert_array_equal(part.depth[part.parent[hidden]], part.depth[hidden] - 1)


@pytest.mark.parametrize("episodes", [1, 40])
def test_every_hidden_lag_of_a_sample_lies_in_the_sample(monkeypatch: pytest.MonkeyPatch, episodes: int) -> None:
    monkeypatch.setattr(evidence_sample, "BLOCK_ROWS", 20)
    evidence = gather_evidence(small_log("steady", episodes, 3, 2_000 if episodes == 1 else None))
    part = sample_blocks(evidence, 600, seed=1)
    assert 0.85 * 600 < len(part) <= 620
    assert set(part.rows) < set(evidence.rows)
    with_hidden_parents(part)


def test_a_small_log_is_its_own_sample() -> None:
    evidence = gather_evidence(small_log("steady"))
    assert sample_blocks(evidence, len(evidence), seed=0) is evidence
    model = fit_law(small_log("steady"), (LINEAR,))
    assert model.sample is model.evidence
    assert not model.notes


def test_segments_start_with_a_series_and_after_a_gap() -> None:
    evidence = gather_evidence(small_log("steady", 2))
    per_series = len(evidence) // 2
    part = evidence.part(~np.isin(np.arange(len(evidence)), [5, 6]))
    starts = np.unique(segment_starts(part))
    np.testing.assert_array_equal(starts, [0, 5, per_series - 2])


def test_a_law_of_a_sample_has_the_effects_of_all_series(monkeypatch: pytest.MonkeyPatch) -> None:
    log = shop(60, 40)
    whole = fit_law(log, (LINEAR,))
    monkeypatch.setattr("lostsales.demand.law.selection.MOST_FITTED", 900)
    model = fit_law(log, (LINEAR,))
    rows = f"{len(model.sample):,} of {len(model.evidence):,} rows"
    assert model.notes == (f"learned from {rows}, in blocks drawn at random",)
    absent = ~np.isin(np.arange(60), model.sample.series)
    assert absent.any()
    ones = np.ones(60)
    parts, all_rows = (
        with_levels(model.evidence, fit_family(each, LINEAR, ones)) for each in (model.sample, model.evidence)
    )
    assert np.corrcoef(parts.level[absent], all_rows.level[absent])[0, 1] > 0.98
    assert isinstance(model.law.mean, LinearMean)
    assert isinstance(whole.law.mean, LinearMean)
    np.testing.assert_allclose(model.law.mean.slopes, whole.law.mean.slopes, rtol=0.25)


def test_errors_of_a_bootstrap_of_a_sample_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    log = shop(200, 20)
    model = fit_law(log, (LINEAR,))
    whole = price_response(log, model, draws=40)
    monkeypatch.setattr("lostsales.demand.law.price_response.MOST_RESAMPLED", 900)
    part = price_response(log, model, draws=40)
    assert part.resampled_rows < 1_000 < whole.resampled_rows == len(model.evidence)
    assert part.elasticity == whole.elasticity
    assert part.elasticity_error == pytest.approx(whole.elasticity_error, rel=0.4)
    for mine, other in zip(part.slopes, whole.slopes, strict=True):
        assert mine.error == pytest.approx(other.error, rel=0.4)


def test_laws_of_resamples_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    log = shop(20, 20)
    model = fit_law(log, (LINEAR,))
    several = bootstrap_laws(log, model, 3, seed=1)
    monkeypatch.setattr("lostsales.data.parallel.usual_workers", lambda: 1)
    alone = bootstrap_laws(log, model, 3, seed=1)
    for mine, other in zip(several, alone, strict=True):
        assert isinstance(mine.mean, LinearMean)
        assert isinstance(other.mean, LinearMean)
        np.testing.assert_array_equal(mine.mean.slopes, other.mean.slopes)
