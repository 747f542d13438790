"""Loops in machine code."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start where that can be."""
    try:
        decorated = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the installation nor the user's cache can be written
        decorated = numba.njit(nogil=True)(function)
    return cast(Callable[Arguments, Result], decorated)
