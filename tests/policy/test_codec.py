"""Declarations of fields: a policy is saved, checked and loaded by them alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest

import lostsales
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.base import PolicyBase
from lostsales.policy.codec import Draft, encode, field_types
from lostsales.policy.policy import POLICIES
from lostsales.policy.rules import MaskQuery, Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import (
    NOT_SAVED,
    Axis,
    Length,
    NonNegative,
    NonNegativeOrInfinite,
    OneOf,
    Sizes,
    indices,
    numbers,
    texts,
    truths,
)
from lostsales.types import Array, Bools, Floats, Ints

KIND = "declared"


class Line(NamedTuple):
    """Slopes by input."""

    slopes: Annotated[Floats, numbers("inputs")]


@dataclass(frozen=True, eq=False)
class Curve:
    """Slopes that change."""

    AXES: ClassVar[dict[str, Axis]] = {"bends": Axis(most=3, own=True)}

    at: Annotated[Floats, numbers("bends", rising=True)]
    slopes: Annotated[Floats, numbers("bends", "inputs")]


@dataclass(frozen=True, eq=False)
class Declared(PolicyBase):
    """A policy with a field of every kind."""

    problem: Problem
    rules: SavedRules
    usual_demand: NonNegative
    room: NonNegativeOrInfinite
    names: Annotated[Array, texts("series")]
    open: Annotated[Bools, truths("series")]
    group: Annotated[Ints, indices("series", below="groups")]
    scale: Annotated[Floats | None, numbers("groups", least=0)]
    lines: Annotated[tuple[Line, ...], Length("groups")]
    shapes: tuple[Annotated[Any, OneOf(Line, Curve)], ...]
    wide: Annotated[Line, Sizes(inputs="inputs+2")]
    layers: tuple[Annotated[Floats, numbers("?", single=True)], ...]
    work: Annotated[Floats, NOT_SAVED]
    note: Annotated[str, NOT_SAVED] = "as made"
    observes: Literal["history"] = "history"

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """Room to work in."""
        return {"work": np.zeros(len(saved["names"]))}

    def validate(self) -> None:
        """Raise where two fields contradict each other."""
        if self.usual_demand > self.room:
            raise LostSalesError("the usual demand does not fit into the room")

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """One unit at a price of 1."""
        return Action(np.ones(len(view.stock)), np.ones(len(view.stock)))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    POLICIES.register(KIND, Declared)
    yield
    POLICIES._registered.pop(KIND)


def policy() -> Declared:
    curves = (Curve(np.arange(2.0), np.ones((2, 3))), Curve(np.arange(3.0), np.ones((3, 3))))
    return Declared(
        problem=Problem(attributes=("store",)),
        rules=Rules(multiple=2),
        usual_demand=3.0,
        room=np.inf,
        names=np.array(["tea", "café"], dtype=object),
        open=np.array([True, False]),
        group=np.array([1, 0]),
        scale=None,
        lines=(Line(np.zeros(3)), Line(np.ones(3))),
        shapes=(*curves, Line(np.full(3, 0.5))),
        wide=Line(np.arange(5.0)),
        layers=(np.zeros(4), np.full(2, 0.5)),
        work=np.ones(7),
        note="in memory",
    )


def decoded(keys: dict[str, Any], arrays: dict[str, Any]) -> Any:
    draft = Draft(KIND, keys)
    draft.check_names(arrays)
    for name, place in draft.places.items():
        place.check_shape((arrays[name].dtype, arrays[name].shape))
    return draft.built({name: place.checked(arrays[name]) for name, place in draft.places.items()})


def test_a_policy_comes_back_field_by_field(tmp_path: Path) -> None:
    policy().save(tmp_path / "policy")
    found, made = lostsales.load(tmp_path / "policy"), policy()
    assert isinstance(found, Declared)
    for name in ("problem", "rules", "usual_demand", "room", "scale"):
        assert getattr(found, name) == getattr(made, name)
    for name in ("names", "open", "group", "lines", "wide", "layers"):
        np.testing.assert_equal(getattr(found, name), getattr(made, name))
    assert [type(each) for each in found.shapes] == [Curve, Curve, Line]
    np.testing.assert_array_equal(found.shapes[1].slopes, np.ones((3, 3)))
    assert found.note == "as made"
    assert found.work.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"usual_demand": -1.0}, "usual_demand: Input should be greater than or equal to 0"),
        ({"usual_demand": "3"}, "usual_demand"),
        ({"room": 1.0}, "the usual demand does not fit into the room"),
        ({"note": "x"}, "note: no such key"),
        ({"lines": []}, "cannot have 0 groups"),
        ({"lines": 3}, "its lines must be a list"),
        ({"group": [0, 1]}, "its group must be an array"),
        ({"group": None}, "its group must be an array"),
        ({"shapes": [{"is": "Declared"}]}, "its shapes.0 must be one of Line, Curve, but is 'Declared'"),
        ({"layers": 3}, "its array 'layers.2' is missing"),
        ({"layers": 10**9}, "its layers must be a list"),
    ],
)
def test_keys_outside_their_declaration_are_refused(change: dict[str, Any], expected: str) -> None:
    keys, arrays = encode(policy())
    with pytest.raises(LostSalesError) as refused:
        decoded(keys | change, arrays)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"group": np.array([0, 2])}, "'group' must lie between 0 and 1, but has 2"),
        ({"group": np.zeros(3, np.int64)}, "'group' must have the shape (series), but has (3,); here series 2"),
        ({"open": np.zeros(2)}, "'open' must hold truth values, but holds float64"),
        ({"layers.0": np.zeros(4)}, "'layers.0' must hold numbers, but holds float64"),
        ({"wide.slopes": np.zeros(3)}, "'wide.slopes' must have the shape (inputs)"),
        ({"shapes.0.at": np.arange(4.0), "shapes.0.slopes": np.ones((4, 3))}, "'shapes.0.at' must have the shape"),
        ({"shapes.0.at": np.array([1.0, 0.0])}, "'shapes.0.at' must rise"),
        ({"scale": np.ones(2)}, "it holds an array 'scale', which this kind of policy does not have"),
    ],
)
def test_arrays_outside_their_declaration_are_refused(change: dict[str, Any], expected: str) -> None:
    keys, arrays = encode(policy())
    with pytest.raises(LostSalesError) as refused:
        decoded(keys, arrays | change)
    assert expected in str(refused.value)


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    def mask(query: MaskQuery) -> Bools:
        return np.ones((len(query.stock), len(query.actions)), dtype=bool)

    for change, expected in (
        ({"usual_demand": np.nan}, "cannot be saved"),
        ({"rules": Rules(mask=mask)}, "a mask cannot be saved"),
        ({"shapes": (object(),)}, "learned with a object cannot be saved"),
    ):
        with pytest.raises(LostSalesError, match=expected):
            replace(policy(), **change).save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


def test_an_array_without_a_declaration_is_a_mistake_of_the_class() -> None:
    @dataclass(frozen=True)
    class Undeclared:
        values: Floats

    with pytest.raises(TypeError, match=r"Undeclared\.values is an array without a declaration"):
        field_types(Undeclared)
