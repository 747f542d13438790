"""Cross-fitting: a method is fitted without each fold, and each series decided by the policy not fitted to it."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.parallel import in_parallel
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.splits import FOLDS, Fold, cross_fit_folds
from lostsales.data.sublogs import without
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.learn.fit import fit_in_shop_units
from lostsales.learn.learner import Learner
from lostsales.policy.allocation import OrderValues
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, merged
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.view import Action, View
from lostsales.types import Array, Ints

QUICK_FOLDS = 3  # of quick comparisons
LARGE_FOLDS = 2  # of a large log: half of its rows teach enough, and every fit takes its time


@dataclass(frozen=True, eq=False)
class CrossFittedPolicy(PolicyBase):
    """Policies of one method, one a fold and fitted without it; series of no fold are assigned in turn."""

    policies: tuple[Policy, ...]
    of_series: dict[str, int]  # index of the policy that decides, by the name of a series
    ends: Array | None = None  # (policies - 1,) periods from which on the next policy decides

    @property
    def observes(self) -> Observes:
        """Information that the policies observe."""
        return self.policies[0].observes

    @property
    def problem(self) -> Problem:
        """The problem they decide for."""
        return self.policies[0].problem

    @property
    def asks(self) -> tuple[Feature, ...]:
        """The features that they ask for."""
        return self.policies[0].asks

    @property
    def horizon(self) -> int | None:
        """Their horizon."""
        return self.policies[0].horizon

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Every policy decides for its own series."""
        price, order = np.empty(len(view.stock)), np.empty(len(view.stock))
        for policy, rows in self._rows(view):
            price[rows], order[rows] = policy.decide(view.take(rows), rng)
        return Action(price, order)

    def explain(self, view: View) -> Decision:
        """The decisions of the policies, put together."""
        parts = [(rows, policy.explain(view.take(rows))) for policy, rows in self._rows(view)]
        return merged([part for _, part in parts], np.argsort(np.concatenate([rows for rows, _ in parts])))

    def order_values(self, view: View) -> OrderValues | None:
        """Values of orders by the policies, put together."""
        parts = [(rows, policy.order_values(view.take(rows))) for policy, rows in self._rows(view)]
        back = np.argsort(np.concatenate([rows for rows, _ in parts]))
        return OrderValues.joined([part for _, part in parts], back)

    def _rows(self, view: View) -> list[tuple[Policy, Ints]]:
        """Each policy that decides for any series, and their rows in the view."""
        which = np.arange(len(view.stock)) % len(self.policies)
        if self.ends is not None and view.dates is not None:
            which = np.searchsorted(self.ends, view.dates, side="right")
        if view.names is not None and self.of_series:
            names, at = np.unique(view.names.astype(str), return_inverse=True)
            own = np.array([self.of_series.get(str(name), -1) for name in names])[at.reshape(-1)]
            which = np.where(own >= 0, own, which)
        return [(self.policies[each], np.flatnonzero(which == each)) for each in np.unique(which)]


def folds_of(prepared: PreparedLog, seed: int) -> tuple[list[Fold], str]:
    """The folds of every method that is cross-fitted on a log, and what they are: series or blocks in time."""
    count = QUICK_FOLDS if prepared.quick else LARGE_FOLDS if prepared.is_part else FOLDS
    return cross_fit_folds(prepared.log, seed, gap=prepared.runs.max_depth + 1, count=count)


def fit_folds(learner: Learner, log: SalesLog, folds: list[Fold], progress: Progress) -> CrossFittedPolicy:
    """Fit one policy a fold, without it."""
    policies = in_parallel(lambda fold: fit_in_shop_units(learner, without(log, fold.held_out)), folds, progress)
    ends = np.array([each.ends for each in folds[:-1]]) if folds[0].ends is not None else None
    return CrossFittedPolicy(
        tuple(policies), {name: number for number, fold in enumerate(folds) for name in fold.names}, ends
    )
