"""The bounds of Theorems 1 and 2, assembled from the measured terms."""

from lostsales.evaluation.diagnostics.diagnostic import Diagnostic, Diagnostics

ADVICE = "compare logs and settings by it; it has no constants and is no sum of money"


def regret_bounds(terms: Diagnostics, longer_runs: float) -> tuple[Diagnostic, Diagnostic]:
    """Theorem 1, in ideal conditions, and Theorem 2, with all relaxations; terms that cannot be measured count as 0.

    `longer_runs` bounds the probability of a run beyond max_depth within K periods, so that 1 less it stands for the
    probability of the event C(K, n). A kernel has no finite dimension d: the effective one takes its place in both.
    """
    missing = [key for key in ("omega", "bap", "tap", "imputation") if terms.by(key).value is None]
    note = f"; not measured, and left out: {', '.join(missing)}" if missing else ""
    statistical = terms.by("e_stat").value
    if statistical is None:
        none = terms.by("e_stat").meaning
        return _bound("theorem_1", "ideal conditions", None, none), _bound("theorem_2", "all relaxations", None, none)
    aligned = (terms.by("tap").value or 0.0) + (terms.by("bap").value or 0.0)
    learnable, beyond = max(1.0 - longer_runs, 0.0), terms.by("e_cov").value or 0.0
    whole = learnable * (statistical + aligned) + beyond
    parts = (
        f"{learnable:.2g} (probability that runs stay within max_depth) x ({statistical:.3g} statistical + "
        f"{aligned:.3g} alignment) + {beyond:.3g} unidentifiable"
    )
    ideal = f"{statistical:.3g}, if max_depth covers every run and the safe action is the best one"
    return (
        _bound("theorem_1", "ideal conditions", statistical, ideal + note),
        _bound("theorem_2", "all relaxations", whole, parts + note),
    )


def _bound(key: str, conditions: str, value: float | None, meaning: str) -> Diagnostic:
    return Diagnostic(key, f"regret bound, {conditions}", value, None, True, meaning, ADVICE)
