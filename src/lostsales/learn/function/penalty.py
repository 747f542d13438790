"""The penalty U of PC-FQI (Section 4.1 and Appendix M.1); its threshold and support kernel are set in `penalty_design`.

A regressor's U, the spread of its ensemble, is `RegressorQ.penalty` in `regressors`.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lostsales.learn.function.posterior_variance import FactoredVariance, PairwiseVariance, PosteriorVariance
from lostsales.saved_fields import NonNegative, OneOf, numbers
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """(sqrt(k_post / ridge) - threshold)^+: what beta sigma multiplies in U.

    An action as well supported as most rows of the log has no penalty, so that beta may be large: the policy keeps to
    supported actions, and under random behaviour, which supports all, it is free. A history outside the data is clipped
    to their range: far away every action has the same penalty, and an extrapolated Q would decide. An
    `unpenalized_share` of 0 is the paper's penalty.
    """

    variance: Annotated[PosteriorVariance, OneOf(PairwiseVariance, FactoredVariance)]
    threshold: NonNegative = 0.0
    history_range: Annotated[Floats | None, numbers(2, "kept")] = None  # standardised, to which histories are clipped

    @property
    def most(self) -> float:
        """Penalty where nothing is known: k_post is the prior variance 1."""
        return max(float(np.sqrt(1 / self.variance.ridge)) - self.threshold, 0.0)

    def __call__(self, history: Floats, actions: Floats, usual: Ints | None = None) -> Floats:
        """Penalty of standardised histories against a grid of standardised actions, (rows, actions).

        With the usual action of each row: of what the others gain over it.
        """
        history = history if self.history_range is None else np.clip(history, *self.history_range)
        if usual is not None:
            return np.sqrt(self.variance.of_gains(history, actions, usual))
        return self._above(self.variance(history, actions))

    def around(self, history: Floats, actions: Floats, taken: Ints) -> Floats:
        """Penalty of the taken action of each row, and a lower bound of that of all others, (rows, actions)."""
        history = history if self.history_range is None else np.clip(history, *self.history_range)
        return self._above(self.variance.around(history, actions, taken))

    def _above(self, variance: Floats) -> Floats:
        above = np.sqrt(variance)
        above -= self.threshold
        return np.maximum(above, 0.0, out=above)
