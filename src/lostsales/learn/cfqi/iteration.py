"""C-FQI, PC-FQI and fusion: fitted Q-iteration with one Q-function per depth (Algorithms 1 and 2)."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.data.progress import Progress
from lostsales.data.splits import FoldMasks
from lostsales.errors import SettingError
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.support import Support
from lostsales.learn.cfqi.targets import KEPT_SCORES, ActionValueFunction, NextValues, RegressionDesign, targets
from lostsales.learn.function.depth_regression import HyperparameterSearch, RidgeDesign, build
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.penalty_design import calibrated_margin, with_penalty
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QBasis, QFunction, Scaler
from lostsales.learn.function.regressors import Regressor, RegressorDesign, RegressorQ, members
from lostsales.saved_fields import MOST
from lostsales.types import Bools, Floats

BETA = 10.0  # of the penalty by support: docs/decisions/c-fqi.md


@dataclass(frozen=True)
class FqiSettings:
    """Settings of the iteration."""

    iterations: int = 10
    discount: float = 0.9
    beta: float = BETA  # scale of the penalty
    pessimistic_until: int = 0  # iterations whose update is pessimistic, counted from the first; K for PC-FQI
    function: FunctionClass | Regressor = field(default_factory=FunctionClass)
    select_at: tuple[int, ...] | None = (1, 3)  # iterations that choose kernel, bandwidth and ridge; None: every one
    centred: bool = True  # Q tends to the mean of its targets and is bounded; else to 0 without bounds, as in the paper
    calibrated: bool = False  # a constant in U makes it cover the errors of Q
    seed: int = 0

    @property
    def has_intercept(self) -> bool:
        """True if Q tends to the mean of its targets; a linear Q needs it, as no feature of its map is constant."""
        return self.centred or (isinstance(self.function, FunctionClass) and self.function.kind == "linear")


@dataclass(frozen=True, eq=False)
class FittedQ:
    """The Q-functions of the last iteration, and the residuals of all."""

    q: tuple[ActionValueFunction, ...]  # by depth
    pessimistic: bool  # of the last update
    beta: float
    residuals: Floats  # (iterations, depths) root mean squared Bellman residual of each update
    targets: tuple[Floats, ...]  # by depth, of the last iteration
    margin: float = 0.0  # the constant in U


def iterate(
    parts: list[Partition],
    folds: list[FoldMasks],
    actions: Floats,  # (actions, 2)
    allowed: list[tuple[Bools | None, Bools | None]],
    settings: FqiSettings,
    progress: Progress | None = None,
    behaviour: tuple[Support, ...] | None = None,
) -> FittedQ:
    """K iterations (Equation 15).

    A row with observed demand continues with Q^(0), a censored one with Q^(i+1), from max_depth on with Q^(n) itself.
    `allowed` gives, for each depth, the actions of the maximum after its observed and after its censored rows,
    (rows, actions) or None for all. With `behaviour` the penalty is on gains over the usual action. A constant in U
    lowers every V by as much, so that it is taken off once, at the end.
    """
    searches = [_search(part, fold, settings) for part, fold in zip(parts, folds, strict=True)]
    profits = np.concatenate([part.profit for part in parts])
    rows = len(profits)
    pessimism = settings.beta > 0 and settings.pessimistic_until > 0
    residuals: list[tuple[float, ...]] = []
    q: list[ActionValueFunction] = []
    designs: list[RegressionDesign] = []
    following = [NextValues.of(part, may, actions, behaviour) for part, may in zip(parts, allowed, strict=True)]
    keep = rows * len(actions) <= KEPT_SCORES
    regressed = [part.profit for part in parts]
    for k in range(1, settings.iterations + 1):
        if q:
            beta = settings.beta if k - 1 <= settings.pessimistic_until else 0.0
            regressed = targets(parts, following, q, settings.discount, beta)
        if settings.select_at is None or k in settings.select_at or not designs:
            designs = []  # frees the memory of the former factors
            designs = [search.chosen(target, pessimism) for search, target in zip(searches, regressed, strict=True)]
            following = [each.prepared(designs) for each in following] if keep else following
        horizon = (1 - settings.discount**k) / (1 - settings.discount)
        low, high = float(profits.min()) * horizon, float(profits.max()) * horizon
        if not settings.centred:
            low, high = -MOST, MOST
        mean = None if settings.has_intercept else 0.0
        learned = [design.q(target, low, high, mean) for design, target in zip(designs, regressed, strict=True)]
        q = [each for each, _ in learned]
        residuals.append(tuple(residual for _, residual in learned))
        if pessimism and k == 1 and isinstance(q[0], RegressorQ):
            if settings.calibrated:
                raise SettingError(
                    'penalty="calibrated" needs a kernel or linear function, which has a posterior variance'
                )
            members(q[0].model)  # refuses a regressor without an uncertainty
        if progress:
            progress(k, settings.iterations)
    last_is_pessimistic = pessimism and settings.iterations <= settings.pessimistic_until
    if not last_is_pessimistic:
        q = [each.without_penalty() if isinstance(each, QFunction) else each for each in q]
    margin = 0.0
    if settings.calibrated and last_is_pessimistic and isinstance(designs[0], RidgeDesign):
        margin = calibrated_margin(designs[0], regressed[0], settings.seed)
        lower = margin * (horizon - 1)  # U of every iteration but the last, discounted
        q = [each.lowered(lower) if isinstance(each, QFunction) else each for each in q]
        regressed = [each - lower for each in regressed]
    return FittedQ(tuple(q), last_is_pessimistic, settings.beta, np.array(residuals), tuple(regressed), margin)


def _search(part: Partition, folds: FoldMasks, settings: FqiSettings) -> "_RidgeSearch | _NoSearch":
    if isinstance(settings.function, FunctionClass):
        return _RidgeSearch.of(part, folds, settings)
    return _NoSearch(RegressorDesign.of(settings.function, part.block, part.action))


@dataclass(frozen=True)
class _NoSearch:
    """A regressor of the user's, which has no hyperparameters to choose."""

    design: RegressorDesign

    def chosen(self, targets: Floats, pessimism: bool) -> RegressionDesign:  # noqa: ARG002, as that of _RidgeSearch
        return self.design


