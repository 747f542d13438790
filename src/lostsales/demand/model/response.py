"""Response of demand to prices and features: a log-linear mean around a moving level, with censored demands.

Demand has mean L_it exp(x_it' b_i) times its exposure, and a variance by `Spread`. The level L_it of a series is
eliminated by a kernel average over time (Robinson, 1988), so that only changes within a series identify b_i. Estimates
are by quasi-likelihood; a censored demand enters by its conditional mean and its information (Louis's identity).
"""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.model.counts import demands_at_least
from lostsales.demand.model.effects_loops import local_means, own_shares
from lostsales.demand.model.pooling import Pooled, Variances, pool, sums_by_group, updated_variances
from lostsales.demand.model.spread import Spread
from lostsales.types import Bools, Floats, Ints

HALF_LIFE = 13.0  # of the kernel, in periods; 8 to 26 were equally good on orange juice before week 135
ROUNDS = 20  # most steps of Newton's method
CONVERGED = 1e-3  # mean change of the standardised effects and of the logarithm of the level
SETTLED = 5  # steps after which design effects are kept
LARGEST_STEP = 1.0  # bound of a working residual in a step, relative to the mean
LEAST_INFORMATION = 0.05  # of a censored demand relative to an observed one
FEW = 30.0  # mean of counts from which on errors are logarithms
LEAST_RATIO = 0.05  # bound of the ratio of demand to its mean in a logarithm
MOST_EFFECT = 5.0  # bound of the logarithm of the response


@dataclass(frozen=True, eq=False)
class Response:
    """Estimated effects of columns on the logarithm of demand."""

    effects: Pooled  # of columns divided by `scale`
    scale: Floats  # (columns,) 0 for columns that never vary
    level: Floats  # (series, periods) smoothed level
    filled: Floats  # (series, periods) demand, conditional mean demand where it is censored
    leverage: Floats  # (series, periods) share of a demand in its own level
    known: Floats  # (series, periods) information of a demand relative to an observed one
    variances: Variances  # of effects
    shared: tuple[float, float]  # design effects, see `pool`

    @property
    def slopes(self) -> Floats:
        """Effects of the columns, (series, columns)."""
        return unscaled(self.effects.by_series, self.scale)

    @property
    def group_slopes(self) -> Floats:
        """Effects of the columns in groups, (groups, columns)."""
        return unscaled(self.effects.by_group, self.scale)

    def means_of_others(self, mean: Floats) -> Floats:
        """Fitted means (series, periods) without the demand of the period itself.

        A level that holds that demand is too close to it: a spread around it would come out too small.
        """
        # A censored demand moves the level by all of its expected excess, though it has less weight.
        moved = self.leverage / self.known / (1.0 - np.minimum(self.leverage, 0.5))
        others = mean - moved * (self.filled - mean)
        return np.maximum(others, LEAST_RATIO * mean)

    @property
    def wider(self) -> Floats:
        """Factors of the variance of demands around those means: a level is learned from noisy demands."""
        return np.asarray(1.0 / (1.0 - np.minimum(self.leverage, 0.5)))

    def log_factor(self, columns: Floats) -> Floats:
        """Logarithm of the response at columns (series, periods, columns), (series, periods)."""
        if not columns.shape[2]:
            return np.zeros(columns.shape[:2])
        return np.asarray(np.clip(np.einsum("itk,ik->it", columns, self.slopes), -MOST_EFFECT, MOST_EFFECT))

    def variance(self, columns: Floats) -> Floats:
        """Posterior variance of that logarithm, (series, periods)."""
        scaled = unscaled(columns, self.scale)
        return np.asarray(np.einsum("itk,ikl,itl->it", scaled, self.effects.covariance, scaled, optimize=True))


def unscaled(values: Floats, scale: Floats) -> Floats:
    """Divide columns by their scales; 0 for those that never vary."""
    return np.divide(values, scale, out=np.zeros_like(values), where=np.broadcast_to(scale > 0, values.shape))


