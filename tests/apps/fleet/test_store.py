"""Files of a store that others put there."""

import os
from pathlib import Path

import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.store import Store, checked_bytes
from lostsales.data.journal import JournalFolder
from lostsales.errors import LostSalesError


def test_a_ledger_passes_over_files_that_are_no_entries(tmp_path: Path) -> None:
    for name in ("00000.json", "00012.json", "1x.json", "00001.json.bak"):
        (tmp_path / name).write_text("{}")
    assert JournalFolder(tmp_path).numbers() == [0, 12]


def test_a_pipe_in_a_store_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "current")
    for read in (Store(tmp_path).current_name, lambda: checked_bytes(tmp_path / "current", "")):
        with pytest.raises(LostSalesError, match="current cannot be read: it is no regular file"):
            read()


def test_a_store_whose_name_is_not_utf8_is_not_begun(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("series,period,stock,price,order,sales\na,0,1,1,1,1\n")
    (tmp_path / "log.toml").write_text('arrival = "before"\n')
    with pytest.raises(LostSalesError, match="must be UTF-8"):
        fit_fleet(tmp_path / "log.csv", tmp_path / "a\udcff", method="newsvendor")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "log.toml"]
