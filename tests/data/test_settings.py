"""Reading TOML: what is no file, too large or built to take for ever is refused at once."""

import os
import time
from pathlib import Path

import pytest

from lostsales.data.problem import Problem
from lostsales.data.settings import read_toml, with_settings
from lostsales.errors import SettingError


def refusal(path: Path) -> str:
    with pytest.raises(SettingError) as caught:
        read_toml(path)
    return str(caught.value)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device without an end")
def test_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    assert "no regular file" in refusal(Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe.toml")
    assert "no regular file" in refusal(tmp_path / "pipe.toml")
    assert "no regular file" in refusal(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("# " + "x" * 1_000_000)
    assert "over 1,000,000 bytes" in refusal(tmp_path / "large.toml")


@pytest.mark.parametrize("text", ["a{} = 1", "[a{}]", "x = {{a{} = 1}}", "[[a{}]]"])
def test_a_key_of_very_many_parts_is_refused_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text.format(".a" * 200_000))
    began = time.monotonic()
    assert "a key has more than 50 parts" in refusal(tmp_path / "deep.toml")
    assert time.monotonic() - began < 5
    with pytest.raises(SettingError, match="a key of 200,001 parts came"):
        with_settings({}, ["a" + ".a" * 200_000 + "=1"], "demand.rho=0.6")


def test_points_in_numbers_and_comments_are_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f"# {'.' * 99}\nprices = [{', '.join(['1.5'] * 99)}] # {'.' * 99}\n")
    assert read_toml(path) == {"prices": [1.5] * 99}


def test_a_list_that_is_too_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text("[rules]\nforbidden = [[2, 0], [2]]")
    with pytest.raises(SettingError, match=r"rules.forbidden.1.1: Field required"):
        Problem.from_toml(path)
