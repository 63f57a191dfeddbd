"""Opens plain files only, and names the kind of any other file.

Opening a FIFO may block for ever, and opening a device may have side effects. So each path is
checked before it is opened.
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
    """Names the kind of file that a path leads to; None if the file is plain or does not exist.

    The result is also None if the path cannot be checked; see `trouble_with`.
    """
    mode = _mode(path)
    if mode is None and path.is_symlink():
        return "a symbolic link to nothing"
    return _KINDS.get(stat.S_IFMT(mode)) if isinstance(mode, int) else None


def kind_at(path: Path | str) -> str | None:
    """Names the kind of file at a path, without following a symbolic link (unlike `kind_of`).

    A plain file with several names (hard links) counts as a kind of its own, since somebody else
    may have made one of these names.

    Returns:
        The kind; None if the file does not exist, or is a plain file with a single name.

    Raises:
        OSError: the path cannot be checked.
    """
    try:
        status = os.lstat(path)
    except OSError as e:
        if e.errno in _MISSING:
            return None
        raise
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link"
    if stat.S_ISREG(status.st_mode):
        return "a file with a second name (a hard link)" if status.st_nlink > 1 else None
    return _KINDS.get(stat.S_IFMT(status.st_mode), "no file")


def reason(error: OSError) -> str:
    """Returns the message of a system error, for use within a sentence."""
    text = error.strerror or str(error)
    return f"{text[:1].lower()}{text[1:]}"


def trouble_with(path: Path) -> str | None:
    """Returns the reason why a path cannot be checked; None if it can be checked."""
    mode = _mode(path)
    return mode if isinstance(mode, str) else None


def is_plain(path: Path) -> bool:
    """Whether a path leads to a plain file; False if the path cannot be checked."""
    mode = _mode(path)
    return isinstance(mode, int) and stat.S_ISREG(mode)


def open_plain(path: Path) -> BufferedReader:
    """Opens a plain file for reading; never blocks.

    Raises:
        OSError: the path cannot be opened, or is not a plain file.
    """
    if (kind := kind_of(path)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}")
    return open(os.open(path, os.O_RDONLY | system.flags("O_NONBLOCK")), "rb")  # noqa: PTH123


def _mode(path: Path) -> int | str | None:
    """Returns the mode of a file; None if there is no file; the reason if the check fails."""
    try:
        return path.stat().st_mode
    except OSError as e:
        return None if e.errno in _MISSING else reason(e)
    except ValueError:  # no file can have such a name
        return None
