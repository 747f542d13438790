"""Drivers of demand by their share of variance, and tests of the residuals of a demand model."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.model.model import StructuralDemand
from lostsales.types import Array, Bools, Floats, Ints

MANY_CLASSES = 2  # least number of classes to compare
LEAST_ROWS = 3  # of a class


@dataclass(frozen=True)
class ResidualTest:
    """Test that residuals have the same mean in all classes."""

    classes: str  # weekday, month or product
    statistic: float  # F
    p_value: float


def drivers(model: StructuralDemand) -> dict[str, float]:
    """Shares of the variance of the logarithm of demand within products, the largest first; they sum to 1.

    The drivers are level, season, price (competitors' prices included), features and noise.
    """
    fitted, panel = model.fitted, model.panel
    seen = panel.exposure > 0
    known = seen.shape[1]
    columns = fitted.columns
    slopes = fitted.response.slopes
    of_price = np.array([name.startswith("price") or name.endswith("price") for name in columns.names], dtype=bool)
    values = columns.values[:, :known]
    parts = {
        "level": np.log(fitted.response.level),
        "season": np.log(np.maximum(fitted.season, 1e-12)),
        "price": np.einsum("itk,ik->it", values[..., of_price], slopes[:, of_price]),
        "features": np.einsum("itk,ik->it", values[..., ~of_price], slopes[:, ~of_price]),
    }
    found = {name: _variance_within(part, seen) for name, part in parts.items()}
    mean = np.maximum(fitted.mean[seen], 1e-9)
    found["noise"] = float(np.log1p(fitted.spread.variance(mean, 1.0) / mean**2).mean())
    total = sum(found.values())
    return dict(sorted(((name, value / total) for name, value in found.items()), key=lambda each: -each[1]))


def residual_tests(model: StructuralDemand) -> tuple[ResidualTest, ...]:
    """Tests of standardised residuals by weekday and month (means over products of a period) and by product."""
    fitted, panel = model.fitted, model.panel
    seen = (panel.exposure > 0) & ~panel.censored
    mean = np.maximum(fitted.mean, 1e-9)
    scores = np.where(seen, (panel.demand - mean) / np.sqrt(fitted.spread.variance(mean, 1.0)), 0.0)
    count = seen.sum(axis=0)
    used = count > 0
    by_period = scores.sum(axis=0)[used] / np.sqrt(count[used])
    found = []
    for name, place in _calendar_classes(panel.coming_period[0], int(panel.coming[0, 0]), seen.shape[1]).items():
        found.append(_equal_means(name, by_period, place[used]))
    rows = np.nonzero(seen)
    found.append(_equal_means("product", scores[rows], rows[0]))
    return tuple(each for each in found if each is not None)


def _calendar_classes(coming: Array, column: int, columns: int) -> dict[str, Ints]:
    """Weekday and month of the columns of a panel, where these are days or weeks."""
    if coming.dtype.kind != "M" or len(coming) < 2:
        return {}
    step = coming[1] - coming[0]
    days = (coming[0] + (np.arange(columns) - column) * step).astype("datetime64[D]")
    found: dict[str, Ints] = {"month": days.astype("datetime64[M]").astype(np.int64) % 12}
    if step == np.timedelta64(1, "D"):
        found["weekday"] = (days.astype(np.int64) + 3) % 7
    return found


def _equal_means(name: str, scores: Floats, place: Ints) -> ResidualTest | None:
    from scipy.stats import f_oneway

    parts = [scores[place == each] for each in np.unique(place)]
    parts = [part for part in parts if len(part) >= LEAST_ROWS]
    if len(parts) < MANY_CLASSES:
        return None
    statistic, p_value = f_oneway(*parts)
    return ResidualTest(name, float(statistic), float(p_value))


def _variance_within(values: Floats, seen: Bools) -> float:
    """Variance around the means of products over the rows that are seen."""
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    mean = (values * seen).sum(axis=1, keepdims=True) / count
    return float((((values - mean) ** 2) * seen).sum() / max(seen.sum(), 1))
