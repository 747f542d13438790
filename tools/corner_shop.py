"""Write the example data set that ships with the package: `python -m tools.corner_shop`.

A simulated corner shop with twelve products over 26 weeks of days. Nothing in it is copied from a real shop. Demand is
negative binomial; its mean is the product's level, which drifts, times weekday, season, price and promotion. The shop's
owner orders each morning by the sales of the last two weeks and rounds up to cases; orders arrive after closing time.
The owner does not see the demand of a day that sold out: it goes into a file of its own.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parents[1] / "src/lostsales/data/examples"
FIRST_DAY, DAYS, SEED = np.datetime64("2026-01-05"), 182, 7  # a Monday; 26 weeks
DISPERSION = 12.0  # shape of the negative binomial: variance = mean + mean^2 / shape
DRIFT = 0.015  # standard deviation of the daily change of the logarithm of a product's level
REVERSION = 0.985  # share of a deviation of the level that is left a day later
PROMOTION_CUT, PROMOTION_LIFT = 0.8, 1.2  # price and demand (beyond the price effect) in a week of promotion
PRICE_TESTS = (0.94, 1.0, 1.0, 1.06)  # regular prices that the owner tries, for two weeks each
FORGOTTEN = 0.06  # share of mornings on which no order is placed
SHORT_DELIVERY = 0.02  # share of orders of which the supplier delivers only half


class Product(NamedTuple):
    """A product of the shop: usual price and unit cost in euros, mean demand a day, elasticity, case size."""

    name: str
    category: str
    supplier: str
    price: float
    unit_cost: float
    demand: float
    elasticity: float
    case_size: int


DAIRY, WHOLESALE = "Northside Dairy", "City Wholesale"
PRODUCTS = (
    Product("Whole milk 1 l", "Dairy", DAIRY, 1.29, 0.86, 42.0, -1.4, 12),
    Product("Natural yoghurt 500 g", "Dairy", DAIRY, 1.79, 1.05, 16.0, -2.0, 6),
    Product("Butter 250 g", "Dairy", DAIRY, 2.49, 1.72, 14.0, -2.3, 10),
    Product("Gouda slices 200 g", "Dairy", DAIRY, 2.99, 1.85, 11.0, -2.5, 8),
    Product("Eggs, box of 10", "Dairy", DAIRY, 2.79, 1.80, 18.0, -1.6, 10),
    Product("Orange juice 1 l", "Drinks", WHOLESALE, 2.29, 1.35, 15.0, -2.6, 6),
    Product("Cola 1.5 l", "Drinks", WHOLESALE, 1.69, 0.95, 22.0, -2.9, 6),
    Product("Mineral water 6 x 1.5 l", "Drinks", WHOLESALE, 3.49, 2.10, 12.0, -2.0, 4),
    Product("Ground coffee 500 g", "Groceries", WHOLESALE, 6.99, 4.60, 7.0, -3.1, 6),
    Product("Spaghetti 500 g", "Groceries", WHOLESALE, 1.19, 0.64, 20.0, -2.2, 12),
    Product("Milk chocolate 100 g", "Snacks", WHOLESALE, 1.49, 0.80, 26.0, -2.7, 10),
    Product("Paprika crisps 150 g", "Snacks", WHOLESALE, 1.99, 1.08, 18.0, -3.0, 8),
)
WEEKDAY = {  # factors of demand from Monday to Sunday
    "Dairy": (0.95, 0.90, 0.95, 1.00, 1.15, 1.35, 0.70),
    "Drinks": (0.85, 0.85, 0.90, 1.00, 1.25, 1.45, 0.70),
    "Groceries": (0.95, 0.90, 0.90, 1.00, 1.20, 1.40, 0.65),
    "Snacks": (0.80, 0.80, 0.90, 1.00, 1.30, 1.45, 0.75),
}
SEASON = {"Dairy": 0.0, "Drinks": 0.25, "Groceries": -0.08, "Snacks": -0.05}  # rise from January to July, in logarithms
COLUMNS = (
    *("date", "product", "category", "supplier", "stock", "price", "promotion", "order", "received", "sales"),
    *("unit_cost", "case_size"),
)
PROBLEM = """# The corner shop: each morning the stock is counted, prices and orders are decided, and what is
# ordered arrives after closing time, in time for the next day.
arrival = "after"
features = [{name = "promotion", kind = "categorical", levels = ["0", "1"]}]
attributes = ["category", "supplier"]

[columns]
series = "product"
period = "date"

[supply]
multiple = "case_size"

[costs]
order = "unit_cost"
lost = 0.3      # goodwill of a sale that is lost, in euros, beyond its margin
holding = 0.01  # a unit overnight

[format]
currency = "€"
"""


def rounded_price(price: float) -> float:
    """Nearest price that ends in 9 cents."""
    return round(round((price - 0.09) * 10) / 10 + 0.09, 2)


def days_of(product: Product, number: int) -> tuple[list[list[object]], list[list[object]]]:
    """Rows of the sales table and of the table of true demand, day by day."""
    rng = np.random.default_rng([SEED, number])
    level, stock = 0.0, float(round(2.5 * product.demand))
    promotion_weeks = {int(week) for week in range(3 + number % 5, DAYS // 7, 6)}
    tests = rng.permutation(np.tile(PRICE_TESTS, DAYS // 14 // len(PRICE_TESTS) + 1))
    sold: list[float] = []
    rows, truth = [], []
    for day in range(DAYS):
        date, week = FIRST_DAY + day, day // 7
        level = REVERSION * level + rng.normal(0.0, DRIFT)
        promotion = week in promotion_weeks
        regular = product.price * tests[week // 2]
        price = rounded_price(product.price * PROMOTION_CUT if promotion else regular)
        recent = np.mean(sold[-14:]) if sold else product.demand
        cover = 3.0 * (1.3 if promotion or (week + 1 in promotion_weeks and day % 7 == 6) else 1.0)
        wanted = max(cover * recent * rng.uniform(0.8, 1.15) - stock, 0.0)
        order = 0 if rng.random() < FORGOTTEN else product.case_size * int(np.ceil(wanted / product.case_size))
        mean = product.demand * np.exp(level + SEASON[product.category] * day / DAYS)
        mean *= WEEKDAY[product.category][day % 7] * (price / product.price) ** product.elasticity
        mean *= PROMOTION_LIFT if promotion else 1.0
        demand = int(rng.negative_binomial(DISPERSION, DISPERSION / (DISPERSION + mean)))
        sales = int(min(demand, stock))
        received = order // 2 if rng.random() < SHORT_DELIVERY else order
        rows.append(
            [
                *(date, product.name, product.category, product.supplier, int(stock), f"{price:.2f}", int(promotion)),
                *(order, received, sales, f"{product.unit_cost:.2f}", product.case_size),
            ]
        )
        truth.append([date, product.name, demand, f"{mean:.3f}"])
        sold.append(float(sales))
        stock += received - sales
    return rows, truth


def write(folder: Path = FOLDER) -> None:
    """Write the table, its problem file and the true demand."""
    made = [days_of(product, number) for number, product in enumerate(PRODUCTS)]
    rows = sorted((row for sales, _ in made for row in sales), key=lambda row: str(row[0]))
    truth = sorted((row for _, hidden in made for row in hidden), key=lambda row: str(row[0]))
    for name, columns, table in (
        ("corner-shop.csv", COLUMNS, rows),
        ("corner-shop-truth.csv", ("date", "product", "demand", "expected_demand"), truth),
    ):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(table)
    (folder / "corner-shop.toml").write_text(PROBLEM, encoding="utf-8")


if __name__ == "__main__":
    write()
