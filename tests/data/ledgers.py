"""A ledger as a health-supply chain keeps it: months with receipts, corrections and days out of stock."""

import numpy as np
import pandas as pd

from lostsales.data.problem import Columns, Problem
from lostsales.types import Floats

LEDGER = Problem(
    arrival="before",
    open_time="days",
    columns=Columns(
        series=("site", "product"),
        period="month",
        stock="opening_balance",
        order="received",
        sales="issued",
        adjustment="adjustments",
        out_of_stock="days_out",
    ),
)


def ledger(sites: int = 4, products: int = 3, months: int = 24, seed: int = 0) -> tuple[pd.DataFrame, Floats]:
    """The table, and the demand behind each row: days of Poisson demand at a pace of its own for each product."""
    rng = np.random.default_rng(seed)
    rows, demands = [], []
    for site in range(sites):
        for product in range(products):
            pace, stock = rng.uniform(2, 8), int(rng.integers(20, 150))
            for month in pd.period_range("2023-01", periods=months, freq="M"):
                daily = rng.poisson(pace, month.days_in_month)
                opening, issued, days_out = stock, 0, 0
                received, arrives = int(pace * rng.choice([0, 30, 45])), int(rng.integers(2, 20))
                for day, wanted in enumerate(daily):
                    stock += received if day == arrives else 0
                    sold = min(stock, int(wanted))
                    days_out += int(stock == 0 or wanted > stock)
                    issued, stock = issued + sold, stock - sold
                correction = max(int(rng.integers(-6, 7)), -stock) if rng.random() < 0.2 else 0
                stock += correction
                place = f"site {site}", f"product {product}", str(month)
                rows.append((*place, opening, received, issued, correction, stock, days_out, month.days_in_month, 1.5))
                demands.append(daily.sum())
    names = "site product month opening_balance received issued adjustments closing_balance days_out days price"
    return pd.DataFrame(rows, columns=names.split()), np.array(demands, dtype=np.float64)
