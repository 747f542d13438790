"""The report as a file: what it says, that it says it again, and what it refuses."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.writing import write_log
from lostsales.errors import LostSalesError
from lostsales.policy.simple import BaseStockRule
from lostsales.simulation.simulator import simulate
from tests.apps.report_logs import NASTY, assortment, own_names, released
from tests.apps.running import run
from tests.learn.small import scenario

QUICK = ("--horizon", 8, "--methods", "", "--windows", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    released(place)
    return place


@pytest.fixture(scope="module")
def command(folder: Path) -> tuple[object, ...]:
    return (
        "report",
        folder / "policy",
        folder / "log.parquet",
        "--out",
        folder / "report.html",
        "--horizon",
        8,
        "--windows",
        0,
    )


@pytest.fixture(scope="module")
def made(folder: Path, command: tuple[object, ...]) -> tuple[dict[str, Any], str]:
    """What the command says, and the page."""
    return json.loads(run(*command, "--json")), (folder / "report.html").read_text(encoding="utf-8")


def test_a_report_says_what_the_evaluation_says_and_how_it_was_made(
    folder: Path, made: tuple[dict[str, Any], str]
) -> None:
    log, policy, out = folder / "log.parquet", folder / "policy", folder / "report.html"
    facts, page = made
    assert facts["bytes"] == len(out.read_bytes()) < 6e6
    assert facts["method"] == "c-fqi"
    best = next(each for each in facts["evaluation"]["estimates"] if each["gain"] is not None)
    for figure in best["gain"].values():
        assert f"{figure:+,.2f}" in page
        assert f"{figure:+.2f}" in facts["sentence"]
    for method in ("base-stock", "newsvendor"):
        assert f"{method}, held out" in page
    first = facts["comparison"]["candidates"][0]
    assert "is best" not in page
    told = f"For comparison, the better of two simple rules ({first['method']}) would gain "
    assert f"{told}{first['gain']['value']:+.2f} per period" in page
    for path in (log, policy, log.with_suffix(".toml")):
        assert sha256(path.read_bytes()).hexdigest() in page
    assert "--methods base-stock,newsvendor --horizon 8 --seed 0" in page
    # Nothing is fetched: no address, no import, no other file.
    assert not re.search(r"https?://|//[a-z]|@import|url\(|src=|<link(?! rel=\"icon\" href=\"data:,\")", page)


def test_the_gain_of_the_policy_is_held_out_as_that_of_the_methods_next_to_it(
    folder: Path, made: tuple[dict[str, Any], str]
) -> None:
    """The report gives the gain that `compare` gives of the same method and settings, not that on the learned rows."""
    facts, page = made
    log = lostsales.read_log(folder / "log.parquet")
    (compared,) = lostsales.compare(log, [lostsales.CFQI(iterations=2)], horizon=8).candidates
    shown = next(each for each in facts["evaluation"]["estimates"] if each["estimator"] == "model")
    assert compared.gain is not None
    assert shown["gain"]["value"] == pytest.approx(compared.gain.value)
    assert facts["held_out"] == facts["comparison"]["held_out"] == "series"
    assert "c-fqi, held out, by " in page
    assert "may be in-sample" not in page


def test_a_report_begins_with_what_stockouts_cost(folder: Path, made: tuple[dict[str, Any], str]) -> None:
    facts, page = made
    found = lostsales.stockout_loss(lostsales.read_log(folder / "log.parquet"))
    assert page.index("<h1>") < page.index(found.sentence) < page.index('class="verdict')
    assert facts["stockout_loss"]["units"] == pytest.approx(found.units)


@pytest.mark.parametrize("rows", ["other rows", "no provenance"])
def test_a_gain_that_may_be_in_sample_is_not_set_beside_held_out_ones(rows: str, folder: Path, tmp_path: Path) -> None:
    log = lostsales.read_log(folder / "log.parquet")
    learned_from = replace(log, price=log.price[::-1].copy()) if rows == "other rows" else log
    policy = lostsales.fit(learned_from, "base-stock")
    if rows == "no provenance":
        policy = replace(policy)  # type: ignore[type-var]
    found = lostsales.report(policy, log, tmp_path / "page.html", methods=("newsvendor",), horizon=8)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.held_out is None
    assert found.in_sample_reason
    assert "may be in-sample, which is biased upwards" in page
    own, others = (page.index(text) for text in ("base-stock, may be in-sample", "Other methods, on series held out"))
    assert own < page.index("</table>", own) < others < page.index("newsvendor, held out", own)
    assert "so that the two cannot be compared" in page


@pytest.mark.slow
def test_the_same_command_writes_the_same_page_but_for_the_clock(
    folder: Path, command: tuple[object, ...], made: tuple[dict[str, Any], str]
) -> None:
    shown = run(*command)
    again = (folder / "report.html").read_text(encoding="utf-8")
    pages = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page) for page in (made[1], again)]
    assert pages[0] == pages[1]
    assert re.search(r"c-fqi: .* per period \(95 % interval .* to ", shown)


def test_names_of_the_shop_are_shown_as_text(tmp_path: Path) -> None:
    own_names(tmp_path)
    run("report", tmp_path / "rule", tmp_path / "shop.csv", "--out", tmp_path / "shop.html", *QUICK)
    page = (tmp_path / "shop.html").read_text(encoding="utf-8")
    assert NASTY not in page
    assert "&lt;script&gt;document.title=" in page
    assert "2026-05-30" in page
    assert "every sell-out is treated as one" in page


def test_what_cannot_be_reported_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    log, policy = folder / "log.parquet", folder / "policy"

    def refused(*arguments: Any) -> str:
        with pytest.raises(LostSalesError) as caught:
            run("report", *arguments)
        return str(caught.value)

    assert "no folder" in refused(policy, log, "--out", tmp_path / "none" / "report.html")
    assert "no policy file" in refused(tmp_path / "none", log, "--out", tmp_path / "report.html")
    other = lostsales.Problem(
        features=("weather",), prices=(2.0, 4.0), orders=(0.0, 5.0), costs={"lost": 1, "order": 1, "holding": 1}
    )
    frame = {"series": ["a"] * 30, "period": list(range(30)), "weather": [0.0] * 30, "price": [2.0, 4.0] * 15}
    frame |= {"stock": [9.0] * 30, "order": [0.0, 5.0] * 15, "sales": [1.0, 2.0, 3.0] * 10}
    write_log(lostsales.read_log(pd.DataFrame(frame), other), tmp_path / "other.parquet")
    assert "made for features economy, interest, but the log has weather" in refused(
        policy, tmp_path / "other.parquet", "--out", tmp_path / "report.html"
    )
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.slow
def test_a_policy_that_nobody_can_judge_has_a_report_all_the_same(tmp_path: Path) -> None:
    problem = scenario("steady").problem
    shops = {price: simulate(scenario("steady"), BaseStockRule(problem, 12, price), 6, 1)[0] for price in (4.0, 4.5)}
    write_log(shops[4.0], tmp_path / "log.parquet")
    lostsales.fit(shops[4.5], "base-stock").save(tmp_path / "policy")  # charges a price that the log never tried
    facts = json.loads(
        run("report", tmp_path / "policy", tmp_path / "log.parquet", "--out", tmp_path / "r.html", *QUICK, "--json")
    )
    assert facts["sentence"] == "no estimator can evaluate this policy on this log"
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No estimator can evaluate this policy on this log." in page
    assert page.count("refused, ") == 3
    assert "The price was always 4: nothing can be said about any other." in page


@pytest.mark.slow
def test_the_verb_writes_the_page_of_a_policy_in_memory(folder: Path, tmp_path: Path) -> None:
    log = lostsales.read_log(folder / "log.parquet")
    policy = lostsales.fit(log, "pc-fqi", iterations=2)
    found = lostsales.report(policy, log, tmp_path / "page.html", methods=(), horizon=8)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.comparison is None
    assert "<title>Lost sales, prices and orders</title>" in page
    assert "The penalty U of pc-fqi: on gains over the usual action (ours)." in page
    assert "methods=(), horizon=8, seed=0)" in page
    assert found.evaluation.sentence[1:] in page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(LostSalesError, match=r"must end in \.html, but report\.pdf came"):
        lostsales.report(policy, log, "report.pdf")


@pytest.mark.slow
def test_a_report_on_a_log_with_attributes_that_are_text(tmp_path: Path) -> None:
    """The series shown have fewer levels than the log."""
    log, _ = simulate(scenario("released"), episodes=12, seed=2)
    places = np.array([f"place {at // 2}" for at in range(12)], dtype=object)
    problem = log.problem.model_copy(update={"attributes": ("place",)})
    log = replace(log, attributes={"place": places}, problem=problem)
    found = lostsales.report(lostsales.fit(log, "base-stock"), log, tmp_path / "page.html", methods=(), horizon=5)
    assert len(found.traces) == 5
    assert all(np.isfinite(trace.expected[trace.hidden]).all() for trace in found.traces)


def test_the_report_on_an_assortment_opens_with_lost_sales_and_ends_with_theory(tmp_path: Path) -> None:
    assortment(tmp_path)
    given = "report", tmp_path / "newsvendor", tmp_path / "products.parquet", "--out", tmp_path / "page.html", *QUICK
    facts = json.loads(run(*given, "--json"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    order = re.findall(r'<section id="(\w+)">', page)
    assert order[:3] == ["lost", "decisions", "products"]
    assert order[-3:] == ["runs", "policy", "made"]  # no regret bound: the policy has no Q-functions
    folded = page[page.index('<details class="theory">') : page.rindex("</details>")]
    assert re.findall(r'<section id="(\w+)">', folded) == ["runs", "policy"]
    assert "margin lost to stock-outs per week" in page[: page.index("gain per week, all products")]
    assert re.findall(r'<a href="#(\w+)">', page) == order
    assert "Decisions of the next day, 2025-03-07" in page
    look = re.search(r"Which to check</h3>.*?</ul>", page, flags=re.DOTALL)
    assert look is not None
    assert "The price never varied, so the effect of another is not identified: product 1." in look[0]
    gains = facts["evaluation"]["assortment"]
    assert facts["sentence"] == gains["sentence"]
    for each in gains["products"]:
        assert f"{each['gain']['week']['value']:+,.2f}" in page
        assert f"{each['gain']['year']['value']:+,.2f}" in page
    for figure in gains["total"]["year"].values():
        assert f"{figure:+,.2f}" in page


def test_a_report_on_episodes_of_one_shop_has_no_decisions_of_products(made: tuple[dict[str, Any], str]) -> None:
    assert re.findall(r'<section id="(\w+)">', made[1])[:2] == ["lost", "gains"]
