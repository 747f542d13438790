"""Recommendations: any library, the order of today, and the decisions of a roll-out."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from lostsales.data.format import Format
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_table
from lostsales.errors import LogError, LostSalesError
from lostsales.lab.exact.solve import solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.learn.cfqi.learn import CFQI
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.function.q_function import QFunction
from lostsales.policy.base import PolicyBase
from lostsales.policy.open_day import NOTHING_KNOWN, ONLY_STOCKOUTS, UNSEEN_LEVEL
from lostsales.policy.policy import Observes
from lostsales.policy.recommendation import BEYOND, OUTSIDE, UNSAFE, joined_flags, recommendation
from lostsales.policy.rules import Rules
from lostsales.policy.simple import Uniform
from lostsales.policy.view import Action, View
from lostsales.simulation.simulator import simulate
from tests.learn.small import FORBID, days, frame_of, open_rows, scenario, small_log

LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
_FITTED: dict[str, QPolicy] = {}


def fitted(name: str) -> QPolicy:
    """Learned once for all tests, with depths 0 to 3."""
    if name not in _FITTED:
        options: dict[str, Any] = {"rules": Rules(multiple=2, greatest_price_change=0.3)} if name == FORBID else {}
        _FITTED[name] = CFQI(iterations=2, **options).fit(small_log(name))
    return _FITTED[name]


@pytest.fixture
def policy() -> QPolicy:
    return fitted("released")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_of_the_same_library_in_the_order_of_today(policy: QPolicy, library: str) -> None:
    recent, today = days(small_log("released", seed=2), 10)
    convert = LIBRARIES[library]
    expected, answer = policy.recommend(recent, today), policy.recommend(convert(recent), convert(today))
    assert type(answer) is type(convert(today))
    found = answer if isinstance(answer, pd.DataFrame) else answer.to_pandas()
    assert found["series"].tolist() == today["series"].tolist()
    for column in expected:
        assert found[column].tolist() == expected[column].tolist(), column
    assert found["price"].dtype == found["advantage"].dtype == np.float64
    assert found["depth"].dtype == np.int64
    assert found["safe_action"].dtype == bool


def test_rows_keep_the_index_of_a_pandas_frame(policy: QPolicy) -> None:
    recent, today = days(small_log("released", seed=2), 10)
    answer = policy.recommend(recent, today)
    assert answer.index.equals(today.index)
    assert not today.index.is_monotonic_increasing
    pd.testing.assert_frame_equal(answer.sort_index(), policy.recommend(recent, today.sort_index()))


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_that_only_announce_features_are_not_in_the_answer(policy: QPolicy, library: str) -> None:
    recent, today = days(small_log("released", seed=2), 10)
    announced = pd.concat([today, today.assign(period=today["period"] + 1)]).sample(frac=1, random_state=0)
    convert = LIBRARIES[library]
    answer = policy.recommend(convert(recent), convert(announced))
    found = answer if isinstance(answer, pd.DataFrame) else answer.to_pandas()
    expected = policy.recommend(recent, today).set_index("series")
    pd.testing.assert_frame_equal(found.set_index("series").loc[expected.index], expected, check_dtype=False)


@dataclass
class Watched(PolicyBase):
    """Acts at random and notes what the policy would have done, with all that a roll-out shows it."""

    policy: QPolicy
    problem: Problem
    observes: Observes = "history"
    decided: list[Action] = field(default_factory=list)
    depths: list[list[int]] = field(default_factory=list)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Uniform."""
        self.decided.append(self.policy.decide(view, rng))
        self.depths.append(view.depth.tolist())
        return Uniform(self.problem).decide(view, rng)


@pytest.mark.parametrize("name", ["released", "paper", FORBID])
def test_the_decisions_of_a_roll_out(name: str) -> None:
    world, learned = scenario(name), fitted(name)
    watched = Watched(learned, world.problem)
    log, _ = simulate(world.model_copy(update={"horizon": 9}), watched, episodes=40, seed=3)
    frame = frame_of(log)
    seen: set[int] = set()
    for period, (action, depths) in enumerate(zip(watched.decided, watched.depths, strict=True)):
        today = open_rows(frame, log, period)
        if period == 0:
            today = today.assign(last_sales=log.last_sales)
        answer = learned.recommend(frame[frame["period"] < period], today)
        assert answer["depth"].tolist() == depths
        assert answer["price"].tolist() == action.price.tolist()
        assert answer["order"].tolist() == action.order.tolist()
        assert answer["safe_action"].tolist() == [depth == 3 for depth in depths]
        seen |= set(depths)
    assert seen == {0, 1, 2, 3}


