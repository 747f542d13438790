"""Gains of an assortment: by product, in total and of a choice."""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.splits import units_of
from lostsales.data.sublogs import evaluated_part
from lostsales.evaluation.advice import Concern
from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, ProductFigures, assortment_gain
from lostsales.evaluation.compare import ComparedMethod
from lostsales.evaluation.evaluate import evaluate, prepare
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import Earned, Estimand, Estimate, Evaluation, Overlap
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Policy
from lostsales.policy.simple import Uniform
from lostsales.policy.view import Action, View
from tests.evaluation.shop import PROBLEM, WEEKDAYS, Assortment, Manager, RelativeRule
from tests.learn.small import small_log

SHOP = Assortment.drawn(4, 2)
RULE = RelativeRule(SHOP, np.array([1.0, 0.9, 0.8, 1.0]), np.array([1.4, 1.4, 1.4, 0.6]))


def judged(policy: Policy, shop: Assortment = SHOP, days: int = 120, dated: bool = True) -> AssortmentGain:
    found = evaluate(policy, shop.log(days, 5, dated), estimators=["model"], quick=True).assortment
    assert found is not None
    return found


@cache
def by_rule() -> AssortmentGain:
    return judged(RULE)


def test_the_gains_of_products_sum_to_the_total() -> None:
    found = by_rule()
    for over in ("period", "week", "year"):
        gains = [getattr(each.gain, over).value for each in found.products]
        earned = [getattr(each.earned, over).value for each in found.products]
        assert sum(gains) == pytest.approx(getattr(found.total, over).value)
        assert sum(earned) == pytest.approx(getattr(found.earned, over).value)
    assert found.total.week is not None
    assert found.total.week.low == pytest.approx(7 * found.total.period.low)
    assert found.total.year is not None
    assert found.total.year.high == pytest.approx(365.25 * found.total.period.high)


def test_a_product_that_loses_is_kept_as_it_was() -> None:
    """The last product is ordered far too little of."""
    found = by_rule()
    worst = found.products[-1]
    assert worst.product == "product 3"
    assert worst.verdict == "proven loss"
    assert not worst.chosen
    assert "product 3" in found.choice.kept
    assert "product 3" in found.not_proven


def test_the_verdict_rests_on_the_gain_of_all_products_together() -> None:
    """Rows of a product with many of them gain for certain, but the large product with few rows may lose."""
    total = MoneyOver(Interval(10.0, -5.0, 25.0), Interval(70.0, -35.0, 175.0), Interval(3652.5, -1826.0, 9131.0))
    found = replace(by_rule(), total=total, products_in_log=2, currency="EUR")
    gain, told = Interval(2.0, 1.0, 3.0), Overlap("price", 1.0, 100.0, True, "all of it")
    best = Estimate("model", told, profit=gain, gain=gain, assortment=found)
    estimand, earned = Estimand(10, 0.9, "here"), Earned(gain, gain, np.zeros(2), "a law")
    plain = Evaluation(estimand, earned, (best,), np.array(["a", "b"]), "blocks in time")
    assert plain.verdict == "pilot"
    assert plain.sentence.startswith("no proven gain, +70.00 EUR per week over all 2 products (95 % interval -35.00")
    doubted = replace(plain, concerns=(Concern("amber", "estimators disagree"),))
    figures = "+70.00 EUR per week over all 2 products (-35.00 to +175.00)"
    assert doubted.sentence == f"the gain is not proven, {figures}: estimators disagree; run a pilot first"
    assert ComparedMethod("rule", gain=gain, assortment=found).advice == "pilot"
    assert ComparedMethod("rule", gain=gain).advice == "deploy"


def test_with_a_concern_no_product_is_proven_or_to_be_decided_for() -> None:
    found = by_rule()
    certain = tuple(replace(each, proven=True, chosen=True) for each in found.products)
    doubted = replace(found, products=certain).doubted
    assert doubted.choice.products == ()
    assert len(doubted.choice.kept) == 4
    assert not any(each.proven or each.chosen for each in doubted.products)
    assert doubted.total == found.total
    assert "until a pilot has proved" in doubted.choice.sentence


def edges(money: MoneyOver | None) -> tuple[float, float, float]:
    """Figures of a period."""
    assert money is not None
    return money.period.value, money.period.low, money.period.high


