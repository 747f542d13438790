"""Business rules: the actions that each row may take, worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.assortments import Assortment
from lostsales import Problem, SalesLog, read_log
from lostsales.data.business_rules import OwnRules
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rules import MaskQuery, Rules
from lostsales.types import Bools

GRID = ActionGrid(np.array([2.0, 4.0, 6.0]), np.array([0.0, 3.0, 6.0, 8.0]), np.inf)
NOWHERE = np.array([np.nan])


def allowed(mask: Bools, grid: ActionGrid = GRID) -> dict[float, list[float]]:
    """The orders that may go with each price that may be taken at all."""
    pairs = grid.pairs[mask].tolist()
    return {price: [order for p, order in pairs if p == price] for price, _ in pairs}


ANY = [0, 3, 6, 8]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(), {2: ANY, 4: ANY, 6: ANY}),
        (Rules(multiple=3), {2: [0, 3, 6], 4: [0, 3, 6], 6: [0, 3, 6]}),
        (Rules(minimum=6), {2: [0, 6, 8], 4: [0, 6, 8], 6: [0, 6, 8]}),
        (Rules(multiple=3, minimum=4), {2: [0, 6], 4: [0, 6], 6: [0, 6]}),
        (Rules(price_ladder=(4, 5, 6)), {4: ANY, 6: ANY}),
        (Rules(forbidden=((2, 8), (6, 0), (5, 0))), {2: [0, 3, 6], 4: ANY, 6: [3, 6, 8]}),
        (Rules(price_ladder=(2,), forbidden=((2, 0),)), {2: [3, 6, 8]}),
    ],
)
def test_standing_rules_by_hand(rules: Rules, expected: dict[float, list[float]]) -> None:
    assert allowed(rules.standing(GRID)) == expected
    (row,) = rules.feasible(GRID, np.array([100.0]), NOWHERE)
    assert allowed(row) == expected


def test_decimals_do_not_fall_between_rules() -> None:
    grid = ActionGrid(np.array([0.1 + 0.2]), np.array([0.0, 0.7, 1.1 + 2.2]), np.inf)
    assert Rules(multiple=0.1, minimum=3.3, price_ladder=(0.3,)).standing(grid).tolist() == [1, 0, 1]
    assert Rules(forbidden=((0.3, 3.3),)).standing(grid).tolist() == [1, 1, 0]


def test_greatest_price_change_binds_from_the_last_price() -> None:
    rules = Rules(greatest_price_change=2)
    last = np.array([2.0, 4.0, 6.0, 3.0, np.nan])
    rows = rules.feasible(GRID, np.zeros(5), last)
    assert [list(allowed(row)) for row in rows] == [[2, 4], [2, 4, 6], [4, 6], [2, 4], [2, 4, 6]]


def test_a_price_change_that_reaches_no_rung_is_let_go() -> None:
    rows = Rules(greatest_price_change=0.5, price_ladder=(2, 4)).feasible(GRID, np.zeros(2), np.array([6.0, 4.0]))
    assert [list(allowed(row)) for row in rows] == [[2, 4], [4]]


def test_an_order_must_fit_where_that_is_asked() -> None:
    grid = ActionGrid(GRID.prices, GRID.orders, room=10.0)
    rows = Rules(minimum=6).feasible(grid, np.array([0.0, 4.0, 5.0, 10.0]), np.full(4, np.nan))
    assert [allowed(row, grid)[2.0] for row in rows] == [[0, 6, 8], [0, 6], [0], [0]]


def test_no_order_where_a_feature_says_so() -> None:
    rules = Rules(order_days="delivery", minimum=6)
    rows = rules.feasible(GRID, np.zeros(2), np.full(2, np.nan), {"delivery": np.array([0.0, 1.0])})
    assert [allowed(row)[2.0] for row in rows] == [[0], [0, 6, 8]]
    with pytest.raises(SettingError, match="order_days must be a feature, but 'delivery' is not; there are"):
        rules.feasible(GRID, np.zeros(2), np.full(2, np.nan), {"weather": np.zeros(2)})


def test_a_mask_of_ones_own() -> None:
    def cautious(asked: MaskQuery) -> Bools:
        """No order on top of a stock of 5, and the highest price only where the feature is 1."""
        price, order = asked.actions.T
        may = ((order == 0) | (asked.stock < 5)[:, None]) & ((price < 6) | (asked.features["fair"] == 1)[:, None])
        return np.asarray(may)

    rules = Rules(mask=cautious, multiple=3)
    rows = rules.feasible(GRID, np.array([9.0, 2.0]), np.full(2, np.nan), {"fair": np.array([1.0, 0.0])})
    assert [allowed(row) for row in rows] == [{2: [0], 4: [0], 6: [0]}, {2: [0, 3, 6], 4: [0, 3, 6]}]
    with pytest.raises(SettingError, match=r"truth values of shape \(2, 12\) .* but float64 of shape \(2,\) came"):
        Rules(mask=lambda asked: asked.stock).feasible(GRID, np.zeros(2), np.full(2, np.nan))  # type: ignore[arg-type, return-value]
    with pytest.raises(LostSalesError, match="whose rules have a mask cannot be saved"):
        rules.saved()


def test_saved_rules_are_the_same_again() -> None:
    rules = Rules(
        multiple=2.0,
        minimum=4.0,
        price_ladder=(2.0, 6.0),
        greatest_price_change=1.5,
        forbidden=((2.0, 8.0),),
        order_days="delivery",
    )
    assert Rules.model_validate_json(json.dumps(rules.saved())) == rules


def test_nothing_feasible_is_a_setting_error() -> None:
    with pytest.raises(SettingError, match="no action of the grid passes the rules"):
        Rules(price_ladder=(3,)).standing(GRID)
    with pytest.raises(SettingError, match="no action where the stock is 9"):
        Rules(forbidden=tuple((price, 0) for price in (2, 4, 6))).feasible(
            ActionGrid(GRID.prices, GRID.orders, room=10.0), np.array([0.0, 9.0]), np.full(2, np.nan)
        )


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"multiple": 0}, "multiple: Input should be greater than 0, but it is 0"),
        ({"multiple": -2}, "multiple: Input should be greater than 0, but it is -2"),
        ({"minimum": -1}, "minimum: Input should be greater than or equal to 0, but it is -1"),
        ({"greatest_price_change": -0.5}, "greatest_price_change: .* greater than or equal to 0, but it is -0.5"),
        ({"greatest_price_change": float("nan")}, "greatest_price_change: .* finite number, but it is nan"),
    ],
)
def test_rules_out_of_range_are_refused(keys: dict[str, float], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        Rules(**keys)  # type: ignore[arg-type]


def assortment_log() -> SalesLog:
    shop = Assortment.draw(6, 21)
    table = {name: each for name, each in shop.columns(21).items() if name != "demand"}
    return read_log(pd.DataFrame(table), shop.problem)


def test_products_have_rules_of_their_own_by_attribute_and_by_name() -> None:
    log = assortment_log()
    bakery = log.names[log.attributes["department"] == log.attributes["department"][0]]
    level = str(log.attributes["department"][0])
    rules = Rules(
        multiple=2,
        own=(
            OwnRules(where={"department": (level,)}, multiple=3),
            OwnRules(where={"series": ("product 1",)}, minimum=4),
        ),
    ).of_log(log)
    grid = ActionGrid(np.array([4.0]), np.arange(7.0), np.inf)
    names = np.array([bakery[0], "product 1", "a new one"], dtype=object)
    may = rules.of_names(names).feasible(grid, np.zeros(3), np.full(3, np.nan))
    first = [order for order in range(7) if order % 3 == 0]
    np.testing.assert_array_equal(np.flatnonzero(may[0]), first)
    np.testing.assert_array_equal(np.flatnonzero(may[2]), [0, 2, 4, 6])
    least = [order for order in np.flatnonzero(may[1]) if 0 < order < 4]
    assert not least
    again = Rules.model_validate(rules.saved())
    np.testing.assert_array_equal(again.of_names(names).feasible(grid, np.zeros(3), np.full(3, np.nan)), may)


def test_a_series_that_the_log_never_had_has_the_rules_of_its_attributes() -> None:
    log = assortment_log()
    level = str(log.attributes["department"][0])
    named = OwnRules(where={"series": (str(log.names[0]),), "department": (level,)}, multiple=5)
    rules = Rules(multiple=2, own=(OwnRules(where={"department": (level,)}, multiple=3), named)).of_log(log)
    names = np.array(["new", "new", str(log.names[0])], dtype=object)
    given = {"department": np.array([level, "another", level], dtype=object)}
    for each in (rules, Rules.model_validate(rules.saved())):
        np.testing.assert_array_equal(each.of_names(names, given).multiple, [3, 2, 5])
        np.testing.assert_array_equal(each.of_names(names).multiple, [2, 2, 5])  # of which no attributes are known


def test_own_limits_of_prices_bind_their_rows_only() -> None:
    rules = Rules(own=(OwnRules(where={"series": ("a",)}, greatest_price_change=1.0, least_margin=0.5),))
    assert rules.limits_changes
    grid = ActionGrid(np.array([2.0, 4.0, 5.0, 9.0]), np.zeros(1), np.inf, 2.0)
    may = rules.of_names(np.array(["a", "b"], dtype=object)).feasible(grid, np.zeros(2), np.full(2, 5.0))
    np.testing.assert_array_equal(may, [[False, True, True, False], [True] * 4])


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"colour": ("red",)}, "names 'colour', which is no attribute"),
        ({"department": ("toys",)}, "'toys', which no row of the log has"),
    ],
)
def test_rules_of_products_that_are_not_there_are_refused(where: dict[str, tuple[str, ...]], wanted: str) -> None:
    with pytest.raises(SettingError, match=wanted):
        Rules(own=(OwnRules(where=where, multiple=6),)).of_log(assortment_log())


def test_rules_of_some_products_count_in_units_too() -> None:
    rules = Rules(own=(OwnRules(where={"series": ("a",)}, multiple=12, least_margin=0.1),)).in_units(6)
    assert rules.own[0].given == {"multiple": 2.0, "least_margin": 0.1}


def test_rules_of_products_come_from_a_problem_file() -> None:
    problem = Problem.model_validate({"rules": {"own": [{"where": {"department": "bakery"}, "multiple": 6}]}})
    assert problem.rules.own[0].where == {"department": ("bakery",)}
