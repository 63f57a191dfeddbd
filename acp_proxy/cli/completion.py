"""What a shell offers for a word that is being typed, and how bash gets it.

Completion must be quick, and no error may disturb the line that the user types: the names of
recordings are file names, and files are opened only for a word that begins like an id.

Bash takes ``:`` and ``=`` for the ends of words, so a filter such as ``kind:request`` arrives as
three words, of which only the last is to be completed. The words are joined first, and each offer
is reduced to the part that replaces the last word. Other shells need no such help.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    split_arg_string,
)

from acp_proxy.cli.group import recordings
from acp_proxy.errors import AcpProxyError
from acp_proxy.filters import TERMS

_SUFFIXES = (".db", ".jsonl")
_ID = re.compile(r"[0-9a-f]{1,12}")
_MOST_OPENED = 200
_WORDS = ("not", "or", "and")
_PATHS = ("params.", "result.", "error.")
_BREAKS = frozenset(":=")
_SPECIAL = re.compile(r"[\s'\"\\$&|;<>()*?`!#]")


def recordings_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Offers recordings: names, ids and files."""
    return _recordings(incomplete, directories=False)


def sources_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Offers recordings, and directories that may hold some."""
    return _recordings(incomplete, directories=True)


def directories_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Lets the shell offer directories."""
    return [CompletionItem(incomplete, type="dir")]


def filters_like(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Offers keys of the filter grammar, and the values of those that have a few.

    Args:
        ctx: the context of the command, whose ``rec`` may name a recording.
        incomplete: what has been typed of the word; it may be a whole filter in quotes.
    """
    place = max(incomplete.rfind(c) for c in " (") + 1
    before, word = incomplete[:place], incomplete[place:]
    key, colon, _ = word.partition(":")
    if colon:
        offered = [f"{key}:{value}" for value in _values(key, ctx.params.get("rec"))]
    else:
        offered = [*(f"{key}:" for key in TERMS), *_PATHS, *_WORDS]
    return [CompletionItem(before + text) for text in offered if text.startswith(word)]


def _recordings(incomplete: str, *, directories: bool) -> list[CompletionItem]:
    if incomplete.startswith((".", "~", "-")) or "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    every = ("latest", *_names(recordings()), *_files(Path(), directories=directories))
    words = [word for word in every if word.startswith(incomplete)]
    if not words and _ID.fullmatch(incomplete):
        words = [*_ids(incomplete)]
    return [CompletionItem(word) for word in dict.fromkeys(words)]


def _names(directory: Path) -> list[str]:
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
    from acp_proxy.store.library import paths, read_id_and_note

    for path in paths(recordings())[-_MOST_OPENED:]:
        known = read_id_and_note(path)
        if known is not None and known[0].startswith(start):
            yield known[0]


def _values(key: str, recording: object) -> Iterable[str]:
    if key == "method" and isinstance(recording, str) and (recorded := _methods(recording)):
        return recorded
    return TERMS[key].values if key in TERMS else ()


def _methods(word: str) -> list[str]:
    """The methods that a recording has; none if it cannot be read."""
    from acp_proxy.store.exchange_queries import request_methods
    from acp_proxy.store.lookup import resolve
    from acp_proxy.store.reader import RecordingReader

    with (
        suppress(AcpProxyError, OSError),
        RecordingReader(resolve(word, recordings(), Path.cwd()), unredacted=True) as reader,
    ):
        return sorted({*request_methods(reader), "session/update"})
    return []


class JoiningBashComplete(BashComplete):
    """Click's completion for bash, with the words that bash has split joined again."""

    _before = ""
    """What belongs to the current word and stands before what bash takes for it."""
    _is_quoted = False

    def get_completion_args(self) -> tuple[list[str], str]:
        """Returns the words before the current one, and that one as far as it is typed."""
        words = split_arg_string(text := os.environ["COMP_WORDS"])
        self._is_quoted = text.count('"') % 2 > 0 or text.count("'") % 2 > 0
        current = int(os.environ["COMP_CWORD"])
        whole, typed = joined(words[: current + 1])
        if current >= len(words):
            return whole[1:], ""
        last = whole.pop() if whole else ""
        self._before = last[: len(last) - len(typed)]
        return whole[1:], last

    def format_completion(self, item: CompletionItem) -> str:
        """Writes an offer so that bash inserts it correctly."""
        before = self._before
        while before and not item.value.startswith(before):
            before = before[1:]
        value = item.value[len(before) :]
        if item.type == "plain" and not self._is_quoted:
            value = _SPECIAL.sub(r"\\\g<0>", value)
        return f"{item.type},{value}"


def joined(words: list[str]) -> tuple[list[str], str]:
    """Joins words that were split at a colon or an equals sign.

    Returns:
        The words, and of the last one what bash will replace.
    """
    whole: list[str] = []
    is_open = False
    for word in words:
        is_break = _BREAKS.issuperset(word)
        if whole and (is_open or is_break):
            whole[-1] += word
        else:
            whole.append(word)
        is_open = is_break
    return whole, "" if is_open or not words else words[-1]


def install() -> None:
    """Makes click use it."""
    add_completion_class(JoiningBashComplete)
