"""Evaluation on the learned law of demand: the days of the log lived again under the policy."""

import numpy as np

from lostsales.demand.law.demand_law import DemandLaw
from lostsales.evaluation.estimators.replay import ReplayedEpisodes, ReplayPeriods, live
from lostsales.evaluation.prepared_log import LeaveOneOutLaws, PreparedLog, root_mean_square
from lostsales.evaluation.results import Estimate, Interval, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Bools, Floats

LIVES = 300
JUDGED_ON = "features, price and last demand"
LEAST_SHARE = 0.5  # of what the policy meets that must be known from the log
COMFORTABLE = 0.9
MOST_NEAR = 1_000  # rows of the log that the neighbours are sought among
USUAL = 0.99  # quantile of the distances between neighbours in the log


def model_based(case: EvaluationTask) -> Estimate:
    """What the policy earns when demand follows the learned law; every unit is left out once, law and days."""
    ledger, laws = case.ledger, case.ledger.laws
    if laws is None:
        nothing = Overlap(JUDGED_ON, 0.0, 0.0, False, "there is no demand model")
        return Estimate("model", nothing, reason=f"no demand model can be learned: {ledger.refusal}")
    horizon, discount = case.estimand.horizon, case.estimand.discount
    days = ReplayPeriods.of(ledger.log, laws.model.evidence, horizon, LIVES, case.seed, case.start_stock)
    done, total = 0, 1 + len(laws.without) + len(laws.others)

    def lived(law: DemandLaw) -> ReplayedEpisodes:
        nonlocal done
        found = live(case.policy, days, law, horizon, discount, case.seed)
        done += 1
        if case.progress:
            case.progress(done, total)
        return found

    whole = lived(laws.law)
    overlap = overlap_with(laws, whole.met, case.seed)
    if not overlap.enough:
        return Estimate("model", overlap, reason=overlap.sentence)
    unit_of_day = ledger.units.of_row[laws.model.evidence.rows[days.row]]  # (periods, lives)
    parts, others = [lived(law) for law in laws.without], [lived(law) for law in laws.others]
    every = np.ones_like(days.lived)

    def figure(name: str, against: tuple[Floats, Floats] | None = None) -> tuple[Floats, float]:
        """Contributions and doubt of a mean, less those of what was earned and how that moves under other laws."""

        def mean(life: ReplayedEpisodes, kept: Bools) -> float:
            """Over the days that are kept, or the lives whose first day is; over all where one unit has them all."""
            if name == "discounted":
                return float(life.discounted[kept[0] if kept[0].any() else every[0]].mean())
            counted = days.lived & kept if (days.lived & kept).any() else days.lived
            return float(getattr(life, name)[counted].mean())

        value = mean(whole, every)
        moved = np.array([mean(life, unit_of_day != unit) for unit, life in enumerate(parts)])
        own = ledger.units.left_out(value, moved)
        doubt = np.array([mean(life, every) - value for life in others])
        if against is not None:
            own, doubt = own - against[0], doubt - against[1]
        return own, root_mean_square(doubt)

    profit = figure("profit")
    gain = figure("profit", (ledger.contributions, ledger.moved_by_others))
    cash_gain = figure("cash", (ledger.units.mean(ledger.log.cash), np.zeros(len(others))))
    return Estimate(
        estimator="model",
        overlap=overlap,
        profit=Interval.of(*profit),
        cash=Interval.of(*figure("cash")),
        discounted=Interval.of(*figure("discounted")),
        gain=Interval.of(*gain),
        cash_gain=Interval.of(*cash_gain),
        contributions=profit[0],
        doubt=gain[1],
        notes=_notes(ledger),
    )


def _notes(ledger: PreparedLog) -> tuple[str, ...]:
    assert ledger.laws is not None
    notes = [f"demand by a {ledger.laws.law.family.name}", *ledger.laws.model.warnings]
    if ledger.log.received is not None:
        notes.append("orders are taken to arrive in full, though not all did")
    return tuple(notes)


def overlap_with(laws: LeaveOneOutLaws, met: Floats, seed: int) -> Overlap:
    """Of what the policy meets, the share that is as near to the log as the log's rows are to each other."""
    from scipy.spatial import KDTree

    evidence, scale = laws.model.evidence, laws.law.scale
    lag = evidence.lag / scale[evidence.series]
    rows = np.flatnonzero(~np.isnan(lag))
    if len(rows) > MOST_NEAR:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_NEAR, replace=False))
    seen = np.column_stack([evidence.market[rows], evidence.price[rows], lag[rows]])
    spread = seen.std(axis=0)
    spread = np.where(spread > 1e-9 * (1 + np.abs(seen.mean(axis=0))), spread, 1e-9)
    tree = KDTree(seen / spread)
    apart: Floats = np.asarray(tree.query(seen / spread, k=2)[0])
    usual = float(np.quantile(apart[:, 1], USUAL))
    share = float(np.mean(tree.query(met / spread)[0] <= usual + 1e-6))
    enough = share >= LEAST_SHARE
    sentence = f"{share:.0%} of what the policy would meet ({JUDGED_ON}) is known from the log"
    if not enough:
        sentence += "; its prices or the demand they lead to were never seen: try them on a few series first"
    elif share < COMFORTABLE:
        sentence += "; the rest is the demand model's own guess"
    return Overlap(JUDGED_ON, share, share * len(evidence), enough, sentence)
