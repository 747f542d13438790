"""`fit`: from a log to a policy."""

from dataclasses import replace
from typing import Any

from pydantic_core import PydanticSerializationError

from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.data.settings import checked_json
from lostsales.data.units import in_units, own_units, problem_in_units, unit_of
from lostsales.demand.audit.behaviour import audit_behaviour
from lostsales.errors import LostSalesError, SettingError, warn
from lostsales.learn.learner import LEARNERS, Learner
from lostsales.policy.in_units import InUnits
from lostsales.policy.own_range import one_price_warning
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import LearnedBy, learned_by, log_digest, with_provenance

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
        Where a method or a setting is unknown or a value is not allowed.
    LostSalesError
        Where the log cannot be learned from: no stock, orders or costs, or too few rows.

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
    policy = with_provenance(fit_counted(learner, log, progress), _provenance(learner, log))
    if learner.sets_prices and (text := one_price_warning(log, learner.rules.over(log.problem.rules))):
        warn(text)
    return policy


def fit_counted(learner: Learner, log: SalesLog, progress: Progress | None = None) -> SavedPolicy:
    """Fit a learner to the counts of a log, so that what it learns does not depend on the unit of quantity."""
    unit = unit_of(log)
    # A quantity in the problem or in the rules is one of the whole shop: products then count in its unit only.
    names_quantities = problem_in_units(log.problem, 2.0) != log.problem or learner.in_units(2.0) != learner
    own = {} if names_quantities else own_units(log if unit == 1 else in_units(log, unit))
    if unit == 1 and not own:
        return _fit(learner, log, progress)
    policy = _fit(learner.in_units(unit), in_units(log, unit, own), progress)
    return InUnits(policy, problem_in_units(policy.problem, 1 / unit), unit, own)


def _provenance(learner: Learner, log: SalesLog) -> LearnedBy | None:
    """Learner and log; None where a setting is code, such as a mask, which no file can hold."""
    try:
        return LearnedBy(method=learner.method, settings=learner.model_dump(mode="json"), log=log_digest(log))
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


def _fit(learner: Learner, log: SalesLog, progress: Progress | None) -> SavedPolicy:
    if learner.sets_prices and learner.pricing == "tested" and not log.demand_only:
        with single_threaded():
            log = replace(log, keeps_price=audit_behaviour(log).is_hidden)
    policy = _fit_to_series(learner, log, progress)
    if log.keeps_price and (policy.may_recommend is None or len(policy.may_recommend.prices) == 1):
        warn(KEEPS_PRICE)  # a learner with instruments may know the effect of prices all the same
    return policy


def _fit_to_series(learner: Learner, log: SalesLog, progress: Progress | None) -> SavedPolicy:
    if not learner.one_ladder:
        return learner.fit_at_level(log, progress)
    from lostsales.learn.baselines.in_own_units import fit_in_own_units

    return fit_in_own_units(learner, log, progress)


def learner_of(method: str | Learner, settings: dict[str, Any]) -> Learner:
    """The learner by name with its settings, or as it was given."""
    if isinstance(method, str):
        return LEARNERS.get(method)(**settings)
    if not isinstance(method, Learner):
        raise SettingError(f"a method is a name or settings such as Planner(), but a {type(method).__name__} came")
    if settings:
        raise SettingError(f"give {', '.join(settings)} to {type(method).__name__}(...), which has its own settings")
    return method
