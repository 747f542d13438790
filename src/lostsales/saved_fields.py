"""Declarations of what a policy file holds, written beside the fields of the dataclasses that a policy is made of.

    steps: Annotated[Floats, numbers("groups", 2, least=POSITIVE)]
    group: Annotated[Ints, indices("series+1", below="groups")]
    usual_demand: NonNegative

A dimension is a number, a name, a sum of these, or "?" for any size; within a policy equal names are equal sizes, and
"series+1" is one more than "series". Other fields are JSON as pydantic knows it, or dataclasses and tuples of such
fields. `policy/codec.py` saves, checks and loads by these declarations; a class may add to them:

- `AXES`, limits of sizes by name, and names that every object of the class has for itself;
- `axis_sizes(saved)`, a class method: sizes that follow from the fields that are JSON;
- `derived(saved)`, a class method: the fields that are `NOT_SAVED`, from the others;
- `validate()`: raises `LostSalesError` where a loaded object contradicts itself.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

MOST = 1e30  # of any number, so that squares and products of numbers stay finite
POSITIVE = 1e-30  # the least positive number
MOST_SIZE = 100_000_000  # of a dimension that has no limit of its own
MOST_ACTIONS = 100_000  # pairs of price and order
MOST_DEPTH = 1 << 30  # of a run of stock-outs

Number = Annotated[float, Field(ge=-MOST, le=MOST)]
NonNegative = Annotated[float, Field(ge=0, le=MOST)]
Positive = Annotated[float, Field(ge=POSITIVE, le=MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Depth = Annotated[int, Field(ge=0, le=MOST_DEPTH)]
Count = Annotated[int, Field(ge=0, le=MOST_SIZE)]


def _to_json(value: float) -> float | None:
    return None if np.isinf(value) else value


# JSON has no infinity: it is null in a file.
NonNegativeOrInfinite = Annotated[
    float,
    Field(ge=0, allow_inf_nan=True),
    BeforeValidator(lambda value: np.inf if value is None else value),
    PlainSerializer(_to_json),
]


@dataclass(frozen=True)
class ArraySpec:
    """The type, shape and range of one array."""

    dims: tuple[str | int, ...]
    kind: Literal["number", "index", "truth", "text"] = "number"
    least: float = -MOST
    most: float = MOST
    below: str | None = None  # every value lies below this size
    rising: bool = False  # each value above the one before
    infinite: bool = False  # infinity is allowed
    triangular: bool = False  # a lower triangle that can be solved: no zero on its diagonal
    single: bool = False  # saved in single precision
    compact: bool = False  # in memory as in the file, in few bytes a number


def numbers(*dims: str | int, **options: Any) -> ArraySpec:
    """Floating-point numbers of these dimensions; options are those of `ArraySpec`."""
    return ArraySpec(dims, **options)


def indices(*dims: str | int, below: str, **options: Any) -> ArraySpec:
    """Whole numbers from 0 to below a size."""
    return ArraySpec(dims, "index", least=0, below=below, **options)


def wholes(*dims: str | int, **options: Any) -> ArraySpec:
    """Whole numbers."""
    return ArraySpec(dims, "index", **options)


def truths(*dims: str | int) -> ArraySpec:
    """Truth values."""
    return ArraySpec(dims, "truth")


def texts(*dims: str | int, compact: bool = False) -> ArraySpec:
    """Texts, in memory as objects unless `compact`."""
    return ArraySpec(dims, "text", compact=compact)


@dataclass(frozen=True)
class Axis:
    """Limits of a size, and whether every object of the class that declares it has its own size of this name."""

    least: int = 1
    most: int = MOST_SIZE
    own: bool = False


class Sizes:
    """Sizes of an object by the names of the object around it: `Sizes(inputs="features+2")`."""

    def __init__(self, **sizes: str | int) -> None:
        self.sizes = {name: str(size) for name, size in sizes.items()}


class Length:
    """The number of entries of a tuple, as a dimension: `Length("groups")`."""

    def __init__(self, dim: str | int) -> None:
        self.dim = dim


class OneOf:
    """Classes of the objects that a field of a protocol type may hold."""

    def __init__(self, *classes: type) -> None:
        self.classes = classes


class AsJson:
    """The JSON of a field whose type allows more than a file does."""

    def __init__(self, hint: Any) -> None:
        self.hint = hint


class Marker:
    """Annotation of a field."""


NOT_SAVED = Marker()  # has a default, or is derived
SOME_POLICY = Marker()  # another policy, of any registered kind
