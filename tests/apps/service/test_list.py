"""The list: search and sorting as people write, exceptions by money, and exports in the shop's own columns."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lostsales.apps.service.morning import STOCKOUT_LIKELY, MorningList, Query
from lostsales.data.limits import Limit
from lostsales.data.reading.gate import read_log
from lostsales.learn.planner.lookahead import Lookahead
from lostsales.policy.view import Action
from tests.apps.service.calm_shop import calm_shop, calm_table
from tests.apps.service.desks import Running, running

NAMES = ("Öl", "Zucker", "Apfel 10", "Äpfel 9", "Smørrebrød", "Crème brûlée")


def listed(**columns: Any) -> MorningList:
    """A list of six products, with some columns as given."""
    rows = len(NAMES)
    arrays: dict[str, Any] = {
        name: np.zeros(rows)
        for name in (
            "stock", "on_order", "last_sales", "last_price", "price", "order", "demand", "chance", "profit", "stake",
            "decided_price", "decided_order",
        )
    }  # fmt: skip
    arrays |= {"name": np.array(NAMES, dtype=object), "period": np.array(["1"] * rows, dtype=object)}
    arrays |= {"flag": np.array([""] * rows, dtype=object), "last_stockout": np.zeros(rows, dtype=bool)}
    arrays |= {each: np.zeros(rows, dtype=np.int64) for each in ("status", "number")}
    category = np.array(["Öle", "Grundnahrung", "Obst", "Obst", "Brot & Käse", "Dessert"], dtype=object)
    return MorningList(**(arrays | {"facts": {"category": category}} | columns))


def found(rows: MorningList, **query: Any) -> list[str]:
    return [str(each) for each in rows.name[rows.rows(Query(**query))]]


@pytest.mark.parametrize(
    ("search", "names"),
    [
        ("oL", ["Öl"]),
        ("brulee CREME", ["Crème brûlée"]),
        ("smorrebrod", ["Smørrebrød"]),
        ("obst apfel", ["Äpfel 9", "Apfel 10"]),
        ("kase", ["Smørrebrød"]),
        ("nothing like it", []),
    ],
)
def test_search_by_words_without_accents_in_names_and_categories(search: str, names: list[str]) -> None:
    rows = listed()
    assert found(rows, search=search) == names
    assert rows.counts(Query(search=search)) == {"all": len(names), "exceptions": 0, "open": len(names), "decided": 0}


def test_names_are_sorted_as_in_the_language_of_the_reader() -> None:
    assert found(listed()) == ["Äpfel 9", "Apfel 10", "Crème brûlée", "Öl", "Smørrebrød", "Zucker"]
    swedish = found(listed(), language="sv")
    assert swedish == ["Apfel 10", "Crème brûlée", "Smørrebrød", "Zucker", "Äpfel 9", "Öl"]
    assert found(listed(), language="sv", sort="name", descending=True) == swedish[::-1]


def test_exceptions_are_ranked_by_the_money_at_stake_and_what_is_not_known_comes_last() -> None:
    flag, stake = np.array(["x", "x", "", "x", "x", ""], dtype=object), np.array([3.0, 9.0, 99.0, np.nan, 1.0, 0.0])
    rows = listed(flag=flag, stake=stake)
    assert found(rows, show="exceptions") == ["Zucker", "Öl", "Smørrebrød", "Äpfel 9"]
    assert found(rows, show="exceptions", sort="name")[0] == "Äpfel 9"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The calm shop with its departments and suppliers."""
    folder = tmp_path_factory.mktemp("calm")
    table = calm_table()
    supplier = "Møller & " + table["department"].astype(str)
    table.assign(supplier=supplier).to_parquet(folder / "log.parquet")
    (folder / "log.toml").write_text(calm_shop().problem.to_toml())
    Lookahead().fit(read_log(folder / "log.parquet").decisions("fit")).save(folder / "policy")
    with running(folder, folder / "policy") as desk:
        yield desk


def test_products_are_found_by_supplier(calm: Running) -> None:
    departments = calm_table().drop_duplicates("series").set_index("series")["department"].astype(str)
    wanted = set(departments[departments == departments.iloc[0]].index)
    told = calm.get("/v1/today", params={"q": f"moller {departments.iloc[0]}", "limit": 100}).json()
    assert {each["series"] for each in told["rows"]} == wanted
    assert told["found"] == len(wanted)


