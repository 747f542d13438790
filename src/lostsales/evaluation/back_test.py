"""`back_test`: a method that learns from the past and is evaluated on later periods, at several moments of a log."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from lostsales import plots
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.parallel import using_workers
from lostsales.data.progress import Progress, stages
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import check_log
from lostsales.evaluation.results import plain
from lostsales.evaluation.task import MOST_HORIZON
from lostsales.learn.fit import DEFAULT, fit_in_shop_units, learner_of
from lostsales.learn.learner import Learner
from lostsales.policy.policy import SavedPolicy

WINDOWS = 3  # by default
TESTED = 0.5  # the share of the periods that is tested, the last ones
LEAST_PERIODS = 5  # of a window
ENDS = {
    "borne out": "the prediction is confirmed",
    "fell short": "significantly less than predicted",
    "open": "inconclusive, no gain is proven in the windows",
}


@dataclass(frozen=True)
class BackTestWindow:
    """A span of periods, and a policy that was learned from all periods before it."""

    first: str  # period
    last: str  # period
    rows: int
    claimed: Interval | None = None  # gain a period, by what the policy was learned from
    outcome: Interval | None = None  # gain a period, by the window alone
    earned_before: float | None = None  # mean profit of a row
    earned: float | None = None  # in the window
    reason: str | None = None  # why there are no figures


@dataclass(frozen=True)
class BackTest:
    """Claims and outcomes of a method, as `back_test` returns them.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=40",)), episodes=12, seed=1)
    >>> found = lostsales.back_test(log, "newsvendor", windows=2)
    >>> [(each.first, each.last) for each in found.windows], found.verdict
    ([('20', '29'), ('30', '39')], 'borne out')

    """

    method: str
    windows: tuple[BackTestWindow, ...]

    @property
    def claimed(self) -> Interval | None:
        """The mean claim; as claims share most of their rows, no surer than one of them."""
        claims = [each.claimed for each in self.windows if each.claimed is not None]
        if not claims:
            return None
        return Interval.around(*np.mean([(each.value, each.reach) for each in claims], axis=0).tolist())

    @property
    def outcome(self) -> Interval | None:
        """The mean outcome over the windows, which have no row in common."""
        outcomes = [each.outcome for each in self.windows if each.outcome is not None]
        if not outcomes:
            return None
        reach = float(np.sqrt(np.sum([each.reach**2 for each in outcomes]))) / len(outcomes)
        return Interval.around(float(np.mean([each.value for each in outcomes])), reach)

    @property
    def verdict(self) -> str:
        """Verdict on the claims: "borne out", "fell short", "open" or "not tested".

        They fell short where the outcome is less beyond chance. A gain that came out as well bears them out.
        """
        if self.claimed is None or self.outcome is None:
            return "not tested"
        short = self.claimed.value - self.outcome.value
        if short > np.hypot(self.claimed.reach, self.outcome.reach):
            return "fell short"
        return "borne out" if self.outcome.proven else "open"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.claimed is None or self.outcome is None:
            return f"{self.method} could not be tested on later periods: {self.windows[0].reason}"
        tested = sum(each.outcome is not None for each in self.windows)
        came = f"{self.outcome.value:.2f} ({self.outcome.low:.2f} to {self.outcome.high:.2f})"
        told = f"{self.method} predicted a gain of {self.claimed.value:.2f} per period before {_windows(tested)}"
        return f"{told}; in the windows it was {came}: {ENDS[self.verdict]}"

    def plot(self) -> Any:
        """Picture of the gain that was predicted before each window, and of its outcome."""
        pairs = [(f"{each.first} to {each.last}", each) for each in self.windows]
        kinds = [((f"{name}, predicted", each.claimed), (f"{name}, outcome", each.outcome)) for name, each in pairs]
        return plots.draw_intervals([one for pair in kinds for one in pair], self.method, "gain per period")

    def _repr_html_(self) -> str:
        return plots.html(self.sentence, self.plot)

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        more = {"claimed": plain(self.claimed), "outcome": plain(self.outcome)}
        found: dict[str, Any] = plain(self)
        return found | more | {"verdict": self.verdict, "sentence": self.sentence}


def back_test(
    log: SalesLog,
    method: str | Learner = DEFAULT,
    *,
    windows: int = WINDOWS,
    seed: int = 0,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> BackTest:
    """Learn from the past, evaluate on what came later, and set the claim against the outcome, window by window.

    The last half of the periods is split into windows. Before each, the method learns from all that went before, and
    its gain is estimated from the same rows: the claim. Then it is estimated from the window alone: the outcome.
    Neither a claim that rests on chance nor one that a changed market overtook survives this.

    Parameters
    ----------
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    method : str or Learner
        A name, or settings such as ``Planner(draws=5)``.
    windows : int
        How many.
    seed : int
        The same seed gives the same answer, on any number of workers.
    quick : bool
        Quick settings of the method, and fewer rows to evaluate on.
    workers : int, optional
        Threads; by default those of the machine, at most four.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    BackTest
        Claim and outcome of every window.

    Raises
    ------
    SettingError
        If the method is unknown or there is no window.
    LostSalesError
        If the log has no stock, orders or costs, or too few periods.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=20",)), episodes=12, seed=1)
    >>> lostsales.back_test(log, "newsvendor", windows=1, quick=True).verdict
    'borne out'

    """
    if windows < 1:
        raise SettingError(f"windows must be at least 1, but {windows} came")
    check_log(log)
    learner = learner_of(method, {"seed": seed} if isinstance(method, str) else {})
    learner = learner.quick() if quick else learner
    spans = list(_spans(log, windows))
    with using_workers(workers):
        found = [
            _tested(log, learner, *span, seed, quick, tick)
            for span, tick in zip(spans, stages(progress, [1.0] * windows), strict=True)
        ]
    return BackTest(learner.method, tuple(found))


def _spans(log: SalesLog, windows: int) -> Iterator[tuple[Any, Any]]:
    """First and last period of each window."""
    periods = np.unique(log.period)
    edges = np.linspace(len(periods) * (1 - TESTED), len(periods), windows + 1).astype(int)
    if edges[1] - edges[0] < LEAST_PERIODS:
        wanted = f"a back-test in {_windows(windows)} needs at least {int(np.ceil(windows * LEAST_PERIODS / TESTED))}"
        raise LostSalesError(f"{wanted} different periods, but the log has {len(periods)}; ask for fewer windows")
    for first, after in pairwise(edges.tolist()):
        yield periods[first], periods[after - 1]


def _tested(
    log: SalesLog, learner: Learner, first: Any, last: Any, seed: int, quick: bool, progress: Progress
) -> BackTestWindow:
    past, window = without(log, log.period >= first), without(log, (log.period < first) | (log.period > last))
    found = BackTestWindow(spelled(first), spelled(last), len(window))
    learning, claiming, judging = stages(progress, (1, 1, 1))
    try:
        policy = fit_in_shop_units(learner, past, learning)
        length = max(int(np.median(np.bincount(window.series))), 1)
        horizon = length if length <= MOST_HORIZON else None  # longer ones in episodes of that many periods
        claim, profit_before = _gain(policy, past, horizon, seed, quick, claiming)
        outcome, profit = _gain(policy, window, horizon, seed, quick, judging)
    except LostSalesError as error:
        return replace(found, reason=str(error))
    return replace(found, claimed=claim, outcome=outcome, earned_before=profit_before, earned=profit)


def _gain(
    policy: SavedPolicy, log: SalesLog, horizon: int | None, seed: int, quick: bool, progress: Progress
) -> tuple[Interval, float]:
    """Gain and earned profit by some rows; raises where the estimator refuses."""
    found = evaluate(policy, log, estimators=("model",), horizon=horizon, seed=seed, quick=quick, progress=progress)
    if found.best is None or found.best.gain is None:
        raise LostSalesError(str(found.estimates[0].reason))
    return found.best.gain, found.earned.profit.value


def _windows(number: int) -> str:
    return "one window" if number == 1 else f"each of {number} windows"
