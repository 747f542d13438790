"""Imputers by name, ours and those of other packages."""

from pathlib import Path

import numpy as np
import pytest

from lostsales.data.progress import Progress
from lostsales.data.writing import write_log
from lostsales.demand.filled_log import check_choice
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.demand.survival.imputers import IMPUTERS, Fill, ImputerData
from lostsales.errors import SettingError
from lostsales.types import Floats
from tests.apps.running import run_json
from tests.learn.small import small_log


def one_more(data: ImputerData) -> Fill:
    """Every hidden demand is one unit above what was available, with the share of censored rows as its error."""
    assert data.covariates.shape[0] == len(data.demand) == len(data.available) == len(data.is_event)
    assert data.row_counts.shape == (len(data.counts), len(data.demand))

    def fill(covariates: Floats, point: Floats, available: Floats, progress: Progress) -> tuple[Floats, Floats]:
        assert covariates.shape[1] == data.covariates.shape[1]
        assert (point <= available).all()
        progress(1, 1)
        return np.ones(len(available)), np.full(len(available), 1 - data.is_event.mean())

    return fill


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IMPUTERS, "_registered", dict(IMPUTERS._registered))
    IMPUTERS.register("one-more", one_more)


def test_a_registered_imputer_fills_every_stock_out() -> None:
    log = small_log("steady", 12)
    seen: list[tuple[int, int]] = []
    filled = impute_by_curves(log, estimator="one-more", replicates=3, progress=lambda *done: seen.append(done))
    np.testing.assert_array_equal(filled.expected_lost, filled.hidden)
    np.testing.assert_array_equal(filled.expected_demand[filled.hidden], log.available[filled.hidden] + 1)
    assert (filled.error[filled.hidden] > 0).all()
    assert filled.bandwidths == {}
    assert seen[-1] == (filled.hidden.sum(), filled.hidden.sum())
    np.testing.assert_array_equal(
        filled.identified, impute_by_curves(log, estimator="marginal", replicates=0).identified
    )


def test_the_command_line_takes_a_registered_imputer(tmp_path: Path) -> None:
    write_log(small_log("steady", 12), tmp_path / "log.parquet")
    where = tmp_path / "log.parquet", "--out", tmp_path / "filled.parquet", "--replicates", 0
    assert run_json("impute", *where, "--estimator", "one-more")["mean_expected_lost"] == 1.0


def test_names_are_checked() -> None:
    assert check_choice("one-more", "last") == ("one-more", "last")
    with pytest.raises(
        SettingError, match="estimator must be one of model, beran, marginal, cox, aft, one-more, but 'magic'"
    ):
        check_choice("magic", "last")
    with pytest.raises(SettingError, match="no estimator 'magic'; there are beran, marginal, cox, aft, one-more"):
        impute_by_curves(small_log("steady", 12), estimator="magic")
    with pytest.raises(SettingError, match="estimator 'beran' is taken by the package lostsales"):
        IMPUTERS.register("beran", one_more)
