"""Regressors of the user's: the same Q as ours where they are the same function, penalties from ensembles, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from lostsales.errors import LostSalesError, SettingError
from lostsales.learn.cfqi.learn import CFQI, CfqiResult
from lostsales.learn.cfqi.learn import learn as learn_from
from lostsales.learn.fit import learner_of
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.function.regressors import RegressorQ
from tests.learn.small import days, small_log

TREES = ExtraTreesRegressor(n_estimators=7, min_samples_leaf=5, random_state=0)


def learn(function: Any, method: str = "c-fqi", **settings: Any) -> CfqiResult:
    learner = learner_of(method, {"iterations": 3, "function": function} | settings)
    assert isinstance(learner, CFQI)
    return learn_from(small_log("released"), learner)


def test_ridge_regression_of_scikit_learn_is_the_linear_learner() -> None:
    theirs = learn(Ridge(alpha=0.5, fit_intercept=False), targets="centred")
    ours = learn(FunctionClass(kind="linear", raw=True, ridges=(0.5,)), targets="centred")
    pairs = ours.policy.grid.pairs
    for one, other, part in zip(theirs.policy.q, ours.policy.q, ours.parts, strict=True):
        np.testing.assert_allclose(one.values(part.block, pairs), other.values(part.block, pairs), rtol=1e-8)
    np.testing.assert_allclose(theirs.fitted.residuals, ours.fitted.residuals, rtol=1e-8)


@pytest.mark.parametrize("function", [TREES, BaggingRegressor(n_estimators=5, max_features=0.5, random_state=0)])
def test_the_penalty_of_an_ensemble_is_the_spread_of_its_members(function: Any) -> None:
    learned = learn(function, method="pc-fqi", beta=2.0)
    q, part, pairs = learned.policy.q[0], learned.parts[0], learned.policy.grid.pairs
    assert isinstance(q, RegressorQ)
    model: Any = q.model
    block = part.block[:5]
    inputs = np.hstack([np.repeat(q.scaler(block), len(pairs), axis=0), np.tile(q.action_scaler(pairs), (5, 1))])
    columns = getattr(model, "estimators_features_", [np.arange(inputs.shape[1])] * len(model.estimators_))
    each = [member.predict(inputs[:, at]) for member, at in zip(model.estimators_, columns, strict=True)]
    penalty = q.penalty(block, pairs, 2.0)
    np.testing.assert_allclose(penalty, 2 * np.std(each, axis=0).reshape(5, -1))
    np.testing.assert_allclose(np.mean(each, axis=0), model.predict(inputs))
    answer = learned.policy.recommend(*days(small_log("released", seed=2), 9))
    assert (answer["penalty"] > 0).any()


@pytest.mark.parametrize("method", ["pc-fqi", "fusion"])
@pytest.mark.parametrize("function", [DecisionTreeRegressor(), GradientBoostingRegressor(n_estimators=3)])
def test_without_an_ensemble_of_equals_there_is_no_penalty(function: Any, method: str) -> None:
    with pytest.raises(SettingError, match=f"a {type(function).__name__} has no measure of uncertainty"):
        learn(function, method=method)
    assert len(learn(function, method="c-fqi", iterations=1).policy.q) == 4


def test_a_policy_of_a_regressor_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match="learned with a ExtraTreesRegressor cannot be saved"):
        learn(TREES, iterations=1).policy.save(tmp_path / "policy")
    assert not list(tmp_path.iterdir())


def test_what_is_no_regressor_is_refused() -> None:
    with pytest.raises(SettingError, match=r"function: .* a regressor with `fit` and `predict`, but it is 'forest'"):
        learn("forest")
