"""A temporary directory that is removed even if its owner is killed: by whoever makes the next one.

The owner holds a lock on his directory for his whole life. As soon as he has it, he marks the
directory, by a mode that nobody else gives to one. So a marked directory whose lock is free has a
dead owner. One that is not marked, or not called so, or is another user's, is left alone.
"""

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "acp-proxy-verify-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")
_MARKED = stat.S_ISVTX | stat.S_IRWXU
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def own_directory() -> Iterator[Path]:
    """Makes a fresh directory, and removes it in the end with all that is in it.

    Raises:
        OSError: it cannot be made.
    """
    remove_abandoned(Path(tempfile.gettempdir()))
    made = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        fd = os.open(made, _FLAGS)
        try:
            with suppress(OSError):  # where there are no locks, none is ever removed by another one
                fcntl.flock(fd, fcntl.LOCK_EX)
                os.fchmod(fd, _MARKED)
            yield Path(made).resolve()
        finally:
            os.close(fd)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_abandoned(directory: Path) -> None:
    """Removes what dead owners have left in a directory; what cannot be removed stays."""
    with suppress(OSError):
        for entry in os.scandir(directory):
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    fd = os.open(path, _FLAGS)
    try:
        found = os.fstat(fd)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MARKED:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(found, os.lstat(path)):  # nobody has put it elsewhere
                shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)
