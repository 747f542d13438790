"""`fit`: from a log to a policy."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic_core import PydanticSerializationError

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.progress import Progress
from lostsales.data.relative import Counts, problem_in_units, relative_grid, relative_log, settings_in_units
from lostsales.data.seen_range import is_limited, one_price_warning
from lostsales.data.settings import checked_json
from lostsales.demand.audit.behaviour import audit_behaviour
from lostsales.errors import LostSalesError, SettingError, warn
from lostsales.learn.learner import LEARNERS, Learner
from lostsales.learn.targets import fit_to_targets
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import LearnedBy, MetTarget, learned_by, log_digest, met_targets, with_provenance
from lostsales.policy.rules import Rules
from lostsales.policy.shop_units import InShopUnits, ShopGrid

_logger = logging.getLogger(__name__)
DEFAULT = "planner"
KEEPS_PRICE = (
    "the policy keeps the usual price and decides orders only: prices or orders varied with something that the log "
    "does not show, so the effect of another price is not known (an instrument or a pilot would show it; pricing=free "
    "sets prices all the same)"
)


def fit(
    log: SalesLog, method: str | Learner = DEFAULT, *, progress: Progress | None = None, **settings: Any
) -> SavedPolicy:
    """Learn a policy from a log.

    Parameters
    ----------
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    method : Learner or str
        Settings of a learner, such as ``Planner(draws=5)`` or ``CFQI(iterations=10)``, or the name of a method, whose
        settings are then given by keyword.
    progress : callable, optional
        Called with (done, total).
    **settings
        Settings of the method, where it is given by name.

    Returns
    -------
    SavedPolicy
        A policy with `recommend`, `save` and what it asks for.

    Raises
    ------
    SettingError
        If a method or a setting is unknown or a value is not allowed.
    LostSalesError
        If the log cannot be learned from: no stock, orders or costs, or too few rows.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, lostsales.BaseStock(seed=0))
    >>> policy.summary()["order_up_to"]
    20.0

    """
    if not isinstance(log, SalesLog):
        raise LostSalesError(f"fit learns from a log that `read_log` gives, but a {type(log).__name__} came")
    learner = learner_of(method, settings)
    _logger.info("%s is fitted to %s rows of %s series", learner.method, len(log), len(log.names))
    policy = fit_in_shop_units(learner, log, progress)
    policy = with_provenance(policy, _provenance(learner, log, met_targets(policy)))
    if learner.sets_prices and (text := one_price_warning(log, learner.rules.over(log.problem.rules))):
        warn(text)
    return policy


def fit_in_shop_units(learner: Learner, log: SalesLog, progress: Progress | None = None) -> SavedPolicy:
    """Fit a learner to relative rows, so that the result does not depend on units, and answer in those of the shop."""
    shop = log.decisions("fit")
    if (reason := refusal_of(learner, shop.problem)) is not None:
        raise SettingError(reason)
    if shop.problem.targets.wanted is not None and learner.meets_targets is not None:
        return fit_to_targets(learner, shop, lambda priced: _fit_at_costs(learner, priced), progress)
    return _fit_at_costs(learner, shop, progress)


def refusal_of(learner: Learner, problem: Problem) -> str | None:
    """Reason why a learner cannot do what a problem asks for, None where it can."""
    if learner.meets_targets is not False:
        return None
    if problem.limits:
        return f"{learner.method} has no limits that products share, only the planner and lookahead do"
    if problem.targets.wanted is not None:
        return f"{learner.method} has no targets of service, only the planner and lookahead do: set costs.lost instead"
    return None


def _fit_at_costs(learner: Learner, shop: DecisionLog, progress: Progress | None = None) -> SavedPolicy:
    """Fit a learner at the unit costs of a log."""
    counts = Counts.of(shop, learner)
    counts = counts._replace(log=_with_tested_prices(learner, counts.log))
    counted = settings_in_units(learner, counts.shop_unit)
    found = None if learner.models_products else _fit_relative(counted, counts, shop.problem, progress)
    if found is None:
        found = _in_shop_units(counted.fit(counts.log, progress), counts)
    is_hidden = counts.log.keeps_price and learner.pricing == "tested"
    if is_hidden and (found.may_recommend is None or len(found.may_recommend.prices) == 1):
        warn(KEEPS_PRICE)  # a learner with instruments may know the effect of prices all the same
    return found


def _in_shop_units(policy: SavedPolicy, counts: Counts) -> SavedPolicy:
    """Policy that was learned from counts, for a shop that writes its quantities otherwise."""
    if (counts.units == 1).all():
        return policy
    products = counts.in_shop_units(ProductTable.of(counts.log)).without_scale()
    problem, usual = problem_in_units(policy.problem, 1 / counts.shop_unit), policy.usual_demand * counts.shop_unit
    return InShopUnits(policy, problem, products, usual)


def _fit_relative(learner: Learner, counts: Counts, problem: Problem, progress: Progress | None) -> SavedPolicy | None:
    """Fit a learner with one grid for all products to the relative log; None where products are alike."""
    log, shop_unit = counts.log, counts.shop_unit
    rules = learner.rules.over(log.problem.rules).of_log(log)
    grid = CandidateGrid.of(log, rules).coarse()
    relative = relative_grid(log, rules, grid)
    if not (relative.relative or is_limited(log)):
        return None
    products = ProductTable.of(log, rules)
    # A setting in quantities of any product is one of the smallest scale.
    inner = settings_in_units(learner, float(products.scale.min())).model_copy(update={"rules": Rules()})
    policy = inner.fit(relative_log(log, products, relative, rules), progress)
    observed = log.sales[~log.censored]
    return InShopUnits(
        policy,
        problem,
        counts.in_shop_units(products),
        usual_demand=float(np.median(observed if len(observed) else log.sales)) * shop_unit,
        grid=ShopGrid(grid, rules, float(log.costs.mean().order)).in_units(1 / shop_unit),
    )


def _with_tested_prices(learner: Learner, log: DecisionLog) -> DecisionLog:
    """Log that keeps its usual price where the audit finds that prices had hidden causes."""
    if not learner.sets_prices or learner.pricing == "free":
        return log
    if learner.pricing == "given":
        return replace(log, keeps_price=True)
    with single_threaded():
        return replace(log, keeps_price=audit_behaviour(log).is_hidden)


def _provenance(learner: Learner, log: SalesLog, met: tuple[MetTarget, ...]) -> LearnedBy | None:
    """Learner and log; None where a setting is code, such as a mask, which no file can hold."""
    try:
        return LearnedBy(
            method=learner.method, settings=learner.model_dump(mode="json"), log=log_digest(log), targets=met
        )
    except PydanticSerializationError:
        return None


def learner_again(policy: object, log: SalesLog) -> tuple[Learner | None, str]:
    """The learner of a policy with its settings, None and the reason where the log is not what it learned from."""
    found = learned_by(policy)
    if found is None:
        return None, "its file does not say by which settings it was learned; fit it again with this version"
    if found.method not in LEARNERS:
        return None, f"no installed package has its method {found.method}"
    if found.log != log_digest(log):
        return None, "it was learned from another log than this one, and the two may have rows in common"
    try:
        return checked_json(LEARNERS.get(found.method), found.settings, f"method {found.method}"), ""
    except SettingError as error:
        return None, f"this version cannot read its settings ({error})"


def learner_of(method: str | Learner, settings: dict[str, Any]) -> Learner:
    """The learner by name with its settings, or as it was given."""
    if isinstance(method, str):
        return LEARNERS.get(method)(**settings)
    if not isinstance(method, Learner):
        raise SettingError(f"a method is a name or settings such as Planner(), but a {type(method).__name__} came")
    if settings:
        raise SettingError(f"give {', '.join(settings)} to {type(method).__name__}(...), which has its own settings")
    return method
