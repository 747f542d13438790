"""What the file of each kind of policy may hold: its arrays, their shapes and the range of their numbers.

Compiled loops index by these numbers, and a checksum says only that a file is whole, not that it means well. So a file
is compared with the declaration of its kind before any of its arrays is used:

    Content({"steps": numbers("groups", 2, least=POSITIVE), "group": indices("series+1", below="groups")})

A dimension is a number or a name; equal names are equal sizes, and "series+1" is one more than "series".
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.types import Array

MOST = 1e30  # of any number, so that squares and products of numbers stay finite
POSITIVE = 1e-30  # the least number that counts as positive
MOST_SIZE = 100_000_000  # of a dimension that has no limit of its own
MOST_ACTIONS = 100_000  # pairs of price and order
MOST_DEPTH = 1 << 30  # of a run of stock-outs

# Numbers among the settings of a file.
Number = Annotated[float, Field(ge=-MOST, le=MOST)]
NonNegative = Annotated[float, Field(ge=0, le=MOST)]
Positive = Annotated[float, Field(ge=POSITIVE, le=MOST)]
Depth = Annotated[int, Field(ge=0, le=MOST_DEPTH)]

_KINDS = {"number": "f", "index": "iu", "truth": "b", "text": "U"}
_WORDS = {"number": "numbers", "index": "whole numbers", "truth": "truth values", "text": "texts"}


@dataclass(frozen=True)
class ArraySpec:
    """What one array must be."""

    dims: tuple[str | int, ...]
    kind: Literal["number", "index", "truth", "text"] = "number"
    least: float = -MOST
    most: float = MOST
    below: str | None = None  # every value lies below this size
    rising: bool = False  # each value above the one before
    infinite: bool = False  # infinity is allowed
    triangular: bool = False  # a lower triangle that can be solved: no zero on its diagonal
    optional: bool = False


def numbers(*dims: str | int, **options: Any) -> ArraySpec:
    """Floating-point numbers of these dimensions; options are those of `ArraySpec`."""
    return ArraySpec(dims, **options)


def indices(*dims: str | int, below: str) -> ArraySpec:
    """Whole numbers from 0 to below a size."""
    return ArraySpec(dims, "index", least=0, below=below)


def truths(*dims: str | int) -> ArraySpec:
    """Truth values."""
    return ArraySpec(dims, "truth")


def texts(*dims: str | int) -> ArraySpec:
    """Texts."""
    return ArraySpec(dims, "text")


def optional(spec: ArraySpec) -> ArraySpec:
    """An array that may be absent."""
    return replace(spec, optional=True)


@dataclass(frozen=True)
class Header:
    """What is known of a policy file before its arrays are read."""

    problem: Problem
    settings: dict[str, Any]
    names: frozenset[str]  # of the arrays


@dataclass(frozen=True)
class Content:
    """The arrays of a kind of policy, and the sizes that are known beforehand."""

    arrays: dict[str, ArraySpec]
    sizes: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)  # limits of sizes that are not known
    may_be_empty: tuple[str, ...] = ()  # names of sizes that may be 0

    def check_names(self, names: Iterable[str]) -> None:
        """Raise where an array is missing or has no place in this kind of policy."""
        found = set(names)
        if foreign := sorted(found - set(self.arrays)):
            raise LostSalesError(f"it holds an array {foreign[0]!r}, which this kind of policy does not have")
        if missing := sorted({name for name, spec in self.arrays.items() if not spec.optional} - found):
            raise LostSalesError(f"its array {missing[0]!r} is missing")

    def check_shapes(self, shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> dict[str, int]:
        """The sizes of all dimensions, or an error that names the array whose type or shape does not fit."""
        sizes = dict(self.sizes)
        for name, spec in self.arrays.items():
            if name not in shapes:
                continue
            dtype, shape = shapes[name]
            if (
                dtype.kind not in _KINDS[spec.kind]
                or dtype.itemsize == 0
                or (spec.kind == "number" and dtype.itemsize < 4)
            ):
                raise LostSalesError(f"its array {name!r} must hold {_WORDS[spec.kind]}, but holds {dtype}")
            wanted = ", ".join(map(str, spec.dims))
            if len(shape) != len(spec.dims) or not all(map(self._fits, spec.dims, shape, [sizes] * len(shape))):
                known = ", ".join(f"{key} {sizes[key]}" for key in sizes if key in wanted)
                raise LostSalesError(
                    f"its array {name!r} must have the shape ({wanted}), but has {shape}; here {known}"
                )
        return sizes

    def check_values(self, name: str, array: Array, sizes: dict[str, int]) -> None:
        """Raise where a number of an array lies outside what it can be."""
        spec = self.arrays[name]
        if spec.kind == "text":
            if array.size and array.view(np.uint32).max() > 0x10FFFF:
                raise LostSalesError(f"its array {name!r} holds what is no text")
            return
        if spec.kind == "truth" or not array.size:
            return
        least, most = spec.least, spec.most if spec.below is None else sizes[spec.below] - 1
        inside = (array >= least) & (array <= most)
        if spec.infinite:
            inside |= np.isinf(array)
        if not inside.all():
            value = array[~inside].flat[0]
            raise LostSalesError(f"its array {name!r} must lie between {least:g} and {most:g}, but has {value}")
        if spec.triangular and (np.abs(np.diag(array)) < POSITIVE).any():
            raise LostSalesError(f"its array {name!r} must have a diagonal without zeros")
        if spec.rising and not (np.diff(array, axis=-1) > 0).all():
            raise LostSalesError(f"its array {name!r} must rise")

    def _fits(self, dim: str | int, size: int, sizes: dict[str, int]) -> bool:
        """Whether a size fits a dimension; the first that meets a new name gives it its size."""
        parts = [part if not part.isdecimal() else int(part) for part in str(dim).split("+")]
        unknown = [part for part in parts if isinstance(part, str) and part not in sizes]
        rest = size - sum(part if isinstance(part, int) else sizes.get(part, 0) for part in parts)
        if not unknown:
            return rest == 0
        (name,) = unknown
        if not (0 if name in self.may_be_empty else 1) <= rest <= self.most.get(name, MOST_SIZE):
            return False
        sizes[name] = rest
        return True


def feature_count(features: tuple[Feature, ...]) -> int:
    """Columns of features: one a level of a category."""
    return sum(len(each.levels or ()) or 1 if each.kind == "categorical" else 1 for each in features)


def action_sizes(problem: Problem) -> dict[str, int]:
    """How many prices, orders and actions the grid of a problem has."""
    return grid_sizes(len(problem.prices or ()), len(problem.orders or ()))


def grid_sizes(prices: int, orders: int) -> dict[str, int]:
    """The same of a grid."""
    if not 0 < prices * orders <= MOST_ACTIONS:
        raise LostSalesError(
            f"it decides among {prices} prices and {orders} orders; at most {MOST_ACTIONS:,} pairs can be"
        )
    return {"prices": prices, "orders": orders, "actions": prices * orders}
