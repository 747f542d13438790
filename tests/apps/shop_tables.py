"""Tables as shops would send them, made from one small simulated shop."""

from pathlib import Path

import numpy as np
import pandas as pd

PRODUCTS = {"Milk 1 l": (1.4, 0.9, 22.0), "Rye bread": (3.2, 1.5, 11.0), "Cola 6-pack": (5.5, 3.8, 6.0)}
ELASTICITY = -2.0
CASE = 6


def shop(days: int = 84, places: tuple[str, ...] = ("",), seed: int = 3, week: int = 7) -> pd.DataFrame:
    """Rows of a shop that counts its stock in the morning and orders up to a level; deliveries come after closing.

    A `week` of 1 makes every period a week.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for place in places:
        for product, (price, cost, demand) in PRODUCTS.items():
            stock = int(3 * demand)
            for day, date in enumerate(pd.date_range("2026-01-05", periods=days, freq="D" if week == 7 else "7D")):
                promotion = int(day // week % 4 == 3)
                paid = round(price * (0.8 if promotion else rng.choice([0.9, 1.0, 1.1])), 2)
                weekend = 1.3 if day % week >= 4 else 1.0
                wanted = int(rng.poisson(demand * weekend * (paid / price) ** ELASTICITY))
                sales = min(wanted, stock)
                order = CASE * int(max(3.4 * demand + rng.integers(-4, 5) - stock, 0) // CASE)
                rows.append((date, place, product, stock, paid, promotion, order, sales, cost, stock - sales))
                stock += order - sales
    names = ["Date", "Store", "Product", "Stock", "Price", "Promotion", "Order", "Sales", "Unit cost", "Left"]
    return pd.DataFrame(rows, columns=names)


def plain(folder: Path, table: pd.DataFrame, sep: str = ",", decimal: str = ".", encoding: str = "utf-8") -> Path:
    """The table as a CSV."""
    path = folder / "sales.csv"
    table.to_csv(path, index=False, sep=sep, decimal=decimal, encoding=encoding)
    return path


def evening_orders(folder: Path) -> Path:
    """Orders written in the evening on the row of that day, in the shop the next morning."""
    rows = shop().drop(columns=["Store", "Left"])
    for _, part in rows.groupby("Product"):
        stock = float(part["Stock"].iloc[0])
        target = 2.4 * PRODUCTS[part["Product"].iloc[0]][2]
        order = 0.0
        for row in part.index:
            stock += order
            sales = min(float(rows.loc[row, "Sales"]), stock)
            order = CASE * (max(target - (stock - sales), 0.0) // CASE)
            rows.loc[row, ["Stock", "Sales", "Order"]] = stock, sales, order
            stock -= sales
    return plain(folder, rows)


def closing_stock(folder: Path) -> Path:
    """The stock is counted when the shop closes, before the delivery comes."""
    return plain(folder, shop().drop(columns=["Store", "Stock"]).rename(columns={"Left": "Closing stock"}))


def semicolons(folder: Path) -> Path:
    """A German spreadsheet: semicolons, decimal commas, days first, an encoding of old, and a total."""
    rows = shop().drop(columns=["Store", "Left"])
    rows["Date"] = rows["Date"].dt.strftime("%d.%m.%Y")
    rows["Product"] = rows["Product"].replace("Rye bread", "Weißbrot für 2 €")
    rows = rows.rename(
        columns={
            "Date": "Datum", "Product": "Artikel", "Stock": "Anfangsbestand", "Price": "Verkaufspreis",
            "Promotion": "Aktion", "Order": "Bestellmenge", "Sales": "Absatz", "Unit cost": "Einkaufspreis",
        }
    )  # fmt: skip
    path = plain(folder, rows, sep=";", decimal=",", encoding="cp1252")
    with path.open("a", encoding="cp1252") as file:
        file.write(f"Summe;;;;;;{rows['Absatz'].sum()};\n")
    return path


def amounts(folder: Path) -> Path:
    """A German spreadsheet with a title, the money taken instead of a price, stock-outs as ja and nein, and a total."""
    rows = shop().drop(columns=["Store"])
    rows["Umsatz"] = (rows["Sales"] * rows["Price"]).round(2)
    rows["Ausverkauft"] = np.where(rows["Left"] == 0, "ja", "nein")
    rows["Promotion"] = np.where(rows["Promotion"] == 1, "Ja", "Nein")
    rows["Date"] = rows["Date"].dt.strftime("%d.%m.%Y")
    rows = rows.drop(columns=["Price", "Left"]).rename(
        columns={
            "Date": "Datum", "Product": "Artikel", "Stock": "Bestand", "Promotion": "Aktion", "Order": "Bestellung",
            "Sales": "Verkauf", "Unit cost": "Einkaufspreis",
        }
    )  # fmt: skip
    path = plain(folder, rows, sep=";", decimal=",")
    text = path.read_text(encoding="utf-8")
    title, total = "Filiale Münster" + ";" * 8, f"Summe;;;;;{rows['Verkauf'].sum()};;;"
    path.write_bytes(f"{title}\n\n{text}{total}\n".encode("cp1252"))
    return path


def excel(folder: Path) -> Path:
    """A workbook with a title, an empty line and a total."""
    rows = shop().drop(columns=["Store", "Left"])
    path = folder / "sales.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as writer:
        rows.to_excel(writer, sheet_name="Sales", startrow=2, index=False)
        sheet = writer.sheets["Sales"]
        sheet.write(0, 0, "Sales of the corner shop, spring 2026")
        sheet.write(len(rows) + 3, 0, "Total")
        sheet.write(len(rows) + 3, 6, float(rows["Sales"].sum()))
    return path


def transactions(folder: Path) -> Path:
    """The till's lines: several a day, none on days without a sale."""
    rng = np.random.default_rng(5)
    rows = shop()
    rows.loc[rows["Product"] == "Cola 6-pack", "Sales"] //= 6
    lines: list[tuple[object, ...]] = []
    columns = rows["Date"], rows["Product"], rows["Sales"], rows["Price"]
    for date, product, sales, price in zip(*columns, strict=True):
        left = int(sales)
        while left:
            units = min(left, int(rng.integers(1, 5)))
            minute = pd.Timedelta(minutes=int(rng.integers(480, 1200)))
            lines.append((len(lines) + 1, date + minute, product, units, price))
            left -= units
    return plain(folder, pd.DataFrame(lines, columns=["Receipt no", "Time", "Product", "Quantity", "Price"]))


