"""Opens plain files and nothing else, and names what else a path leads to.

To open a FIFO may wait for ever, and to open a device may have effects, so each path is checked
before it is opened.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from acp_proxy.base import system

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def kind_of(path: Path) -> str | None:
    """Names what a path leads to, without opening it; None for a plain file, or nothing."""
    mode = _mode(path)
    if mode is None and path.is_symlink():
        return "a symbolic link to nothing"
    return _KINDS.get(stat.S_IFMT(mode)) if isinstance(mode, int) else None


def kind_at(path: Path | str) -> str | None:
    """Names what is at a path itself; None for a plain file of one name, or nothing.

    Unlike `kind_of` it follows no symbolic link. A file with a second name may belong to others.
    """
    try:
        found = os.lstat(path)
    except OSError as e:
        if e.errno in _MISSING:
            return None
        raise
    if stat.S_ISLNK(found.st_mode):
        return "a symbolic link"
    if stat.S_ISREG(found.st_mode):
        return "a file with a second name" if found.st_nlink > 1 else None
    return _KINDS.get(stat.S_IFMT(found.st_mode), "no file")


def reason(error: OSError) -> str:
    """Returns the message of a system error, for use within a sentence."""
    text = error.strerror or str(error)
    return f"{text[:1].lower()}{text[1:]}"


def trouble_with(path: Path) -> str | None:
    """Returns why a path cannot be checked; None if it can."""
    mode = _mode(path)
    return mode if isinstance(mode, str) else None


def is_plain(path: Path) -> bool:
    """Whether a path leads to a plain file, as far as it can be checked."""
    mode = _mode(path)
    return isinstance(mode, int) and stat.S_ISREG(mode)


def open_plain(path: Path) -> BufferedReader:
    """Opens a plain file for reading; never waits.

    Raises:
        OSError: it cannot be opened, or is not a plain file.
    """
    if (kind := kind_of(path)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}")
    return open(os.open(path, os.O_RDONLY | system.flags("O_NONBLOCK")), "rb")  # noqa: PTH123


def _mode(path: Path) -> int | str | None:
    """Returns the mode of a file; None if there is nothing, or why it cannot be checked."""
    try:
        return path.stat().st_mode
    except OSError as e:
        return None if e.errno in _MISSING else reason(e)
    except ValueError:  # no file can have such a name
        return None