def fit_response(
    demand: Floats,
    exposure: Floats,
    censored: Bools,
    columns: Floats,
    group: Ints,
    spread: Spread,
    *,
    own: Floats | float = 1.0,
    half_life: float = HALF_LIFE,
    variances: Variances | None = None,
    start: Response | None = None,
) -> Response:
    """Estimate the response of demands (series, periods) to columns (series, periods, columns).

    `group` (series,) are the groups within which effects are pooled, `own` (series, 1) the factors of series in the
    spread. `variances` of effects are estimated by default.
    An earlier estimate may be the `start`.
    """
    decay = 0.5 ** (1.0 / half_life)
    p = columns.shape[2]
    seen = exposure > 0
    level = first_level(demand, exposure, decay)
    scale = _scales(columns, seen, decay)
    scaled = unscaled(columns, scale)
    slopes = np.zeros((len(demand), p))
    estimated = variances is None
    tolerance = CONVERGED if estimated else CONVERGED / 100
    variances = variances or Variances.first(p)
    if start is not None:
        level, slopes, variances = start.level, start.effects.by_series, start.variances
    shared = (1.0, 1.0)
    found = pool(np.zeros((len(demand), p, p)), np.zeros((len(demand), p)), group, variances, shared)
    filled, known = demand, np.ones(demand.shape)
    for step in range(ROUNDS):
        response = np.exp(np.clip(np.einsum("itk,ik->it", scaled, slopes), -MOST_EFFECT, MOST_EFFECT))
        mean = np.maximum(level * exposure * response, 1e-9)
        variance = spread.variance(mean, own)
        filled, known = demands_at_least(demand, mean, variance, seen & censored, spread.integer)
        known = np.maximum(known, LEAST_INFORMATION)
        weight = np.where(seen, mean**2 / variance * known, 0.0)
        error = np.where(seen, np.clip((filled - mean) / mean / known, -LARGEST_STEP, None), 0.0)
        # Logarithms are robust to outliers, but biased for small counts; the bias of large ones is that of the level.
        large = seen & ~censored & (mean > FEW if spread.integer else True)
        logs = np.log(np.clip(demand / mean, LEAST_RATIO, 1.0 / LEAST_RATIO))
        working = np.log(level) + np.where(large, logs, error)
        local = local_means(np.concatenate([scaled, working[..., None]], axis=2), weight, decay)
        around, rest = scaled - local[..., :p], working - local[..., p]
        if p:
            weighted = around * weight[..., None]
            information = np.einsum("itk,itl->ikl", weighted, around, optimize=True)
            dispersion = max(float((weight * rest**2).sum() / max(seen.sum() - len(demand), 1)), 0.05)
            score = np.einsum("itk,it->ik", weighted, rest) + np.einsum("ikl,il->ik", information, slopes)
            if estimated and step < SETTLED:
                shared = design_effects(weighted * rest[..., None], information, group)
            found = pool(information / dispersion, score / dispersion, group, variances, shared)
            variances = updated_variances(found, group) if estimated else variances
        moved = found.by_series - slopes
        slopes = found.by_series
        ratio = level * (1.0 + error) * np.exp(-np.clip(np.einsum("itk,ik->it", scaled, moved), -1.0, 1.0))
        before, level = level, np.maximum(local_means(ratio[..., None], weight, decay)[..., 0], 1e-9)
        change = float(np.abs(np.log(level / before))[seen].mean()) if seen.any() else 0.0
        if step > 2 and max(float(np.abs(moved).mean()) if p else 0.0, change) < tolerance:
            break
    return Response(found, scale, level, filled, own_shares(weight, decay), known, variances, shared)


def first_level(demand: Floats, exposure: Floats, decay: float) -> Floats:
    """Kernel average of demand over exposure, (series, periods)."""
    both = local_means(np.stack([demand, exposure], axis=2), np.ones(demand.shape), decay)
    usual = (demand.sum(axis=1) + 1e-6) / np.maximum(exposure.sum(axis=1), 1e-6)
    ratio = np.where(both[..., 1] > 1e-9, both[..., 0] / np.maximum(both[..., 1], 1e-9), usual[:, None])
    return np.asarray(np.maximum(ratio, LEAST_RATIO * usual[:, None]))


def _scales(columns: Floats, seen: Bools, decay: float) -> Floats:
    """Standard deviations of columns around their kernel averages, (columns,); 0 for those that never vary."""
    weight = seen.astype(np.float64)
    around = columns - local_means(columns, weight, decay)
    scale = np.sqrt(np.einsum("itk,it->k", around**2, weight) / max(weight.sum(), 1.0))
    return np.where(scale > 1e-6, scale, 0.0)


def design_effects(scores: Floats, information: Floats, group: Ints) -> tuple[float, float]:
    """Factors by which shocks shared in a period raise the variance of summed scores, of a group and of all groups."""
    size = np.maximum(np.einsum("ikk->k", information), 1e-12)
    by_group = sums_by_group(scores, group)
    single = float((scores**2 / size).sum())
    within = float((by_group**2 / size).sum())
    whole = float((by_group.sum(axis=0) ** 2 / size).sum())
    first = max(within / max(single, 1e-12), 1.0)
    return first, max(whole / max(single, 1e-12) / first, 1.0)
