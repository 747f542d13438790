"""Model-based evaluation: the periods of the log replayed under the policy, with demand by the learned law."""

from collections.abc import Iterator, Sequence

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.data.progress import stages
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.evaluation.assortment import root_mean_square
from lostsales.evaluation.concerns import is_doubtful
from lostsales.evaluation.estimators.replay import ReplayedEpisodes, ReplayPeriods, replay_under
from lostsales.evaluation.estimators.shop import shop_estimate
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import LeaveOneOutLaws, PreparedLog
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.sensitivity import sensitivity, with_memory, with_price_slope
from lostsales.evaluation.service import ServiceComparison, compared_service
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.period import Flow
from lostsales.types import Bools, Floats

EPISODES = 300  # replayed per model
QUICK_EPISODES = 100  # ... in quick runs
MOST_TOGETHER = 2_000  # episodes of several laws that are replayed in one go
JUDGED_ON = "features, price and last demand"
LEAST_SHARE = 0.5  # of the visited points that must lie near the log
COMFORTABLE_SHARE = 0.9  # below, the sentence on overlap warns
MOST_NEAR = 1_000  # rows of the log among which neighbours are sought
USUAL = 0.99  # quantile of the distances between neighbours in the log


def model_based(task: EvaluationTask) -> Estimate:
    """Mean profit of replayed episodes; a grouped jackknife leaves each unit out of the law and of the periods."""
    prepared, laws = task.prepared, task.prepared.laws
    if prepared.realised is not None:
        return shop_estimate(task, "model")
    if laws is None:
        nothing = Overlap(JUDGED_ON, 0.0, 0.0, False, "there is no demand model")
        return Estimate("model", nothing, reason=f"no demand model can be fitted: {prepared.refusal}")
    horizon, discount = task.estimand.horizon, task.estimand.discount
    episodes, restarts = QUICK_EPISODES if prepared.quick else EPISODES, task.estimand.restarts
    opening = task.seed, task.start_stock, restarts
    periods = ReplayPeriods.of(prepared.log, laws.model.evidence, horizon, episodes, *opening)
    first, others = stages(task.progress, (1, len(laws.without) + len(laws.alternatives)))

    def replayed(some: Sequence[DemandLaw]) -> list[ReplayedEpisodes]:
        return replay_under(task.policy, periods, some, horizon, discount, task.seed)

    whole = replayed((laws.law,))[0]
    first(1, 1)
    overlap = overlap_with(laws, whole.visited, task.seed)
    if not overlap.enough:
        return Estimate("model", overlap, reason=overlap.sentence)
    unit_of_period = prepared.units.of_row[laws.model.evidence.rows[periods.row]]  # (periods, episodes)
    shifted = _shifted(prepared, laws)
    together = 1 if whole.is_random else max(MOST_TOGETHER // len(periods.series), 1)
    batches = _batched((*laws.without, *laws.alternatives, *shifted), together)
    found = [each for batch in in_parallel(replayed, batches, others) for each in batch]
    last = len(found) - len(shifted)
    without, alternatives, under_shifted = found[: len(laws.without)], found[len(laws.without) : last], found[last:]
    every = np.ones_like(periods.is_replayed)

    def figure(name: str, against: tuple[Floats, Floats] | None = None) -> tuple[Floats, float]:
        """Contributions and model uncertainty of a mean, less those of the logged profit under the same laws."""

        def mean(episodes: ReplayedEpisodes, kept: Bools) -> float:
            """Mean over the kept periods, or the episodes whose first period is kept; over all if none is."""
            if name == "discounted":
                return float(episodes.discounted[kept[0] if kept[0].any() else every[0]].mean())
            counted = periods.is_replayed & kept
            return float(getattr(episodes, name)[counted if counted.any() else periods.is_replayed].mean())

        value = mean(whole, every)
        left_out = np.array([mean(episodes, unit_of_period != unit) for unit, episodes in enumerate(without)])
        own = prepared.units.left_out(value, left_out)
        shifts = np.array([mean(episodes, every) - value for episodes in alternatives])
        if against is not None:
            own, shifts = own - against[0], shifts - against[1]
        bend = _both_ways([mean(episodes, every) - value for episodes in under_shifted])
        # If the law is known to be wrong, the error of a gain may be as large as the gain.
        wrong = abs(float(own.mean())) if against is not None and doubtful else 0.0
        return own, float(np.hypot(np.hypot(root_mean_square(shifts), bend), wrong))

    doubtful = is_doubtful(prepared)
    profit = figure("profit")
    gain = figure("profit", (prepared.contributions, prepared.alternative_shifts))
    counted = periods.is_replayed
    by_price = under_shifted[:2] if prepared.price_slope_error else []
    shifts = np.array([float((each.profit - whole.profit)[counted].mean()) for each in by_price])
    cash_gain = figure("cash", (prepared.units.mean(prepared.log.cash), np.zeros(len(alternatives))))
    return Estimate(
        estimator="model",
        overlap=overlap,
        profit=Interval.of(*profit),
        cash=Interval.of(*figure("cash")),
        discounted=Interval.of(*figure("discounted")),
        gain=Interval.of(*gain),
        cash_gain=Interval.of(*cash_gain),
        contributions=profit[0],
        model_uncertainty=gain[1],
        sensitivity=None
        if prepared.panel is None
        else sensitivity(
            prepared.panel,
            float(gain[0].mean()),
            prepared.price_slope_error,
            shifts,
            abs(float(gain[0].mean())) if doubtful else 0.0,
        ),
        worth_of_stock=periods.worth_of_stock(whole.position),
        service=_service(prepared, periods, whole),
        notes=_notes(prepared, laws),
    )


def _service(prepared: PreparedLog, periods: ReplayPeriods, replayed: ReplayedEpisodes) -> ServiceComparison | None:
    """Service in the replayed periods, and in the rows of the log that they are."""
    log, lost = prepared.log, prepared.lost
    if lost is None:
        return None
    rows = periods.evidence.rows[periods.row].ravel()

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(rows, values.ravel(), len(log)))

    wasted = np.zeros(len(log)) if log.wasted is None else log.wasted
    left = log.available - log.sales - wasted
    logged = Flow(log.sales + lost, log.sales, log.censored.astype(np.float64), left, wasted)
    count = summed(periods.is_replayed.astype(np.float64))
    return compared_service(log, Flow(*map(summed, replayed.flow)), logged, count, 1)


