"""The function `diagnose`: all terms of the regret bound, with the given policy instead of the unknown best one."""

from dataclasses import replace

from lostsales.demand.censoring.runs import ANY_DEPTH, find_runs
from lostsales.evaluation.diagnostics.action_coverage import coverage_ratio, measure_depth
from lostsales.evaluation.diagnostics.boundary_penalties import (
    action_discrepancy,
    boundary_penalty,
    termination_penalty,
)
from lostsales.evaluation.diagnostics.diagnostic import Diagnostics
from lostsales.evaluation.diagnostics.log_terms import (
    depth_instability,
    imputation_error,
    iterations,
    longer_runs,
    partition_shares,
    unidentifiable_regret,
)
from lostsales.evaluation.diagnostics.regret_bounds import regret_bounds
from lostsales.evaluation.diagnostics.statistical_error import dimension, gain_in_information, statistical_error
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import q_policy


def diagnose(task: EvaluationTask) -> Diagnostics:
    """Measure every term for a policy and a log, at the depths of the policy's Q-functions if it has them."""
    learned, rule = q_policy(task.policy), ANY_DEPTH
    if learned is not None:
        rule = learned.depth_rule
        runs = find_runs(task.prepared.log, len(learned.q) - 1, rule.least_rows, rule.pool)
        task = replace(task, prepared=replace(task.prepared, runs=runs))
    prepared = task.prepared
    measured = [measure_depth(task, depth) for depth in range(prepared.runs.max_depth + 1)]
    discrepancy = action_discrepancy(task)
    shares, depth = partition_shares(prepared), depth_instability(prepared, task.seed, rule)
    coverage, d_star, imputation = coverage_ratio(measured), dimension(measured), imputation_error(prepared)
    terms = Diagnostics(
        (
            shares,
            depth,
            coverage,
            unidentifiable_regret(prepared),
            d_star,
            gain_in_information(measured),
            statistical_error(d_star, coverage, shares, imputation, depth, int(prepared.runs.usable.sum())),
            boundary_penalty(task, discrepancy),
            termination_penalty(task, discrepancy),
            imputation,
            iterations(prepared),
        )
    )
    return Diagnostics((*terms.items, *regret_bounds(terms, longer_runs(prepared))))
