"""Messages of the lab: what provokes each, and its text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.boards import open_board
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.softmax_policy import SoftmaxPolicy
from lostsales.lab.exact.solve import criterion_of, solve, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.lab.studies.coverage import IntervalStudy
from lostsales.lab.studies.manager import ManagerStudy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.lab.benchmarks.made_up import LFS, inventorybench_folder
from tests.lab.exact.tiny import tiny

RELEASED, SLOW = Scenario.load("released"), Scenario.load("manager-slow", ("horizon=14",))
TABLES = {"inventorybench": "get the", "vn2": "get the", "freshretail": "get FreshRetail"}
CROSSING = "supply.lead_time={1=0.5, 2=0.3, lost=0.2}", "supply.crossing=false"


def loaded(name: str, *settings: str) -> Scenario:
    return Scenario.load(name, settings)


MESSAGES: dict[str, Callable[[], object]] = {
    r"max_depth must be at least 1, but 0 came": lambda: solve_reference(
        RELEASED, "pi-star", Criterion(0.9), max_depth=0
    ),
    r"horizon must be at least 1 and discount from 0 to 1, but 5, 1.5 came": lambda: criterion_of(RELEASED, 1.5, 5),
    r"horizon must be at least 1 and discount from 0 to 1, but 0, None": lambda: criterion_of(RELEASED, None, 0),
    r"discount must be from 0 to below 1, but 1 came": lambda: criterion_of(RELEASED, 1.0, None),
    r"discount must be from 0 to below 1, but -0.1 came": lambda: criterion_of(RELEASED, -0.1, None),
    r"no scenario 'nowhere'": lambda: solve("nowhere"),
    r"plans 3 periods, but period 3 came": lambda: evaluate_policy(
        RELEASED, solve_reference(RELEASED, "oracle", Criterion(1.0, 3)).policy, 10
    ),
    r"whole units, but orders has fractions": lambda: FiniteModel.of(tiny(orders=[0, 0.5]), Resolution()),
    r"demand\.integer = false": lambda: FiniteModel.of(tiny(demand={"integer": False}), Resolution()),
    r"it has \d.* states .*5,000,000 are the most": lambda: solve(loaded("steady", "supply.lead_time=4")),
    r"crossing = true": lambda: solve(loaded("lost-sales", *CROSSING)),
    r"average criterion has neither a discount nor a horizon": lambda: solve("lost-sales", average=True, discount=0.9),
    r"temperature must be above 0, but 0 came": lambda: SoftmaxPolicy.of(RELEASED, 0.0),
    r"number of series at least 2": lambda: ManagerStudy(SLOW, series=1),
    r"steady has no manager": lambda: ManagerStudy(loaded("steady")),
    r"replications and numbers of series must be at least 1": lambda: IntervalStudy(RELEASED, replications=0),
    r"no estimator 'guess'": lambda: IntervalStudy(RELEASED, estimators=("guess",)),
    r"there is no benchmark 'other'": lambda: open_board("other", None),
    r"zipkin needs no data, but data was given": lambda: open_board("zipkin", Path("data")),
}


@pytest.mark.parametrize(("expected", "provoked"), MESSAGES.items())
def test_the_message_says_what_is_wrong(expected: str, provoked: Callable[[], object]) -> None:
    with pytest.raises(LostSalesError, match=expected):
        provoked()


@pytest.mark.parametrize(("name", "where"), TABLES.items())
def test_a_board_says_which_data_it_needs(name: str, where: str, tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no table")
    (tmp_path / "empty").mkdir()
    for data, expected in (
        (None, f"{name} needs its data, which may not be shipped: {where}"),
        (Path("nowhere"), f"nowhere is not there; {where}"),
        (tmp_path / "empty", "holds no"),
        (tmp_path / "text.parquet", "cannot be read as a Parquet file"),
    ):
        with pytest.raises(LostSalesError, match=expected):
            open_board(name, data)


def test_a_board_says_which_file_is_wrong(tmp_path: Path) -> None:
    home = inventorybench_folder(tmp_path / "data")
    test = home / "benchmark" / "real_trajectory" / "lead_time_0" / "a" / "r1" / "test.csv"
    for text, expected in (
        (test.read_text().replace(",4.0,", ",-4.0,"), "profit must be above 0"),
        (LFS, "pointer of git LFS"),
    ):
        test.write_text(text)
        with pytest.raises(LostSalesError, match=expected):
            open_board("inventorybench", home)
