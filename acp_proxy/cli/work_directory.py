"""Makes directories for an agent to work in, in place of those that were recorded."""

import fcntl
import ntpath
import os
import posixpath
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

from acp_proxy.cli.group import Refusal
from acp_proxy.plain_files import reason

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
            with suppress(OSError):  # without locks, no other process removes it
                fcntl.flock(fd, fcntl.LOCK_EX)
                os.fchmod(fd, _MARKED)
            yield Path(made).resolve()
        finally:
            os.close(fd)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_abandoned(directory: Path) -> None:
    """Removes directories whose owners were killed, as far as that is possible."""
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
            if os.path.samestat(found, os.lstat(path)):  # not replaced meanwhile
                shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)


_LONGEST_NAME = 100
"""Bytes of a recorded name that are kept."""
_NOWHERE = "/nowhere/work"
"""Stands for the directory of a recorded agent that is not known."""


@contextmanager
def directories(
    recorded: Sequence[str], chosen: Path | None, start: str = ""
) -> Iterator[dict[str, str]]:
    """Makes a fresh directory for each recorded one, and removes them in the end.

    One below another stays below it. Relative ones are resolved as for the recorded agent, so
    ``..`` leads to another fresh directory. What is not a path is left out.

    Args:
        recorded: directories, in the order in which the client named them.
        chosen: used for the first of them; it is not removed, nor what the agent made in it.
        start: where the recorded agent was started; empty if that is not known.

    Yields:
        The fresh directories by the recorded ones. Relative ones come last, each after the absolute
        path of the same directory if that is known.

    Raises:
        Refusal: one cannot be made, or a symbolic link leads it out of the one that it is below.
    """
    absolute_of = {root: _resolved(root, start) for root in recorded if _is_path(root)}
    absolute = [*dict.fromkeys(absolute_of.values())]
    made: list[str] = []
    with ExitStack() as stack:
        try:
            scratch = stack.enter_context(own_directory())
        except OSError as e:
            raise Refusal(f"cannot make a directory to work in: {e.strerror or e}") from None
        stack.callback(_remove_empty, made)
        places: dict[str, str] = {}
        for root in sorted(absolute, key=lambda root: (root != absolute[0], len(root))):
            below = next((other for other in places if _is_below(root, other)), None)
            if chosen is not None and root == absolute[0]:
                place = Path(os.path.realpath(chosen))
            elif below is not None:
                place = Path(places[below], *_parts(root)[len(_parts(below)) :])
                if not Path(os.path.realpath(place)).is_relative_to(places[below]):
                    raise Refusal(f"cannot work in {place}: it leads out of {places[below]}")
            else:
                place = _free(scratch, root)
            try:
                _make(Path(os.path.realpath(place)), made)
            except OSError as e:
                raise Refusal(f"cannot make {place}: {reason(e)}") from None
            places[root] = str(place)
        relative = {root: places[absolute_of[root]] for root in absolute_of if root not in places}
        known = absolute_of if not _is_absolute(start) else places
        yield {root: place for root, place in places.items() if root in known} | relative


def _make(place: Path, made: list[str]) -> None:
    """Makes a directory and its parents; `made` gets those that did not exist."""
    for one in reversed((place, *place.parents)):
        if not one.is_dir():
            one.mkdir()
            made.append(str(one))


def _remove_empty(made: list[str]) -> None:
    for one in reversed(made):
        if os.path.realpath(one) == one:  # not through a link that was made meanwhile
            with suppress(OSError):
                os.rmdir(one)  # noqa: PTH106


def _resolved(root: str, start: str) -> str:
    """Returns the absolute path of a recorded directory."""
    if _is_absolute(root):
        return root
    if not _is_absolute(start):
        start = _NOWHERE
    if start.startswith("/"):
        return posixpath.normpath(posixpath.join(start, root))
    return ntpath.normpath(ntpath.join(start, root))


def _is_path(root: str) -> bool:
    """Whether a file system allows this name."""
    try:
        root.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in root


def _is_absolute(root: str) -> bool:
    return posixpath.isabs(root) or PureWindowsPath(root).is_absolute()


def _free(scratch: Path, root: str) -> Path:
    """A new place with the name of the recorded directory."""
    parts = [part for part in _parts(root) if part.strip("/\\.:")]
    name = (parts[-1] if parts else "root").encode()[:_LONGEST_NAME].decode(errors="ignore")
    place, number = scratch / name, 2
    while place.exists():
        place, number = scratch / f"{name}-{number}", number + 1
    return place


def _is_below(root: str, other: str) -> bool:
    mine, theirs = _parts(root), _parts(other)
    return len(mine) > len(theirs) and mine[: len(theirs)] == theirs and ".." not in mine


def _parts(root: str) -> tuple[str, ...]:
    return PurePosixPath(root).parts if root.startswith("/") else PureWindowsPath(root).parts
