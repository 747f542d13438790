"""Output files: never an input, only regular files, modes kept, and whole or not at all."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lostsales.data import output_files
from lostsales.data.output_files import check_output, remove_abandoned, replacing, replacing_together
from lostsales.data.writing import check_table
from lostsales.errors import LostSalesError
from lostsales.lab.experiments.folder import prepare_folder
from tests.lab.experiments.small import small


def write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o777])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "policy"
    path.write_text("old")
    path.chmod(mode)
    write(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    write(tmp_path / "ours", "")
    (tmp_path / "any").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_a_temporary_file_is_never_more_readable_than_the_file_that_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.touch()
    path.chmod(0o600)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


def test_links_pipes_devices_folders_and_read_only_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("the user's")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "kept").chmod(0o444)
    wanted = {
        tmp_path / "link": "symbolic link",
        tmp_path / "dangling": "symbolic link",
        tmp_path / "folder": "a folder",
        tmp_path / "pipe": "a pipe",
        tmp_path / "kept": "read-only",
        Path("/dev/null"): "a device",
    }
    before = names(tmp_path)
    for path, message in wanted.items():
        with pytest.raises(LostSalesError, match=message):
            check_output(path)
        with pytest.raises(LostSalesError, match=message):
            write(path, "ours")
    assert names(tmp_path) == before
    assert (tmp_path / "file").read_text() == "the user's"
    assert (tmp_path / "kept").read_text() == "kept"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_an_input_is_refused_under_every_name_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.csv"
    log.write_text("the user's")
    (tmp_path / "hard.csv").hardlink_to(log)
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in (log, Path("log.csv"), Path("folder/../log.csv"), Path("hard.csv"), Path("way/log.csv")):
        with pytest.raises(LostSalesError, match="would overwrite the input"):
            check_output(name, (None, log))
    check_output(tmp_path / "other.csv", (None, log))


def test_an_output_into_a_folder_or_pattern_of_inputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "1.csv").touch()
    for given in (tmp_path / "days", tmp_path / "days" / "*.csv"):
        with pytest.raises(LostSalesError, match="would overwrite the input"):
            check_output(tmp_path / "days" / "1.csv", (given,))
    with pytest.raises(LostSalesError, match="would overwrite the input"):
        check_output(tmp_path / "days" / "2.csv", (tmp_path / "days",))


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_name_that_no_file_can_have_is_one_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(LostSalesError, match=r"is no name of a file|[Nn]ame too long"):
        check_output(tmp_path / name)


def test_a_long_name_that_a_file_can_have_is_written(tmp_path: Path) -> None:
    write(tmp_path / ("x" * 255), "whole")
    assert names(tmp_path) == ["x" * 255]


def test_a_full_disk_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LostSalesError, match="policy cannot be written: No space left on device"):
        check_output(tmp_path / "policy")
    assert names(tmp_path) == []


def test_files_that_belong_together_are_all_new_or_all_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / name for name in ("problem", "truth", "log")]
    for path in paths:
        path.write_text("old")

    def write_all(text: str) -> None:
        with replacing_together(*paths) as temporaries:
            for temporary in temporaries:
                temporary.write_text(text)

    write_all("new")
    assert [path.read_text() for path in paths] == ["new"] * 3
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(LostSalesError, match="No space left"):
        write_all("newer")
    assert [path.read_text() for path in paths] == ["new"] * 3
    assert names(tmp_path) == ["log", "problem", "truth"]


def test_where_a_file_cannot_take_its_place_the_log_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    rename = Path.replace
    monkeypatch.setattr(Path, "replace", lambda a, b: refuse() if b.name == "problem" else rename(a, b))
    with pytest.raises(LostSalesError, match="No space left"), replacing_together(tmp_path / "problem", log):
        pass
    assert names(tmp_path) == ["log"]
    assert log.read_text() == "old"


KILLED = """
import os, sys
from pathlib import Path
from lostsales.data.output_files import replacing_together
folder, at = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def counted(do):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), 9)
        return do(*args, **kwargs)
    return call
for name in ("open", "close", "fsync", "link", "rename", "replace", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
with replacing_together(folder / "truth", folder / "log") as temporaries:
    for temporary in temporaries:
        temporary.write_text("new")
"""


def test_killed_at_any_step_no_log_stands_beside_the_truth_of_another_run(tmp_path: Path) -> None:
    """Every call to the system is the last one in turn."""
    seen = set()
    for at in range(1, 40):
        for name in ("truth", "log"):
            (tmp_path / name).write_text("old")
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(at)]
        ended = subprocess.run(command, check=False).returncode  # noqa: S603, our own code
        found = {name: (tmp_path / name).read_text() for name in ("truth", "log") if (tmp_path / name).exists()}
        assert "log" not in found or found["truth"] == found["log"]
        seen.add(found.get("log"))
        remove_abandoned(tmp_path)
        assert set(names(tmp_path)) == set(found)
        if ended == 0:
            break
    else:
        pytest.fail("the writer never came to its end")
    assert seen == {"old", None, "new"}


SLOW = """
import sys, time
from pathlib import Path
from lostsales.data.output_files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half of it")
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_a_writer_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old")
    command = [sys.executable, "-c", SLOW, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:  # noqa: S603, our own code
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        writer.kill()
    assert names(tmp_path) == ["log"]
    assert (tmp_path / "log").read_text() == "old"


def test_where_files_must_have_a_name_those_of_a_killed_writer_go_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "OPEN_FILES", tmp_path / "nowhere")
    (tmp_path / ".lostsales-0123456789abcdef.part").write_text("half of it")
    with replacing(tmp_path / "log") as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("done")
    assert names(tmp_path) == ["log"]


def test_temporary_files_of_a_running_process_are_left_to_it(tmp_path: Path) -> None:
    with replacing(tmp_path / "slow") as temporary:
        write(tmp_path / "quick", "done")
        assert temporary.exists()
        temporary.write_text("done")
    assert names(tmp_path) == ["quick", "slow"]


def test_what_only_looks_like_a_temporary_file_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("the user's")
    (tmp_path / ".lostsales-0123456789abcdef.part").symlink_to(tmp_path / "target")
    (tmp_path / ".notes.part").write_text("the user's")
    write(tmp_path / "log", "ours")
    assert names(tmp_path) == [".lostsales-0123456789abcdef.part", ".notes.part", "log", "target"]
    assert (tmp_path / "target").read_text() == "the user's"


def test_a_table_goes_to_no_path_that_is_not_utf_8(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    odd.mkdir()
    with pytest.raises(LostSalesError, match="must be UTF-8"):
        check_table(odd / "log.csv")
    with pytest.raises(LostSalesError, match="must be UTF-8"):
        prepare_folder(odd / "experiment", small())
    assert list(odd.iterdir()) == []
