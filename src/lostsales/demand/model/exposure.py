"""Exposure of demand: season times the response to the price and to features, in past and coming periods."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.calendar.clock import DAY, WEEK_DAYS, weekday_of
from lostsales.data.encoding import feature_columns
from lostsales.data.feature import Feature, feature_count
from lostsales.data.log import SalesLog
from lostsales.data.products import medians_by_group
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.model.calendar_season import WEEKS, CalendarSeason, week_of
from lostsales.demand.model.columns import COPIES, MOST_LOG_PRICE
from lostsales.demand.model.periods import PeriodColumns
from lostsales.demand.model.product_response import FittedResponse, PooledResponse, ResponseRows, fit_rows
from lostsales.demand.model.season import LEAST_CYCLES
from lostsales.errors import LostSalesError
from lostsales.saved_fields import Axis, numbers
from lostsales.types import Array, Floats, Ints

# Prior mean of elasticities: between those of two meta-analyses (Tellis, 1988: -1.76; Bijmolt and others, 2005: -2.62).
USUAL_ELASTICITY = -2.0
FARTHEST_PRICE = 1.0  # bound of the logarithm of a relative price: single prices far off must not decide the slope
MOST_EFFECT = 4.0  # bound of the logarithm of what inputs do to demand: beyond, the response is extrapolated
LEAST_SHARE = 1e-9  # of rows that differ, for a column to be an input
GROUP_NAMES = ("group", "category", "department", "family", "segment", "class")
MOST_GROUPS_SHARE = 0.5  # groups per product, above which an attribute is no group
PRICE_INPUTS = 2  # the logarithm of the relative price and its square, so that elasticities may change with the price


@dataclass(frozen=True, eq=False)
class DemandExposure:
    """Season, inputs and response of the products of a log; the last entry by product is that of an unknown one."""

    AXES: ClassVar[dict[str, Axis]] = {"columns": Axis(least=0), "places": Axis(own=False)}

    season: CalendarSeason  # shared by all products
    response: PooledResponse
    usual_price: Annotated[Floats, numbers("series+1", least=0)]  # to which prices are relative; 0: not known
    group_of: Annotated[Floats, numbers("series", least=0)]  # group of each product
    centre: Annotated[Floats, numbers("columns")]  # mean of each column of the features
    scale: Annotated[Floats, numbers("columns", least=0)]  # its standard deviation, 1 of an indicator; 0: not an input
    carry: Annotated[Floats, numbers("columns", "columns")]  # expectation of the next period's columns

    def validate(self) -> None:
        """Raise where a file has a season that is neither of weekdays nor of weeks."""
        if (places := self.response.season.shape[1]) not in (1, WEEK_DAYS, WEEKS):
            raise LostSalesError(f"a season has {WEEK_DAYS} weekdays or {WEEKS} weeks, but {places} came")

    @classmethod
    def learned(cls, log: SalesLog, observed: Observed) -> tuple["DemandExposure", FittedResponse]:
        """Learn season and response from a log."""
        products = log.products
        order = np.lexsort((log.period, products.of_row))
        clock = PeriodColumns.of(log, products)
        season = CalendarSeason.of(log)
        columns = _columns(log.problem.features, [log.features[:, k] for k in range(log.features.shape[1])], len(log))
        centre, deviation = columns.mean(axis=0), columns.std(axis=0)
        is_indicator = ((columns == 0) | (columns == 1)).all(axis=0)
        deviation[_first_levels(log.problem.features)] = 0.0  # the others are relative to it
        scale = np.where(deviation > LEAST_SHARE, np.where(is_indicator, 1.0, deviation), 0.0)
        is_priced = log.price > 0
        usual = medians_by_group(log.price[is_priced], products.of_row[is_priced], len(products))
        usual = np.where(usual > 0, usual, 1.0)
        with np.errstate(divide="ignore"):
            relative = np.log(np.where(log.price > 0, log.price, np.nan) / usual[products.of_row])
        scale[_left_out(log, columns, np.nan_to_num(relative))] = 0.0
        inside = _standardised(columns, centre, scale)
        price = np.clip(np.nan_to_num(relative), -FARTHEST_PRICE, FARTHEST_PRICE)
        places = {1: WEEK_DAYS, WEEK_DAYS: WEEKS}.get(season.step // DAY, 1)
        places = places if clock.column.max() >= LEAST_CYCLES * places else 1
        share = np.where(log.is_share, 1.0 - (0.0 if log.out_share is None else log.out_share), 1.0)
        first = np.full(len(products), clock.column.max())
        np.minimum.at(first, products.of_row, clock.column)
        is_exact = observed.is_observed | log.is_share
        # A few wrong prices must not decide a slope.
        shows = (is_exact | (observed.bound > 0)) & ~(np.abs(relative) > MOST_LOG_PRICE)
        rows = ResponseRows(
            product=products.of_row,
            column=clock.column - first[products.of_row],
            demand=np.where(log.is_share, log.sales, observed.bound),
            is_censored=~is_exact & shows,
            share=np.where(shows, share, 0.0),
            season=season.index(log.period),
            inputs=np.column_stack([price, price**2, inside]),
            place=_place(log.period, places),
        )
        group, prior = group_of_products(log), np.r_[USUAL_ELASTICITY, np.zeros(inside.shape[1] + 1)]
        fitted = fit_rows(rows, group, observed.integer, places, prior)
        # If series are no products but episodes of one shop, an unknown one is like them.
        usual = np.r_[usual, 0.0 if is_assortment(log) else np.median(usual)]
        carry = _carry(log.problem.features, inside[order], np.r_[True, np.diff(products.of_row[order]) != 0])
        return cls(season, fitted.response, usual, group.astype(np.float64), centre, scale, carry), fitted

    def inputs(self, features: tuple[Feature, ...], values: list[Floats], rows: int) -> Floats:
        """Standardised columns of features (rows,), (rows, columns)."""
        return _standardised(_columns(features, values, rows), self.centre, self.scale)

    def coming(self, today: Floats, periods: int) -> Floats:
        """Expected columns of today and the periods after it, (rows, periods, columns)."""
        found = np.empty((len(today), periods, today.shape[1]))
        for ahead in range(periods):
            found[:, ahead] = today
            today = today @ self.carry
        return found

    def exposure(self, at: Ints, price: Floats, inputs: Floats, dates: Array | None) -> Floats:
        """Factor of demand, (rows, periods), at prices (rows, periods) and columns (rows, periods, columns)."""
        effect = self.price_effect(at, price)
        effect = effect + np.einsum("rpc,rc->rp", inputs, self.coefficients[at, PRICE_INPUTS:])
        season = np.ones(price.shape)
        if dates is not None and dates.dtype.kind == "M":
            season = self.season.index(dates)
            by_series = np.concatenate([self.response.season, self.response.season.mean(axis=0)[None]])
            season = season * np.exp(by_series[at[:, None], _place(dates, by_series.shape[1])])
        return np.asarray(season * np.exp(np.clip(effect, -MOST_EFFECT, MOST_EFFECT)))

    def price_effect(self, at: Ints, price: Floats) -> Floats:
        """Change of the logarithm of demand by prices (rows, periods), relative to the usual ones."""
        slope, curvature = self.coefficients[at, :PRICE_INPUTS].T[:, :, None]
        relative = self.relative(at, price)
        return np.asarray(slope * relative + curvature * relative**2)

    def relative(self, at: Ints, price: Floats) -> Floats:
        """Logarithm of prices (rows, periods) relative to the usual ones; 0 for an unknown product."""
        usual = self.usual_price[at][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(usual > 0, np.log(price / usual), 0.0)
        found = np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)
        return np.asarray(np.clip(found, -FARTHEST_PRICE, FARTHEST_PRICE))

    @property
    def coefficients(self) -> Floats:
        """Coefficients of products and, last, of an unknown one."""
        return np.concatenate([self.response.coefficients, self.response.group_coefficients.mean(axis=0)[None]])

    @property
    def price_errors(self) -> Floats:
        """Standard errors of the elasticities of products and, last, of an unknown one."""
        errors, spread = self.response.errors[:, 0], self.response.coefficients[:, 0].std()
        return np.asarray(np.r_[errors, np.hypot(errors.max(initial=0.0), spread)])


def _place(dates: Array, places: int) -> Ints:
    """Weekday or week of the year of dates; 0 where products have no season of their own."""
    if places == 1:
        return np.zeros(dates.shape, dtype=np.int64)
    return weekday_of(dates) if places == WEEK_DAYS else week_of(dates)


def group_of_products(log: SalesLog) -> Ints:
    """Group of each product: by the attribute that names one, else by the first that is shared by enough products."""
    return named_groups(log)[1]


def named_groups(log: SalesLog) -> tuple[Array, Ints]:
    """Names of the groups, and the group of each product."""
    count = len(log.products)
    first = log.products.first_segment
    named = sorted(log.attributes, key=lambda name: not any(word in name.lower() for word in GROUP_NAMES))
    for name in named:
        levels, group = np.unique(log.attributes[name][first].astype(str), return_inverse=True)
        if 1 < len(levels) <= max(MOST_GROUPS_SHARE * count, 1):
            return levels, np.asarray(group.reshape(-1))
    return np.array(["all products"]), np.zeros(count, dtype=np.int64)


def copied_features(log: SalesLog) -> tuple[str, ...]:
    """Names of the features that demand does not respond to, as they follow from the price or from other features."""
    products = log.products
    usual = medians_by_group(log.price, products.of_row, len(products))[products.of_row]
    relative = np.log(np.maximum(log.price, 1e-12) / np.maximum(usual, 1e-12))
    columns = _columns(log.problem.features, [log.features[:, k] for k in range(log.features.shape[1])], len(log))
    out = _left_out(log, columns, relative)
    ends = np.cumsum([feature_count((each,)) for each in log.problem.features])
    named = [each.name for each, end in zip(log.problem.features, ends, strict=True) if end - 1 in out]
    return tuple(name for name in named if name not in log.problem.instruments)


def _left_out(log: SalesLog, columns: Floats, price: Floats) -> list[int]:
    """Columns of instruments, and of numbers that are copies of the price or of a column before within products.

    A copy of the price may have a slope of its own in each product, unless it is a yes or no, such as a promotion,
    which products of different discounts tell apart.
    """
    found: list[int] = []
    place, product = 0, log.products.of_row
    price = _within(price, product)
    kept: list[Floats] = []
    for feature in log.problem.features:
        width = feature_count((feature,))
        if feature.name in log.problem.instruments:
            found += range(place, place + width)
        elif width == 1 and feature.calendar is None:
            own, is_flag = _within(columns[:, place], product), np.isin(columns[:, place], (0.0, 1.0)).all()
            shares = [_explained(own, price, product * (not is_flag)), *(_explained(own, each) for each in kept)]
            if max(shares) > COPIES**2:
                found.append(place)
            else:
                kept.append(own)
        place += width
    return found


def _explained(values: Floats, by: Floats, group: Ints | None = None) -> float:
    """Share of the squares of values that another column explains, with a slope of its own in each group."""
    group = np.zeros(len(values), dtype=np.int64) if group is None else group
    both, squares = np.bincount(group, values * by), np.bincount(group, by**2)
    total = float(values @ values)
    told = float(np.divide(both**2, squares, out=np.zeros_like(both), where=squares > 0).sum())
    return told / total if total > 0 else 0.0


def _within(values: Floats, product: Ints) -> Floats:
    """Values less the mean of their product; NaN counts as that mean."""
    known = np.isfinite(values)
    mean = np.bincount(product[known], values[known], int(product.max()) + 1) / np.maximum(
        np.bincount(product[known], minlength=int(product.max()) + 1), 1
    )
    return np.where(known, values - mean[product], 0.0)


def _columns(features: tuple[Feature, ...], values: list[Floats], rows: int) -> Floats:
    columns = feature_columns(features, values[: len(features)])
    return np.column_stack(columns) if columns else np.zeros((rows, 0))


def _first_levels(features: tuple[Feature, ...]) -> list[int]:
    """Columns of the first level of each category."""
    widths = [feature_count((each,)) for each in features]
    starts = np.cumsum([0, *widths])[:-1].tolist()
    return [start for start, each in zip(starts, features, strict=True) if each.kind == "categorical"]


def _standardised(columns: Floats, centre: Floats, scale: Floats) -> Floats:
    """Columns less their means in standard deviations; an unknown value is the mean."""
    found = np.divide(columns - centre, scale, out=np.zeros(columns.shape), where=scale > 0)
    return np.asarray(np.nan_to_num(found))


def _carry(features: tuple[Feature, ...], columns: Floats, is_first: Array) -> Floats:
    """Least-squares prediction of the next period's columns, feature by feature, (columns, columns).

    For the indicators of a category it is a Markov chain, for a number an autoregression. Expectations shrink to the
    mean, so that no column can grow.
    """
    found, place = np.zeros((columns.shape[1],) * 2), 0
    now, later = columns[:-1][~is_first[1:]], columns[1:][~is_first[1:]]
    for feature in features:
        width = feature_count((feature,))
        block = slice(place, place + width)
        if len(now):
            ridge = 1e-6 * len(now) * np.eye(width)
            found[block, block] = np.linalg.solve(
                now[:, block].T @ now[:, block] + ridge, now[:, block].T @ later[:, block]
            )
        place += width
    return found