def test_other_names_give_the_same_table_under_the_other_names() -> None:
    log = SHOP.log(120, 5)
    other = {"product 0": "pears", "product 1": "apples", "product 2": "zebras", "product 3": "milk"}
    renamed = replace(log, names=np.array([other[name] for name in log.names], dtype=object))

    @dataclass(frozen=True, eq=False)
    class Renamed(PolicyBase):
        problem: Problem = PROBLEM
        observes: Literal["sales"] = "sales"

        def decide(self, view: View, rng: np.random.Generator) -> Action:
            back = {new: old for old, new in other.items()}
            names = np.array([back[name] for name in np.asarray(view.names)], dtype=object)
            return RULE.decide(replace(view, names=names), rng)

    found = evaluate(Renamed(), renamed, estimators=["model"], quick=True).assortment
    assert found is not None
    wanted = {other[each.product]: (each.gain, each.earned, each.proven, each.chosen) for each in by_rule().products}
    assert {each.product: (each.proven, each.chosen) for each in found.products} == {
        name: (proven, chosen) for name, (_, _, proven, chosen) in wanted.items()
    }
    for each in found.products:  # sums over products in another order differ in the last digit
        gain, earned, _, _ = wanted[each.product]
        for found_money, money in ((each.gain, gain), (each.earned, earned)):
            assert edges(found_money) == pytest.approx(edges(money), rel=1e-9)


