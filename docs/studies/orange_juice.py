"""`python -m docs.studies.orange_juice DATA OUT`: weekly orange juice with prices; stock-outs are imposed.

DATA is `orangeJuice.csv`, or a folder with it: the table `yx` of `orangeJuice` in the R package bayesm, written by

    Rscript -e 'data(orangeJuice, package = "bayesm"); write.csv(orangeJuice$yx, "orangeJuice.csv", row.names = FALSE)'
"""

from pathlib import Path

import numpy as np
import pandas as pd

import lostsales
from docs.studies.replay import Books, Shop, manager, play, rows
from docs.studies.telling import commit, refusal, run, said, write, write_report
from docs.studies.ways import try_ways
from lostsales.errors import LostSalesError
from lostsales.types import Floats

FILE = "orangeJuice.csv"
WHERE = (
    'install R and its package bayesm, then run: Rscript -e \'data(orangeJuice, package = "bayesm"); '
    f'write.csv(orangeJuice$yx, "{FILE}", row.names = FALSE)\' and give the folder of that file'
)
BRANDS = range(1, 12)
OUNCES = {2: 96, 6: 96, 11: 128}  # of a carton, by brand; the others have 64
START = np.datetime64("1989-09-14")  # of week 1 as the shop counted its weeks
MOST_SERIES = 200
LONGEST_HOLE = 1  # weeks without a row between two rows of a series
LEAST_WEEKS = 60
HOLDING = 0.01  # of the usual price, for a carton left at the end of a week; our assumption
COVER, AVERAGED, LEAD_TIME = 1.6, 8, 1  # weeks
WEEKS, WINDOWS = 8, 2
METHODS = ("lookahead", "planner")


def study(data: Path, out: Path) -> None:
    """Run the study from the exported table to the report."""
    table = read_table(data)
    shop = shop_of(table)
    opened = Books.opened(shop, np.rint(COVER * shop.demand[:, :AVERAGED].mean(axis=1)))
    books = play(shop, opened, range(len(shop.periods)), manager(shop, COVER, AVERAGED))
    results: dict[str, object] = {"commit": commit(), "raw": raw_table(table), "books": imposed(shop, books)}
    end = len(shop.periods)
    windows = [range(end - WEEKS * back, end - WEEKS * (back - 1)) for back in range(WINDOWS, 0, -1)]
    outcome, policies = try_ways(shop, books, windows, METHODS, season=1)
    results["promise"] = write_report(shop, books, windows[-1].start, policies[METHODS[0]], out / "report.html")
    write(results, outcome, "dollars", "week", out)


def read_table(data: Path) -> pd.DataFrame:
    """Cartons, dollars a carton and what a carton cost, by series and week."""
    path = data / FILE if data.is_dir() else data
    if not path.is_file():
        raise LostSalesError(f"{path} is not there; {WHERE}")
    raw = pd.read_csv(path)
    wanted = ["store", "brand", "week", "logmove", *(f"price{each}" for each in BRANDS), "deal", "feat", "profit"]
    if missing := [name for name in wanted if name not in raw.columns]:
        raise LostSalesError(f"{path} has no column {', '.join(missing)}; {WHERE}")
    if not raw["brand"].isin(BRANDS).all():
        row = int(np.flatnonzero(~raw["brand"].isin(BRANDS))[0])
        raise LostSalesError(f"brand must be 1 to 11, but row {row} of {path} has {raw['brand'][row]}")
    ounces = raw["brand"].map(OUNCES).fillna(64.0).to_numpy()
    prices = raw[[f"price{each}" for each in BRANDS]].to_numpy()
    price = np.round(prices[np.arange(len(raw)), raw["brand"].to_numpy() - 1] * ounces, 2)
    names = "store " + raw["store"].astype(str).str.zfill(3) + " brand " + raw["brand"].astype(str).str.zfill(2)
    found = pd.DataFrame({"series": names, "week": START + 7 * (raw["week"].to_numpy() - 1).astype("timedelta64[D]")})
    cartons = np.rint(np.exp(raw["logmove"].to_numpy()) / ounces)
    cost = price * (1 - raw["profit"].to_numpy() / 100)
    return found.assign(sales=cartons, price=price, cost=cost, deal=raw["deal"], feature=raw["feat"])