def test_the_list_as_json_agrees_with_the_desk_page_by_page(calm: Running) -> None:
    desk = calm.service.desk.morning
    pages = [calm.get("/v1/today", params={"limit": 15, "skip": skip}).json()["rows"] for skip in (0, 15, 30)]
    rows = [each for page in pages for each in page]
    assert [each["series"] for each in rows] == [str(each) for each in desk.name[desk.rows(Query())]]
    for each in rows:
        at = desk.place[each["series"]]
        assert (each["price"], each["order"], each["at_stake"]) == (desk.price[at], desk.order[at], desk.stake[at])


def test_money_at_stake_is_the_margin_of_what_is_lost_or_the_loss(calm: Running) -> None:
    desk = calm.service.desk
    seen = desk.explain(desk.situation(str(desk.morning.name[3]))).expected
    assert seen is not None
    margin = desk.morning.price[3] - seen.unit_cost[0]
    assert desk.morning.stake[3] == pytest.approx(max(margin * seen.cover_lost[0], -seen.profit[0], 0.0))


def test_the_forecast_begins_with_the_expected_demand_and_goes_on_with_the_season(calm: Running) -> None:
    for at in (0, 7, 23):
        series = f"product {at}"
        rows = calm.post("/v1/forecast", {"series": series, "horizon": 40}).json()["rows"]
        told = calm.post("/v1/explain", {"series": series}).json()
        expected = told["recommended"]["expected"]["demand"]
        assert rows[0]["mean"] == pytest.approx(expected, rel=1e-12)
        assert told["outlook"]["expected_demand"] == pytest.approx(expected, rel=1e-12)
        mean = np.array([each["mean"] for each in rows])
        np.testing.assert_allclose(mean[7:14], mean[:7], rtol=0.1)  # weeks are alike
        np.testing.assert_allclose(mean[33:40], mean[5:12], rtol=0.2)  # beyond what a decision looks at, too
        assert all(each["q10"] <= each["q50"] <= each["q90"] for each in rows)


def test_units_are_lost_where_a_stock_out_may_come_and_nowhere_else(calm: Running) -> None:
    desk = calm.service.desk
    assert desk.day is not None
    seen = 0
    for share in (0.0, 0.3, 1.0, 3.0):
        found = desk.policy.expect(desk.day.view, Action(desk.morning.price, np.round(share * desk.morning.order)))
        assert found is not None
        for lost, chance in ((found.lost, found.stockout_chance), (found.cover_lost, found.cover_stockout_chance)):
            assert not (lost[chance == 0] > 1e-9).any()
            assert (chance[lost > 0.05 * found.demand] > 0.02).all()
            seen += int((chance > 0).sum())
    assert seen


def test_thresholds_say_what_an_exception_is(tmp_path: Path) -> None:
    calm_table().to_parquet(tmp_path / "log.parquet")
    (tmp_path / "log.toml").write_text(calm_shop().problem.to_toml())
    Lookahead().fit(read_log(tmp_path / "log.parquet").decisions("fit")).save(tmp_path / "policy")
    with running(tmp_path, tmp_path / "policy", flag_chance=0.0) as desk:
        rows = desk.service.desk.morning
        likely = np.array([STOCKOUT_LIKELY in text for text in rows.flag])
        assert likely.tolist() == (rows.chance > 0).tolist()
        assert likely.any()
        above = float(np.sort(rows.stake[likely])[-1])
    with running(tmp_path / "other", _copy(tmp_path), flag_chance=0.0, flag_money=above) as desk:
        rows = desk.service.desk.morning
        assert (
            np.flatnonzero(rows.is_flagged).tolist()
            == np.flatnonzero((rows.chance > 0) & (rows.stake >= above)).tolist()
        )


def _copy(folder: Path) -> Path:
    other = folder / "other"
    other.mkdir()
    for name in ("log.parquet", "log.toml", "policy"):
        (other / name).write_bytes((folder / name).read_bytes())
    return other / "policy"


