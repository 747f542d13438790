"""Output files: checked before the work, written beside their place, and put in place when they are whole.

One rule for all writers: an output is never an input, it replaces a regular file or nothing, and it keeps the mode of
the file that it replaces. A symbolic link is refused, not followed: what it points to was not named.
"""

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from glob import glob, has_magic
from pathlib import Path
from typing import Literal

from lostsales.errors import LostSalesError

OPEN_FILES = Path("/proc/self/fd")
NEW_FILE = 0o666  # less the umask
FAR = 1 << 40  # byte that stands for the whole file where locks are of bytes: beyond the end of any file of ours
# Names of our temporary files, which no person would choose.
_TEMPORARY = re.compile(r"\.lostsales-[0-9a-f]{16}\.part")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def check_output(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise where no file can be written to a path, before any work.

    Parameters
    ----------
    path : Path
        Where the output will be.
    inputs : iterable of Path or None
        Files that the work reads: the output is none of them, under whatever name, and lies in no folder of them.

    Raises
    ------
    LostSalesError
        The message says what is in the way.

    """
    try:
        _check_place(path)
        for each in inputs:
            if each is not None and is_within(path, each):
                raise LostSalesError(f"{path} would overwrite the input {each}; give the output a name of its own")
        _write_probe(path)
    except OSError as error:
        raise _cannot_write(path, error) from None


def check_utf8(path: Path) -> None:
    """Raise where a name is not UTF-8, to which the writer of tables cannot write."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise LostSalesError(f"the path of a table must be UTF-8, but {str(path)!a} is not") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path whose file replaces `path` when the block succeeds and is removed when it does not."""
    with replacing_together(path) as (temporary,):
        yield temporary


@contextmanager
def replacing_together(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Temporary paths of files that belong together, as `replacing` has one; people open the last of them.

    All are written before any is replaced. The last leaves its old place first and comes to the new one last: a process
    that is killed in between leaves no last file beside others of another run.
    """
    try:
        with ExitStack() as stack:
            for path in paths:
                _check_place(path)
            for folder in {path.parent for path in paths}:
                remove_abandoned(folder)
            temporaries = tuple(stack.enter_context(_temporary(path)) for path in paths)
            yield temporaries
            for temporary, path in zip(temporaries, paths, strict=True):
                _finish(temporary, path)
            named = [stack.enter_context(_named(*each)) for each in zip(temporaries, paths, strict=True)]
            with _out_of_the_way(paths[-1]) if len(paths) > 1 else nullcontext():
                for temporary, path in zip(named, paths, strict=True):
                    temporary.replace(path)
    except OSError as error:
        raise _cannot_write(paths[-1], error) from None


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes that have ended; those of a running process are locked by it."""
    if sys.platform == "win32":
        return
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    for name in names:
        with suppress(OSError):
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode) and try_lock(descriptor) == "locked":
                    os.unlink(folder / name)
            finally:
                os.close(descriptor)


def _check_place(path: Path) -> None:
    """A folder to write into, and nothing at the path but a regular file that may be replaced."""
    try:
        os.fsencode(path)
        valid = "\0" not in str(path)
    except UnicodeEncodeError:
        valid = False
    if not path.name or not valid:
        raise LostSalesError(f"{str(path)!r} is no name of a file")
    if not path.parent.is_dir():
        raise LostSalesError(f"there is no folder {path.parent} to write {path.name} into")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise LostSalesError(f"{path} is {kind}, and an output replaces regular files only; choose another name")
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise LostSalesError(f"{path} is read-only, so it is not replaced; choose another name or change its mode")


def is_within(path: Path, given: Path) -> bool:
    """True if a path is an input, by any name that leads to the same file, or lies in a folder that is one."""
    inputs = map(Path, glob(str(given))) if has_magic(str(given)) and not given.exists() else (given,)
    real = os.path.realpath(path)
    for each in inputs:
        if real == os.path.realpath(each):
            return True
        with suppress(OSError):
            if os.path.samefile(path, each):
                return True
        if each.is_dir() and Path(real).is_relative_to(os.path.realpath(each)):
            return True
    return False


def _write_probe(path: Path) -> None:
    """Raise where the folder is read-only or its disk full."""
    with _temporary(path) as temporary, temporary.open("wb") as file:
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A new empty file beside `path`, as readable as it or less, locked as long as the block runs.

    Where the system allows it, the file has no name until it is complete: a process that is killed leaves nothing.
    """
    mode = NEW_FILE if (old := _mode_of(path)) is None else old
    nameless = _nameless_file(path.parent, mode)
    if nameless is not None:
        try:
            try_lock(nameless)
            yield OPEN_FILES / str(nameless)
        finally:
            os.close(nameless)
        return
    while True:
        temporary = _temporary_name(path)
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        if sys.platform == "win32":  # an open file can be neither renamed nor removed
            os.close(descriptor)
            descriptor = -1
            break
        if try_lock(descriptor) != "taken" and _is_at(descriptor, temporary):
            break
        os.close(descriptor)  # another process took it for abandoned
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        if descriptor >= 0:
            os.close(descriptor)


def _nameless_file(folder: Path, mode: int) -> int | None:
    """An open file of a folder without a name; None where the system or the file system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not OPEN_FILES.is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except OSError:  # a read-only or full disk is found by the file that is tried next
        return None


@contextmanager
def _named(temporary: Path, path: Path) -> Iterator[Path]:
    """The same file under a temporary name, which is removed where the block does not move it."""
    if temporary.parent != OPEN_FILES:
        yield temporary
        return
    name = _temporary_name(path)
    os.link(temporary, name, src_dir_fd=int(temporary.name))  # with a descriptor, links to open files are followed
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


def _finish(temporary: Path, path: Path) -> None:
    """Sync the file to disk, with mode and owner of the file that it replaces."""
    descriptor = os.open(temporary, os.O_RDWR)
    try:
        os.fsync(descriptor)
        with suppress(FileNotFoundError):
            old = path.lstat()
            if sys.platform != "win32":
                with suppress(PermissionError):  # only root may give a file away
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, old.st_mode & 0o777)
    finally:
        os.close(descriptor)


@contextmanager
def _out_of_the_way(path: Path) -> Iterator[None]:
    """The file at a path under a temporary name, back at its place only where the block fails."""
    aside = _temporary_name(path)
    try:
        path.rename(aside)
    except FileNotFoundError:
        yield
        return
    try:
        yield
    except OSError:
        aside.replace(path)
        raise
    aside.unlink()


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".lostsales-{secrets.token_hex(8)}.part")


def _mode_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        return None


def try_lock(descriptor: int) -> Literal["locked", "taken", "unknown"]:
    """Lock a file until the process ends; unknown where the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            place = os.lseek(descriptor, 0, os.SEEK_CUR)
            os.lseek(descriptor, FAR, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, place, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return "taken"
    except OSError:
        return "unknown"
    return "locked"


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _cannot_write(path: Path, error: OSError) -> LostSalesError:
    return LostSalesError(f"{path} cannot be written: {error.strerror or error}")
