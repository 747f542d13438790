"""Loops in machine code."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.extending import overload, register_jitable

from lostsales.types import larger, paid_once, smaller

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# As numbers want them: loops with these become vector instructions, with those for arrays they do not.
overload(smaller)(lambda left, right: lambda left, right: min(left, right))  # noqa: ARG005
overload(larger)(lambda left, right: lambda left, right: max(left, right))  # noqa: ARG005
overload(paid_once)(lambda cost, units: lambda cost, units: cost if units > 0 else 0.0)  # noqa: ARG005
_callable: set[Callable[..., Any]] = {smaller, larger, paid_once}  # plain functions that compiled code may call


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start where that can be.

    It may call compiled functions, and plain ones that take numbers as well as arrays (`data/economics.py`).
    """
    _admit_formulas(function)
    decorated: Any = numba.njit(nogil=True)(function)
    decorated.digest = _digest(function)
    with suppress(RuntimeError):  # where neither the installation nor the user's cache can be written
        decorated._cache = _Cache(function, decorated.digest)
    return cast(Callable[Arguments, Result], decorated)


class _Cache(FunctionCache):
    """Numba's own, which knows of changes in the file of a function only: what it calls may lie in another one."""

    def __init__(self, function: Callable[..., Any], digest: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._digest = digest

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), self._digest)  # type: ignore[no-untyped-call]


def _admit_formulas(function: Callable[..., Any]) -> None:
    """Let compiled code call the plain functions that a function names, and those that these name."""
    for each in _named(function).values():
        if isinstance(each, FunctionType) and each not in _callable:
            _callable.add(each)
            register_jitable(each)
            _admit_formulas(each)


def _named(function: Callable[..., Any]) -> dict[str, Any]:
    """The globals that a function names."""
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
