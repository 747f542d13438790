"""Columns of the response: relative prices and features of a product, and those of the products it competes with."""

from dataclasses import dataclass

import numpy as np

from lostsales.types import Bools, Floats, Ints

MOST_CROSSED = 3  # features whose interaction with the price is a column, the first ones
MOST_RIVALS = 200  # products of a group beyond which it is no set of competitors
RECENT = 26  # last periods whose median price is the usual price
# Bound of a log relative price, a factor of 4.5. Rows beyond it do not count in the response: a few wrong prices must
# not decide a slope.
MOST_LOG_PRICE = 1.5
COPIES = 0.99  # correlation with the price from which on a feature is a copy of it and is left out
FAR_PRICE = 1.5  # a price this many times above or below all that were seen is far outside


@dataclass(frozen=True, eq=False)
class MarketPanel:
    """Prices and features of products (rows) in periods (columns), those of coming periods included."""

    price: Floats  # (products, columns) positive
    features: Floats  # (products, columns, features); categorical features are indicators
    names: tuple[str, ...]  # (features,)
    rivals: Ints  # (products,) set of competing products, -1 for none
    known: int  # columns of the history


@dataclass(frozen=True, eq=False)
class ResponseColumns:
    """Columns of the response of demand, known ahead for a plan of prices and features."""

    names: tuple[str, ...]  # (columns,)
    values: Floats  # (products, periods, columns)
    is_far: Bools  # (products, periods) price too far from the usual one to learn from

    @property
    def price(self) -> int | None:
        """Column of the product's price, None where prices do not vary."""
        return self.names.index("price") if "price" in self.names else None


def response_columns(market: MarketPanel) -> ResponseColumns:
    """Columns that vary within products over the history: all are relative to the usual price and features.

    Prices are logarithms relative to the median of the history. Competing products enter by the mean and the least
    of their relative prices, and by the means of those features that differ between products. The price has an
    interaction with these features. A feature that is a copy of the price is left out.
    """
    usual = np.median(market.price[:, : market.known], axis=1, keepdims=True)
    logs = np.log(market.price / usual)
    price = np.clip(logs, -MOST_LOG_PRICE, MOST_LOG_PRICE)
    found: dict[str, Floats] = {"price": price}
    features = market.features
    if market.names:
        features = features - np.median(features[:, : market.known], axis=(0, 1))
    own = [k for k in range(features.shape[2]) if _differs(features[:, : market.known, k])]
    copies = [k for k in range(features.shape[2]) if _copies(features[:, : market.known, k], logs[:, : market.known])]
    found |= {name: features[:, :, k] for k, name in enumerate(market.names) if k not in copies}
    own = [k for k in own if k not in copies]
    found |= {f"price x {market.names[k]}": price * features[:, :, k] for k in own[:MOST_CROSSED]}
    if (market.rivals >= 0).any():
        mean, least = _of_rivals(price, market.rivals)
        found |= {"rivals' price": mean, "rivals' least price": least}
        found |= {f"rivals' {market.names[k]}": _of_rivals(features[:, :, k], market.rivals)[0] for k in own}
    varying = {name: values for name, values in found.items() if _varies(values[:, : market.known])}
    values = np.stack(list(varying.values()), axis=2) if varying else np.zeros((*price.shape, 0))
    return ResponseColumns(tuple(varying), values, np.abs(logs) > MOST_LOG_PRICE)


def rival_sets(keys: Ints) -> Ints:
    """Sets of competing products, -1 for products alone in their set and those of sets too large, (products,)."""
    size = np.bincount(keys)[keys]
    return np.where((size > 1) & (size <= MOST_RIVALS), keys, -1)


def _of_rivals(values: Floats, rivals: Ints) -> tuple[Floats, Floats]:
    """Mean and least value of the other products of each set, (products, periods); 0 without competitors."""
    mean, least = np.zeros(values.shape), np.zeros(values.shape)
    has = np.flatnonzero(rivals >= 0)
    order = has[np.argsort(rivals[has], kind="stable")]
    starts = np.flatnonzero(np.r_[True, np.diff(rivals[order]) != 0])
    for members in np.split(order, starts[1:]):
        part = values[members]
        mean[members] = (part.sum(axis=0) - part) / (len(members) - 1)
        lowest = np.sort(part, axis=0)[:2]
        least[members] = np.where(part == lowest[0], lowest[1], lowest[0])
    return mean, least


def _differs(values: Floats) -> bool:
    """True if values differ between products of a period."""
    return bool((np.ptp(values, axis=0) > 0).any())


def _copies(feature: Floats, price: Floats) -> bool:
    """True if a feature is correlated perfectly with the price within products."""
    feature, price = (each - each.mean(axis=1, keepdims=True) for each in (feature, price))
    sizes = float((feature**2).sum() * (price**2).sum())
    return sizes > 0 and abs(float((feature * price).sum())) > COPIES * np.sqrt(sizes)


def _varies(values: Floats) -> bool:
    """True if values vary within a product."""
    return bool((np.ptp(values, axis=1) > 1e-9).any()) if values.size else False


def filled_forward(values: Floats) -> Floats:
    """Replace NaN along the second axis by the last value before, else by the first after; 0 in rows without any."""
    columns = np.arange(values.shape[1]).reshape(1, -1, *([1] * (values.ndim - 2)))
    at = np.maximum.accumulate(np.where(np.isnan(values), -1, columns), axis=1)
    first = np.argmax(~np.isnan(values), axis=1)
    found = np.take_along_axis(values, np.where(at < 0, np.expand_dims(first, 1), at), axis=1)
    return np.nan_to_num(found)


def usual_values(values: Floats, last: Ints, shares: Bools | None = None) -> Floats:
    """Medians over the last periods of each product, (products, ...).

    Columns that are `shares` (columns,), the indicators of a category, have means: all medians of them may be 0.
    """
    recent = values[np.arange(len(values))[:, None], np.maximum(last[:, None] - np.arange(RECENT), 0)]
    usual = np.median(recent, axis=1)
    return np.asarray(usual if shares is None else np.where(shares, recent.mean(axis=1), usual))
