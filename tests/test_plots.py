"""Pictures show the figures of their results."""

from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales import plots
from lostsales.errors import LostSalesError
from lostsales.evaluation.back_test import BackTest, BackTestWindow
from lostsales.evaluation.interval import Interval

COLA = "Cola 1.5 l"


def heights(figure: Any, label: str) -> list[float]:
    (bars,) = (each for each in figure.axes[0].containers if each.get_label() == label)
    return [bar.get_height() for bar in bars]


def marks(figure: Any) -> list[float]:
    return [each.lines[0].get_xdata()[0] for each in figure.axes[0].containers]


@pytest.fixture(scope="module")
def log() -> Any:
    return lostsales.load_example()


@pytest.fixture(scope="module")
def small() -> Any:
    return lostsales.simulate("newsvendor", episodes=4, seed=1)[0]


def test_a_log_shows_sales_and_stockouts_of_one_product(log: Any) -> None:
    figure, rows = log.plot(COLA), log.names[log.series] == COLA
    assert figure.axes[0].get_title(loc="left") == COLA
    assert heights(figure, "sold") == log.sales[rows].tolist()
    assert len(heights(figure, "stock-out")) == log.censored[rows].sum() > 0
    assert figure._repr_html_().startswith("<svg")  # in a notebook
    with pytest.raises(LostSalesError, match="there is no product 'Tea'"):
        log.plot("Tea")


def test_an_imputation_adds_expected_lost_sales(small: Any) -> None:
    filled = lostsales.impute(small, replicates=5)
    name = str(small.names[0])
    figure, rows = filled.plot(small, name), small.names[small.series] == name
    assert small.censored[rows].any()
    assert heights(figure, "lost, expected") == pytest.approx(filled.expected_lost[rows & small.censored].tolist())


def test_a_forecast_shows_its_mean_and_band(log: Any) -> None:
    found = lostsales.forecast(log, horizon=3)
    figure = found.plot(COLA)
    (line,) = figure.axes[0].lines
    assert line.get_ydata().tolist() == found.mean[found.names == COLA].tolist()
    corners = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() == pytest.approx(found.quantiles[90][found.names == COLA].max())


def test_an_audit_shows_its_runs(small: Any) -> None:
    found = lostsales.audit(small)
    (bars,) = found.plot().axes[0].containers
    assert [bar.get_height() for bar in bars] == list(found.run_lengths.values())
    assert found.conclusion in found._repr_html_()


def test_an_evaluation_and_a_comparison_show_their_figures(small: Any) -> None:
    compared = lostsales.compare(small, methods=["base-stock", "newsvendor"], quick=True)
    assert marks(compared.plot()) == [each.gain.value for each in compared.candidates if each.gain]
    found = lostsales.evaluate(lostsales.fit(small, "base-stock"), small, estimators=["model"], quick=True)
    assert marks(found.plot()) == [found.earned.profit.value, found.by("model").profit.value]  # type: ignore[union-attr]
    assert "<svg" in found._repr_html_()


def test_a_back_test_names_windows_without_a_figure() -> None:
    windows = (BackTestWindow("1", "4", 40, Interval(2, 1, 3), Interval(1, 0, 2)), BackTestWindow("5", "8", 2))
    figure = BackTest("planner", windows).plot()
    assert marks(figure) == [2, 1]
    assert [each.get_text() for each in figure.axes[0].get_yticklabels()][2:] == [
        "5 to 8, predicted: no figure",
        "5 to 8, outcome: no figure",
    ]


def test_a_schedule_has_a_cell_a_series_and_block() -> None:
    new = np.array([[True, False, True], [False, True, False]])
    (cells,) = plots.draw_schedule(np.array(["a", "b"]), new, "Pilot").axes[0].collections
    assert np.asarray(cells.get_array()).reshape(2, 3).tolist() == new.tolist()


def test_a_policy_shows_its_orders_and_its_verdict(small: Any) -> None:
    policy: Any = lostsales.fit(small, "base-stock")
    recent = small.to_frame()
    decided = policy.recommend(recent)
    (axes,) = policy.plot(recent).axes
    assert [bar.get_width() for bar in axes.patches] == decided["order"].tolist()
    labels = [each.get_text() for each in axes.get_yticklabels()]
    assert labels == [f"{row.series}, {row.price:g}" for row in decided.itertuples()]
    assert "Not yet evaluated" in axes.get_title(loc="left")
    assert "Not yet evaluated" in policy._repr_html_()


def test_without_matplotlib_the_cure_is_named(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "find_spec", lambda _name: None)
    with pytest.raises(LostSalesError, match=r"lostsales\[plots\]"):
        small.plot()
    assert small._repr_html_() == f"<p>{small!r}</p>".replace("'", "&#x27;")
