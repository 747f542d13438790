"""Files of keys."""

import os
from pathlib import Path

import pytest

from lostsales.apps.service.keys import read_keys
from lostsales.errors import SettingError


def test_a_device_or_a_pipe_is_no_file_of_keys(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.json")
    for path in (tmp_path, tmp_path / "keys.json", Path("/dev/zero")):
        with pytest.raises(SettingError, match="is no file of keys: it is no regular file"):
            read_keys(path)
