"""What a shell offers for a word that is being typed; click asks a command for it.

No error may disturb the line that the user types. The names of recordings are file names, and files
are opened only for a word that begins like an id.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from acp_proxy.cli.group import recordings
from acp_proxy.errors import AcpProxyError

_SUFFIXES = (".db", ".jsonl")
_ID = re.compile(r"[0-9a-f]{1,12}")
_MOST_OPENED = 200
_WORDS = ("not", "or", "and")
_PATHS = ("params.", "result.", "error.")
_READY = Path(__file__).parents[1] / "faults" / "ready"


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

    Bash ends a word at a colon, and replaces what follows it: the key is then a word before.

    Args:
        ctx: the context of the command, whose ``rec`` may name a recording.
        incomplete: what has been typed of the word; it may be a whole filter in quotes.
    """
    words = ["", "", *(ctx.params.get("filter_words") or ()), incomplete]
    if incomplete == ":":
        incomplete, before = "", f"{words[-2]}:"
    else:
        before = f"{words[-3]}:" if words[-2] == ":" else ""
    offered = _filters(ctx.params.get("rec"), before + incomplete)
    return [CompletionItem(text.removeprefix(before)) for text in offered]


def _filters(recording: object, incomplete: str) -> list[str]:
    from acp_proxy.filters import TERMS

    place = max(incomplete.rfind(c) for c in " (") + 1
    before, word = incomplete[:place], incomplete[place:]
    key, colon, _ = word.partition(":")
    if colon:
        offered = [f"{key}:{value}" for value in _values(key, recording)]
    else:
        offered = [*(f"{key}:" for key in TERMS), *_PATHS, *_WORDS]
    return [before + text for text in offered if text.startswith(word)]


def _values(key: str, recording: object) -> Sequence[str]:
    """What may stand after a key: texts that the recording has, or what the grammar knows."""
    from acp_proxy.filters import TERMS
    from acp_proxy.recording import LABELS

    found = _recorded(LABELS[key], recording) if key in LABELS else []
    return found or (TERMS[key].values if key in TERMS else ())


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
