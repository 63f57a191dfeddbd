"""What a shell offers for a word that is being typed, and how bash gets it.

Completion must be quick, and no error may disturb the line that the user types: the names of
recordings are file names, and files are opened only for a word that begins like an id. Where a
command has no option before the word, `_ARGUMENTS` has what is offered, and the command itself,
with all that it needs, is not imported.

Bash takes ``:`` and ``=`` for the ends of words, so a filter such as ``kind:request`` arrives as
three words, of which only the last is to be completed. The words are joined first, and each offer
is reduced to the part that replaces the last word. Other shells need no such help.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from acp_proxy.cli.group import recordings
from acp_proxy.errors import AcpProxyError

_SUFFIXES = (".db", ".jsonl")
_ID = re.compile(r"[0-9a-f]{1,12}")
_MOST_OPENED = 200
_WORDS = ("not", "or", "and")
_PATHS = ("params.", "result.", "error.")
_BREAKS = frozenset(":=")
_READY = Path(__file__).parents[1] / "faults" / "ready"
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


def plans_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Offers the ready plans of faults, ``@NAME``, and else files."""
    if incomplete and not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="file")]
    names = sorted(f"@{path.stem}" for path in _READY.glob("*.toml"))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def kinds_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Offers the kinds of faults."""
    from acp_proxy.faults.registry import KINDS

    return [CompletionItem(kind) for kind in KINDS if kind.startswith(incomplete)]


def rules_like(_ctx: object, incomplete: str) -> list[CompletionItem]:
    """Offers the rules of the protocol, and their groups."""
    from acp_proxy.conformance.choice import names

    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


def filters_like(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Offers keys of the filter grammar, and the values of those that have a few.

    Args:
        ctx: the context of the command, whose ``rec`` may name a recording.
        incomplete: what has been typed of the word; it may be a whole filter in quotes.
    """
    return _filters(ctx.params.get("rec"), incomplete)


def _filters(recording: object, incomplete: str) -> list[CompletionItem]:
    place = max(incomplete.rfind(c) for c in " (") + 1
    before, word = incomplete[:place], incomplete[place:]
    key, colon, _ = word.partition(":")
    if colon:
        offered = [f"{key}:{value}" for value in _values(key, recording)]
    else:
        from acp_proxy.filters import TERMS  # late: most words that are completed are no filters

        offered = [*(f"{key}:" for key in TERMS), *_PATHS, *_WORDS]
    return [CompletionItem(before + text) for text in offered if text.startswith(word)]


def _values(key: str, recording: object) -> Sequence[str]:
    """What may stand after a key: texts that the recording has, or what the grammar knows."""
    from acp_proxy.recording import LABELS

    if key in LABELS and (found := _recorded(LABELS[key], recording)):
        return found
    from acp_proxy.filters import TERMS  # late: a recording may have said it all

    return TERMS[key].values if key in TERMS else ()


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
    from acp_proxy.store.directory import paths, read_id_and_note

    for path in paths(recordings())[-_MOST_OPENED:]:
        known = read_id_and_note(path)
        if known is not None and known[0].startswith(start):
            yield known[0]


def _recorded(column: str, word: object) -> list[str]:
    """The texts that a recording has in a column of frames; none if it cannot be read."""
    if not isinstance(word, str):
        return []
    from acp_proxy.store.frame_queries import labels_of
    from acp_proxy.store.lookup import resolve
    from acp_proxy.store.reader import RecordingReader

    with (
        suppress(AcpProxyError, OSError),
        RecordingReader(resolve(word, recordings(), Path.cwd()), unredacted=True) as reader,
    ):
        return labels_of(reader, column)
    return []


_REC, _SOURCE, _DIR, _PLAN, _KIND = (
    recordings_like, sources_like, directories_like, plans_like, kinds_like,
)  # fmt: skip
_Complete = Callable[[Any, str], list[CompletionItem]]
_ARGUMENTS: dict[str, tuple[_Complete | None, ...]] = {
    **dict.fromkeys(("show", "bundle", "redact", "note", "rename", "upgrade"), (_REC, None)),
    **dict.fromkeys(
        ("log", "transcript", "stats", "audit", "report", "export"), (_REC, filters_like)
    ),
    "diff": (_REC, _REC, filters_like),
    **dict.fromkeys(("secrets", "check"), (_REC,)),
    "replay": (_REC,),
    "verify": (_REC, None),
    "search": (None, _SOURCE),
    "list": (_DIR, None),
    "prune": (_DIR, None),
    "faults list": (_KIND,),
    "faults explain": (_PLAN, _REC, None),
    "faults sweep": (_REC,),
}
"""What is offered for the arguments of a command; the last stands for all that follow."""


def of_argument(args: list[str], incomplete: str) -> list[CompletionItem] | None:
    """Offers what an argument may be; None where the command itself has to be asked.

    Args:
        args: the words before, without the program.
        incomplete: what has been typed of the word.
    """
    words = args[1:] if args[:1] == ["inspect"] else args
    name = " ".join(words[:2]) if words[:1] == ["faults"] else "".join(words[:1])
    before = words[len(name.split()) :]
    if name not in _ARGUMENTS or any(word.startswith("-") for word in (*before, incomplete)):
        return None
    complete = _ARGUMENTS[name][min(len(before), len(_ARGUMENTS[name]) - 1)]
    if complete is None:
        return None
    if complete is filters_like:
        return _filters(before[0], incomplete)
    return complete(None, incomplete)


class _QuickComplete(ShellComplete):
    """Click's completion, which imports a command only if it has to."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Returns what is offered.

        Args:
            args: the words before.
            incomplete: what has been typed of the word.
        """
        found = of_argument(args, incomplete)
        return super().get_completions(args, incomplete) if found is None else found


class QuickZshComplete(_QuickComplete, ZshComplete):
    """The same for zsh."""


class QuickFishComplete(_QuickComplete, FishComplete):
    """The same for fish."""


class JoiningBashComplete(_QuickComplete, BashComplete):
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
    for complete in (JoiningBashComplete, QuickZshComplete, QuickFishComplete):
        add_completion_class(complete)
