"""Anybody's policy on a benchmark: a class that is named as `module:Class` and decides on a table.

An entrant is made anew, without arguments, for each part of a benchmark. Its method `fit`, where it has one, gets the
table of what is known before; `decide` gets a table with a row for each decision, and returns one number a row: an
array, or a table with a column of that name. The columns are on the page of the benchmarks (docs/public-benchmarks.md).
"""

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.types import Array, Floats

Asked = Callable[[dict[str, Array]], Floats]  # the columns of a table to a number for each row


@dataclass(frozen=True)
class Entrant:
    """A class by its place, such as my_package:MyPolicy."""

    place: str

    @cached_property
    def made(self) -> Callable[[], Any]:
        """The class, from an installed package or a module of the present folder."""
        module, _, name = self.place.partition(":")
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            found: Callable[[], Any] = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingError(
                f"a policy is named as my_package:MyPolicy; {self.place!r} is not there: {error}"
            ) from None
        if not callable(found):
            raise SettingError(f"{self.place!r} must be a class with a method decide(frame)")
        return found

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its module: a changed policy is run again."""
        source = inspect.getsourcefile(self.made)
        return sha256(self.place.encode() + (Path(source).read_bytes() if source else b"")).hexdigest()[:20]

    def start(self, history: dict[str, Array], answer: str = "order") -> Asked:
        """A new one that has seen what is known before; `answer` is what it is asked for."""
        policy = self.made()
        if hasattr(policy, "fit"):
            policy.fit(_frame(history))

        def asked(columns: dict[str, Array]) -> Floats:
            found = policy.decide(_frame(columns))
            values = found[answer] if answer in getattr(found, "columns", ()) else found
            numbers, rows = np.asarray(values, dtype=np.float64), len(next(iter(columns.values())))
            if numbers.shape != (rows,) or not (np.isfinite(numbers) & (numbers >= 0)).all():
                raise LostSalesError(
                    f"{self.place} must decide a number of at least 0 for each of {rows} rows ({answer})"
                )
            return numbers

        return asked


def _frame(columns: dict[str, Array]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise LostSalesError("a policy gets tables of pandas: pip install 'lostsales[frames]'") from None
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class EntrantPolicy(PolicyBase):
    """An entrant in our simulator, where it decides orders at the one price."""

    problem: Problem
    asked: Asked
    observes: Observes = "sales"

    @classmethod
    def learned(cls, entrant: Entrant, log: SalesLog) -> "EntrantPolicy":
        """One that has seen a log."""
        return cls(log.problem, entrant.start(log.table_columns))

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Orders on the state of each series."""
        n, prices = len(view.stock), self.problem.prices
        waiting = view.pipeline if view.pipeline is not None else np.zeros((n, 0))
        columns = {"series": np.arange(n), "period": np.full(n, view.period), "stock": view.stock}
        columns |= {f"on_order_{at + 1}": units for at, units in enumerate(waiting.T)}
        columns |= {"on_order": view.on_order, "last_sales": view.last_sales, "last_stockout": view.last_stockout}
        price = float(np.min(np.asarray(prices))) if isinstance(prices, tuple) else 0.0
        return Action(np.full(n, price), self.asked(columns))
