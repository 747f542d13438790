"""Loops in machine code."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start where that can be."""
    decorated: Callable[..., Any]
    try:
        decorated = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the installation nor the user's cache can be written
        decorated = numba.njit(nogil=True)(function)
    return decorated
