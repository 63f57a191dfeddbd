"""The arguments that commands share: recordings, filters and directories, and their completion.

What completes must be quick, and nothing that is wrong may spoil the line that somebody types: the
names of recordings are those of files, and only a word that begins like an id opens them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from acp_proxy.cli.main import recordings
from acp_proxy.errors import AcpProxyError
from acp_proxy.filters import TERMS

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".db", ".jsonl")
_BAD_ESCAPE = re.compile(r"~(?![01])")
"""What stands in no JSON pointer (RFC 6901)."""
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
        """Offers keys, and the values of those that have a few."""
        before, word = _last_word(incomplete)
        key, colon, _ = word.partition(":")
        if colon:
            offered = [f"{key}:{value}" for value in _values(key, ctx)]
        else:
            offered = [*(f"{key}:" for key in TERMS), *_PATHS, *_WORDS]
        return [CompletionItem(before + text) for text in offered if text.startswith(word)]


class DirectoryType(click.Path):
    """A directory, or what is told to be none by the command itself."""

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
    """Takes an option's JSON pointers as they are, if they are some."""
    for pointer in value:
        if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
            raise click.BadParameter(
                f"{pointer!r} is no JSON pointer: expected one such as /params/prompt/0/text"
            )
    return value


def directory_argument(function: F) -> F:
    """Adds DIR, as ``directory``."""
    return click.argument("directory", metavar="[DIR]", required=False, type=DirectoryType())(
        function
    )


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
