"""Settings of every learner: a wrong value is refused with the field, what came and what is allowed."""

import json
from typing import Any

import numpy as np
import pytest

from lostsales.data.settings import with_settings
from lostsales.errors import SettingError
from lostsales.learn.cfqi.learn import CFQI, PCFQI, Fusion
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.learner import LEARNERS, Learner
from lostsales.policy.rules import Rules

# Field, value and message, where a learner has the field.
WRONG: list[tuple[str, Any, str]] = [
    ("seed", -1, "seed: Input should be greater than or equal to 0, but it is -1"),
    ("seed", True, "seed: Input should be a valid integer, but it is True"),
    ("iterations", 0, "iterations: Input should be greater than or equal to 1, but it is 0"),
    ("iterations", 2.5, "iterations: Input should be a valid integer, but it is 2.5"),
    ("rules", {"multiple": -1}, r"rules\.multiple: Input should be greater than 0, but it is -1"),
    ("rules", {"multipel": 6}, r"rules\.multipel: no such key"),
    ("draws", 2.5, "draws: Input should be a valid integer, but it is 2.5"),
    ("families", ("linear",), r"families\.0: Input should be .* but it is 'linear'"),
    ("max_depth", "2", "max_depth: Input should be a valid integer, but it is '2'"),
    ("max_depth", -1, "max_depth: Input should be greater than or equal to 0, but it is -1"),
    ("beta", -1, "beta: Input should be greater than or equal to 0, but it is -1"),
    ("beta", float("nan"), "beta: Input should be a finite number, but it is nan"),
    ("eps", 2, "eps: Input should be less than or equal to 1, but it is 2"),
    ("safe", "never", "safe: Input should be '.*' or 'paper', but it is 'never'"),
    ("function", "forest", "function: Input should be .*FunctionClass.*, but it is 'forest'"),
    ("function", {"kind": "spline"}, r"function\.kind: Input should be 'kernel' or 'linear', but it is 'spline'"),
    ("function", {"kernels": [{"kind": "rbf", "coefficient": 0}]}, r"function\.kernels\.0\.coefficient: .* it is 0"),
    ("demand_max", 0.0, "demand_max: Input should be greater than 0, but it is 0"),
]


@pytest.fixture(params=LEARNERS.names)
def learner(request: pytest.FixtureRequest) -> type[Learner]:
    return LEARNERS.get(str(request.param))


@pytest.mark.parametrize(("field", "value", "reason"), WRONG)
def test_a_wrong_value_is_refused(learner: type[Learner], field: str, value: Any, reason: str) -> None:
    absent = rf"{field}: no such key; the keys are iterations, rules, pricing, seed"
    with pytest.raises(SettingError, match=reason if field in learner.model_fields else absent) as caught:
        learner(**{field: value})
    assert str(caught.value).startswith(f"{learner.__name__} is not usable:\n  - ")
    assert str(caught.value).count("\n") == 1


def test_every_wrong_value_is_named_at_once(learner: type[Learner]) -> None:
    with pytest.raises(SettingError) as caught:
        learner(seed=-1, iterations=0, bandwith=3)  # type: ignore[call-arg]
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()[1:]] == [
        "  - iterations",
        "  - seed",
        "  - bandwith",
    ]


def test_numbers_of_numpy_and_lists_are_as_good_as_those_of_python(learner: type[Learner]) -> None:
    given = learner(seed=np.int64(3), iterations=np.int32(2), rules=Rules(multiple=6))  # type: ignore[arg-type]
    assert given == learner(seed=3, iterations=2, rules={"multiple": 6})  # type: ignore[arg-type]
    assert type(given.seed) is int
    if issubclass(learner, CFQI):
        assert learner(beta=np.float32(0.5), max_depth=np.int64(1)) == learner(beta=0.5, max_depth=1)  # type: ignore[arg-type]


def test_settings_are_read_from_json(learner: type[Learner]) -> None:
    keys: dict[str, Any] = {"seed": 3, "iterations": 4, "rules": {"price_ladder": [4, 6], "forbidden": [[4, 0]]}}
    rules = Rules(price_ladder=(4, 6), forbidden=((4, 0),))
    found = learner.model_validate_json(json.dumps(keys), strict=True)
    assert found == learner(**keys) == learner(seed=3, iterations=4, rules=rules)


@pytest.mark.parametrize("learner", [CFQI, PCFQI, Fusion])
def test_the_function_class_is_read_from_json(learner: type[CFQI]) -> None:
    kernels = [{"kind": "rbf", "coefficient": 0.3}, {"kind": "product", "action_coefficient": 2}]
    keys: dict[str, Any] = {"kind": "kernel", "kernels": kernels, "ridges": [0.1, 1], "support_kernel": None}
    function = FunctionClass(
        kernels=(Kernel(kind="rbf", coefficient=0.3), Kernel(kind="product", action_coefficient=2.0)),
        ridges=(0.1, 1.0),
        support_kernel=None,
    )
    assert learner.model_validate_json(json.dumps({"function": keys}), strict=True).function == function
    assert learner(function=keys).function == function  # type: ignore[arg-type]
    linear = learner.model_validate_json('{"function": {"kind": "linear"}}', strict=True)
    assert linear.function == FunctionClass(kind="linear")


def test_renamed_settings_are_still_read() -> None:
    old: dict[str, Any] = {"spared": 0.5, "spared_ratio": 2}
    assert FunctionClass(**old) == FunctionClass(unpenalized_share=0.5, unpenalized_ratio=2)
    assert FunctionClass.model_validate_json(json.dumps(old), strict=True).unpenalized_share == 0.5


def test_the_papers_penalty_can_be_given_as_text() -> None:
    asked = ("function.unpenalized_share=0", "function.support_kernel=none")
    found = PCFQI(**with_settings({}, asked, "beta=5"))
    assert found.function == FunctionClass(unpenalized_share=0.0, support_kernel=None)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"kind": "gaussian"}, "kind: Input should be 'rbf', 'laplacian', .* but it is 'gaussian'"),
        ({"coefficient": -0.1}, "coefficient: Input should be greater than 0, but it is -0.1"),
        ({"bandwidth": 1.0}, "bandwidth: no such key; the keys are kind, coefficient, action_coefficient"),
    ],
)
def test_kernels_out_of_range_are_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        Kernel(**keys)
