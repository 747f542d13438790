"""The paper's claims (Section 5) and our questions, tested by differences over runs: reproduced, not, or inconclusive.

Differences between our own results are paired over runs; those to the published figures are of independent means.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.data.confidence import quantile
from lostsales.lab.experiments.against_published import differences_to_published, over_points
from lostsales.lab.experiments.design import PAPER
from lostsales.lab.experiments.results import ExperimentResults, RunMean
from lostsales.types import Floats

Verdict = Literal["reproduced", "not reproduced", "inconclusive"]
OURS = ("planner", "replay-fqi")
# C-FQI less its depths: one Q on the last observation, raw or with the mean of a hidden demand (Appendix C).
WITHOUT_DEPTH = ("fqi-imputed", "fqi-plugin")
# Margin of "near", as a share of the gain of pi* over uniform decisions.
NEAR = 0.05


@dataclass(frozen=True)
class Claim:
    """A claim, the difference that tests it (paired over runs, profit a period), and the verdict."""

    claim: str
    behaviour: str
    measured: str  # the difference, in words
    mean: float
    low: float
    high: float
    n: int
    verdict: Verdict
    note: str


def check_claims(results: ExperimentResults) -> list[Claim]:
    """Every claim of the paper, and ours about depth and the planner.

    Differences are means over common levels unless stated.
    """
    claims = [_oracle_above(results)]
    for behaviour in results.experiment.behaviours:
        for method in PAPER:
            claims += [_rises(results, behaviour, method), _reaches(results, behaviour, method)]
        pair = ("c-fqi", "pc-fqi") if behaviour == "uniform" else ("pc-fqi", "c-fqi")
        claims += [_beats(results, behaviour, *pair), _near(results, behaviour, "fusion", "c-fqi")]
        for rival in WITHOUT_DEPTH:
            claims += [_beats(results, behaviour, "c-fqi", rival, f"one Q per depth pays: c-fqi beats {rival}")]
        claims += [_beats_all(results, behaviour, "planner")]
        claims += _as_published(results, behaviour)
    return claims


def above(interval: RunMean, bound: float = 0.0) -> Verdict:
    """Verdict on a mean being above a bound."""
    if interval.low > bound:
        return "reproduced"
    return "not reproduced" if interval.high <= bound else "inconclusive"


def within(interval: RunMean, margin: float) -> Verdict:
    """Verdict on a mean being within a margin of 0."""
    if -margin < interval.low and interval.high < margin:
        return "reproduced"
    outside = interval.low >= margin or interval.high <= -margin
    return "not reproduced" if outside else "inconclusive"


def _claim(text: str, behaviour: str, measured: str, interval: RunMean, verdict: Verdict, note: str = "") -> Claim:
    return Claim(text, behaviour, measured, interval.mean, interval.low, interval.high, interval.n, verdict, note)


def _not_run(text: str, behaviour: str, reason: str) -> Claim:
    return _claim(text, behaviour, "", RunMean.of(np.zeros(0)), "inconclusive", reason)


def _oracle_above(results: ExperimentResults) -> Claim:
    difference = RunMean.of(results.reference("oracle") - results.reference("pi-star"))
    return _claim("the oracle is above pi*", "any", "oracle - pi*", difference, above(difference))


def _rises(results: ExperimentResults, behaviour: str, method: str) -> Claim:
    """A trend over all levels, and no step from one level to the next that falls beyond chance."""
    text, levels = f"{method} rises with data", results.experiment.levels
    if not results.has(method):
        return _not_run(text, behaviour, f"{method} was not run")
    if len(levels) < 2:
        return _not_run(text, behaviour, "there is one level only")
    values = results.values(behaviour, method)
    trend = RunMean.of(slopes(np.log2(levels), values))
    steps = [RunMean.of(step) for step in np.diff(values, axis=1).T]
    falls = [f"{levels[at]} to {levels[at + 1]}" for at, step in enumerate(steps) if _falls(step, len(steps))]
    note = f"{sum(step.mean > 0 for step in steps)} of {len(steps)} steps between levels rise"
    if falls:
        note += f"; beyond chance it falls from {', '.join(falls)} episodes"
    verdict: Verdict = "not reproduced" if falls else above(trend)
    return _claim(text, behaviour, f"{method} for each doubling of the data, over all levels", trend, verdict, note)


def slopes(x: Floats, values: Floats) -> Floats:
    """Slope of the least-squares line through the values of each run (runs, levels), NaN below two of them.

    >>> slopes(np.array([0.0, 1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [5.0, np.nan, 1.0], [4.0, np.nan, np.nan]]))
    array([ 1., -2., nan])
    """
    is_finite = ~np.isnan(values)
    weight = is_finite.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = np.where(is_finite, x - (weight @ x / weight.sum(axis=1))[:, None], 0.0)
        return np.asarray((centred * np.where(is_finite, values, 0.0)).sum(axis=1) / (centred**2).sum(axis=1))


def _falls(step: RunMean, steps: int) -> bool:
    """True if a step is below 0 at the significance level 0.05, shared over all steps."""
    return step.n > 1 and step.mean < -quantile(1 - 0.05 / steps, step.n - 1) * step.std_error


def _reaches(results: ExperimentResults, behaviour: str, method: str) -> Claim:
    text = f"{method} comes near pi*"
    if not results.has(method):
        return _not_run(text, behaviour, f"{method} was not run")
    difference = RunMean.of(results.values(behaviour, method)[:, -1] - results.reference("pi-star"))
    margin = NEAR * results.gain
    measured = f"{method} with {results.experiment.levels[-1]} episodes - pi*"
    return _claim(text, behaviour, measured, difference, above(difference, -margin), _margin(margin))


def _beats(results: ExperimentResults, behaviour: str, method: str, rival: str, text: str = "") -> Claim:
    text = text or f"{method} beats {rival}"
    if not results.has(method, rival):
        return _not_run(text, behaviour, f"{method} and {rival} were not both run")
    difference = results.values(behaviour, method) - results.values(behaviour, rival)
    overall = RunMean.of(over_levels(difference))
    common = ~np.isnan(difference).all(axis=0)
    levels = [above(RunMean.of(column)) for column in difference.T[common]]
    yes, no = levels.count("reproduced"), levels.count("not reproduced")
    note = f"at {yes} of {len(levels)} levels, the reverse at {no}"
    return _claim(text, behaviour, f"{method} - {rival}", overall, above(overall), note)


def _near(results: ExperimentResults, behaviour: str, method: str, other: str) -> Claim:
    text = f"{method} is near {other}"
    if not results.has(method, other):
        return _not_run(text, behaviour, f"{method} and {other} were not both run")
    overall = RunMean.of(over_levels(results.values(behaviour, method) - results.values(behaviour, other)))
    margin = NEAR * results.gain
    return _claim(text, behaviour, f"{method} - {other}", overall, within(overall, margin), _margin(margin))


def _as_published(results: ExperimentResults, behaviour: str) -> list[Claim]:
    """One claim a published curve of the behaviour, over the levels that were run; none where nothing is published."""
    claims, margin = [], NEAR * results.gain
    points = [each for each in differences_to_published(results) if each.behaviour == behaviour]
    for method in dict.fromkeys(each.method for each in points):
        own = [each for each in points if each.method == method]
        overall = over_points(own)
        less, more = sum(each.difference_high < 0 for each in own), sum(each.difference_low > 0 for each in own)
        note = f"of {len(own)} levels, below the published at {less} and above it at {more} beyond chance"
        text, measured = f"{method} comes near the published figures", f"{method} - published, mean over levels"
        verdict = above(overall, -margin)
        claims += [_claim(text, behaviour, measured, overall, verdict, f"{note}; {_margin(margin)}")]
    return claims


def _beats_all(results: ExperimentResults, behaviour: str, method: str) -> Claim:
    """Holds where it holds against each rival; the difference reported is that to the best of them.

    Our own learners are no rivals of each other.
    """
    text = f"{method} beats all"
    rivals = [name for name in results.experiment.methods if name not in OURS]
    if not results.has(method) or not rivals:
        return _not_run(text, behaviour, f"{method} and a rival were not both run")
    own = results.values(behaviour, method)
    against = {rival: RunMean.of(over_levels(own - results.values(behaviour, rival))) for rival in rivals}
    verdicts = {rival: above(interval) for rival, interval in against.items()}
    closest = min(against, key=lambda rival: np.nan_to_num(against[rival].mean, nan=np.inf))
    beaten = sum(verdict == "reproduced" for verdict in verdicts.values())
    overall: Verdict = "reproduced" if beaten == len(rivals) else "inconclusive"
    if "not reproduced" in verdicts.values():
        overall = "not reproduced"
    note = f"beats {beaten} of {len(rivals)}; the closest is {closest}"
    return _claim(text, behaviour, f"{method} - {closest}", against[closest], overall, note)


def over_levels(difference: Floats) -> Floats:
    """The mean of each run over the levels at which both methods were fitted and neither failed, (runs,)."""
    is_finite = ~np.isnan(difference)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(is_finite, difference, 0.0).sum(axis=1) / is_finite.sum(axis=1))


def _margin(margin: float) -> str:
    return f"near is within {margin:.2f}, {NEAR:.0%} of what pi* earns above uniform decisions"
