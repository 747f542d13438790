"""Facts of each product in a log: rows, cash, stock-outs, prices."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class ProductFacts:
    """One entry a product in every array.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=2, seed=1)
    >>> facts = ProductFacts.of(log)
    >>> facts.names.tolist(), facts.rows.tolist(), facts.prices.tolist()
    (['0', '1'], [50, 50], [3, 3])

    """

    names: Array  # text
    rows: Ints
    cash: Floats  # mean of a period, NaN where the log has no orders or costs
    stockout_share: Floats
    prices: Ints  # how many it had

    @classmethod
    def of(cls, log: SalesLog) -> "ProductFacts":
        """Collect the facts of every product of a log."""
        products = log.products
        has_cash = log.costs is not None and not log.demand_only
        pairs = np.unique(np.stack([products.of_row.astype(np.float64), log.price]), axis=1)
        return cls(
            names=products.names,
            rows=products.counts().astype(np.int64),
            cash=products.means(log.cash) if has_cash else np.full(len(products), np.nan),
            stockout_share=products.means(log.censored.astype(np.float64)),
            prices=np.bincount(pairs[0].astype(np.int64), minlength=len(products)),
        )