def test_the_columns_of_a_row_are_enough_to_be_decided_for(calm: Running) -> None:
    schema = calm.get("/v1/columns").json()
    row = {"series": "product 3", "period": 112, "stock": 7, "weekday": 0}
    assert set(schema["required"]) == set(row)
    assert set(schema["properties"]) >= {"department", "on_order_1", *row}
    assert schema["properties"]["stock"]["minimum"] == 0
    assert calm.post("/v1/recommend", {"rows": [row]}).status_code == 200
    without = {name: value for name, value in row.items() if name != "weekday"}
    refused = calm.post("/v1/recommend", {"rows": [without]})
    assert refused.status_code == 422
    assert "weekday" in str(refused.json()["findings"])


def decide(desk: Running, series: str, status: str, **more: Any) -> None:
    seen = desk.seen(series)
    answer = desk.post(
        "/v1/decisions", {"decisions": [{"series": series, "status": status, "recommended": seen} | more]}
    )
    assert answer.status_code == 201, answer.text


def test_exports_have_the_columns_of_the_shop_and_say_what_to_order(tmp_path: Path) -> None:
    table = calm_table().rename(columns={"series": "Artikel", "price": "Preis", "stock": "Bestand"})
    table.to_parquet(tmp_path / "log.parquet")
    problem = calm_shop().problem.model_dump(exclude_defaults=True)
    problem["columns"] = {"series": "Artikel", "price": "Preis", "stock": "Bestand"}
    (tmp_path / "log.toml").write_text(type(calm_shop().problem).model_validate(problem).to_toml())
    Lookahead().fit(read_log(tmp_path / "log.parquet").decisions("fit")).save(tmp_path / "policy")
    with running(tmp_path, tmp_path / "policy") as desk:
        decide(desk, "product 1", "accepted")
        decide(desk, "product 2", "declined", reason="a feast")
        decide(desk, "product 3", "changed", price=9.5, order=1, reason="a feast", confirmed=True)
        plain = desk.get("/today.csv")
        marked = desk.get("/today.csv", params={"bom": True})
        assert marked.content == b"\xef\xbb\xbf" + plain.content
        rows = pd.read_csv(io.BytesIO(plain.content)).set_index("Artikel")
        book = pl.read_excel(desk.get("/today.xlsx").content)
        assert book.columns == ["Artikel", *rows.columns]
        assert book["Artikel"].to_list() == rows.index.tolist()
        for column in ("Bestand", "recommended_order", "to order now", "at_stake"):
            np.testing.assert_allclose(book[column].cast(float).to_numpy(), rows[column], atol=1e-6, err_msg=column)
        order = {name: desk.seen(name)["order"] for name in ("product 1", "product 2")}
        assert rows["recommended_order"][["product 1", "product 2"]].to_dict() == order
        assert rows["to order now"][:4].tolist()[1:] == [order["product 1"], 0.0, 1.0]
        assert np.isnan(rows["to order now"]["product 0"])  # nothing was decided
        assert rows["Preis"]["product 3"] == 9.5
        assert rows["decision"]["product 2"] == "declined: nothing is ordered, and the price stays"
        last = calm_table().set_index("series")["price"].groupby(level=0).last()
        assert rows["Preis"]["product 2"] == last["product 2"]
        exact = desk.get("/today.csv", params={"q": "product 39"})
        assert pd.read_csv(io.BytesIO(exact.content))["Artikel"].tolist() == ["product 39"]
        trail = pd.read_csv(io.BytesIO(desk.get("/decisions.csv", params={"status": "declined"}).content))
        assert trail["series"].tolist() == ["product 2"]


