"""The Q-function of one depth: function class, standardised coordinates, hyperparameters and the fitted Q."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from lostsales.data.settings import StrictSettings
from lostsales.errors import LostSalesError
from lostsales.learn.function.feature_maps import FeatureMap, GridValues, KernelMap, LinearMap
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.penalty import Uncertainty
from lostsales.learn.function.posterior_variance import PairwiseVariance
from lostsales.saved_fields import MOST_SIZE, POSITIVE, Axis, NonNegative, Number, OneOf, Positive, numbers, wholes
from lostsales.types import Bools, Floats, Ints

Ridge = Annotated[float, Field(gt=0)]  # 1e-9 is as good as ordinary least squares
# In `appendix`, C-FQI from 50,000 rows earned 4.1 with kernels chosen on 400 rows, 4.3 to 4.4 on 1,000 to 4,000.
MOST_PILOT_ROWS = 2_000
RENAMED = {"spared": "unpenalized_share", "spared_ratio": "unpenalized_ratio"}  # old: new


class FunctionClass(StrictSettings):
    """Function class of Q: linear in an explicit map, or kernel ridge regression over a grid of hyperparameters.

    Examples
    --------
    >>> FunctionClass(kind="linear", ridges=(0.1, 1.0)).kind
    'linear'

    """

    kind: Literal["kernel", "linear"] = Field("kernel", description="Kernel ridge regression, or linear.")
    kernels: Annotated[tuple[Kernel, ...], Field(min_length=1)] = Field(
        (
            *(Kernel(kind="rbf", coefficient=coefficient) for coefficient in (0.003, 0.01, 0.03, 0.1, 0.3)),
            *(Kernel(kind="laplacian", coefficient=coefficient) for coefficient in (0.03, 0.3)),
        ),
        description="Kernels to choose from by cross-validation.",
    )
    ridges: Annotated[tuple[Ridge, ...], Field(min_length=1)] = Field(
        (0.001, 0.01, 0.1, 1.0, 10.0, 100.0), description="Ridge penalties to choose from by cross-validation."
    )
    raw: bool = Field(False, description="Linear without squares and interactions.")
    exact_rows: int = Field(400, ge=0, description="Exact kernel ridge regression up to so many rows, Nystrom's above.")
    most_rank: int = Field(400, ge=1, description="Landmarks of Nystrom's approximation.")
    by_dimension: bool = Field(True, description="Fewer landmarks where the effective dimension is small.")
    pilot_rows: Annotated[int, Field(ge=1)] | None = Field(
        400, description="Rows of a depth on which hyperparameters are cross-validated, at least; none: all of them."
    )
    pilot_share: float = Field(
        0.2, ge=0, le=1, description="Share of the rows on which they are, where that is more, up to 2,000 rows."
    )
    pilot_rank: int = Field(
        100, ge=1, description="Landmarks in the cross-validation; more, as the square root, on more rows."
    )
    error: Literal["absolute", "squared"] = Field(
        "absolute", description="Held-out error that the hyperparameters make least; the paper's is squared."
    )
    scaling: Literal["robust", "deviation"] = Field(
        "robust",
        description="Coordinates are divided by their standard deviation, or by their interquartile range where that "
        "is smaller (robust).",
    )
    # A kernel that predicts well where behaviour hardly varies is so smooth that its posterior variance is small even
    # for actions that were never tried. So the penalty has a kernel of its own, the same for every log.
    support_kernel: Kernel | None = Field(
        Kernel(kind="rbf", coefficient=0.1), description="Kernel of the penalty; none: the kernel and ridge of Q."
    )
    support_ridge: Ridge = Field(0.1, description="Ridge penalty of the support kernel.")
    support_rank: int = Field(100, ge=1, description="Landmarks of the support kernel.")
    unpenalized_share: float = Field(
        0.95,
        ge=0,
        lt=1,
        description="Share of rows, each left out in turn, without a penalty; the paper's penalty is 0, "
        "with support_kernel=none.",
    )
    # Isolated rows (a little exploration) have a large posterior variance when left out; they set no threshold.
    unpenalized_ratio: float = Field(
        2.5, gt=0, allow_inf_nan=True, description="The penalty starts at this multiple of the median row at most."
    )

    def pilot(self, rows: int) -> tuple[int, int]:
        """Rows and landmarks of the cross-validation at a depth of so many rows.

        >>> FunctionClass().pilot(300), FunctionClass().pilot(1_500), FunctionClass().pilot(100_000)
        ((300, 100), (400, 100), (2000, 223))
        """
        if self.pilot_rows is None:
            return rows, self.pilot_rank
        more = max(self.pilot_rows, min(int(self.pilot_share * rows), MOST_PILOT_ROWS))
        return min(more, rows), int(self.pilot_rank * (more / self.pilot_rows) ** 0.5)

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, keys: Any) -> Any:
        return {RENAMED.get(key, key): value for key, value in keys.items()} if isinstance(keys, dict) else keys

    @field_validator("support_kernel", "pilot_rows", mode="before")
    @classmethod
    def _none_as_text(cls, value: Any) -> Any:
        return None if value == "none" else value  # TOML and KEY=VALUE have no other word for it


@dataclass(frozen=True, eq=False)
class Scaler:
    """Coordinates less their mean, over their standard deviation; constant ones are dropped.

    If the interquartile range is smaller than the standard deviation it is taken instead (in a normal law it is 1.35
    times as large), so that one series with an outlying stock does not compress all others.
    """

    centre: Annotated[Floats, numbers("kept")]
    scale: Annotated[Floats, numbers("kept", least=POSITIVE)]
    kept: Annotated[Ints, wholes("kept", least=0, most=MOST_SIZE)]  # columns

    @classmethod
    def of(cls, values: Floats, robust: bool = True) -> "Scaler":
        """Learn from the rows of a matrix; by standard deviations alone unless `robust`."""
        centre, scale = values.mean(axis=0), values.std(axis=0)
        if robust:
            middle = np.ptp(np.quantile(values, [0.25, 0.75], axis=0), axis=0)
            scale = np.where(middle > 0, np.minimum(middle, scale), scale)
        kept = np.flatnonzero(scale > 1e-9 * (1 + np.abs(centre)))
        return cls(centre[kept], scale[kept], kept)

    def check(self, coordinates: int) -> None:
        """Raise where a file keeps columns that rows of so many coordinates do not have."""
        if (self.kept >= coordinates).any():
            raise LostSalesError(f"it keeps coordinate {self.kept.max()} of histories that have {coordinates}")

    def __call__(self, values: Floats) -> Floats:
        """Standardised."""
        return (values[:, self.kept] - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class ActionScaler:
    """Prices and orders, standardised; a constant one becomes 0."""

    centre: Annotated[Floats, numbers(2)]
    scale: Annotated[Floats, numbers(2, least=POSITIVE, infinite=True)]

    @classmethod
    def of(cls, action: Floats) -> "ActionScaler":
        """Learn from the actions of a log."""
        scale = action.std(axis=0)
        return cls(action.mean(axis=0), np.where(scale > 1e-9, scale, np.inf))

    def __call__(self, action: Floats) -> Floats:
        """Standardised."""
        return (action - self.centre) / self.scale

    def never_tried(self, action: Floats) -> Bools:
        """Actions (actions, 2) with another price or order than the only one that there was, (actions,)."""
        apart = np.abs(action - self.centre) > 1e-9 * (1 + np.abs(self.centre))
        return np.asarray((apart & np.isinf(self.scale)).any(axis=1))


@dataclass(frozen=True)
class Hyperparameters:
    """The chosen hyperparameters of a depth."""

    kernel: Kernel | None  # None: linear
    ridge: Positive
    sigma: NonNegative  # held-out residual standard deviation


@dataclass(frozen=True, eq=False)
class QBasis:
    """Scalers, feature map and penalty of a depth: all that a deployed Q needs beside its weights."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: Annotated[FeatureMap, OneOf(LinearMap, KernelMap)]
    choice: Hyperparameters
    uncertainty: Uncertainty | None = None  # None: there is no penalty

    def on_grid(self, block: Floats, actions: Floats) -> GridValues:
        """Histories against actions."""
        return self.map.on_grid(self.scaler(block), self.action_scaler(actions))

    @property
    def has_penalty_of_paper(self) -> bool:
        """U is of the kernel and ridge of Q itself, and counts from zero on."""
        found = self.uncertainty
        if found is None or found.threshold or found.history_range is not None:
            return False
        return found.variance.ridge == self.choice.ridge

    def deviation(self, block: Floats, actions: Floats, usual: Ints | None = None) -> Floats:
        """(sqrt(k_post / ridge) - threshold)^+, (rows, actions); see `Uncertainty`.

        With the usual action of each row, (rows,), it is that of the gain over it. An action off a coordinate that
        never varied is as uncertain as before any data.
        """
        if self.uncertainty is None:
            raise ValueError("no penalty was prepared")
        found = self.uncertainty(self.scaler(block), self.action_scaler(actions), usual)
        found[:, self.action_scaler.never_tried(actions)] = self.uncertainty.most
        return found

    def deviation_around(self, block: Floats, actions: Floats, taken: Ints) -> Floats:
        """The same of the taken action of each row, and a lower bound for all others, (rows, actions)."""
        if self.uncertainty is None:
            raise ValueError("no penalty was prepared")
        found = self.uncertainty.around(self.scaler(block), self.action_scaler(actions), taken)
        found[:, self.action_scaler.never_tried(actions)] = self.uncertainty.most
        return found

    def penalty(self, block: Floats, actions: Floats, beta: float, usual: Ints | None = None) -> Floats:
        """U = beta sigma times the deviation, (rows, actions)."""
        return beta * self.choice.sigma * self.deviation(block, actions, usual)


