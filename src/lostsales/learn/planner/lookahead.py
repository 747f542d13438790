"""The planner at given prices: orders only, on sample paths."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from lostsales.data.log import DecisionLog
from lostsales.data.progress import Progress
from lostsales.learn.learner import Learner
from lostsales.learn.planner.paths.fitting import fit_paths
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.planner.paths.search import AHEAD, MOST_AHEAD, MOST_PATHS, PATHS, Search

QUICK_PATHS = 32  # a quarter of the usual number: a first look


class Lookahead(Learner):
    """Planner at given prices: orders by sampled futures of demand; the price is kept.

    Every product has levels of demand with several rates and trends, which follow its sales through stock-outs and are
    weighted by how well they foretold it; season, prices and features shift demand. Paths of demand and of deliveries
    are drawn, order-up-to levels are rolled out on these, and today's order is the best with the best level behind it.
    A few periods are enough to start.

    References
    ----------
    Hyndman, Koehler, Ord and Snyder (2008), Forecasting with exponential smoothing. Bertsekas (2022), Rollout, policy
    iteration, and distributed reinforcement learning.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.fit(log, Lookahead(paths=100)).summary()
    {'method': 'lookahead', 'paths': 100, 'ahead': 6}

    """

    method: ClassVar[str] = "lookahead"
    meets_targets: ClassVar[bool | None] = True
    models_products: ClassVar[bool] = True
    sets_prices: ClassVar[bool] = False
    quick_settings: ClassVar[dict[str, Any]] = {"paths": QUICK_PATHS}

    paths: Annotated[int, Field(ge=10, le=MOST_PATHS)] = Field(PATHS, description="Sampled futures of each product.")
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = Field(
        AHEAD, description="Periods that are looked at beyond the longest lead time."
    )

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> PathPolicy:  # noqa: ARG002, quick
        """Learn the demand model, and decide orders on its sample paths."""
        return fit_paths(log, self.rules, Search(self.paths, self.ahead, self.seed), sets_prices=False)
