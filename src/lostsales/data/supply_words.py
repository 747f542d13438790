"""The supply of a problem, and what is expected to arrive, in words."""

import numpy as np

from lostsales.data.pipelines import expected_arrivals
from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.types import Array, Floats


def supply_words(problem: Problem) -> str:
    """When orders arrive and may be placed, in words.

    >>> supply_words(Problem(supply={"lead_time": {"1": 0.75, "3": 0.25}, "order_days": ["Mon"]}))
    'an order can be sold after 1 (75.0%) or 3 (25.0%) periods; orders on Monday'
    """
    law, supply = problem.lead_times, problem.supply
    words = f"an order arrives {problem.arrival} sales"
    if not law.is_fixed or law.longest > 1:
        errors = supply.lead_time_errors or {}

        def chance(key: str, value: float) -> str:
            error = f" ± {errors[key]:.1%}" if errors.get(key) else ""
            return f"({value:.1%}{error})"

        times = [f"{at} {chance(str(at), each)}" for at, each in enumerate(law.chances) if each]
        after = str(law.longest) if law.is_fixed else " or ".join([", ".join(times[:-1]), times[-1]][len(times) < 2 :])
        words = f"an order can be sold after {after} periods"
        words += f", or is lost {chance('lost', law.lost)}" if law.lost else ""
        words += "" if supply.crossing or law.is_fixed else ", orders do not cross"
    if problem.order_placed == "close":
        words = f"orders are placed at closing time and read as those of the next period; from then on {words}"
    words += "" if supply.share == 1 else f"; {supply.share:.1%} of an order arrives"
    days = supply.order_days
    if isinstance(days, tuple):
        words += f"; orders on {', '.join(days)}"
    elif supply.order_cycle is not None:
        words += f"; orders every {len(supply.order_cycle)} periods"
    elif isinstance(days, str):
        words += f"; orders where {days} is not 0"
    return words + (f"; at most {supply.capacity:g} on the way" if supply.capacity is not None else "")


def arrival_texts(shop: Shop, pipeline: Floats) -> Array:
    """Expected arrivals of each series as text, (series,).

    >>> arrival_texts(Shop(supply={"lead_time": 3}), np.array([[4.0, 6.0], [0.0, 2.0], [0.0, 0.0]])).tolist()
    ['4 in 1 period, 6 in 2 periods', '2 in 2 periods', 'nothing is on the way']
    """
    expected = np.round(expected_arrivals(shop, pipeline), 2)
    texts = np.empty(len(pipeline), dtype=object)
    for row, units in enumerate(expected):
        parts = [f"{each:g} in {at} period{'s' if at > 1 else ''}" for at, each in enumerate(units, start=1) if each]
        texts[row] = ", ".join(parts) or "nothing is on the way"
    return texts
