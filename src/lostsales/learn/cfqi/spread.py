"""A price or an order given the history: what is usual, and how what was done spreads around it."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from lostsales.data.splits import FoldMasks
from lostsales.learn.function.depth_regression import HyperparameterSearch, build
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, QFunction, Scaler
from lostsales.saved_fields import Axis, NonNegative, numbers
from lostsales.types import Bools, Floats

LEAST_SHARE = 0.25
WINDOW = 0.05  # rows count that lie within this share of the range of what was done, or nearer than the next candidate
WINDOW_ROWS = 12  # that a window would hold at least if all were equally likely: fewer tell nothing
LEAST_EXPLAINED = 0.05  # of the absolute deviation of held-out rows, or 2 / sqrt(rows): less is chance
ROUNDS = 2  # of leaving strays aside
STRAYS_FROM = 3.7  # median absolute residuals: 2.5 standard deviations of a normal law; one of the residuals at least
ROUNDING = 1e-9
NO_ACTION = np.zeros((1, 2))
FUNCTION = FunctionClass()


@dataclass(frozen=True, eq=False)
class ActionSpread:
    """Usual action after a history, the residuals around it, and the range of actions."""

    AXES: ClassVar[dict[str, Axis]] = {"residuals": Axis(own=True)}

    mean: QFunction
    residuals: Annotated[Floats, numbers("residuals")]  # rising
    range: NonNegative

    @classmethod
    def of(cls, histories: "HistoryRegression", taken: Floats) -> "ActionSpread":
        """Regress what was done (rows,) on the histories of a depth."""
        mean, residuals = _without_strays(histories, taken)
        return cls(mean, np.sort(residuals), float(np.ptp(taken)))

    @property
    def concentration(self) -> float:
        """0 where all that was done is as likely as the usual, 1 where little else was done."""
        even = self.range / 4  # the median distance from the middle
        return float(np.clip(1 - np.median(np.abs(self.residuals)) / even, 0, 1)) if even else 1.0

    def fixed_share(self, block: Floats, taken: Floats) -> float:
        """Share of the rows at which one value alone is supported of those that were taken (rows,)."""
        candidates = np.unique(taken)
        return float((self.supports(self.usual(block), candidates).sum(axis=1) == 1).mean())

    def usual(self, block: Floats) -> Floats:
        """Usual action after each history, (rows,)."""
        return np.asarray(self.mean.values(block, NO_ACTION)[:, 0])

    def supports(self, usual: Floats, candidates: Floats) -> Bools:
        """Supported candidates (candidates,) around usual actions (rows,), (rows, candidates); one at least."""
        if len(candidates) == 1:
            return np.ones((len(usual), 1), dtype=bool)
        apart = candidates - usual[:, None]
        gaps, total = np.diff(candidates), len(self.residuals)
        wide = max(WINDOW, WINDOW_ROWS / 2 / total) * self.range
        below, above = np.maximum(np.r_[gaps[0], gaps] / 2, wide), np.maximum(np.r_[gaps, gaps[-1]] / 2, wide)
        rows = np.searchsorted(self.residuals, apart + above) - np.searchsorted(self.residuals, apart - below)
        even = total * (below + above) / (self.range + gaps.min())
        enough = rows >= np.maximum(LEAST_SHARE * even, 1)
        nearest = np.abs(apart) == np.abs(apart).min(axis=1, keepdims=True)
        return np.asarray(np.where(enough.any(axis=1, keepdims=True), enough, nearest))


@dataclass(frozen=True, eq=False)
class HistoryRegression:
    """The histories of a depth, ready for ridge regressions on them alone: prices and orders share what they need."""

    block: Floats
    scaler: Scaler
    history: Floats  # standardised
    search: HyperparameterSearch
    seed: int

    @classmethod
    def of(cls, block: Floats, folds: FoldMasks, seed: int) -> "HistoryRegression":
        """From histories (rows, coordinates) and their folds."""
        scaler = Scaler.of(block)
        history, no_action = scaler(block), np.zeros((len(block), 2))
        return cls(block, scaler, history, HyperparameterSearch.of(history, no_action, folds, FUNCTION, seed), seed)

    def fit(self, values: Floats, rows: Bools, chosen: Hyperparameters, bounds: tuple[float, float]) -> QFunction:
        """Mean of values (rows,) given the history, from some of the rows, kept within bounds."""
        no_action = np.zeros((int(rows.sum()), 2))
        scalers = self.scaler, ActionScaler.of(no_action)
        design = build(*scalers, self.history[rows], no_action, chosen, FUNCTION, self.seed)
        return design.q(values[rows], *bounds)[0]


def _without_strays(histories: HistoryRegression, taken: Floats) -> tuple[QFunction, Floats]:
    """Regression of what was done on the history, rows far from it left aside, and the residuals of all rows.

    One that explains no more than chance would is treated as a constant: it would cut the ends of a uniform log.
    """
    constant, search = taken - taken.mean(), histories.search
    chosen = search.choose(constant)
    held_out, near = search.held_out(constant, chosen), np.ones(len(taken), dtype=bool)
    by_chance = max(LEAST_EXPLAINED, 2 * len(held_out) ** -0.5)
    explains = np.abs(held_out).mean() <= (1 - by_chance) * np.abs(constant[search.rows]).mean()
    bounds = float(taken.min()), float(taken.max())
    for _ in range(ROUNDS + 1 if explains else 1):
        mean = histories.fit(taken, near, chosen, bounds)
        residuals = taken - mean.values(histories.block, NO_ACTION)[:, 0]
        # If most rows agree exactly the median is next to nothing: rows that the regression misses are no strays.
        far = max(STRAYS_FROM * float(np.median(np.abs(residuals))), float(residuals.std()), ROUNDING)
        near = np.abs(residuals) <= far
    return (mean, residuals) if explains else (replace(mean, weights=np.zeros_like(mean.weights)), constant)
