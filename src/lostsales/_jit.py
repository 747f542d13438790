"""Loops in machine code."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from types import CodeType
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start where that can be."""
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


def _digest(function: Callable[..., Any]) -> str:
    """Of its code and of all that becomes part of its machine code: compiled functions and constants."""
    code = function.__code__
    named = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    parts = {
        name: getattr(value, "digest", repr(value) if isinstance(value, int | float | str | tuple) else "")
        for name, value in sorted(named.items())
    }
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return sha256(repr((code.co_code, constants, parts)).encode()).hexdigest()
