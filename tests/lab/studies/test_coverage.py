"""Coverage studies and `calibrate`."""

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.interval import Interval
from lostsales.lab.studies.coverage import EvaluatedLog, IntervalStudy, Replication, calibrate, coverage
from tests.learn.small import scenario


def study(replications: int = 2) -> IntervalStudy:
    return IntervalStudy(scenario("nonlinear"), series=(5,), replications=replications, estimators=("fqe",))


def test_coverage_equals_hand_computed_shares() -> None:
    asked = IntervalStudy(scenario("nonlinear"), series=(5,), replications=4, estimators=("fqe",))
    profits = [Interval(1.0, 0.0, 2.0), Interval(4.0, 3.0, 5.0), Interval(2.0, 1.5, 2.5), None]
    gains = [Interval(1.0, 0.5, 2.0), Interval(4.0, 3.0, 5.0), Interval(2.0, 0.5, 2.5), None]
    done = [
        EvaluatedLog(5, number, (Replication(5, number, "fqe", profit, gain),))
        for number, (profit, gain) in enumerate(zip(profits, gains, strict=True))
    ]
    (row,) = coverage(asked, done, (1.6, 0.6))
    assert row.scored == 0.75
    assert row.covers == pytest.approx(2 / 3)
    assert row.covers_gain == pytest.approx(2 / 3)
    assert row.error == pytest.approx((-0.6 + 2.4 + 0.4) / 3)
    assert row.width == pytest.approx((2 + 2 + 1) / 3)
    assert row.errs == "too high"
    assert not row.enough


@pytest.mark.slow
def test_resumed_study_repeats_no_replication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = tmp_path / "study.jsonl"
    first = study(1).run(partial)
    numbers, replicate = [], IntervalStudy.replicate

    def counted(asked: IntervalStudy, key: tuple[int, int]) -> EvaluatedLog:
        numbers.append(key[1])
        return replicate(asked, key)

    monkeypatch.setattr(IntervalStudy, "replicate", counted)
    both = study(2).run(partial)
    assert numbers == [1]
    assert both[0] == first[0]
    assert len(partial.read_text().splitlines()) == 3  # the head, and one for each log


def test_files_of_other_studies_are_refused(tmp_path: Path) -> None:
    partial = tmp_path / "study.jsonl"
    study(1).run(partial)
    other = IntervalStudy(scenario("nonlinear"), policy="uniform", series=(5,), replications=1, estimators=("fqe",))
    with pytest.raises(LostSalesError, match="with other settings"):
        other.run(partial)
    head, first = partial.read_text().splitlines()
    estimate = json.loads(first)["replications"][0]
    wrong = [estimate | {key: "x"} for key in ("series", "profit", "gain")]
    other_types = [json.loads(first) | {"replications": [each]} for each in wrong]
    by_an_older_version = json.dumps({"study": study(1).fingerprint, "replications": [estimate]})
    for text in (
        "{",
        "[]",
        "[" * 100_000,
        by_an_older_version,
        *(f"{head}\n{json.dumps(each)}\n" for each in other_types),
    ):
        partial.write_text(text)
        with pytest.raises(LostSalesError, match="not the file of a calibration study"):
            study(1).run(partial)
        assert partial.read_text() == text


def test_an_interval_without_an_end_is_read_again() -> None:
    ends = {"value": 1.0, "low": None, "high": None}
    saved = {"series": 5, "number": 0, "estimator": "dr", "profit": ends, "gain": None}
    found = TypeAdapter(Replication).validate_python(saved).profit
    assert found is not None
    assert (found.value, np.isnan(found.low), np.isnan(found.high)) == (1.0, True, True)


def test_a_number_of_workers_below_1_is_refused() -> None:
    with pytest.raises(SettingError, match="workers"):
        study().run(workers=0)


def test_calibrate_is_the_table_of_its_study(tmp_path: Path) -> None:
    asked = study(1)
    done = asked.run(tmp_path / "study.jsonl")
    found = calibrate(
        asked.scenario, series=(5,), replications=1, estimators=("fqe",), partial=str(tmp_path / "study.jsonl")
    )
    assert found.study == asked
    assert found.truth == asked.truth()
    assert list(found.coverage) == coverage(asked, done, found.truth)
    assert found.to_json()["coverage"][0]["enough"] == found.coverage[0].enough
