"""Stock that is counted when a period ends, as the stock with which periods open."""

import numpy as np

from lostsales.types import Floats, Ints


def opening_stock(closing: Floats, arrived: Floats, sales: Floats, moved: Floats, previous: Ints) -> Floats:
    """Stock when each period opens, (rows,), given the row before it in its series (-1 for none).

    It is the closing stock of the row before, and what arrived in that row if it came after the count: then the
    stocks follow from each other with the arrivals of the row before, otherwise with those of the row itself. The first
    row of a series opens with what it sold and left.
    """
    now = np.flatnonzero(previous >= 0)
    before = previous[now]
    left = closing[before] - sales[now] + moved[now]
    counted = np.count_nonzero(np.isclose(closing[now], left + arrived[now]))
    is_counted = counted >= np.count_nonzero(np.isclose(closing[now], left + arrived[before]))
    opening = closing + sales - moved - (arrived if is_counted else 0.0)
    opening[now] = closing[before] + (0.0 if is_counted else arrived[before])
    return np.asarray(np.maximum(opening, 0.0))