def raw_table(table: pd.DataFrame) -> dict[str, object]:
    """Messages of the product on the table as published."""
    known = lostsales.Problem.model_validate({"columns": {"period": "week"}, "features": ("deal", "feature")})
    return {
        "left_to_fill_in": list(lostsales.propose(table).left),
        "refused_to_read": refusal(lambda: lostsales.read_log(table, known)),
        "refused_to_fit": refusal(lambda: lostsales.fit(lostsales.read_log(table, known, sales_only=True))),
    }


def imposed(shop: Shop, books: Books) -> dict[str, object]:
    """Demand that the manager's stock-outs hid, the part that is recovered, and the audit of the books."""
    log = lostsales.read_log(rows(shop, books, range(len(shop.periods))), shop.problem)
    filled = lostsales.impute(log, replicates=0).expected_demand
    hidden = ~books.in_stock(shop).ravel()
    truth, sold = shop.demand.ravel()[hidden], books.sales.ravel()[hidden]
    return {
        "in_stock": round(float(books.in_stock(shop).mean()), 4),
        "lost": round(float(1 - books.sales.sum() / shop.demand.sum()), 4),
        "hidden_weeks": {
            "demand": round(float(truth.mean()), 2),
            "sold": round(float(sold.mean()), 2),
            "imputed": round(float(filled[hidden].mean()), 2),
            "error_of_sales": round(float(np.abs(sold - truth).mean()), 2),
            "error_of_imputed": round(float(np.abs(filled[hidden] - truth).mean()), 2),
        },
        "audit": said(lostsales.audit(log)),
    }


def shop_of(table: pd.DataFrame) -> Shop:
    """Series with nearly all of the last weeks; a missing week asked for what the one before it did, at its price."""
    weeks = np.arange(table["week"].min(), table["week"].max() + np.timedelta64(1, "D"), np.timedelta64(7, "D"))
    columns = ("sales", "price", "cost", "deal", "feature")
    wide = {
        name: table.pivot_table(index="series", columns="week", values=name).reindex(columns=weeks) for name in columns
    }
    recent = weeks[-min(LEAST_WEEKS + WEEKS * WINDOWS, len(weeks)) :]
    filled = {name: each[recent].ffill(axis=1, limit=LONGEST_HOLE) for name, each in wide.items()}
    whole = np.logical_and.reduce([each.notna().all(axis=1) for each in filled.values()])
    if not whole.any():
        raise LostSalesError(f"no series has {len(recent)} weeks with holes of at most {LONGEST_HOLE} week")
    series = np.array(filled["sales"].index[whole])
    series = series[:: -(-len(series) // MOST_SERIES)]
    arrays: dict[str, Floats] = {name: each.loc[series].to_numpy(dtype=np.float64) for name, each in filled.items()}
    usual = np.median(arrays["price"], axis=1)
    relative = arrays["price"] / usual[:, None]
    return Shop(
        series=series,
        periods=recent.astype("datetime64[s]"),
        demand=arrays["sales"],
        is_known=wide["sales"].loc[series, recent].notna().to_numpy(),
        price=usual,
        order_cost=np.clip(np.median(arrays["cost"], axis=1), 0.01, 0.95 * usual),
        lost_cost=np.zeros(len(series)),
        holding_cost=HOLDING * usual,
        lead_time=LEAD_TIME,
        features={"relative_price": relative, "deal": arrays["deal"], "feature": arrays["feature"]},
    )


if __name__ == "__main__":
    run(study, "Orange juice: weekly sales and prices with imposed stock-outs")
