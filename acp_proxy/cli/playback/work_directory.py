"""Makes the directories in which an agent works. They replace the recorded directories."""

import ntpath
import os
import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

from acp_proxy.base.plain_files import reason
from acp_proxy.cli.group import Refusal

_PREFIX = "acp-proxy-verify-"
_LONGEST_NAME = 100
"""The largest number of bytes that are kept of a recorded directory's name."""
_NOWHERE = "/nowhere/work"
"""The path that is assumed if the directory of the recorded agent is not known."""


@contextmanager
def directories(
    recorded: Sequence[str], chosen: Path | None, start: str = ""
) -> Iterator[dict[str, str]]:
    """Makes a new directory for each recorded directory. Removes the new directories at the end.

    The new directories are nested as the recorded directories are. Relative directories are
    resolved against `start`. A recorded name that cannot be a path gets no directory.

    Args:
        recorded: the directories, in the order in which the recorded client named them.
        chosen: an existing directory, which is used for the first recorded directory. Its contents
            are not removed.
        start: the directory in which the recorded agent was started; empty if it is not known.

    Yields:
        The new directory for each recorded directory: first the absolute directories, then the
        relative directories.

    Raises:
        Refusal: a directory cannot be made, or a symbolic link at its path leads out of the parent
            directory.
    """
    absolute_of = {root: _resolved(root, start) for root in recorded if _is_path(root)}
    absolute = [*dict.fromkeys(absolute_of.values())]
    made: list[str] = []
    with ExitStack() as stack:
        try:
            made_here = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
            scratch = Path(stack.enter_context(made_here)).resolve()
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
                    raise Refusal(f"cannot work in {place}: a link leads out of {places[below]}")
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
    """Makes a directory and its parents. Adds each new directory to `made`."""
    for directory in reversed((place, *place.parents)):
        if not directory.is_dir():
            directory.mkdir()
            made.append(str(directory))


def _remove_empty(made: list[str]) -> None:
    for directory in reversed(made):
        if os.path.realpath(directory) == directory:  # not through a link made in the meantime
            with suppress(OSError):
                os.rmdir(directory)  # noqa: PTH106


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
    """Whether file systems allow this path."""
    try:
        root.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in root


def _is_absolute(root: str) -> bool:
    return posixpath.isabs(root) or PureWindowsPath(root).is_absolute()


def _free(scratch: Path, root: str) -> Path:
    """Returns an unused path that ends with the last part of a recorded path, or ``PART-2``."""
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
