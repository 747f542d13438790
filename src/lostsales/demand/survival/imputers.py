"""Imputers: estimators of the mean of censored demands, by name.

An imputer is called once for every group of rows with an `ImputerData` and returns a `Fill`. `IMPUTERS` finds the
built-in ones and those of other packages (entry points "lostsales.imputers").
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lostsales.data.progress import Progress
from lostsales.data.splits import Holdout
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.survival.beran import Neighbourhood
from lostsales.demand.survival.depth_groups import Group
from lostsales.demand.survival.tail import Bound
from lostsales.registry import Registry
from lostsales.types import Bools, Floats, Ints

# Maps covariates (rows, covariates), censoring points and available units of rows to impute, and a progress callback,
# to the mean excess E[D | D > point] - available of each row and its standard error.
Fill = Callable[[Floats, Floats, Floats, Progress], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class ImputerData:
    """Right-censored rows of one group, the data of an imputer."""

    covariates: Floats  # (rows, covariates)
    demand: Floats  # (rows,) observed demand, the midpoint of its interval, or the censoring point
    is_event: Bools  # (rows,) demand is observed, or lies in an interval
    available: Floats  # (rows,) units available
    unit: Ints  # (rows,) resampling unit of the bootstrap
    counts: Floats  # (replicates, units) how often each resample draws a unit
    bound: Bound
    neighbourhood: Neighbourhood  # all rows are neighbours, except for the estimator "beran"

    @classmethod
    def of(
        cls, group: Group, observed: Observed, holdout: Holdout, counts: Floats, bound: Bound, near: Neighbourhood
    ) -> "ImputerData":
        """Collect the rows that a group learns from."""
        rows = group.learn
        demand, is_event = observed.sample
        return cls(
            covariates=group.covariates(rows),
            demand=demand[rows],
            is_event=is_event[rows],
            available=observed.available[rows],
            unit=holdout.unit[rows],
            counts=counts,
            bound=bound,
            neighbourhood=near,
        )

    @property
    def row_counts(self) -> Floats:
        """Number of times each resample draws a row, (replicates, rows)."""
        return self.counts[:, self.unit]


Imputer = Callable[[ImputerData], Fill]
IMPUTERS = Registry[Imputer]("lostsales.imputers", "estimator", first=("beran", "marginal", "cox", "aft"))


def beran(data: ImputerData) -> Fill:
    """Conditional Kaplan-Meier curves, by neighbours in covariate space."""
    return partial(data.neighbourhood.fill, data.counts)


def marginal(data: ImputerData) -> Fill:
    """One Kaplan-Meier curve for all rows."""
    return partial(data.neighbourhood.marginal().fill, data.counts)


def cox(data: ImputerData) -> Fill:
    """Cox's proportional hazards."""
    from lostsales.demand.survival.regressions import Regression

    return Regression("cox", data.covariates, data.demand, data.is_event, data.bound, data.row_counts)


def aft(data: ImputerData) -> Fill:
    """A log-normal accelerated-failure-time model."""
    from lostsales.demand.survival.regressions import Regression

    return Regression("aft", data.covariates, data.demand, data.is_event, data.bound, data.row_counts)
