"""`python -m docs.studies.freshretail DATA OUT`: fresh food by the day, with the hours in which a shelf was empty.

DATA is the folder or file of FreshRetailNet-50K, or of a sample of it. Of the set, series are taken by a hash.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import lostsales
from docs.studies.replay import Books, Shop, manager, play
from docs.studies.telling import commit, refusal, run, said, write, write_report
from docs.studies.ways import try_ways
from lostsales.data.reading.freshretail import CLOSE, OPEN
from lostsales.lab.benchmarks.freshretail import FreshRetailDays, read_days
from lostsales.types import Floats

SAMPLE = "frn_demo.parquet"
MOST_SERIES = 150  # that are replayed
ORDER_COST, HOLDING_COST = 0.6, 0.06  # of the usual price: a unit, and a unit left overnight; our assumptions
LEAST_SHARE = 0.25  # of a day's usual sales in the hours in stock, below which a day says nothing of its demand
COVER, AVERAGED, LEAD_TIME = 2.0, 14, 1  # days
DAYS, WINDOWS = 7, 2
METHODS = ("lookahead", "planner")
PROBLEM = {
    "columns": {"period": "day", "in_stock_share": "in_stock_share"},
    "features": ("promotion", "holiday"),
    "calendar": ("weekday",),
}


def study(data: Path, out: Path) -> None:
    """Run the study from the published file to the report."""
    days = read_days(data / SAMPLE if (data / SAMPLE).is_file() else data)
    table = table_of(days)
    results: dict[str, object] = {"commit": commit(), "raw": raw_table(table)}
    shop = shop_of(table)
    opened = Books.opened(shop, np.round(COVER * shop.demand[:, :AVERAGED].mean(axis=1), 1))
    books = play(shop, opened, range(len(shop.periods)), manager(shop, COVER, AVERAGED))
    end = len(shop.periods)
    windows = [range(end - DAYS * back, end - DAYS * (back - 1)) for back in range(WINDOWS, 0, -1)]
    outcome, policies = try_ways(shop, books, windows, METHODS, season=7)
    results["books"] = {
        "demand_known": round(float(shop.is_known.mean()), 4),
        "in_stock": round(float(books.in_stock(shop).mean()), 4),
        "lost": round(float(1 - books.sales[shop.is_known].sum() / shop.demand[shop.is_known].sum()), 4),
    }
    results["promise"] = write_report(shop, books, windows[-1].start, policies[METHODS[0]], out / "report.html")
    write(results, outcome, "profit", "day", out)


def table_of(days: FreshRetailDays) -> pd.DataFrame:
    """The published days, with the usual share of a day's sales that falls into the hours in stock."""
    published = days.connection.execute("SELECT dt, discount, activity_flag, holiday_flag FROM days").df()
    usual = days.hourly[days.clean].sum(axis=0)
    open_out = days.sold_out.copy()
    open_out[:, :OPEN] = open_out[:, CLOSE:] = False
    share = np.where(days.clean, 1.0, 1.0 - open_out @ (usual / usual.sum()))
    return pd.DataFrame(
        {
            "series": np.char.add("series ", np.char.zfill(days.series.astype(str), 4)),
            "day": pd.to_datetime(published["dt"]).to_numpy(),
            "price": published["discount"].to_numpy(dtype=np.float64).round(4),
            "promotion": published["activity_flag"].to_numpy(dtype=np.float64),
            "holiday": published["holiday_flag"].to_numpy(dtype=np.float64),
            "sales": days.sales,
            "in_stock_share": share.clip(0.0, 1.0),
        }
    )


def raw_table(table: pd.DataFrame) -> dict[str, object]:
    """Messages of the product on the table as published."""
    log = lostsales.read_log(table, lostsales.Problem.model_validate(PROBLEM))
    return {
        "left_to_fill_in": list(lostsales.propose(table).left),
        "refused_to_fit": refusal(lambda: lostsales.fit(log)),
        "audit": said(lostsales.audit(log)),
    }


def shop_of(table: pd.DataFrame) -> Shop:
    """Series that are whole; a day that was partly out of stock asked for its sales over its share."""
    series = np.unique(table["series"])
    wanted = series[:: -(-len(series) // MOST_SERIES)]
    wide = {
        name: table.pivot_table(index="series", columns="day", values=name).reindex(wanted)
        for name in ("sales", "in_stock_share", "price", "promotion", "holiday")
    }
    whole = np.logical_and.reduce([each.notna().all(axis=1) for each in wide.values()])
    arrays: dict[str, Floats] = {name: each[whole].to_numpy() for name, each in wide.items()}
    share, count = arrays["in_stock_share"], int(whole.sum())
    demand = np.round(arrays["sales"] / np.maximum(share, LEAST_SHARE), 1)
    return Shop(
        series=wanted[whole],
        periods=wide["sales"].columns.to_numpy().astype("datetime64[s]"),
        demand=demand,
        is_known=share >= LEAST_SHARE,
        price=np.median(arrays["price"], axis=1),
        order_cost=ORDER_COST * np.median(arrays["price"], axis=1),
        lost_cost=np.zeros(count),
        holding_cost=HOLDING_COST * np.median(arrays["price"], axis=1),
        lead_time=LEAD_TIME,
        step=0.1,
        features={"price_share": arrays["price"], "promotion": arrays["promotion"], "holiday": arrays["holiday"]},
        calendar=("weekday",),
    )


if __name__ == "__main__":
    run(study, "FreshRetailNet: fresh food by the day")
