"""Directories for an agent to work in, in place of those that were recorded."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

from acp_proxy.cli.main import Refusal
from acp_proxy.cli.own_directory import own_directory

_LONGEST_NAME = 100
"""Bytes of a recorded name that are kept."""


@contextmanager
def directories(recorded: Sequence[str], chosen: Path | None) -> Iterator[dict[str, str]]:
    """Makes a fresh directory for each recorded one, and removes them in the end.

    One that lies below another stays below it. What is no absolute path stays as it is.

    Args:
        recorded: directories, in the order in which the client named them.
        chosen: what to use for the first of them; it is not removed, and neither is what the agent
            has made in it.

    Raises:
        Refusal: one cannot be made, or a symbolic link leads it out of the one that it is below.
    """
    absolute = [root for root in recorded if _is_absolute(root)]
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
                raise Refusal(f"cannot make {place}: {(e.strerror or str(e)).lower()}") from None
            places[root] = str(place)
        yield places


def _make(place: Path, made: list[str]) -> None:
    """Makes a directory and those around it, and notes which were not there."""
    for one in reversed((place, *place.parents)):
        if not one.is_dir():
            one.mkdir()
            made.append(str(one))


def _remove_empty(made: list[str]) -> None:
    """Removes directories that were made, as far as there is nothing in them."""
    for one in reversed(made):
        if os.path.realpath(one) == one:  # and not in the place of a link that is new
            with suppress(OSError):
                os.rmdir(one)  # noqa: PTH106


def _is_absolute(root: str) -> bool:
    """Whether it is the path of a directory that could be made."""
    try:
        root.encode()
    except UnicodeEncodeError:
        return False
    kinds = PurePosixPath, PureWindowsPath
    return "\0" not in root and any(kind(root).is_absolute() for kind in kinds)


def _free(scratch: Path, root: str) -> Path:
    """A new place that is called as the recorded directory is."""
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