def test_a_window_of_recent_rows_is_enough(policy: QPolicy) -> None:
    recent, today = days(small_log("released", seed=2), 20)
    window = recent[recent["period"] >= 16]  # no run is longer than 3
    pd.testing.assert_frame_equal(policy.recommend(window, today), policy.recommend(recent, today))


def by_hand(stockouts: str, sales: float = 5.0, **today: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A series that sold the same every day, and its open row, all in the middle of the data."""
    rows = len(stockouts)
    hidden = np.array([mark == "x" for mark in stockouts], dtype=bool)
    market = {"economy": 1.0, "interest": 0.0}
    closed = {"stock": 0.0, "price": 4.0, "order": np.where(hidden, sales, sales + 5), "sales": sales}
    recent = pd.DataFrame({"series": "a", "period": np.arange(rows), **market, **closed, "stockout": hidden})
    return recent, pd.DataFrame({"series": ["a"], "period": [rows], **market, "stock": [0.0]} | today)


@pytest.mark.parametrize(
    ("stockouts", "depth", "flag"),
    [
        (".", 0, ""),
        (".x", 1, ""),
        (".xx", 2, ""),
        (".xxx", 3, ""),
        (".xxxx", 4, BEYOND),
        (".xxxxxxx", 7, BEYOND),
        ("xx", 2, ONLY_STOCKOUTS),
        ("xxxx", 4, f"{ONLY_STOCKOUTS}; {BEYOND}"),
        ("", 0, NOTHING_KNOWN),
    ],
)
def test_depth_and_flags_by_hand(policy: QPolicy, stockouts: str, depth: int, flag: str) -> None:
    indifferent = replace(
        policy, q=tuple(replace(q, weights=0 * q.weights) for q in policy.q if isinstance(q, QFunction))
    )
    (row,) = indifferent.recommend(*by_hand(stockouts)).to_dict("records")
    assert (row["depth"], row["flag"]) == (depth, flag)
    assert row["safe_action"] == (depth >= 3)
    # Every learned run ended by itself; a longer one gets the paper's safe action.
    assert (row["price"], row["order"]) == ((6, 15) if depth > 3 else (2, 0))


def test_a_shop_whose_recent_rows_are_all_stockouts_is_filled_again(policy: QPolicy) -> None:
    """An indifferent policy orders nothing but for the safe action, 15, after more than 3 stock-outs.

    8 are wanted a day and recent rows are those of 4 days: 15 come, 8 and 7 are sold, and the run of 4 stock-outs that
    follows hides the demand before it from the recent rows.
    """
    learned = tuple(replace(q, weights=0 * q.weights) for q in policy.q if isinstance(q, QFunction))
    indifferent = replace(policy, q=learned)
    recent, today = by_hand("xxxx", sales=0.0)
    for _ in range(15):
        price, order = indifferent.recommend(recent.tail(4), today)[["price", "order"]].to_numpy()[0]
        available = float(today["stock"].iloc[0]) + order  # an order arrives before sales
        sales = min(available, 8.0)
        closed = today.assign(price=price, order=order, sales=sales, stockout=available < 8)
        recent = pd.concat([recent, closed], ignore_index=True)
        today = today.assign(period=today["period"] + 1, stock=available - sales)
    assert recent["order"].iloc[4:].tolist() == [15, 0, 0, 0, 0] * 3
    assert recent["sales"].iloc[4:].tolist() == [8, 7, 0, 0, 0] * 3


def test_today_outside_the_data_is_flagged(policy: QPolicy) -> None:
    assert policy.recommend(*by_hand(".", stock=[500.0]))["flag"].tolist() == [OUTSIDE]
    for interest in (-0.5, 0.5):
        assert policy.recommend(*by_hand(".", interest=[interest]))["flag"].tolist() == [OUTSIDE]
    assert policy.recommend(*by_hand(".", sales=300.0))["flag"].tolist() == [OUTSIDE]


def test_an_unseen_level_is_a_flag_and_no_error() -> None:
    log = small_log("released")
    features = ({"name": "economy", "kind": "categorical", "levels": (0, 1)}, {"name": "interest"})
    problem = Problem.model_validate(log.problem.model_dump() | {"features": features})
    learned = CFQI(iterations=1).fit(read_log(frame_of(log), problem))
    recent, today = by_hand(".x")
    for economy, flag in ((0, ""), ("1", ""), (2, UNSEEN_LEVEL), ("boom", UNSEEN_LEVEL)):
        (row,) = learned.recommend(recent, today.assign(economy=economy)).to_dict("records")
        assert row["flag"] == flag
        assert row["price"] in (2, 4, 6)
    with pytest.raises(LogError, match="economy must be one of 0, 1, but row 0"):
        learned.recommend(recent.assign(economy=2), today)


def test_where_no_action_is_safe_enough_it_is_flagged() -> None:
    log = small_log("steady", 25)
    learned = CFQI(iterations=1, max_depth=1, eps=0.01).fit(log)
    recent, today = days(log, 30)
    answer = learned.recommend(recent, today)
    unsafe = answer["flag"].str.contains(UNSAFE)
    assert unsafe.any()
    assert (answer["depth"][unsafe] >= 1).all()
    assert (answer["order"][unsafe] == 15).all()
    assert answer["safe_action"].tolist() == (answer["depth"] >= 1).tolist()
    assert answer["flag"].str.contains(BEYOND).tolist() == (answer["depth"] > 1).tolist()


def test_flags_of_a_row_are_joined() -> None:
    bools = {text: np.array(rows) for text, rows in ((OUTSIDE, [1, 0, 1]), (UNSAFE, [1, 0, 0]))}
    flags = joined_flags({text: rows.astype(bool) for text, rows in bools.items()})
    assert flags.tolist() == [f"{OUTSIDE}; {UNSAFE}", "", OUTSIDE]


def test_nothing_to_decide(policy: QPolicy) -> None:
    recent, today = by_hand(".x")
    answer = policy.recommend(recent, today.head(0))
    assert len(answer) == 0
    assert list(answer.columns)[:4] == ["series", "period", "price", "order"]


def test_keys_come_back_as_they_came(policy: QPolicy) -> None:
    recent, today = by_hand(".x")
    day = pd.Timestamp("2026-03-01")
    dated = recent.assign(period=[day, day + pd.Timedelta(days=1)], series=5)
    answer = policy.recommend(dated, today.assign(period=day + pd.Timedelta(days=2), series=5, note="x"))
    assert answer["period"].tolist() == [day + pd.Timedelta(days=2)]
    assert answer["series"].tolist() == [5]
    assert "note" not in answer
    names = Problem.model_validate(policy.problem.model_dump() | {"columns": {"series": "sku", "period": "day"}})
    renamed = QPolicy(**{**vars(policy), "problem": names})
    tables = (each.rename(columns={"series": "sku", "period": "day"}) for each in (recent, today))
    answer = renamed.recommend(*tables)
    assert list(answer.columns)[:3] == ["sku", "day", "price"]
    assert answer["depth"].tolist() == [1]


def test_mistakes_are_one_clear_error(policy: QPolicy) -> None:
    recent, today = by_hand(".x")
    with pytest.raises(LogError, match=r"today(.|\n)*stock must be present, but row 0 \(series=a, period=2\) has none"):
        policy.recommend(recent, today.assign(stock=np.nan))
    with pytest.raises(LogError, match="missing column 'economy'"):
        policy.recommend(recent, today.drop(columns="economy"))
    with pytest.raises(LogError, match=r"recent(.|\n)*missing column 'sales'"):
        policy.recommend(recent.drop(columns="sales"), today)
    with pytest.raises(LostSalesError, match="today must be a pandas, polars or Arrow table"):
        policy.recommend(recent, "today.csv")
    with pytest.raises(LostSalesError, match="but a list came"):
        policy.recommend(recent, [1, 2])


def test_a_policy_that_needs_true_demand_cannot_recommend() -> None:
    oracle = solve_reference(scenario("released"), "oracle", Criterion(1.0, 2)).policy
    with pytest.raises(LostSalesError, match="needs true demand, which no shop sees"):
        recommendation(oracle, None, pd.DataFrame())
    beliefs = solve_reference(scenario("released"), "pi-star", Criterion(1.0, 2), method="beliefs").policy
    with pytest.raises(LostSalesError, match="can only be simulated"):
        recommendation(beliefs, None, pd.DataFrame())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["value", "flag", "order_and_price", "price"])
def test_a_series_column_named_like_one_of_the_answer_stays(policy: QPolicy, library: str, name: str) -> None:
    recent, today = days(small_log("released", seed=2), 10)
    names = {"series": name, "price": "charged"}
    convert = LIBRARIES[library]
    answer = renamed(policy, names).recommend(*(convert(frame.rename(columns=names)) for frame in (recent, today)))
    found = answer if isinstance(answer, pd.DataFrame) else answer.to_pandas()
    expected = policy.recommend(recent, today).rename(columns={"price": "charged"})
    assert found[name].tolist() == today["series"].tolist()
    for column in expected.columns.drop(["series"]):
        shown = f"recommended_{column}" if column == name else column
        np.testing.assert_array_equal(found[shown], expected[column])


def renamed(policy: QPolicy, names: dict[str, str], **keys: Any) -> QPolicy:
    """The policy for a table with other names of columns, and other keys of the problem."""
    columns = policy.problem.columns.model_copy(update=names)
    return replace(policy, problem=policy.problem.model_copy(update={"columns": columns} | keys))


def test_price_and_order_have_the_names_of_the_table(policy: QPolicy) -> None:
    names = {"series": "SKU", "period": "Day", "price": "value", "order": "Units Ordered", "stock": "On Hand"}
    recent, today = days(small_log("released", seed=2), 10)
    expected = policy.recommend(recent, today)
    answer = renamed(policy, names).recommend(*(frame.rename(columns=names) for frame in (recent, today)))
    assert list(answer.columns)[:4] == ["SKU", "Day", "value", "Units Ordered"]
    assert answer["value"].tolist() == expected["price"].tolist()
    assert answer["Units Ordered"].tolist() == expected["order"].tolist()
    assert answer["recommended_value"].tolist() == expected["value"].tolist()


DATES = ("%d.%m.%Y", "%Y-%m-%d")


@pytest.mark.parametrize("kind", ["text", "dates", "moments", "whole numbers"])
def test_dates_are_written_as_they_came(policy: QPolicy, tmp_path: Path, kind: str) -> None:
    recent, today = by_hand(".x", period=[2])
    first = pd.Timestamp("2026-03-30")
    for frame in (recent, today):
        frame["period"] = first + pd.to_timedelta(frame["period"], unit="D")
        if kind == "text":
            frame["period"] = frame["period"].dt.strftime("%d.%m.%Y")
        elif kind == "whole numbers":
            frame["period"] = frame["period"].dt.strftime("%Y%m%d").astype(int)
    formats = Format(dates="%Y%m%d" if kind == "whole numbers" else DATES)
    own = renamed(policy, {}, format=formats)
    if kind == "dates":
        today["period"] = today["period"].dt.date
    today.to_parquet(tmp_path / "today.parquet")
    found = recommendation(own, recent, tmp_path / "today.parquet")
    (period,) = found.table["period"].tolist()
    (shown,) = found.text_table["period"].tolist()
    assert (
        period
        == {
            "text": "01.04.2026",
            "dates": datetime.date(2026, 4, 1),
            "moments": datetime.datetime(2026, 4, 1),
            "whole numbers": 20260401,
        }[kind]
    )
    assert shown == (20260401 if kind == "whole numbers" else "01.04.2026")
    write_table(found.table, tmp_path / "answer.parquet")
    kinds = {
        str(pa.parquet.read_schema(tmp_path / f"{name}.parquet").field("period").type) for name in ("today", "answer")
    }
    assert len({each.removeprefix("large_").split("[")[0] for each in kinds}) == 1


def test_series_that_are_whole_numbers_stay_these(policy: QPolicy, tmp_path: Path) -> None:
    recent, today = by_hand(".x")
    today.assign(series=7).to_parquet(tmp_path / "today.parquet")
    found = recommendation(policy, recent.assign(series=7), tmp_path / "today.parquet")
    assert found.table["series"].dtype == np.int64
    assert found.table["series"].tolist() == [7]
    assert found.table["depth"].tolist() == [1]
