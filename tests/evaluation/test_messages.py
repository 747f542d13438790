"""Messages of evaluation: what provokes each, and its text."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError
from lostsales.evaluation.back_test import back_test
from lostsales.evaluation.compare import compare
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.pilot.monitor import monitor
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.learn.fit import fit
from lostsales.policy.simple import Uniform
from tests.evaluation.pilot.shops import PAST, dated, designed, past_of, shop_log
from tests.learn.small import scenario, small_log


def steady() -> SalesLog:
    return small_log("steady", 6)


def uniform() -> Uniform:
    return Uniform(scenario("steady").problem)


@cache
def piloted() -> SalesLog:
    return shop_log()


@cache
def plan() -> Pilot:
    return designed(piloted())


def newsvendor_log() -> SalesLog:
    return lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=40",)), episodes=12, seed=1)[0]


def asked_pilot(**settings: float | str) -> Callable[[], object]:
    past = past_of(piloted())
    return lambda: lostsales.pilot(past, lostsales.fit(past, "newsvendor"), **settings)  # type: ignore[arg-type]


def strangers() -> SalesLog:
    return replace(piloted(), names=np.array([f"x{number}" for number in range(12)], dtype=object))


EVALUATION: dict[str, Callable[[], object]] = {
    "no estimator 'guess'": lambda: evaluate(uniform(), steady(), estimators=("guess",)),
    "horizon must be at least 1": lambda: evaluate(uniform(), steady(), horizon=0),
    "true demand": lambda: evaluate(Uniform(uniform().problem, observes="demand"), steady()),
    "read_log": lambda: evaluate(uniform(), "log.parquet"),  # type: ignore[arg-type]
    "made for arrival before, but the log has after": lambda: evaluate(
        fit(small_log("released", 6), "base-stock"), steady()
    ),
    "the stock to start with must lie between 0": lambda: evaluate(uniform(), steady(), start_stock=-1.0),
    "no method 'guess'": lambda: compare(steady(), ("guess",)),
    "a method is a name or settings such as Planner": lambda: compare(steady(), [3]),  # type: ignore[list-item]
    "at least one method": lambda: compare(steady(), ()),
    "no estimator 'other'": lambda: compare(steady(), ("base-stock",), estimator="other"),
    "windows must be at least 1, but 0 came": lambda: back_test(newsvendor_log(), windows=0),
    "no method 'nothing'": lambda: back_test(newsvendor_log(), "nothing"),
    "in each of 5 windows needs at least 50 different periods, but the log has 40": lambda: back_test(
        newsvendor_log(), "newsvendor", windows=5
    ),
}
PILOTS: dict[str, Callable[[], object]] = {
    "gain must be a share above 0, .* but 0 came": lambda: asked_pilot(gain=0.0)(),
    "gain must be a share above 0, .* but nan came": lambda: asked_pilot(gain=float("nan"))(),
    "power must lie between": lambda: asked_pilot(power=1.0)(),
    "periods must lie between": lambda: asked_pilot(periods=0)(),
    "wash-out must lie between": lambda: asked_pilot(wash_out=-1)(),
    "seed must lie between": lambda: asked_pilot(seed=-1)(),
    "above the wash-out": lambda: asked_pilot(periods=5, wash_out=5)(),
    "pairs of blocks": lambda: asked_pilot(design="switchback", periods=20)(),
    "at least 8 series": lambda: designed(shop_log(series=4), design="series"),
    "at least 10 past periods": lambda: designed(without(piloted(), piloted().period >= 8)),
    "at least two periods": lambda: designed(without(piloted(), piloted().period >= 1)),
    f"starts in {PAST}, but the log ends in {PAST - 1}": lambda: monitor(plan(), past_of(piloted())),
    "plain numbers": lambda: monitor(plan(), dated(piloted())),
    "no row of the pilot's series": lambda: monitor(plan(), strangers()),
    "needs unit costs": lambda: monitor(plan(), replace(piloted(), costs=None)),
}


@pytest.mark.parametrize(("expected", "provoked"), [*EVALUATION.items(), *PILOTS.items()])
def test_the_message_says_what_is_wrong(expected: str, provoked: Callable[[], object]) -> None:
    with pytest.raises(LostSalesError, match=expected):
        provoked()
