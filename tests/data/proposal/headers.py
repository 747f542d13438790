"""Small tables as users have them: the header and formats of public sets and usual exports, with made-up rows."""

from collections.abc import Callable

import numpy as np
import pandas as pd

PERIODS = 30
PLACES, ITEMS = ("1", "2"), ("10", "11", "12")


def rows(step: str = "D", start: str = "2024-01-01") -> pd.DataFrame:
    """Three items in two places whose stock follows its balance; orders arrive after sales."""
    rng = np.random.default_rng(4)
    parts = []
    for place in PLACES:
        for item in ITEMS:
            stock, lines = 20, []
            for date in pd.date_range(start, periods=PERIODS, freq=step):
                price, order = float(rng.choice([3.49, 3.99, 4.49])), int(rng.choice([0, 6, 12, 18]))
                demand = int(rng.poisson(9))
                sales = min(stock, demand)
                lines.append((place, item, date, price, stock, order, sales, demand > stock, int(rng.random() < 0.3)))
                stock += order - sales
            parts += lines
    names = ["place", "item", "date", "price", "stock", "order", "sales", "out", "promo"]
    return pd.DataFrame(parts, columns=names)


def m5() -> pd.DataFrame:
    """Walmart's table joined with its calendar and prices."""
    table, date = rows(), rows()["date"]
    return pd.DataFrame(
        {
            "item_id": "FOODS_" + table["item"],
            "dept_id": np.where(table["item"] == "10", "FOODS_1", "FOODS_2"),
            "store_id": "CA_" + table["place"],
            "state_id": "CA",
            "d": "d_" + (date - date.min()).dt.days.astype(str),
            "date": date,
            "wm_yr_wk": 11100 + (date - date.min()).dt.days // 7,
            "weekday": date.dt.day_name(),
            "wday": date.dt.day_of_week + 1,
            "snap_CA": table["promo"],
            "event_name_1": ["NewYear" if each.day == 1 else None for each in date],
            "sell_price": table["price"],
            "sales": table["sales"],
        }
    )


def rossmann() -> pd.DataFrame:
    """A day of a store."""
    table = rows().query("item == '10'")
    return pd.DataFrame(
        {
            "Store": table["place"],
            "DayOfWeek": table["date"].dt.day_of_week + 1,
            "Date": table["date"],
            "Sales": table["sales"] * 100,
            "Customers": table["sales"] * 10 + table["promo"],
            "Open": 1,
            "Promo": table["promo"],
        }
    )


def online_retail() -> pd.DataFrame:
    """Lines of invoices."""
    table = pd.concat([rows(), rows()])
    return pd.DataFrame(
        {
            "InvoiceNo": np.arange(len(table)) // 3 + 536365,
            "StockCode": table["item"] + "A",
            "Description": "MUG " + table["item"],
            "Quantity": table["sales"] - (np.arange(len(table)) % 50 == 0) * 40,
            "InvoiceDate": [f"{each.month}/{each.day}/{each.year} 8:26" for each in table["date"]],
            "UnitPrice": table["price"],
            "CustomerID": np.arange(len(table)) % 17 + 17850,
            "Country": "United Kingdom",
        }
    )


def store_item() -> pd.DataFrame:
    """Four columns."""
    return rows()[["date", "place", "item", "sales"]].rename(columns={"place": "store"})


def nixtla() -> pd.DataFrame:
    """The long format of forecasting tools."""
    table = rows("W")
    return pd.DataFrame({"unique_id": table["place"] + "/" + table["item"], "ds": table["date"], "y": table["sales"]})


def gluonts() -> pd.DataFrame:
    """The same in other words."""
    table = nixtla()
    return table.set_axis(["item_id", "timestamp", "target"], axis=1)


def health_ledger() -> pd.DataFrame:
    """A monthly stock ledger of clinics."""
    table = rows("MS")
    return pd.DataFrame(
        {
            "Facility": "Clinic " + table["place"],
            "Product": table["item"],
            "Month": table["date"].dt.strftime("%Y-%m"),
            "Opening Balance": table["stock"],
            "Quantity Received": table["order"],
            "Quantity Issued": table["sales"],
            "Losses/Adjustments": 0,
            "Closing Balance": table["stock"] + table["order"] - table["sales"],
            "Days Out of Stock": table["out"] * 4,
        }
    )


def german_erp() -> pd.DataFrame:
    """An export with decimal commas, dots between thousands, euros and dates by dots."""
    table = rows(start="2024-12-01")
    comma = [f"{price * 1000:,.2f} €".translate(str.maketrans(",.", ".,")) for price in table["price"]]
    return pd.DataFrame(
        {
            "Filiale": table["place"],
            "Artikelnummer": table["item"],
            "Datum": table["date"].dt.strftime("%d.%m.%Y"),
            "Menge": table["sales"],
            "Preis": comma,
            "Bestand": table["stock"],
            "Bestellung": table["order"],
            "Ausverkauft": np.where(table["out"], "true", "false"),
        }
    )


def shopify() -> pd.DataFrame:
    """Lines of orders."""
    table = pd.concat([rows(), rows().iloc[::2]])
    return pd.DataFrame(
        {
            "Name": [f"#{1000 + at}" for at in range(len(table))],
            "Email": [f"person{at % 40}@example.com" for at in range(len(table))],
            "Created at": table["date"].dt.strftime("%Y-%m-%d %H:%M:%S"),
            "Lineitem quantity": table["sales"],
            "Lineitem price": table["price"],
            "Lineitem sku": "SKU-" + table["item"],
        }
    )


