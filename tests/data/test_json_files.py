"""JSON files are read from regular files of a limited size."""

import os
from pathlib import Path

import pytest

from lostsales.data import json_files
from lostsales.data.json_files import read_json
from lostsales.errors import LostSalesError


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path, tmp_path / "pipe.json", Path("/dev/zero")):
        with pytest.raises(LostSalesError, match="cannot be read: it is no regular file"):
            read_json(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.json"
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}
    monkeypatch.setattr(json_files, "MOST_BYTES", 7)
    with pytest.raises(LostSalesError, match="it has more than"):
        read_json(path)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}", "{"])
def test_what_is_no_object_is_one_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(LostSalesError, match=r"odd\.json cannot be read"):
        read_json(tmp_path / "odd.json")
