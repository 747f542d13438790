"""Tables as shops would send them, from file to report with at most five commands and two edits."""

import re
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.policy.file_format import load
from lostsales.policy.provenance import verdict_of
from tests.apps import shop_tables
from tests.apps.running import Fails, run, run_json

MOST_COMMANDS, MOST_EDITS = 5, 2
MOST_SECONDS = 180.0  # of the processor
Maker = Callable[[Path], Path]


class Shop:
    """A person at the command line, whose commands and edits are counted."""

    def __init__(self) -> None:
        self.commands = self.edits = 0
        self.began = process_time()

    def run(self, *arguments: object) -> str:
        """Run a command."""
        self.commands += 1
        return run(*arguments)

    def edit(self, problem: Path, key: str, value: str) -> None:
        """Fill in one key that `init` left as a comment."""
        self.edits += 1
        text = problem.read_text(encoding="utf-8")
        filled, count = re.subn(rf"^# {key} = \S+", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1, text
        problem.write_text(filled, encoding="utf-8")

    def report(self, table: Path) -> str:
        """Fit a policy, and the page of a manager."""
        policy, page = table.with_name("policy"), table.with_name("report.html")
        self.run("fit", table, "--out", policy)
        shown = self.run("report", policy, table, "--out", page)
        assert self.commands <= MOST_COMMANDS
        assert self.edits <= MOST_EDITS
        assert process_time() - self.began < MOST_SECONDS
        verdict = verdict_of(load(policy))
        assert verdict is not None
        assert verdict.held_out
        assert shown.splitlines()[0] == verdict.sentence
        return page.read_text(encoding="utf-8")

    def decisions(self, table: Path) -> dict[str, dict[str, float]]:
        """Fit a policy and decide for the period after the table, by product."""
        policy = table.with_name("policy")
        self.run("fit", table, "--method", "planner", "--out", policy)
        self.commands += 1
        found = run_json("recommend", policy, "--log", table)["recommendations"]
        assert self.commands <= MOST_COMMANDS
        assert self.edits <= MOST_EDITS
        return {" / ".join(str(row[key]) for key in list(row)[:-1] if key in KEYS): row for row in found}


KEYS = ("Store", "Product", "Artikel", "Item")
READY: dict[Maker, int] = {  # with the number of products
    shop_tables.evening_orders: 3,
    shop_tables.closing_stock: 3,
    shop_tables.semicolons: 3,
    shop_tables.amounts: 3,
    shop_tables.excel: 3,
    shop_tables.two_stores: 6,
    shop_tables.weekly: 3,
}


def price_and_order(row: dict[str, float]) -> tuple[float, float]:
    names = (
        {"Price", "Verkaufspreis", "price"} & row.keys(),
        {"Order", "Bestellmenge", "Bestellung", "Quantity received"} & row.keys(),
    )
    return row[names[0].pop()], row[names[1].pop()]


@pytest.mark.parametrize("make", READY, ids=lambda make: make.__name__)
def test_a_table_with_all_columns_needs_no_edit(make: Maker, tmp_path: Path) -> None:
    shop, table = Shop(), make(tmp_path)
    shop.run("init", table)
    first = shop.run("audit", table).splitlines()[0]
    assert first == "Prices and orders can be learned from this table."
    found = shop.decisions(table)
    assert len(found) == READY[make]
    assert shop.edits == 0
    for name, row in found.items():
        price, order = price_and_order(row)
        usual = next((each[0] for key, each in shop_tables.PRODUCTS.items() if key in name), 3.2)  # that of the bread
        assert 0.75 * usual <= price <= 1.2 * usual, name
        assert order % shop_tables.CASE == 0, name
    assert any(price_and_order(row)[1] > 0 for row in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("make", READY, ids=lambda make: make.__name__)
def test_a_table_with_all_columns_has_its_report_after_three_commands(make: Maker, tmp_path: Path) -> None:
    shop, table = Shop(), make(tmp_path)
    shop.run("init", table)
    check_page(shop.report(table), list(shop_tables.PRODUCTS))
    assert (shop.commands, shop.edits) == (3, 0)


def check_page(page: str, products: list[str]) -> None:
    """A page begins with what stock-outs cost and the verdict, and then names a decision for every product."""
    lost, verdict, decided = (page.index(text) for text in ("You lost about", 'class="advice"', 'id="decisions"'))
    assert lost < verdict < decided
    for each in products:
        assert each in page[decided : page.index('id="products"')]


def test_the_evening_is_recognised(tmp_path: Path) -> None:
    table = shop_tables.evening_orders(tmp_path)
    run("init", table)
    assert 'order_placed = "close"' in table.with_suffix(".toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("make", [shop_tables.excel, shop_tables.semicolons], ids=lambda make: make.__name__)
def test_what_a_spreadsheet_adds_is_left_out_and_named(make: Maker, tmp_path: Path) -> None:
    table = make(tmp_path)
    run("init", table)
    found = run_json("inspect", table)
    assert found["rows"] == 252
    assert any("totals" in each for each in found["notes"]["outside_table"])


def test_prices_follow_from_the_money_taken(tmp_path: Path) -> None:
    table = shop_tables.amounts(tmp_path)
    run("init", table)
    log = read_log(table)
    assert log.problem.columns.revenue == "Umsatz"
    paid = shop_tables.shop()
    sold = (paid["Sales"] > 0).to_numpy()
    np.testing.assert_allclose(log.price[sold], paid["Price"].to_numpy()[sold])
    assert np.isfinite(log.price).all()
    np.testing.assert_array_equal(log.stockout, (paid["Left"] == 0).to_numpy())


def test_without_costs_one_edit_is_enough(tmp_path: Path) -> None:
    shop, table = Shop(), shop_tables.no_costs(tmp_path)
    assert "[costs] order: no column shows what a unit costs" in shop.run("init", table)
    (tmp_path / "costs.csv").write_text("Product,Unit cost\nMilk 1 l,0.9\nRye bread,1.5\nCola 6-pack,3.8\n")
    shop.edit(table.with_suffix(".toml"), "order", '"unknown"')
    problem = table.with_suffix(".toml")
    problem.write_text(problem.read_text(encoding="utf-8").replace('order = "unknown"', 'table = "costs.csv"'))
    assert len(shop.decisions(table)) == 3


@pytest.mark.slow
def test_without_costs_one_edit_is_enough_for_a_report(tmp_path: Path) -> None:
    shop, table = Shop(), shop_tables.no_costs(tmp_path)
    shop.run("init", table)
    shop.edit(table.with_suffix(".toml"), "order", "1.8")
    check_page(shop.report(table), list(shop_tables.PRODUCTS))


@pytest.mark.slow
def test_a_ledger_of_months_has_its_report_after_four_commands_and_two_edits(tmp_path: Path) -> None:
    shop, table = Shop(), shop_tables.monthly(tmp_path)
    shop.run("aggregate", table, "--by", "month", "--out", tmp_path / "months.csv")
    table = tmp_path / "months.csv"
    shop.run("init", table)
    shop.edit(table.with_suffix(".toml"), "price", "5")
    shop.edit(table.with_suffix(".toml"), "order", "3")
    check_page(shop.report(table), [f"item {each}" for each in range(12)])


def test_without_costs_the_audit_says_what_is_missing(tmp_path: Path) -> None:
    table = shop_tables.no_costs(tmp_path)
    run("init", table)
    first = run("audit", table).splitlines()[0]
    assert first == "The records are fit to decide from once costs are known: set [costs] order, holding."


@pytest.mark.parametrize("make", [shop_tables.transactions, shop_tables.no_stock], ids=lambda make: make.__name__)
def test_without_stock_demand_is_forecast_and_fit_says_what_is_missing(
    make: Maker, tmp_path: Path, fails: Fails
) -> None:
    shop, table = Shop(), make(tmp_path)
    if make is shop_tables.transactions:
        assert "`lostsales aggregate TABLE --by day`" in shop.run("init", table)
        shop.run("aggregate", table, "--by", "day", "--out", tmp_path / "days.csv")
        table = tmp_path / "days.csv"
    shop.run("init", table)
    first = shop.run("audit", table).splitlines()[0]
    assert first.startswith("Orders cannot be learned from this table, as it has no stock and no orders; demand")
    shop.run("forecast", table, "--horizon", 7, "--out", tmp_path / "next.xlsx")
    assert shop.commands <= MOST_COMMANDS
    assert shop.edits == 0
    for command in ("fit", "compare"):
        message = fails(command, table, "--out", tmp_path / "policy")
        assert f"{command} needs stock and orders" in message
        assert "inspect, audit, impute, demand and forecast can use it" in " ".join(message.split())


def test_a_ledger_of_months_becomes_decisions(tmp_path: Path) -> None:
    shop, table = Shop(), shop_tables.monthly(tmp_path)
    shop.run("aggregate", table, "--by", "month", "--out", tmp_path / "months.csv")
    table = tmp_path / "months.csv"
    shop.run("init", table)
    problem = table.with_suffix(".toml")
    shop.edit(problem, "price", "5")
    shop.edit(problem, "order", "3")
    found = shop.decisions(table)
    assert len(found) == 12
    assert {str(row["date"])[:10] for row in found.values()} == {"2026-01-01"}
    assert any(row["Quantity received"] > 0 for row in found.values())


def test_commands_are_shown_in_groups() -> None:
    text = run("--help")
    places = [text.index(group) for group in ("Your data", "Decide", "Prove", "Scale", "Research")]
    assert places == sorted(places)