@dataclass(frozen=True, eq=False)
class Deviations:
    """Deviations of histories against actions as far as known, each (rows, actions)."""

    least: Floats  # lower bounds
    exact: Bools  # where the bound is the deviation itself

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> "Deviations":
        """None is known yet."""
        return cls(np.zeros(shape), np.zeros(shape, dtype=bool))

    def update(self, rows: Ints, taken: Ints, found: Floats) -> None:
        """Take over the deviation of one action of some rows, and the bounds of the others."""
        raised = np.maximum(self.least[rows], found)
        self.least[rows] = np.where(self.exact[rows], self.least[rows], raised)
        self.least[rows, taken], self.exact[rows, taken] = found[np.arange(len(rows)), taken], True


@dataclass(frozen=True, eq=False)
class QFunction:
    """One fitted Q^(i), and the penalty U^(i) that goes with it."""

    AXES: ClassVar[dict[str, Axis]] = {"kept": Axis(least=0, own=True), "rank": Axis(own=True)}

    basis: QBasis
    weights: Annotated[Floats, numbers("rank")]
    mean: Number  # prior mean, to which Q tends away from the data
    low: Number  # bounds that follow from the profits, at this iteration
    high: Number

    def validate(self) -> None:
        """Raise where a file has bounds that cross, or weights and a posterior variance of another feature map."""
        if self.low > self.high:
            raise LostSalesError(f"the lower bound {self.low:g} of a Q must not lie above the upper one {self.high:g}")
        kept, uncertainty = len(self.basis.scaler.kept), self.basis.uncertainty
        mapped = [(self.basis.map, len(self.weights))]
        if uncertainty is not None and isinstance(uncertainty.variance, PairwiseVariance):
            mapped.append((uncertainty.variance.map, len(uncertainty.variance.inverse)))
        for each, rank in mapped:
            if each.dimension(kept) != rank:
                raise LostSalesError(f"a feature map of {each.dimension(kept)} features cannot have {rank} weights")

    @property
    def name(self) -> str:
        """Kernel and coefficient, or "linear"."""
        kernel = self.basis.choice.kernel
        return "linear" if kernel is None else f"{kernel.kind} {kernel.coefficient:g}"

    def on(self, grid: GridValues) -> Floats:
        """Q on a prepared grid, (rows, actions)."""
        values = grid.values(self.weights)
        values += self.mean
        return np.clip(values, self.low, self.high, out=values)

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        return self.on(self.basis.on_grid(block, actions))

    def penalty(self, block: Floats, actions: Floats, beta: float, usual: Ints | None = None) -> Floats:
        """U of histories against actions, (rows, actions)."""
        return self.basis.penalty(block, actions, beta, usual)

    def less_penalty_where_needed(
        self, block: Floats, actions: Floats, values: Floats, beta: float, known: Deviations | None = None
    ) -> Floats:
        """Q - U where it may be the greatest of its row, a bound elsewhere, (rows, actions); `values` are Q or -inf.

        The greatest bound is evaluated until it is exact, and each evaluation bounds U of the other actions from below.
        It takes a few actions of a row instead of all of them, and its greatest entry is that of Q - U. `known` keeps
        the deviations.
        """
        scale, known = beta * self.basis.choice.sigma, known or Deviations.none(values.shape)
        bound, open_rows = values - scale * known.least, np.arange(len(values))
        while len(open_rows):
            best = bound[open_rows].argmax(axis=1)
            found = ~(known.exact[open_rows, best] | np.isneginf(values[open_rows, best]))
            open_rows, best = open_rows[found], best[found]
            if len(open_rows):
                known.update(open_rows, best, self.basis.deviation_around(block[open_rows], actions, best))
                bound[open_rows] = values[open_rows] - scale * known.least[open_rows]
        return bound

    def lowered(self, by: float) -> "QFunction":
        """The same Q less a constant."""
        return replace(self, mean=self.mean - by, low=self.low - by, high=self.high - by)

    def without_penalty(self) -> "QFunction":
        """The same Q without what a penalty needs."""
        return replace(self, basis=replace(self.basis, uncertainty=None))