def test_an_exported_list_is_filled_in_and_uploaded(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        for name, read, write in (
            ("today.xlsx", _read_workbook, _workbook),
            ("today.csv", _read_csv, _csv),
        ):
            rows: Any = read(desk.get(f"/{name}").content)
            rows["to order now"] = rows["to order now"].astype(float)
            rows["price"] = rows["price"].astype(float)
            rows["reason"] = rows["reason"].astype(object)
            rows.loc[0, "to order now"] = rows.loc[0, "recommended_order"]
            rows.loc[1, ["to order now", "price", "reason"]] = [1.0, 4.0, "a feast"]
            csrf = desk.sign_in("decide")
            form = {"csrf": csrf, "kind": "decisions", "confirmed": "true"}
            table = {"table": ("list", write(rows), "application/octet-stream")}
            answer = desk.client.post("/data", data=form, files=table, headers={"Accept": "application/json"})
            assert (answer.status_code, answer.json()) == (200, {"next": "/?show=decided"}), answer.text
            found = {each.series: each for each in desk.service.store.latest("20").values()}
            assert {name: each.status for name, each in found.items()} == {"0": "accepted", "1": "changed"}
            assert (found["1"].price, found["1"].order, found["1"].reason) == (4.0, 1.0, "a feast")
            count = len(desk.service.store.decisions())
            again = desk.client.post("/data", data=form, files=table, headers={"Accept": "application/json"})
            assert again.status_code == 200
            assert len(desk.service.store.decisions()) == count  # what is decided so already is not stored again
            rows.loc[2, ["to order now", "recommended_order"]] = [3.0, 97.0]  # another recommendation than today's
            table = {"table": ("list", write(rows), "application/octet-stream")}
            refused = desk.client.post("/data", data=form, files=table, headers={"Accept": "application/json"})
            assert refused.status_code == 409
            assert len(desk.service.store.decisions()) == count
            for each in ("0", "1"):
                decide(desk, each, "withdrawn")
        without = {"table": ("list", b"series,price\n1,2\n", "text/csv")}
        refused = desk.client.post("/data", data=form, files=without, headers={"Accept": "application/json"})
        assert refused.status_code == 422
        assert "'to order now'" in str(refused.json()["findings"])


def _read_workbook(body: bytes) -> pd.DataFrame:
    return pl.read_excel(body).to_pandas()


def _read_csv(body: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(body))


def _csv(rows: pd.DataFrame) -> bytes:
    return rows.to_csv(index=False).encode()


def _workbook(rows: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    pl.from_pandas(rows).write_excel(sink)
    return sink.getvalue()


def test_the_trail_is_searched_by_part_of_a_name_person_and_day(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        decide(desk, "1", "declined")
        series = [each["series"] for each in desk.get("/v1/decisions", params={"q": "1"}).json()["decisions"]]
        assert series == ["1"]
        day = desk.get("/v1/decisions").json()["decisions"][0]["time"][:10]
        for query, count in (
            ({"who": "admin"}, 1), ({"who": "anna"}, 0), ({"since": day, "until": day}, 1), ({"q": "2"}, 0),
            ({"since": "2999-01-01"}, 0), ({"until": "2020-01-01"}, 0), ({"q": "%"}, 0),
        ):  # fmt: skip
            assert len(desk.get("/v1/decisions", params=query).json()["decisions"]) == count, query
        assert desk.get("/v1/decisions", params={"since": "yesterday"}).status_code == 422
        page = desk.get("/decisions", params={"who": "admin"}).text
        assert 'href="/decisions.csv?who=admin"' in page


def test_the_list_keeps_a_budget_and_tells_its_service(tmp_path: Path, calm: Running) -> None:
    free = calm.get("/v1/today", params={"limit": 100}).json()
    costs = calm_table().drop_duplicates("series").set_index("series")["unit_cost"]

    def money(rows: list[dict[str, Any]]) -> float:
        return float(sum(each["order"] * float(costs[each["series"]]) for each in rows))

    most = 0.5 * money(free["rows"])
    calm_table().to_parquet(tmp_path / "log.parquet")
    problem = calm_shop().problem.model_copy(update={"limits": (Limit(most=most),)})
    (tmp_path / "log.toml").write_text(problem.to_toml())
    Lookahead().fit(read_log(tmp_path / "log.parquet").decisions("fit")).save(tmp_path / "policy")
    with running(tmp_path, tmp_path / "policy") as desk:
        told = desk.get("/v1/today", params={"limit": 100}).json()
        page = desk.get("/").text
        first = next(each for each in told["rows"] if each["order"] > 0)
        shown = desk.get(f"/product?series={first['series']}").text
    assert 0.9 * most <= money(told["rows"]) <= most
    assert told["limits"][0]["price"] > 0
    assert 0.5 < told["service"]["fill_rate"] <= free["service"]["fill_rate"] <= 1
    assert "Money ordered: " in page
    assert f"{told['service']['fill_rate']:.1%}" in page
    assert f"{first['order']:,g}" in shown
