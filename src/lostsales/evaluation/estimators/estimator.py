"""Protocol of off-policy estimators, and the registry of all of them.

An estimator is a function from an `EvaluationTask` to an `Estimate`.

- It receives the policy with its actions (`task.actions`) in the rows of known depth (`task.rows`), the estimand
  (horizon, discount, start) and the prepared log: runs, the profit of every row with lost sales at their expectation,
  the demand laws, and the units that are resampled.
- It returns contributions, one a unit, whose mean is the mean profit of a period; `Interval.of` makes figure and
  interval of them, and the gain is paired: contributions less `task.prepared.contributions`. Beside it stand cash,
  the discounted sum and the overlap of policy and log.
- Where the overlap is too small it returns an `Estimate` with a `reason` and no figure, or raises `LostSalesError`,
  whose message becomes the reason; the other estimators go on.

A new one is a module in this folder and a line under `[project.entry-points."lostsales.estimators"]`, in this package
or in any other; for one process `ESTIMATORS.register("name", function)` is enough.
"""

from collections.abc import Callable

from lostsales.evaluation.results import Estimate
from lostsales.evaluation.task import EvaluationTask
from lostsales.registry import Registry

Estimator = Callable[[EvaluationTask], Estimate]
# The most trusted first: the first that does not refuse is the answer.
ESTIMATORS = Registry[Estimator]("lostsales.estimators", "estimator", first=("model", "fqe", "dr"))
