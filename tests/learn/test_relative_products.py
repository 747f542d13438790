"""Series of different scale, attributes, and unit costs that vary: coordinates of a pooled Q."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment
from lostsales.data.business_rules import OwnRules
from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import DecisionLog
from lostsales.data.product_table import ProductTable
from lostsales.data.relative import relative_log
from lostsales.data.scale import STEP
from lostsales.demand.censoring.runs import find_runs
from lostsales.errors import LogError
from lostsales.learn.cfqi.learn import CFQI, PCFQI, learn
from lostsales.learn.cfqi.partition import partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.product_rows import rows_of_view
from lostsales.policy.recommendation import UNKNOWN_SERIES
from lostsales.policy.rules import Rules
from lostsales.policy.view import SeriesContext, View
from tests.learn.small import frame_of, open_rows, small_log

FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(0.1, 10.0))
UNITS = ["stock", "order", "sales", "last_sales"]
TIMES = STEP**41  # a scale is rounded to a power, so that this factor is kept


def two_scales() -> DecisionLog:
    """Four series, and the same again in other units."""
    frame = frame_of(small_log("released", episodes=4))
    large = frame.assign(series=frame["series"].astype(int) + 10)
    large[UNITS] *= TIMES
    problem = small_log("released").problem.model_copy(update={"orders": None})
    rows = pd.concat([frame.assign(series=frame["series"].astype(int)), large])
    return lostsales.read_log(rows, problem).decisions("fit")


def test_the_same_shop_in_other_units_is_the_same_rows() -> None:
    log = two_scales()
    products = ProductTable.of(log)
    np.testing.assert_allclose(products.scale[4:] / products.scale[:4], TIMES)
    relative = relative_log(log, products, CandidateGrid.of(log), Rules())
    for part in partition(relative, find_runs(relative), relative.cash):
        small = log.series[part.rows] < 4
        assert small.sum() == (~small).sum() > 0
        for values in (part.block, part.action, part.profit):
            np.testing.assert_allclose(values[small], values[~small], rtol=1e-9, atol=1e-9)


def test_series_of_one_scale_are_left_alone() -> None:
    log = small_log("released")
    assert ProductTable.of(log).one_scale
    assert isinstance(lostsales.fit(log, CFQI(iterations=1, function=FEW)), QPolicy)


def test_orders_are_in_the_units_of_each_series(tmp_path: Path) -> None:
    log = two_scales()
    policy = lostsales.fit(log, PCFQI(iterations=2, function=FEW))
    frame = frame_of(log)
    recent, today = frame[frame["period"] < 9], open_rows(frame, log, 9)
    answer = policy.recommend(recent, today)
    small = answer["series"].astype(int) < 10
    # What the smaller series ordered, and twice what they sold.
    most = max(15.0, 2 * float(np.quantile(log.sales[log.series < 4], 0.99))) + 1
    assert (answer.loc[small, "order"] <= most).all()
    assert answer.loc[~small, "order"].max() > most
    policy.save(tmp_path / "policy")
    pd.testing.assert_frame_equal(lostsales.load(tmp_path / "policy").recommend(recent, today), answer)
    # A series that the log never had is scaled by its own recent demand.
    renamed = [each.assign(series=each["series"].astype(int) + 100) for each in (recent, today)]
    unknown = policy.recommend(*renamed)
    assert (unknown["flag"].str.contains(UNKNOWN_SERIES)).all()
    assert (unknown.loc[small, "order"] <= most).all()
    assert unknown.loc[~small, "order"].max() > most


def with_attributes(differ: bool = True) -> tuple[pd.DataFrame, Any]:
    log = small_log("released")
    frame = frame_of(log)
    even = frame["series"].astype(int) % 2 == 0
    frame = frame.assign(place=np.where(even, "hill", "sea"), size=np.where(even, 2.5, 1.0))
    if differ:
        frame.loc[~even, "sales"] //= 2  # by the sea half as much is sold
        frame.loc[~even, "stockout"] = False
    return frame, log.problem.model_copy(update={"attributes": ("place", "size")})


def test_attributes_tell_series_apart(tmp_path: Path) -> None:
    frame, problem = with_attributes()
    log = lostsales.read_log(frame, problem)
    learned = learn(log, CFQI(iterations=2, pricing="free", function=FEW, depth_rows=0))
    policy = learned.policy
    assert policy.attributes is not None
    assert policy.attributes.columns == ("place=hill", "place=sea", "size")
    hill = log.series[learned.parts[0].rows] % 2 == 0
    np.testing.assert_array_equal(learned.parts[0].block[:, -3:][hill], [[1, 0, 2.5]] * hill.sum())
    today = open_rows(frame, log, 9)
    recent = frame[frame["period"] < 9]
    answer = policy.recommend(recent, today)  # attributes of series in the log are optional
    again = policy.recommend(recent, today.merge(frame[["series", "place", "size"]].drop_duplicates(), on="series"))
    assert answer["order"].tolist() == again["order"].tolist()
    policy.save(tmp_path / "policy")
    pd.testing.assert_frame_equal(lostsales.load(tmp_path / "policy").recommend(recent, today), answer)


def test_attributes_of_an_unknown_series_are_those_of_today() -> None:
    frame, problem = with_attributes(differ=False)  # or its size would be that of a usual series
    log = lostsales.read_log(frame, problem)
    policy = CFQI(iterations=2, function=FEW).fit(log)
    today = open_rows(frame, log, 9).head(1)
    known = policy.recommend(None, today.assign(last_sales=5.0))
    given = policy.recommend(None, today.assign(last_sales=5.0, series="x", place="hill", size=2.5))
    other = policy.recommend(None, today.assign(last_sales=5.0, series="x", place="sea", size=1.0))
    absent = policy.recommend(None, today.assign(last_sales=5.0, series="x"))
    assert known["value"].tolist() == given["value"].tolist()
    assert given["flag"].tolist() == absent["flag"].tolist() == [UNKNOWN_SERIES]
    assert known["flag"].tolist() == [""]
    assert len({float(each["value"].iloc[0]) for each in (given, other, absent)}) == 3


@pytest.fixture(scope="module")
def assortment() -> tuple[Assortment, pd.DataFrame]:
    shop = Assortment.draw(6, 21)
    return shop, pd.DataFrame(shop.columns(21)).drop(columns="demand")


def test_orders_come_in_the_cases_of_each_product(assortment: tuple[Assortment, pd.DataFrame], tmp_path: Path) -> None:
    shop, table = assortment
    own = OwnRules(where={"series": ("product 1",)}, multiple=4)
    log = lostsales.read_log(table, shop.problem)
    policy = lostsales.fit(log, CFQI(iterations=2, function=FEW, rules=Rules(own=(own,))))
    policy.save(tmp_path / "policy")
    case = np.where(shop.names == "product 1", 4.0, shop.case)
    assert set(case) == {1.0, 4.0, 6.0}
    last = table.groupby("series").tail(1)
    today = last.assign(stock=0.0, period=last.period + 1)
    for each in (policy, lostsales.load(tmp_path / "policy")):
        order = each.recommend(table, today).set_index("series")["order"][list(shop.names)].to_numpy()
        assert (order % case == 0).all()
        assert (order[case > 1] > 0).any()


def test_an_unknown_series_has_size_and_price_of_its_attributes(assortment: tuple[Assortment, pd.DataFrame]) -> None:
    """Products of one department sell a thousand times as much as those of the other, at a thirtieth of the price."""
    shop, table = assortment
    is_first = table.series.isin(["product 0", "product 1", "product 2"])
    for name, times in {"stock": 1000, "order": 1000, "sales": 1000, "price": 1 / 30}.items():
        table = table.assign(**{name: table[name] * np.where(is_first, times, 1)})
    table = table.assign(department=np.where(is_first, "large", "small"))
    products = ProductTable.of(lostsales.read_log(table, shop.problem).decisions("fit"))
    size = dict(zip(products.names, products.scale, strict=True))
    context = SeriesContext({"department": np.array(["large", "small"], dtype=object)}, np.full(2, np.nan))
    none = np.zeros(2)
    view = View(0, (none,), none, none, none > 0, none, None, (), np.array(["x", "y"], dtype=object), context)
    found = rows_of_view(products, view)
    large, small = ([size[f"product {each}"] for each in group] for group in ((0, 1, 2), (3, 4, 5)))
    assert found.is_unknown.all()
    assert min(large) / 3 < found.scale[0] < max(large)
    assert min(small) < found.scale[1] < 3 * max(small)
    assert found.scale[0] > 50 * found.scale[1]
    assert found.usual_price[0] < 0.2 * found.usual_price[1]


def test_unit_costs_that_vary_are_asked_of_each_day() -> None:
    log = small_log("released")
    frame = frame_of(log)
    rng = np.random.default_rng(0)
    frame = frame.assign(order_cost=rng.choice([0.5, 8.0], len(frame)))
    costs = type(log.problem.costs)(lost=2, holding=1)
    varied = lostsales.read_log(frame, log.problem.model_copy(update={"costs": costs}))
    policy = CFQI(iterations=3, function=FEW).fit(varied)
    assert [feature.name for feature in policy.costs] == ["order_cost"]
    recent, today = frame[frame["period"] < 9], open_rows(frame, varied, 9)
    with pytest.raises(LogError, match="missing column 'order_cost'"):
        policy.recommend(recent, today)
    cheap, dear = (policy.recommend(recent, today.assign(order_cost=cost))["order"].sum() for cost in (0.5, 8.0))
    assert dear < cheap


@pytest.mark.filterwarnings("ignore:the price never varied")
@pytest.mark.parametrize("learner", [CFQI(iterations=5), PCFQI(iterations=5)])
def test_no_order_is_above_ten_times_what_a_site_uses(learner: CFQI) -> None:
    """Sites that use from 0.3 to 3,000 a month, with stray orders of the small ones near the end."""
    rng, rows = np.random.default_rng(2), []
    sizes = np.array([0.3, 0.5, 2.0, 6.0, 40.0, 300.0, 3000.0])
    for site, size in enumerate(sizes):
        stock = np.ceil(2 * size)
        for month in range(60):
            demand = float(rng.poisson(size * rng.gamma(2, 0.5)))
            order = np.ceil(max(3 * size * rng.uniform(0.5, 2) - stock, 0.0)) if rng.random() < 0.6 else 0.0
            order = 500.0 if size < 10 and month == 50 else order
            rows.append((f"site {site}", month, stock, 1.0, order, min(demand, stock), demand > stock))
            stock = max(stock - demand, 0.0) + order
    frame = pd.DataFrame(rows, columns=["series", "period", "stock", "price", "order", "sales", "stockout"])
    problem = lostsales.Problem(arrival="after", costs={"lost": 5.0, "order": 0.1, "holding": 0.001})
    policy = lostsales.fit(lostsales.read_log(frame, problem), learner)
    used = frame.groupby("series")["sales"].mean()
    today = pd.DataFrame({"series": used.index, "period": 60, "stock": 0.0, "last_sales": used.round().to_numpy()})
    answer = policy.recommend(None, today)
    assert (answer["order"].to_numpy() <= 10 * used.to_numpy()).all()
    assert (answer["order"].iloc[2:] > used.iloc[2:].to_numpy()).all()