def _shifted(prepared: PreparedLog, laws: LeaveOneOutLaws) -> tuple[DemandLaw, ...]:
    """The law with another price response, either way, and with other memory, either way; none where that is exact."""
    law, evidence = laws.law, laws.model.evidence
    price, memory = prepared.price_slope_error, prepared.memory_error
    by_price = (with_price_slope(law, evidence, -price), with_price_slope(law, evidence, price)) if price else ()
    return (*by_price, *(with_memory(law, evidence, each) for each in (-memory, memory) if memory))


def _both_ways(shifts: Sequence[float]) -> float:
    """The larger shift of each pair of shifted laws, put together as errors are."""
    pairs = np.abs(np.reshape(shifts, (-1, 2)))
    return float(np.sqrt((pairs.max(axis=1, initial=0.0) ** 2).sum()))


def _batched(laws: Sequence[DemandLaw], size: int) -> Iterator[Sequence[DemandLaw]]:
    """Split the models into batches of a size."""
    return (laws[at : at + size] for at in range(0, len(laws), size))


def _notes(prepared: PreparedLog, laws: LeaveOneOutLaws) -> tuple[str, ...]:
    notes = [f"demand model: {laws.law.family.name}", *laws.model.warnings]
    if prepared.log.received is not None and prepared.log.problem.receives_orders:
        notes.append("orders are assumed to arrive in full, though not all did")
    return tuple(notes)


def overlap_with(laws: LeaveOneOutLaws, visited: Floats, seed: int) -> Overlap:
    """Share of the visited points whose distance to the log is usual between neighbours of the log."""
    from scipy.spatial import KDTree

    evidence, scale = laws.model.evidence, laws.law.scale
    lag = evidence.lag / scale[evidence.series]
    rows = np.flatnonzero(~np.isnan(lag))
    if len(rows) > MOST_NEAR:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_NEAR, replace=False))
    logged = np.column_stack([evidence.market[rows], evidence.price[rows], lag[rows]])
    spread = logged.std(axis=0)
    spread = np.where(spread > 1e-9 * (1 + np.abs(logged.mean(axis=0))), spread, 1e-9)
    tree = KDTree(logged / spread)
    apart: Floats = np.asarray(tree.query(logged / spread, k=2)[0])
    usual = float(np.quantile(apart[:, 1], USUAL))
    share = float(np.mean(tree.query(visited / spread)[0] <= usual + 1e-6))
    enough = share >= LEAST_SHARE
    sentence = f"{share:.0%} of the states that the policy would visit ({JUDGED_ON}) are near the log"
    if not enough:
        sentence += "; its prices or the demand they lead to were never observed: try them on a few series first"
    elif share < COMFORTABLE_SHARE:
        sentence += "; the rest is extrapolated by the demand model"
    return Overlap(JUDGED_ON, share, share * len(evidence), enough, sentence)