@dataclass(eq=False)
class _RidgeSearch:
    """The standardised rows of a depth, and the search for kernel and ridge."""

    scaler: Scaler
    action_scaler: ActionScaler
    history: Floats  # (rows, coordinates)
    action: Floats  # (rows, 2)
    pilot: HyperparameterSearch
    function: FunctionClass
    centred: bool
    keeps: bool  # designs may be chosen again
    seed: int
    former: QBasis | None = None
    built: dict[tuple[Kernel | None, float], RidgeDesign] = field(default_factory=dict)

    @classmethod
    def of(cls, part: Partition, folds: FoldMasks, settings: FqiSettings) -> "_RidgeSearch":
        function = settings.function
        assert isinstance(function, FunctionClass)
        scaler = Scaler.of(part.block, robust=function.scaling == "robust")
        action_scaler = ActionScaler.of(part.action)
        history, action = scaler(part.block), action_scaler(part.action)
        pilot = HyperparameterSearch.of(history, action, folds, function, settings.seed)
        keeps = settings.select_at is None
        kept = settings.has_intercept, keeps, settings.seed
        return cls(scaler, action_scaler, history, action, pilot, function, *kept)

    def chosen(self, targets: Floats, pessimism: bool) -> RegressionDesign:
        """The design of the hyperparameters that predict these targets best."""
        choice = self.pilot.choose(targets - targets.mean() if self.centred else targets)
        if (found := self.built.get((choice.kernel, choice.ridge))) is not None:
            return replace(found, basis=replace(found.basis, choice=choice))
        scalers = self.scaler, self.action_scaler
        design = build(*scalers, self.history, self.action, choice, self.function, self.seed)
        if pessimism:
            design = with_penalty(design, self.function, self.seed, self.former)
            self.former = design.basis
        if self.keeps:
            self.built[choice.kernel, choice.ridge] = design
        return design
