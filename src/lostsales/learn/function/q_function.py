"""The function of one depth: where it is sought, its coordinates, its settings, and the Q that is found."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.errors import SettingError
from lostsales.learn.function.feature_maps import FeatureMap, GridValues
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import PosteriorVariance
from lostsales.types import Floats, Ints


@dataclass(frozen=True)
class FunctionClass:
    """Where a Q is sought: linear in an explicit map, or kernel ridge regression over a grid of settings."""

    kind: str = "kernel"  # "kernel" or "linear"
    kernels: tuple[Kernel, ...] = (
        *(Kernel("rbf", coefficient) for coefficient in (0.003, 0.01, 0.03, 0.1, 0.3)),
        *(Kernel("laplacian", coefficient) for coefficient in (0.03, 0.3)),
    )
    ridges: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
    raw: bool = False  # linear without squares and interactions
    exact_rows: int = 400  # up to so many rows kernel ridge regression is exact, above Nystrom's
    most_rank: int = 400  # landmarks
    by_dimension: bool = True  # fewer where the effective dimension is small
    pilot_rows: int = 400  # settings are cross-validated on at most so many rows
    pilot_rank: int = 100  # and with so many landmarks
    # What was tried is judged by a kernel of its own, the same for every log: one that predicts well where behaviour
    # hardly varies is so smooth that it believes to know what was never tried. None: by the kernel and ridge of Q.
    support_kernel: Kernel | None = Kernel("rbf", 0.1)  # noqa: RUF009, frozen
    support_ridge: float = 0.1
    support_rank: int = 100
    # Rows that stray from all others (a little exploration) cannot vouch for each other, so that the level is also at
    # most so many times what the median row has.
    spared_ratio: float = 2.5
    spared: float = 0.95  # share of the rows, each judged by the others, that no penalty meets; 0: it starts at zero

    def __post_init__(self) -> None:
        if self.kind not in ("kernel", "linear"):
            raise SettingError(f"kind must be kernel or linear, but {self.kind!r} came")
        if not self.kernels or not self.ridges:
            raise SettingError("there must be a kernel and a ridge at least")
        if not all(0 < ridge < np.inf for ridge in (*self.ridges, self.support_ridge)):
            raise SettingError(
                f"a ridge must be above 0 (1e-9 is as good as ordinary least squares), but {min(self.ridges):g} came"
            )
        if not 0 <= self.spared < 1:
            raise SettingError(f"spared must be a share below 1, but {self.spared:g} came")


@dataclass(frozen=True, eq=False)
class Scaler:
    """Coordinates less their mean, over their standard deviation; what never varies is dropped.

    Where the range of the middle half is smaller than that it is taken instead (in a normal law it is 1.35 times as
    large): one series whose stock piled up must not press all others together.
    """

    centre: Floats
    scale: Floats
    kept: Ints

    @classmethod
    def of(cls, values: Floats) -> "Scaler":
        """From the rows of a matrix."""
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        middle = np.ptp(np.quantile(values, [0.25, 0.75], axis=0), axis=0)
        scale = np.where(middle > 0, np.minimum(middle, deviation), deviation)
        kept = np.flatnonzero(scale > 1e-9 * (1 + np.abs(centre)))
        return cls(centre[kept], scale[kept], kept)

    def __call__(self, values: Floats) -> Floats:
        """Standardised."""
        return (values[:, self.kept] - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class ActionScaler:
    """Prices and orders, standardised; one that never varies becomes 0."""

    centre: Floats  # (2,)
    scale: Floats  # (2,)

    @classmethod
    def of(cls, action: Floats) -> "ActionScaler":
        """From the actions of a log."""
        scale = action.std(axis=0)
        return cls(action.mean(axis=0), np.where(scale > 1e-9, scale, np.inf))

    def __call__(self, action: Floats) -> Floats:
        """Standardised."""
        return (action - self.centre) / self.scale


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a depth."""

    kernel: Kernel | None  # None: linear
    ridge: float
    sigma: float  # held-out residual standard deviation


@dataclass(frozen=True, eq=False)
class QBasis:
    """The function class of a depth with its settings: all that a deployed Q needs beside its weights."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: FeatureMap
    choice: Hyperparameters
    doubt: PosteriorVariance | None = None  # k_post / ridge, where a penalty is asked for
    level: float = 0.0  # sqrt(k_post / ridge) up to which an action counts as tried
    inside: Floats | None = None  # (2, coordinates) between which the data lie, standardised; None: no matter

    def on_grid(self, block: Floats, actions: Floats) -> GridValues:
        """Histories against actions."""
        return self.map.on_grid(self.scaler(block), self.action_scaler(actions))

    def penalty(self, block: Floats, actions: Floats, beta: float) -> Floats:
        """U = beta sigma (sqrt(k_post / ridge) - level)^+ (lines 715 and 3538), (rows, actions).

        What is as well supported as most rows of the log pays nothing, so that beta may be large: then the policy keeps
        to what was tried, and where everything was tried (random behaviour) it stays free. A history beyond the data is
        judged as the nearest within: far away nothing was tried, and the same penalty on every action would leave the
        choice to a Q that was never seen there. With `spared` 0 it is the paper's penalty as it stands.
        """
        if self.doubt is None:
            raise ValueError("no penalty was prepared")
        history = self.scaler(block)
        history = history if self.inside is None else np.clip(history, *self.inside)
        above = np.sqrt(self.doubt(history, self.action_scaler(actions)))
        above -= self.level
        return beta * self.choice.sigma * np.maximum(above, 0.0, out=above)


@dataclass(frozen=True, eq=False)
class QFunction:
    """One fitted Q^(i), and the penalty U^(i) that goes with it."""

    form: QBasis
    weights: Floats
    mean: float  # targets are centred: a zero prior mean would be rosy where profits are negative
    low: float  # what profits allow, at this iteration
    high: float

    @property
    def name(self) -> str:
        """How the function is called."""
        kernel = self.form.choice.kernel
        return "linear" if kernel is None else f"{kernel.kind} {kernel.coefficient:g}"

    def on(self, grid: GridValues) -> Floats:
        """Q on a prepared grid, (rows, actions)."""
        values = grid.values(self.weights)
        values += self.mean
        return np.clip(values, self.low, self.high, out=values)

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        return self.on(self.form.on_grid(block, actions))

    def penalty(self, block: Floats, actions: Floats, beta: float) -> Floats:
        """U of histories against actions, (rows, actions)."""
        return self.form.penalty(block, actions, beta)

    def without_penalty(self) -> "QFunction":
        """The same Q where no penalty will be asked for."""
        return replace(self, form=replace(self.form, doubt=None, level=0.0, inside=None))