def fresh_retail() -> pd.DataFrame:
    """The published layout of FreshRetailNet."""
    table = rows()
    return pd.DataFrame(
        {
            "city_id": 0,
            "store_id": table["place"],
            "first_category_id": np.where(table["item"] == "10", 5, 6),
            "product_id": table["item"],
            "dt": table["date"],
            "sale_amount": table["sales"] / 10,
            "hours_sale": "[0.1, 0.0]",
            "stock_hour6_22_cnt": table["out"] * 3,
            "discount": (table["price"] / 4.49).round(3),
            "holiday_flag": table["promo"],
            "avg_temperature": 12 + np.sin(np.arange(len(table))),
        }
    )


def dominicks() -> pd.DataFrame:
    """Weekly scanner data with numbered weeks."""
    table = rows("W")
    return pd.DataFrame(
        {
            "STORE": table["place"],
            "UPC": "111" + table["item"],
            "WEEK": (table["date"] - table["date"].min()).dt.days // 7 + 91,
            "MOVE": table["sales"] * 64,
            "QTY": 1,
            "PRICE": table["price"],
            "SALE": ["B" if each else None for each in table["promo"]],
            "PROFIT": 25.3 + table["promo"],
            "OK": 1,
        }
    )


def retail_inventory() -> pd.DataFrame:
    """Store, product, stock and orders, as many practice tables have it."""
    table = rows()
    return pd.DataFrame(
        {
            "Date": table["date"],
            "Store ID": "S00" + table["place"],
            "Product ID": "P00" + table["item"],
            "Category": np.where(table["item"] == "10", "Toys", "Groceries"),
            "Inventory Level": table["stock"],
            "Units Sold": table["sales"],
            "Units Ordered": table["order"],
            "Demand Forecast": table["sales"] + 0.1,
            "Price": table["price"],
            "Weather Condition": np.where(table["promo"] == 1, "Sunny", "Rainy"),
            "Holiday/Promotion": 1 - table["promo"],
        }
    )


def french() -> pd.DataFrame:
    """Headers with accents, a decimal comma, days first."""
    table = rows()
    return pd.DataFrame(
        {
            "Date de vente": table["date"].dt.strftime("%d/%m/%Y"),
            "Magasin": table["place"],
            "Référence": table["item"],
            "Qté vendue": table["sales"],
            "Prix unitaire": [f"{price:.2f}".replace(".", ",") for price in table["price"]],
            "Stock initial": table["stock"],
            "Qté commandée": table["order"],
            "Rupture": np.where(table["out"], "true", "false"),
        }
    )


def favorita() -> pd.DataFrame:
    """A row number, a store and a family of products."""
    table = rows()
    return pd.DataFrame(
        {
            "id": np.arange(len(table)),
            "date": table["date"],
            "store_nbr": table["place"],
            "family": np.where(table["item"] == "10", "BREAD", np.where(table["item"] == "11", "DAIRY", "EGGS")),
            "sales": table["sales"],
            "onpromotion": table["promo"] * 3,
        }
    )


def unknown_names() -> pd.DataFrame:
    """Names that mean nothing: only the balance tells stock, orders and sales apart."""
    table = rows()
    return pd.DataFrame(
        {
            "k1": table["place"] + "-" + table["item"],
            "k2": table["date"],
            "x1": table["sales"],
            "x2": table["stock"],
            "x3": table["order"],
            "cost_price": 1.5,
        }
    )


def vn2() -> pd.DataFrame:
    """Weekly sales with a flag that is true in stock."""
    table = rows("W")
    return pd.DataFrame(
        {
            "store": table["place"],
            "product": table["item"],
            "week": table["date"],
            "sales": table["sales"],
            "in_stock": ~table["out"],
            "division": np.where(table["item"] == "10", 7, 8),
        }
    )


def walmart() -> pd.DataFrame:
    """Weekly money of a department, with a price of fuel that is not its price."""
    table = rows("W")
    return pd.DataFrame(
        {
            "Store": table["place"],
            "Dept": table["item"],
            "Date": table["date"],
            "Weekly_Sales": table["sales"] * 101.37,
            "IsHoliday": table["promo"] == 1,
            "Fuel_Price": 3 + 0.001 * (np.arange(len(table)) % 97),
            "MarkDown1": None,
        }
    )


def point_of_sale() -> pd.DataFrame:
    """American amounts, units beside money, and a unit cost."""
    table = rows()
    return pd.DataFrame(
        {
            "Sales Date": table["date"].dt.strftime("%m/%d/%Y"),
            "Store Name": "Store " + table["place"],
            "SKU": table["item"],
            "POS Qty": table["sales"],
            "POS Sales": (table["sales"] * table["price"]).round(2),
            "Unit Selling Price": [f"${price * 1000:,.2f}" for price in table["price"]],
            "Unit Cost": [f"${price * 600:,.2f}" for price in table["price"]],
            "On Hand Qty": table["stock"],
            "Qty Ordered": table["order"],
            "EOD": table["stock"] + table["order"] - table["sales"],
            "Stockout Flag (Y/N)": np.where(table["out"], "Y", "N"),
        }
    )


def numbered_places() -> pd.DataFrame:
    """A second part of the series whose name says nothing, and a flag in words that are not read."""
    table = rows("W")
    return pd.DataFrame(
        {
            "Semana": (table["date"] - table["date"].min()).dt.days // 7 + 3,
            "Zona": table["place"],
            "Producto_ID": table["item"],
            "Venta_uni_hoy": table["sales"],
            "Venta_hoy": table["sales"] * 8.38,
            "Agotado": np.where(table["out"], "si", "nada"),
        }
    )


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    each.__name__: each
    for each in (
        m5, rossmann, online_retail, store_item, nixtla, gluonts, health_ledger, german_erp, shopify, fresh_retail,
        dominicks, retail_inventory, french, favorita, unknown_names, vn2,
        walmart, point_of_sale, numbered_places,
    )
}  # fmt: skip