def two_stores(folder: Path) -> Path:
    """Two stores."""
    return plain(folder, shop(56, ("North", "South")).drop(columns="Left"))


def no_stock(folder: Path) -> Path:
    """Sales and prices only, as most public tables are."""
    return plain(folder, shop()[["Date", "Product", "Price", "Promotion", "Sales"]])


def no_costs(folder: Path) -> Path:
    """Nothing says what a unit costs."""
    return plain(folder, shop().drop(columns=["Store", "Left", "Unit cost"]))


def weekly(folder: Path) -> Path:
    """Weeks with promotions, a year and a half of them."""
    return plain(folder, shop(80, week=1).drop(columns=["Store", "Left"]).rename(columns={"Date": "Week of"}))


def monthly(folder: Path) -> Path:
    """A ledger of months: year and month in two columns, receipts sold in their month, days out of stock."""
    rng = np.random.default_rng(8)
    rows = []
    for product in range(12):
        stock, mean = 40, rng.uniform(10, 40)
        for month in range(36):
            received = int(rng.poisson(mean)) if stock < 2 * mean else 0
            wanted, on_hand = int(rng.poisson(mean)), stock + received
            sold = min(wanted, on_hand)
            out = 0 if wanted <= on_hand else int(30 * (1 - on_hand / wanted)) + 1
            rows.append((2023 + month // 12, month % 12 + 1, f"item {product}", stock, received, sold, out))
            stock = on_hand - sold
    names = ["Year", "Month", "Item", "Opening balance", "Quantity received", "Quantity issued", "Days out of stock"]
    return plain(folder, pd.DataFrame(rows, columns=names))


TABLES = (
    evening_orders, closing_stock, semicolons, amounts, excel, transactions, two_stores, no_stock, no_costs, weekly,
    monthly,
)  # fmt: skip
