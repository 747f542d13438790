"""Algorithms 1 and 2, dense and slow, written from the paper alone and not from the package.

The paper leaves a few things open. The caller states R* of every period (Section 3.5), the folds of the
cross-validation, and `beta`, the number of held-out standard errors that the constant of the uncertainty quantifier
stands for. Coordinates are standardised within a depth. The sales of a censored period are no coordinate of their own:
they repeat what was available then, which the block has as stock and order.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

from lostsales.types import Floats

KERNELS = tuple(itertools.product(("rbf", "laplacian"), (0.01, 0.1, 1.0)))
RIDGES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Period:
    """W_t = (X_t, Y_t, Z_{t-1}, Delta_{t-1}), A_t = (P_t, O_t), R*_t and Delta_t."""

    features: tuple[float, ...]
    stock: float
    last_sales: float
    last_observed: bool
    price: float
    order: float
    reward: float
    observed: bool
    fold: int


@dataclass(frozen=True)
class Transition:
    """A member of O^(i): the block from the last uncensored period, R*_t, Delta_t, and the block that follows."""

    block: list[Period]
    following: list[Period]

    @property
    def now(self) -> Period:
        """Period t itself."""
        return self.block[-1]


def partition(trajectories: list[list[Period]], depth: int) -> list[Transition]:
    """O^(i): transitions preceded by exactly i censored periods (Step 2); the last period has no W_{t+1}."""
    found = []
    for periods in trajectories:
        for t in range(len(periods) - 1):
            start = t - depth
            if start < 0 or not periods[start].last_observed:
                continue
            if any(periods[s].last_observed for s in range(start + 1, t + 1)):
                continue
            now = periods[t]
            found.append(
                Transition(periods[start : t + 1], periods[t + 1 : t + 2] if now.observed else periods[start : t + 2])
            )
    return found


def vector(block: list[Period], action: tuple[float, float] | None = None) -> Floats:
    """H_{(t-i):t} as numbers: W and A of every period of the block, the last action replaced where one is given."""
    numbers: list[float] = []
    for place, p in enumerate(block):
        price, order = action if action is not None and place == len(block) - 1 else (p.price, p.order)
        numbers += [*p.features, p.stock, p.last_sales if p.last_observed else 0.0, price, order]
    return np.array(numbers)


def gram(kernel: str, coefficient: float, a: Floats, b: Floats) -> Floats:
    """exp(-c |x - y|^2) or exp(-c |x - y|_1)."""
    difference = a[:, None, :] - b[None, :, :]
    distance = (difference**2).sum(-1) if kernel == "rbf" else np.abs(difference).sum(-1)
    return np.asarray(np.exp(-coefficient * distance))


@dataclass
class Regression:
    """Kernel ridge regression at one depth (Equation 16 with J the squared norm, no intercept), and its U."""

    points: Floats
    folds: Floats
    beta: float
    chosen: tuple[str, float, float] = ("rbf", 1.0, 1.0)
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    held_out_error: float = 0.0

    def __post_init__(self) -> None:
        """Standardise; a coordinate that never varies within the depth is left out."""
        self.kept = self.points.std(axis=0) > 1e-12
        self.mean = self.points[:, self.kept].mean(axis=0)
        self.scale = self.points[:, self.kept].std(axis=0)
        self.design = self.standardised(self.points)
        self.weights = np.zeros(len(self.points))

    def standardised(self, points: Floats) -> Floats:
        """Coordinates with mean 0 and variance 1 over the rows of the depth."""
        return np.asarray((points[:, self.kept] - self.mean) / self.scale)

    def fit(self, targets: Floats) -> None:
        """Choose kernel, coefficient and ridge by cross-validated squared error over all rows; then use all rows."""
        best = np.inf
        for kernel, coefficient in KERNELS:
            full = gram(kernel, coefficient, self.design, self.design)
            for ridge in RIDGES:
                error = 0.0
                for fold in np.unique(self.folds):
                    out, kept = self.folds == fold, self.folds != fold
                    weights = np.linalg.solve(full[np.ix_(kept, kept)] + ridge * np.eye(kept.sum()), targets[kept])
                    error += float(((targets[out] - full[np.ix_(out, kept)] @ weights) ** 2).sum())
                if error < best:
                    best, self.chosen = error, (kernel, coefficient, ridge)
        kernel, coefficient, ridge = self.chosen
        full = gram(kernel, coefficient, self.design, self.design)
        self.factor = full + ridge * np.eye(len(full))
        self.weights = np.asarray(np.linalg.solve(self.factor, targets), dtype=np.float64)
        self.held_out_error = float(np.sqrt(best / len(targets)))

    def value(self, points: Floats, *, pessimistic: bool) -> Floats:
        """Q, or Q - U with U = beta_k sqrt(k_post / ridge)."""
        kernel, coefficient, ridge = self.chosen
        to_rows = gram(kernel, coefficient, self.standardised(points), self.design)
        value: Floats = to_rows @ self.weights
        if not pessimistic or not self.weights.any():
            return value
        posterior = 1.0 - np.einsum("ij,ji->i", to_rows, np.linalg.solve(self.factor, to_rows.T))
        return np.asarray(value - self.beta * self.held_out_error * np.sqrt(np.maximum(posterior, 0.0) / ridge))


@dataclass
class Learned:
    """Targets of every iteration and depth, and the policy."""

    targets: list[list[Floats]]
    regressions: list[Regression]
    actions: list[tuple[float, float]]
    pessimistic: bool

    def act(self, block: list[Period]) -> tuple[float, float]:
        """Greedy below the greatest depth, and a_max at it: the highest price with the largest order."""
        depth = len(block) - 1
        if depth == len(self.regressions) - 1:
            return max(a[0] for a in self.actions), max(a[1] for a in self.actions)
        values = self.regressions[depth].value(
            np.array([vector(block, action) for action in self.actions]), pessimistic=self.pessimistic
        )
        return self.actions[int(np.argmax(values))]


def learn(
    trajectories: list[list[Period]],
    actions: list[tuple[float, float]],
    *,
    method: str,
    discount: float,
    iterations: int,
    max_depth: int,
    beta: float,
) -> Learned:
    """Algorithm 2 (Steps 2 to 4'), and fusion: PC-FQI in the first four iterations, C-FQI in the others."""
    parts = [partition(trajectories, depth) for depth in range(max_depth + 1)]
    regressions = [
        Regression(np.array([vector(t.block) for t in part]), np.array([t.now.fold for t in part]), beta)
        for part in parts
    ]
    pessimistic_iterations = {"c-fqi": 0, "pc-fqi": iterations, "fusion": min(4, iterations)}[method]
    history = []
    for k in range(iterations):
        every_depth = []
        for part in parts:
            targets = []
            for transition in part:
                following = transition.following
                points = np.array([vector(following, action) for action in actions])
                values = regressions[len(following) - 1].value(points, pessimistic=0 < k <= pessimistic_iterations)
                targets.append(transition.now.reward + discount * float(values.max()))
            every_depth.append(np.array(targets))
        for regression, found in zip(regressions, every_depth, strict=True):
            regression.fit(found)
        history.append(every_depth)
    return Learned(history, regressions, actions, pessimistic_iterations == iterations)
