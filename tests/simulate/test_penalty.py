"""Coverage of U in simulation."""

import numpy as np
import pytest

from lostsales.errors import SettingError
from lostsales.learn.fit import CensoredFqi
from lostsales.learn.forms import FunctionClass
from lostsales.simulate.penalty import penalty_coverage
from tests.learn.small import scenario, small_log


def test_a_larger_beta_covers_more() -> None:
    log, world = small_log("nonlinear", 8), scenario("nonlinear")
    # After few iterations Q is still on its way, and the way is no error of the regression.
    whole = FunctionClass(spared=0.0)  # the paper's penalty, which starts at zero
    shares = []
    for beta in (1e-6, 0.3, 3.0):
        policy = CensoredFqi("pc-fqi", iterations=40, beta=beta, function=whole).fit(log)
        shares.append(penalty_coverage(policy, world, log, rows=60, draws=40).share)
    assert shares[0] < 0.1 < shares[1] < shares[2]
    assert shares[2] > 0.8


def test_only_a_pessimistic_policy_has_a_penalty() -> None:
    log, world = small_log("nonlinear", 8), scenario("nonlinear")
    policy = CensoredFqi("pc-fqi", iterations=2, beta=3.0).fit(log)
    found = penalty_coverage(policy, world, log, rows=20, draws=10)
    assert np.isfinite(found.error).all()
    assert (found.penalty >= 0).all()
    with pytest.raises(SettingError, match="pessimistic"):
        penalty_coverage(CensoredFqi("c-fqi", iterations=2).fit(log), world, log)
