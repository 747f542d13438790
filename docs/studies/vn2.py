"""`python -m docs.studies.vn2 DATA OUT`: weekly sales of 599 series without prices, stock or orders.

DATA is the publisher's folder of the VN2 challenge, or a Parquet file of its history, or a folder with that file.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import lostsales
from docs.studies.replay import Books, Shop, manager, play
from docs.studies.telling import commit, refusal, run, said, write, write_report
from docs.studies.ways import try_ways
from lostsales.lab.benchmarks.vn2_data import WeeklySales, read_sales

LEAD_TIME, HOLDING = 2, 0.2  # weeks; a unit left costs so much of a lost sale
WEEKS, APART, WINDOWS = 8, 13, 4  # windows of the last year
COVER, AVERAGED = 3.5, 13  # weeks of the manager's rule
MOST_SERIES = 300  # that are replayed
METHODS = ("lookahead", "planner")
COLUMNS = {"series": "series", "period": "week", "in_stock": "in_stock"}


def study(data: Path, out: Path) -> None:
    """Run the study from the published files to the report."""
    found = read_sales(data / "vn2_history.parquet" if (data / "vn2_history.parquet").is_file() else data)
    results: dict[str, object] = {"commit": commit(), "raw": raw_table(found)}
    shop = shop_of(found)
    opened = Books.opened(shop, np.rint(COVER * shop.demand[:, :AVERAGED].mean(axis=1)))
    books = play(shop, opened, range(len(shop.periods)), manager(shop, COVER, AVERAGED))
    windows = [range(first, first + WEEKS) for first in firsts(len(shop.periods))]
    outcome, policies = try_ways(shop, books, windows, METHODS, season=52)
    results["books"] = {
        "in_stock": round(float(books.in_stock(shop).mean()), 4),
        "lost": round(float(1 - books.sales[shop.is_known].sum() / shop.demand[shop.is_known].sum()), 4),
    }
    results["promise"] = write_report(shop, books, windows[-1].start, policies[METHODS[0]], out / "report.html")
    write(results, outcome, "profit", "week", out)


def raw_table(found: WeeklySales) -> dict[str, object]:
    """Messages of the product on the table as published."""
    count, weeks = found.sales.shape
    table = pd.DataFrame(
        {
            "series": np.repeat(names(count), weeks),
            "week": np.tile(found.weeks.astype("datetime64[s]"), count),
            "sales": found.sales.ravel(),
            "in_stock": found.in_stock.ravel(),
        }
    )
    without_price = lostsales.Problem.model_validate({"columns": COLUMNS})
    log = lostsales.read_log(table, without_price.model_copy(update={"price": 1.0}))
    return {
        "left_to_fill_in": list(lostsales.propose(table).left),
        "refused_to_read": refusal(lambda: lostsales.read_log(table, without_price)),
        "refused_to_fit": refusal(lambda: lostsales.fit(log)),
        "audit": said(lostsales.audit(log)),
    }


def shop_of(found: WeeklySales) -> Shop:
    """Some series at a price of 1 and nothing to pay for a unit: a lost sale costs 1, a unit left 0.2, as published."""
    some = np.arange(0, len(found.sales), -(-len(found.sales) // MOST_SERIES))
    nothing = np.zeros(len(some))
    return Shop(
        series=names(len(found.sales))[some],
        periods=found.weeks.astype("datetime64[s]"),
        demand=found.sales[some],
        is_known=found.in_stock[some],
        price=nothing + 1.0,
        order_cost=nothing,
        lost_cost=nothing,
        holding_cost=nothing + HOLDING,
        lead_time=LEAD_TIME,
    )


def names(count: int) -> np.ndarray:
    """Names of series, in their order."""
    return np.array([f"series {each:03d}" for each in range(count)])


def firsts(weeks: int) -> list[int]:
    """The first weeks of the windows, in order."""
    found = [weeks - WEEKS - APART * back for back in range(WINDOWS)]
    return sorted(first for first in found if first >= 2 * AVERAGED)


if __name__ == "__main__":
    run(study, "VN2: weekly sales without prices")
