"""The calibrated penalty: decisions of the penalty on gains, and a U that covers the errors of Q."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

import lostsales
from benchmarks.penalty_coverage import ITERATIONS, covered
from lostsales.data.log import SalesLog
from lostsales.errors import SettingError
from lostsales.learn.cfqi.learn import PCFQI, Fusion, learn
from lostsales.learn.cfqi.policy import PENALTY_CALIBRATED, QPolicy
from lostsales.learn.function.depth_regression import build
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.penalty_design import NOMINAL, calibrated_margin
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, Scaler
from lostsales.policy.history import view_of_rows
from lostsales.simulation.scenario import Scenario

FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(0.1, 10.0))


@pytest.fixture(scope="module")
def log() -> SalesLog:
    return lostsales.simulate("released", episodes=8, seed=3)[0]


def settings(**options: Any) -> PCFQI:
    given: dict[str, Any] = {"iterations": 3, "function": FEW}
    return PCFQI(**given | options)


def test_the_margin_is_the_mean_deviation_of_rows_that_are_left_out() -> None:
    """1.645 sigma sqrt(k_post / ridge) of each row, with sigma of its residual, in kernel regression on the others."""
    rng = np.random.default_rng(0)
    history, action = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    kernel, ridge, targets = Kernel(kind="rbf", coefficient=0.2), 0.3, rng.normal(5, 3, 30)
    scalers = Scaler.of(history), ActionScaler.of(action)
    design = build(*scalers, history, action, Hyperparameters(kernel, ridge, 1.0), FunctionClass(), seed=0)
    gram, centred = kernel.between((history, action), (history, action)), targets - targets.mean()
    deviations, residuals = [], []
    for row in range(30):
        others = np.arange(30) != row
        near = gram[others, row]
        weights = np.linalg.solve(gram[np.ix_(others, others)] + ridge * np.eye(29), near)
        deviations.append(np.sqrt((1 - near @ weights) / ridge))
        residuals.append(centred[row] - weights @ centred[others])
    wanted = NOMINAL * np.sqrt(np.mean(np.square(residuals))) * np.mean(deviations)
    assert calibrated_margin(design, targets, seed=0) == pytest.approx(wanted, rel=1e-6)


def test_decisions_are_those_of_the_penalty_on_gains_and_u_is_a_constant_larger(log: SalesLog) -> None:
    gains, calibrated = (learn(log, settings(penalty=each)) for each in ("gains", "calibrated"))
    margin = calibrated.policy.margin
    assert gains.policy.margin == 0 < margin
    view = view_of_rows(log, gains.runs, np.flatnonzero(gains.runs.usable))
    before, after = gains.policy.explain(view), calibrated.policy.explain(view)
    np.testing.assert_array_equal(after.price, before.price)
    np.testing.assert_array_equal(after.order, before.order)
    np.testing.assert_allclose(after.penalty - before.penalty, margin)
    # U of the first two iterations is in the targets of the third: discount + discount^2 times the constant.
    for own, other in zip(calibrated.fitted.targets, gains.fitted.targets, strict=True):
        np.testing.assert_allclose(other - own, margin * (0.9 + 0.81))


def test_a_policy_keeps_its_margin_in_a_file(log: SalesLog, tmp_path: Path) -> None:
    policy = lostsales.fit(log, settings(penalty="calibrated"))
    policy.save(tmp_path / "policy")
    loaded = lostsales.load(tmp_path / "policy")
    assert isinstance(policy, QPolicy)
    assert isinstance(loaded, QPolicy)
    assert loaded.margin == policy.margin > 0
    assert loaded.summary()["penalty"] == PENALTY_CALIBRATED


def test_without_a_last_pessimistic_iteration_there_is_no_margin(log: SalesLog) -> None:
    fusion = Fusion(iterations=5, function=FEW, penalty="calibrated")
    assert learn(log, fusion).policy.margin == 0


def test_a_regressor_without_a_posterior_variance_is_refused(log: SalesLog) -> None:
    trees = ExtraTreesRegressor(n_estimators=3, random_state=0)
    with pytest.raises(SettingError, match="needs a kernel or linear function"):
        lostsales.fit(log, settings(penalty="calibrated", function=trees))


def test_it_covers_most_errors_of_q_and_the_penalty_on_gains_does_not() -> None:
    """Nominal is 90 %; the share in one log of `steady` has a standard error of some 5 %."""
    shop = Scenario.load("steady")
    log = lostsales.simulate(shop, episodes=10, seed=5)[0]
    shares = {}
    for penalty in ("gains", "calibrated"):
        found, before = (learn(log, PCFQI(iterations=each, penalty=penalty)) for each in (ITERATIONS, ITERATIONS - 1))
        shares[penalty] = np.mean(np.concatenate(covered(shop, log, found, before.policy, 0, seed=0)))
    assert shares["gains"] < 0.8 < 0.85 < shares["calibrated"]
