"""The arguments that commands share: recordings, filters and directories, and their completion.

Completion must be quick, and no error may disturb the line that the user types: the names of
recordings are file names, and files are opened only for a word that begins like an id.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from acp_proxy.capture.option_values import read_name
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.errors import AcpProxyError
from acp_proxy.filters import TERMS

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".db", ".jsonl")
_BAD_ESCAPE = re.compile(r"~(?![01])")
"""An escape that RFC 6901 does not allow in a JSON pointer."""
_ID = re.compile(r"[0-9a-f]{1,12}")
_MOST_OPENED = 200
_WORDS = ("not", "or", "and")
_PATHS = ("params.", "result.", "error.")


class RecordingType(click.types.StringParamType):
    """A recording by path, name, start of its id, or ``latest``."""

    name = "recording"

    def __init__(self, *, directories: bool = False) -> None:
        self._directories = directories

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offers names, ids and files."""
        if incomplete.startswith((".", "~", "-")) or "/" in incomplete:
            return [CompletionItem(incomplete, type="file")]
        words = dict.fromkeys(_recording_words(incomplete, directories=self._directories))
        if not words and _ID.fullmatch(incomplete):
            words = dict.fromkeys(_ids(incomplete))
        return [CompletionItem(word) for word in words]


class FilterType(click.types.StringParamType):
    """Words of the filter grammar."""

    name = "filter"

    def shell_complete(
        self, ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offers keys, and the values of those that have a few.

        Args:
            ctx: the context of the command that is being typed.
            incomplete: what has been typed of the word.
        """
        before, word = _last_word(incomplete)
        key, colon, _ = word.partition(":")
        if colon:
            offered = [f"{key}:{value}" for value in _values(key, ctx)]
        else:
            offered = [*(f"{key}:" for key in TERMS), *_PATHS, *_WORDS]
        return [CompletionItem(before + text) for text in offered if text.startswith(word)]


class DirectoryType(click.Path):
    """A directory; the command checks that it exists."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Lets the shell offer directories."""
        return [CompletionItem(incomplete, type="dir")]


def recording_argument(function: F) -> F:
    """Adds REC, as ``rec``."""
    return click.argument("rec", type=RecordingType())(function)


def filter_argument(function: F) -> F:
    """Adds the words of FILTER, as ``filter_words``."""
    return click.argument("filter_words", metavar="[FILTER]...", nargs=-1, type=FilterType())(
        function
    )


def pointers(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Checks JSON pointers of an option; a click callback."""
    for pointer in value:
        if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
            raise click.BadParameter(
                f"{pointer!r} is not a JSON pointer: expected one such as /params/prompt/0/text"
            )
    return value


def directory_argument(function: F) -> F:
    """Adds DIR, as ``directory``."""
    return click.argument("directory", metavar="[DIR]", required=False, type=DirectoryType())(
        function
    )


def directory_of_recordings(directory: Path | None) -> Path:
    """Returns DIR, or the recordings directory without it.

    Raises:
        Refusal: DIR is not a directory.
    """
    if directory is not None and not directory.is_dir():
        raise Refusal(f"{directory} is not a directory; expected one that holds recordings")
    return directory or recordings()


def recording_name(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Checks a new name for a recording; a click callback."""
    try:
        return value if value is None else read_name(value)
    except ValueError as e:
        raise click.BadParameter(str(e)) from None


def _recording_words(incomplete: str, *, directories: bool) -> Iterator[str]:
    for word in ("latest", *_stems(recordings()), *_files(Path(), directories=directories)):
        if word.startswith(incomplete):
            yield word


def _stems(directory: Path) -> list[str]:
    """The recordings of a directory, newest first: as people call them, by their files' names."""
    names = set()
    with suppress(OSError):
        for entry in directory.iterdir():
            name = entry.name.removesuffix(".log")
            if name.endswith(_SUFFIXES):
                names.add(name.removesuffix(".db"))
    return sorted(names, reverse=True)


def _files(directory: Path, *, directories: bool) -> list[str]:
    found = []
    with suppress(OSError):
        for entry in directory.iterdir():
            if entry.suffix in _SUFFIXES:
                found.append(entry.name)
            elif directories and entry.is_dir() and not entry.name.startswith("."):
                found.append(f"{entry.name}/")
    return sorted(found)


def _ids(start: str) -> Iterator[str]:
    from acp_proxy.store.annotations import quick_look
    from acp_proxy.store.library import paths

    for path in paths(recordings())[-_MOST_OPENED:]:
        known = quick_look(path)
        if known is not None and known[0].startswith(start):
            yield known[0]


def _last_word(text: str) -> tuple[str, str]:
    """Splits a filter that is typed as one quoted word before the term that is being typed."""
    place = max(text.rfind(c) for c in " (") + 1
    return text[:place], text[place:]


def _values(key: str, ctx: click.Context) -> Iterable[str]:
    if key == "method" and (recorded := _methods(ctx.params.get("rec"))):
        return recorded
    return TERMS[key].values if key in TERMS else ()


def _methods(word: object) -> list[str]:
    """The methods that a recording has; none if it cannot be read."""
    if not isinstance(word, str):
        return []
    from acp_proxy.store.lookup import resolve
    from acp_proxy.store.queries import request_methods
    from acp_proxy.store.reader import RecordingReader

    with (
        suppress(AcpProxyError, OSError),
        RecordingReader(resolve(word, recordings(), Path.cwd())) as reader,
    ):
        return sorted({*request_methods(reader), "session/update"})
    return []
