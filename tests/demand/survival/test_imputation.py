"""Imputed demand against hidden truth, exact laws and logs in which it is not identified."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import truncnorm

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.observed import observe
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.survival import imputation as module
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.depth_groups import depth_groups, not_truncated
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.demand.survival.tail import Tail
from lostsales.errors import LostSalesError, SettingError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.demand.logs import COSTS, log_of_draws, log_of_flags, partly_out

STRONG = ("demand.price=-12", "demand.intercept=58", "demand.rho=0.5", "demand.noise.scale=1")


def test_stock_outs_for_part_of_a_period_leave_the_filled_demand_of_sold_out_rows_as_it_was() -> None:
    log, truth = simulate(Scenario.load("steady"), episodes=50, seed=2)
    partial = partly_out(log, truth.demand, 0.25)
    assert 0.1 < partial.is_partial.mean() < 0.25
    whole = partial.censored & ~partial.is_partial
    filled = impute_by_curves(partial, replicates=0)
    assert (filled.expected_demand >= partial.sales).all()
    lost = truth.demand - partial.available
    assert filled.expected_lost[whole].mean() == pytest.approx(lost[whole].mean(), rel=0.1)
    # The bound alone, E[D | D >= sales], is too high for rows that lost little of their demand.
    part = partial.is_partial
    assert truth.demand[part].mean() < filled.expected_demand[part].mean() < 1.5 * truth.demand[part].mean()


def test_with_the_pace_of_demand_known_partial_stock_outs_are_filled_to_their_demand() -> None:
    log, truth = simulate(Scenario.load("steady"), episodes=50, seed=2)
    partial = partly_out(log, truth.demand, 0.25, pace=2.0)
    filled, part = impute_by_curves(partial, replicates=5), partial.is_partial
    observed = observe(partial)
    assert (filled.expected_demand <= observed.at_most)[filled.hidden].all()
    assert partial.sales[part].mean() < 0.8 * truth.demand[part].mean()
    assert filled.expected_demand[part].mean() == pytest.approx(truth.demand[part].mean(), rel=0.05)


def test_the_mean_of_a_normal_law_within_an_interval_is_scipys() -> None:
    low, high, mean = np.array([0.0, 3.0, -2.0]), np.array([2.0, 9.0, np.inf]), np.array([1.5, 2.0, 1.0])
    expected = truncnorm.mean((low - mean) / 2, (high - mean) / 2, loc=mean, scale=2.0)
    np.testing.assert_allclose(module.normal_mean_between(mean, 2.0, low, high), expected, rtol=1e-10)
    far = module.normal_mean_between(np.array([0.0]), 1.0, np.array([50.0]), np.array([52.0]))
    np.testing.assert_array_equal(far, [51.0])


def errors(scenario: str, settings: tuple[str, ...], seed: int) -> dict[str, tuple[float, float]]:
    """Relative mean error and mean squared error of both estimators on identified rows of 50 uniform episodes."""
    log, truth = simulate(Scenario.load(scenario, settings), episodes=50, seed=seed)
    filled = {name: impute_by_curves(log, estimator=name, replicates=0, seed=seed) for name in ("beran", "marginal")}
    rows = filled["beran"].hidden & filled["beran"].identified
    assert rows.mean() > 0.05
    np.testing.assert_array_equal(filled["beran"].identified, filled["marginal"].identified)
    found = {}
    for name, each in filled.items():
        error = (each.expected_lost - truth.lost)[rows]
        found[name] = float(error.mean() / truth.lost[rows].mean()), float((error**2).mean())
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scenario", ["released", "paper"])
def test_the_mean_error_on_identified_rows_is_within_a_tenth(scenario: str, seed: int) -> None:
    relative, _ = errors(scenario, (), seed)["beran"]
    assert abs(relative) < 0.1


@pytest.mark.parametrize(("scenario", "settings"), [("released", ()), ("steady", STRONG)])
def test_the_conditional_estimator_beats_the_marginal_one_threefold(scenario: str, settings: tuple[str, ...]) -> None:
    found = [errors(scenario, settings, seed) for seed in range(3)]
    conditional, marginal = (np.mean([each[name][1] for each in found]) for name in ("beran", "marginal"))
    assert marginal > 3 * conditional


SMALL = (
    "features={}", "demand.features={}", "prices=[4, 6]", "demand.intercept=13", "demand.rho=0.5", "demand.price=-2",
    'demand.noise={kind="discrete", values=[-3, 0, 1, 5], probabilities=[0.2, 0.4, 0.3, 0.1]}',
    "start.last_demand=8",
)  # fmt: skip


def exact_excess(log: SalesLog, lag: Floats) -> Floats:
    """E[D | D > stock] - stock from the probabilities of the small scenario, NaN where D > stock cannot be."""
    noise, chance = np.array([-3.0, 0.0, 1.0, 5.0]), np.array([0.2, 0.4, 0.3, 0.1])
    demand = np.maximum(np.rint(13 + 0.5 * lag[:, None] - 2 * log.price[:, None] + noise), 0)
    available = log.available[:, None]
    above = np.where(demand > available, chance, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((above * (demand - available)).sum(axis=1) / above.sum(axis=1))


def test_with_much_data_the_estimate_comes_close_to_the_exact_law() -> None:
    gaps = []
    for episodes in (20, 400):
        log, _ = simulate(Scenario.load("steady", SMALL), episodes=episodes, seed=1)
        runs = find_runs(log)
        filled = impute_by_curves(log, replicates=0, runs=runs)
        exact = exact_excess(log, runs.anchor_demand)
        rows = filled.hidden & filled.identified & (runs.depth == 0)
        assert rows.sum() > 50
        gaps.append(np.abs(filled.expected_lost - exact)[rows])
    few, many = gaps
    assert many.mean() < 0.1
    assert many.mean() < few.mean() / 2


def test_the_bootstrap_agrees_with_the_spread_over_independent_logs() -> None:
    """The same row (price 2, stock 9) in 25 logs: within a factor of 1.5."""
    estimates, claimed = [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        price, available = rng.choice([2.0, 4.0], (100, 20)), rng.integers(4, 16, (100, 20)).astype(float)
        log = log_of_draws(rng.poisson(14 - 2 * price).astype(float), available, price=price)
        row = log.censored & (log.price == 2) & (log.available == 9) & (find_runs(log).depth == 0)
        filled = impute_by_curves(log, replicates=30, seed=seed, only=row)
        estimates.append(filled.expected_lost[row].mean())
        claimed.append(filled.error[row].mean())
    assert 1 / 1.5 < np.mean(claimed) / np.std(estimates, ddof=1) < 1.5


def test_observed_demand_stays_and_the_profit_is_the_surrogate_of_equation_12() -> None:
    log, _ = simulate(Scenario.load("paper"), episodes=20, seed=2)
    filled = impute_by_curves(log, replicates=20)
    is_observed = ~filled.hidden
    np.testing.assert_array_equal(filled.hidden, log.censored)
    np.testing.assert_array_equal(filled.expected_demand[is_observed], log.sales[is_observed])
    assert not filled.expected_lost[is_observed].any()
    assert not filled.error[is_observed].any()
    assert filled.identified[is_observed].all()
    assert (filled.expected_lost[filled.hidden] > 0).all()
    assert (filled.expected_demand <= filled.demand_max + 1e-9).all()
    assert filled.profit_filled is not None
    assert filled.profit_filled_se is not None
    np.testing.assert_allclose(filled.profit_filled, log.cash - 2 * filled.expected_lost)
    np.testing.assert_allclose(filled.profit_filled_se, 2 * filled.error)
    assert filled.resampled == "series"


def test_the_same_seed_gives_the_same_numbers() -> None:
    log, _ = simulate(Scenario.load("nonlinear"), episodes=12, seed=0)
    first, again, other = (impute_by_curves(log, replicates=5, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.error, again.error)
    np.testing.assert_array_equal(first.expected_lost, again.expected_lost)
    assert (first.error != other.error).any()


def test_the_marginal_estimator_is_the_curve_of_its_depth() -> None:
    log, _ = simulate(Scenario.load("paper"), episodes=20, seed=4)
    runs = find_runs(log)
    filled = impute_by_curves(log, estimator="marginal", replicates=0, runs=runs)
    rows = runs.depth == 0
    observed = runs.observed
    curve = kaplan_meier(observed.demand[rows], observed.is_observed[rows], demand_max=filled.demand_max)
    for row in np.flatnonzero(rows & filled.hidden)[:20]:
        assert filled.expected_lost[row] == pytest.approx(
            curve.mean_excess(observed.censored_above[row], observed.available[row])
        )
    assert filled.bandwidths == {}


@pytest.mark.parametrize("tail", ["exponential", "refuse"])
def test_the_tail_rule_decides_only_where_the_curve_ends_early(tail: Tail) -> None:
    log, _ = simulate(Scenario.load("released"), episodes=20, seed=5)
    usual, other = impute_by_curves(log, replicates=0), impute_by_curves(log, replicates=0, tail=tail)
    assert other.tail == tail
    np.testing.assert_array_equal(usual.identified, other.identified)
    hidden = usual.hidden
    if tail == "refuse":
        refused = np.isnan(other.expected_lost)
        assert 0 < refused.sum() < hidden.sum()
        same = hidden & ~refused
        np.testing.assert_allclose(other.expected_lost[same], usual.expected_lost[same], atol=1e-9)
    else:
        assert (other.expected_lost[hidden] <= usual.expected_lost[hidden] + 1e-9).all()
        assert (other.expected_lost[hidden] < usual.expected_lost[hidden] - 0.1).any()


def test_a_larger_bound_on_demand_moves_what_the_tail_places() -> None:
    log, _ = simulate(Scenario.load("released"), episodes=20, seed=5)
    usual, larger = impute_by_curves(log, replicates=0), impute_by_curves(log, replicates=0, demand_max=100)
    assert larger.demand_max == 100
    assert usual.demand_max == log.sales.max()
    assert larger.expected_lost[~usual.identified].mean() > usual.expected_lost[~usual.identified].mean() + 1


def test_rows_that_are_not_asked_for_stay_unfilled() -> None:
    log, _ = simulate(Scenario.load("paper"), episodes=20, seed=2)
    only = log.series < 5
    part = impute_by_curves(log, replicates=0, only=only)
    np.testing.assert_array_equal(np.isnan(part.expected_lost), part.hidden & ~only)
    assert not part.identified[part.hidden & ~only].any()


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = simulate(Scenario.load("steady"), episodes=12, seed=2)
    seen: list[tuple[int, int]] = []
    whole = impute_by_curves(log, replicates=0)
    monkeypatch.setattr(module, "BATCH", 17)
    parts = impute_by_curves(log, replicates=0, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(whole.expected_lost, parts.expected_lost)
    assert seen == sorted(seen)
    assert seen[-1] == (parts.hidden.sum(), parts.hidden.sum())


def test_truncated_rows_are_not_learned_from() -> None:
    log, truth = simulate(Scenario.load("released"), episodes=20, seed=5)
    runs = find_runs(log)
    whole = not_truncated(log, runs)
    assert truth.truncated.any()
    assert not whole[truth.truncated & (runs.depth >= 0)].any()
    assert whole[log.censored].all()
    assert whole[runs.depth < 3].all()
    for group in depth_groups(log, runs):
        assert whole[group.learn].all()
        assert log.censored[group.fill].all()
    none = replace(log, problem=log.problem.model_copy(update={"longest_run": None}))
    assert not_truncated(none, runs).all()


def test_depths_with_few_rows_share_a_law_and_rows_without_history_are_never_identified() -> None:
    log, _ = simulate(Scenario.load("steady"), episodes=20, seed=1)
    no_lag = replace(log, last_sales=np.full(20, np.nan))
    runs = find_runs(no_lag)
    groups = depth_groups(no_lag, runs)
    assert groups[-1].name == "no history"
    assert groups[-2].name.endswith("and deeper")
    filled_rows = np.sort(np.concatenate([group.fill for group in groups]))
    np.testing.assert_array_equal(filled_rows, np.flatnonzero(no_lag.censored))
    filled = impute_by_curves(no_lag, replicates=0, runs=runs)
    no_history = filled.hidden & (runs.depth < 0)
    assert no_history.any()
    assert not filled.identified[no_history].any()
    assert np.isfinite(filled.expected_lost).all()


def test_a_demand_that_the_netted_balance_gives_back_is_not_imputed() -> None:
    log, truth = simulate(Scenario.load("steady", ('balance="netted"',)), episodes=20, seed=1)
    filled = impute_by_curves(log, replicates=0)
    back = log.censored & ~filled.hidden
    assert back.sum() > 50
    np.testing.assert_allclose(filled.expected_demand[back], truth.demand[back])
    np.testing.assert_allclose(filled.expected_lost[back], truth.lost[back])


# Bad input: each gets a right answer or an error that names what is missing.


@pytest.mark.parametrize("estimator", ["beran", "marginal"])
def test_nothing_but_stock_outs_is_refused(estimator: str) -> None:
    with pytest.raises(LostSalesError, match="every row is a stock-out: no demand is observed"):
        impute_by_curves(log_of_flags("xxx", "xx"), estimator=estimator)


def test_demand_max_below_an_observed_sale_is_refused() -> None:
    with pytest.raises(SettingError, match=r"at least every demand seen, but it is 6 and series s1 had 7 in period 1"):
        impute_by_curves(log_of_flags("5x6", "x7"), demand_max=6)
    with pytest.raises(SettingError, match="demand_max must be finite"):
        impute_by_curves(log_of_flags("5x6"), demand_max=float("nan"))
    assert impute_by_curves(log_of_flags("5x6", "x7"), demand_max=7).demand_max == 7


@pytest.mark.parametrize("setting", [{"replicates": -1}, {"seed": -1}])
def test_negative_settings_are_refused(setting: dict[str, int]) -> None:
    with pytest.raises(SettingError, match="must not be negative, but -1 came"):
        impute_by_curves(log_of_flags("5x6"), **setting)  # type: ignore[arg-type]


def test_one_row() -> None:
    filled = impute_by_curves(log_of_flags("5"))
    np.testing.assert_array_equal(filled.expected_demand, [5])
    with pytest.raises(LostSalesError, match="every row is a stock-out"):
        impute_by_curves(log_of_flags("x"))


def test_nothing_hidden() -> None:
    filled = impute_by_curves(log_of_flags("567", "56"))
    np.testing.assert_array_equal(filled.expected_demand, [5, 6, 7, 5, 6])
    assert filled.bandwidths == {}


def test_a_single_series_is_resampled_in_blocks() -> None:
    rng = np.random.default_rng(0)
    demand, available = rng.poisson(6, (1, 200)).astype(float), rng.integers(2, 14, (1, 200)).astype(float)
    filled = impute_by_curves(log_of_draws(demand, available), replicates=30)
    assert filled.resampled == "blocks in time"
    lost = np.maximum(demand - available, 0).ravel()
    rows = filled.hidden & filled.identified
    assert rows.sum() > 10
    assert filled.expected_lost[rows].mean() == pytest.approx(lost[rows].mean(), rel=0.35)
    assert (filled.error[rows] > 0).all()


@pytest.mark.parametrize("flag", [True, False])
def test_constant_demand_is_found_exactly(flag: bool) -> None:
    """Demand is always 6; stock-outs at 2 or 4 lost 4 and 2. Ties everywhere, and no spread to divide by."""
    available = np.random.default_rng(0).choice([8.0, 2.0, 9.0, 4.0], (12, 20), p=[0.3, 0.2, 0.3, 0.2])
    log = log_of_draws(np.full((12, 20), 6.0), available, flag=flag)
    filled = impute_by_curves(log, replicates=5, demand_max=11)
    rows = filled.hidden & (find_runs(log).depth == 0)
    assert rows.sum() > 50
    assert filled.identified[rows].all()
    np.testing.assert_allclose(filled.expected_demand[rows], 6)
    np.testing.assert_allclose(filled.error[rows], 0, atol=1e-9)


@pytest.mark.parametrize("flag", [True, False])
def test_zero_stock(flag: bool) -> None:
    """Nothing to sell: with a flag D > 0, without one nothing is known but D >= 0; the law gives both means."""
    rng = np.random.default_rng(3)
    demand = rng.choice([0.0, 1.0, 4.0], (40, 30), p=[0.5, 0.3, 0.2])
    available = rng.choice([0.0, 10.0], (40, 30), p=[0.3, 0.7])
    log = log_of_draws(demand, available, flag=flag)
    filled = impute_by_curves(log, replicates=0)
    rows = filled.hidden & filled.identified & (log.available == 0)
    assert rows.sum() > 100
    expected = (0.3 * 1 + 0.2 * 4) / 0.5 if flag else 0.3 * 1 + 0.2 * 4
    assert filled.expected_demand[rows].mean() == pytest.approx(expected, rel=0.1)


def test_every_stock_out_deeper_than_the_cap_is_filled_all_the_same() -> None:
    log, _ = simulate(Scenario.load("steady"), episodes=12, seed=1)
    filled = impute_by_curves(log, replicates=0, runs=find_runs(log, cap=0))
    assert np.isfinite(filled.expected_lost).all()


@pytest.mark.slow
def test_features_and_attributes_of_every_kind() -> None:
    """Demand is 5 higher on Saturdays, 10 higher in town and rises by one a unit of size."""
    rng = np.random.default_rng(4)
    day = np.tile(np.arange(28) % 7, (40, 1))
    town, size = np.arange(40)[:, None] % 2 + 0 * day, np.arange(40)[:, None] % 5 + 0 * day
    demand = np.rint(10 + 5 * (day == 5) + 10 * town + size + rng.normal(0, 1.5, (40, 28)))
    available = np.rint(demand + rng.normal(2, 6, (40, 28))).clip(0)
    names = np.array(["mo", "tu", "we", "th", "fr", "sa", "su"])
    problem = Problem(costs=COSTS, features=(Feature(name="day", kind="categorical"),), attributes=("place", "size"))
    log = log_of_draws(demand, available, problem, day=names[day], place=np.where(town, "town", "country"), size=size)
    filled = impute_by_curves(log, replicates=0)
    rows = filled.hidden & filled.identified
    assert rows.sum() > 50
    truth = demand.ravel()[rows]
    marginal = impute_by_curves(log, replicates=0, estimator="marginal")
    error, of_marginal = (np.mean((each.expected_demand[rows] - truth) ** 2) for each in (filled, marginal))
    assert error < 1.2 * 1.5**2  # that of the noise, which no imputation knows
    assert error < 0.6 * of_marginal  # which knows the series, whose sizes differ, but not the day


@pytest.mark.parametrize("integer", [True, False])
def test_a_log_of_demand_only(integer: bool) -> None:
    filled_lost, true_lost = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        demand, bound = rng.gamma(4, 1.5, (40, 30)), rng.gamma(6, 2, (40, 30))
        if integer:
            demand, bound = np.rint(demand), np.rint(bound)
        frame = pd.DataFrame(
            {
                "series": np.repeat(np.arange(40), 30),
                "period": np.tile(np.arange(30), 40),
                "price": 1.0,
                "sales": np.minimum(demand, bound).ravel(),
                "stockout": (demand > bound).ravel(),
            }
        )
        filled = impute_by_curves(read_log(frame), replicates=5)
        assert filled.profit_filled is None
        assert np.isfinite(filled.expected_demand).all()
        assert np.isfinite(filled.error).all()
        rows = filled.hidden & filled.identified
        assert rows.sum() > 50
        filled_lost.append(filled.expected_lost[rows].mean())
        true_lost.append((demand - bound).ravel()[rows].mean())
    assert np.mean(filled_lost) == pytest.approx(np.mean(true_lost), rel=0.1)


def test_without_costs_there_is_no_profit() -> None:
    log = log_of_flags("5x6x7", problem=Problem(costs=Costs()))
    assert observe(log).any_observed
    assert impute_by_curves(log, replicates=0).profit_filled is None
