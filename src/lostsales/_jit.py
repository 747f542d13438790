"""Loops in machine code."""

import sys
from collections.abc import Callable
from hashlib import sha256
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event
from numba.extending import overload, register_jitable

from lostsales.types import larger, paid_once, smaller

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Forms for numbers: loops with these become vector instructions, with those for arrays they do not.
overload(smaller)(lambda left, right: lambda left, right: min(left, right))  # noqa: ARG005
overload(larger)(lambda left, right: lambda left, right: max(left, right))  # noqa: ARG005
overload(paid_once)(lambda cost, units: lambda cost, units: cost if units > 0 else 0.0)  # noqa: ARG005
COMPILING = "lostsales compiles its loops, once after installation: up to half a minute"
_callable: set[Callable[..., Any]] = {smaller, larger, paid_once}  # plain functions that compiled code may call


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start where that can be.

    It may call compiled functions, and plain ones that take numbers as well as arrays (`data/economics.py`).
    """
    _admit_formulas(function)
    digest = _digest(function)
    # Numba compares the file of a function with what it kept, but parts of the machine code come from other files. The
    # name, by which it finds what it kept, tells these apart.
    function.__qualname__ = f"{function.__qualname__}_{digest[:16]}"
    try:
        decorated: Any = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the installation nor the user's cache can be written
        decorated = numba.njit(nogil=True)(function)
    decorated.digest = digest
    return cast(Callable[Arguments, Result], decorated)


class CompilationNotice(event.Listener):
    """Tells a terminal, once, that loops are being compiled."""

    def __init__(self) -> None:
        self.is_told = False

    def on_start(self, event: Any) -> None:
        """Write one line where the loop is ours and someone looks on."""
        if not self.is_told and event.data["dispatcher"].py_func.__module__.startswith("lostsales.") and _is_seen():
            self.is_told = True
            sys.stderr.write(f"{COMPILING}\n")

    def on_end(self, event: Any) -> None:
        """Write nothing."""


def _is_seen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


event.register("numba:compile", CompilationNotice())  # type: ignore[no-untyped-call]


def _admit_formulas(function: Callable[..., Any]) -> None:
    """Let compiled code call the plain functions that a function names, and those that these name."""
    for each in _named(function).values():
        if isinstance(each, FunctionType) and each not in _callable:
            _callable.add(each)
            register_jitable(each)
            _admit_formulas(each)


def _named(function: Callable[..., Any]) -> dict[str, Any]:
    """Globals that a function names."""
    return {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}


def _digest(function: Callable[..., Any]) -> str:
    """Hash of its code and of all that becomes part of its machine code: functions that it calls, and constants."""
    code = function.__code__
    parts = {name: _digest_of_global(value) for name, value in sorted(_named(function).items())}
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return sha256(repr((code.co_code, constants, parts)).encode()).hexdigest()


def _digest_of_global(value: Any) -> str:
    if isinstance(value, FunctionType):
        return _digest(value)
    return str(getattr(value, "digest", repr(value) if isinstance(value, int | float | str | tuple) else ""))