@dataclass(frozen=True, eq=False)
class AsTheManager(PolicyBase):
    """What the shop does."""

    problem: Problem = PROBLEM
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Of the products of a view."""
        names = {name: number for number, name in enumerate(SHOP.names)}
        at = np.array([names[name] for name in np.asarray(view.names)])
        relative = rng.choice([1.0, 0.9, 0.8], len(at), p=[0.6, 0.2, 0.2])
        weekday = WEEKDAYS[view.features[0].astype(np.int64)]
        up_to = (SHOP.size * SHOP.level)[at] * weekday * np.where(relative < 1, 1.25, 1.0)
        return Action(SHOP.usual_price[at] * relative, np.maximum(np.rint(up_to - view.stock), 0.0))


def test_the_behaviour_itself_gains_nothing() -> None:
    found = judged(AsTheManager())
    assert found.total.period.low < 0 < found.total.period.high
    assert abs(found.total.period.value) < 0.05 * found.earned.period.value
    for each in found.products:
        assert each.gain is not None
        assert each.gain.period.low < 0 < each.gain.period.high
    assert found.choice.products == ()
    assert found.choice.gain.period == Interval(0.0, 0.0, 0.0)
    assert found.choice.sentence.startswith("keep the current practice")


def test_figures_are_by_period_where_periods_are_plain_numbers() -> None:
    found = judged(RULE, dated=False)
    assert found.total.week is None
    assert found.total.year is None
    assert "per period over all 4 products" in found.sentence
    assert any("plain numbers" in note for note in found.notes)


def test_episodes_of_one_shop_have_no_gains_by_product() -> None:
    log = small_log("newsvendor", 10)
    found = evaluate(Uniform(log.problem), log, estimators=["model"], quick=True)
    assert found.assortment is None
    assert found.to_json()["assortment"] is None
    assert "products" not in found.sentence


def test_contributions_of_means_over_blocks_of_one_length_are_the_means_of_the_blocks() -> None:
    blocks = np.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0]])  # (units, products)
    without = (blocks.sum(axis=0) - blocks) / 2
    figures = ProductFigures(blocks.mean(axis=0), without, np.zeros((0, 2)))
    np.testing.assert_allclose(figures.contributions(np.full((3, 2), 1 / 3)), blocks)


def test_a_product_with_rows_in_one_block_counts_as_no_gain() -> None:
    log = SHOP.log(50, 1)
    units = units_of(log, 10)
    products = log.products
    own = units.of_row.copy()
    own[products.of_row == 1] = 0
    values = np.array([5.0, 900.0, 2.0, 1.0])
    earned = ProductFigures(np.zeros(4), np.zeros((len(units), 4)), np.zeros((0, 4)))
    profit = ProductFigures(values, np.tile(values, (len(units), 1)), np.zeros((0, 4)))
    found = assortment_gain(log, own, len(units), earned, profit, 4)
    assert found is not None
    assert found.total.period.value == pytest.approx(8.0)
    assert found.products[-1].verdict == "too few rows"
    assert found.choice.kept == ("product 1",)
    assert "their gain is treated as 0" in " ".join(found.notes)


def test_totals_of_drawn_products_are_of_the_whole_log_and_less_certain() -> None:
    log = SHOP.log(50, 1)
    units = units_of(log, 10)
    values, noise = np.array([5.0, 9.0, 2.0, 1.0]), np.random.default_rng(0).normal(0, 0.1, (len(units), 4))
    earned = ProductFigures(np.zeros(4), np.zeros((len(units), 4)), np.zeros((0, 4)))
    profit = ProductFigures(values, values + noise, np.zeros((0, 4)))
    whole, drawn = (assortment_gain(log, units.of_row, len(units), earned, profit, number) for number in (4, 40))
    assert whole is not None
    assert drawn is not None
    assert drawn.total.period.value == pytest.approx(10 * whole.total.period.value)
    assert drawn.total.period.high - drawn.total.period.low > 10 * (whole.total.period.high - whole.total.period.low)
    assert "scaled up from 4 of 40 products" in " ".join(drawn.notes)


def test_all_products_of_a_large_assortment_are_judged_from_their_last_periods() -> None:
    log = Assortment.drawn(12, 0).log(150, 0)
    part, notes = evaluated_part(log, 900, 0)
    assert set(part.names) == set(log.names)
    assert notes == ("evaluated on the last 75 periods of each series",)
    few, notes = evaluated_part(Assortment.drawn(40, 0).log(30, 0), 300, 0)
    assert len(few.names) == 20
    assert notes[0] == "evaluated on 20 of 40 series, drawn at random"


def test_units_of_an_assortment_are_blocks_in_time_that_all_products_share() -> None:
    log = SHOP.log(100, 1)
    units = units_of(log, 20)
    assert (units.by, len(units)) == ("blocks in time", 10)
    assert units.names[0] == "2025-01-06 to 2025-01-15"
    by_product = units.of_row.reshape(4, 100)
    assert (by_product == by_product[0]).all()
    assert (np.diff(by_product[0]) >= 0).all()


def test_products_that_were_not_drawn_count_in_the_totals_of_a_prepared_log() -> None:
    log = Assortment.drawn(24, 0).log(40, 0)
    prepared, _ = prepare(log, rows=820, quick=True)
    assert len(np.unique(prepared.log.names)) == 20
    assert prepared.products_in_log == 24


def test_the_json_of_gains_by_product_has_every_figure() -> None:
    log = SHOP.log(120, 5)
    found = json.loads(json.dumps(evaluate(RULE, log, estimators=["model"], quick=True).to_json()))
    gains = found["assortment"]
    assert set(gains) == {
        "products", "earned", "total", "choice", "products_in_log", "currency", "notes", "not_proven", "sentence",
    }  # fmt: skip
    assert found["sentence"] == gains["sentence"]
    assert set(gains["choice"]) == {"products", "kept", "gain", "sentence"}
    assert sorted(gains["choice"]["products"] + gains["choice"]["kept"]) == sorted(SHOP.names)
    for each in gains["products"]:
        assert set(each) == {"product", "rows", "earned", "gain", "proven", "chosen", "verdict"}
        for figure in (each["earned"], each["gain"]):
            assert set(figure) == {"period", "week", "year"}
            assert figure["week"]["low"] <= figure["week"]["value"] <= figure["week"]["high"]
    assert "assortment" not in found["estimates"][0]


def study(logs: int) -> tuple[float, float, int]:
    """Share of logs whose lower bound on the total, and on the choice, lies above the truth; and choices made."""
    above, chosen_above, choices = [], [], 0
    for seed in range(logs):
        shop = Assortment.drawn(8, seed)
        rng = np.random.default_rng(1_000 + seed)
        rule = RelativeRule(shop, rng.choice([0.8, 0.9, 1.0], 8), rng.choice([1.2, 1.4, 1.6], 8))
        found = evaluate(rule, shop.log(150, seed), estimators=["model"], quick=True).assortment
        if found is None:
            continue
        truth = dict(zip(shop.names, shop.true_profit(rule) - shop.true_profit(Manager()), strict=True))
        above.append(found.total.period.low > sum(truth.values()))
        if found.choice.products:
            choices += 1
            chosen_above.append(found.choice.gain.period.low > sum(truth[name] for name in found.choice.products))
    assert len(above) > 0.9 * logs
    return float(np.mean(above)), float(np.sum(chosen_above)) / logs, choices


@pytest.mark.slow
def test_the_lower_bound_on_the_total_gain_lies_above_the_truth_in_at_most_5_of_100_logs() -> None:
    total, chosen, choices = study(100)
    assert total <= 0.05
    assert chosen <= 0.05
    assert choices >= 5  # or it would say nothing of them
