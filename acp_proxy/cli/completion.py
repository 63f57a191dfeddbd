"""Shell completion: the words that click offers for a word that is being typed.

Recordings are offered by their file names and are not opened. The error of a damaged recording
would appear in the middle of the line that the user types.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acp_proxy.cli.group import recordings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Offers = list[str] | list[CompletionItem]


_SUFFIXES = (".db", ".jsonl")
_PATHS = ("params.", "result.", "error.")
_READY = Path(__file__).parents[1] / "faults" / "ready"


def recordings_like(
    _ctx: object, _param: object, incomplete: str, *, directories: bool = False
) -> "Offers":
    """Offers ``latest``, and recordings by name. For a word that begins a path, offers files.

    Args:
        _ctx: not used.
        _param: not used.
        incomplete: the part of the word typed so far.
        directories: whether to offer directories too, which may contain recordings.
    """
    if incomplete.startswith((".", "~", "-")) or "/" in incomplete:
        return _paths(incomplete, "file")
    every = ("latest", *_names(recordings()), *_files(Path(), directories=directories))
    return [word for word in dict.fromkeys(every) if word.startswith(incomplete)]


def directories_like(_ctx: object, _param: object, incomplete: str) -> "Offers":
    """Makes the shell offer directories."""
    return _paths(incomplete, "dir")


def plans_like(_ctx: object, _param: object, incomplete: str) -> "Offers":
    """Offers the ready plans of faults as ``@NAME``. For a word without ``@``, offers files."""
    if incomplete and not incomplete.startswith("@"):
        return _paths(incomplete, "file")
    names = sorted(f"@{path.stem}" for path in _READY.glob("*.toml"))
    return [name for name in names if name.startswith(incomplete)]


def kinds_like(_ctx: object, _param: object, incomplete: str) -> list[str]:
    """Offers the kinds of faults."""
    from acp_proxy.faults.plan import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def rules_like(_ctx: object, _param: object, incomplete: str) -> list[str]:
    """Offers the rules of the protocol, and their groups."""
    from acp_proxy.check.catalogue import names

    return [name for name in names() if name.startswith(incomplete)]


def filters_like(ctx: click.Context, _param: object, incomplete: str) -> list[str]:
    """Offers the keys of the filter grammar, and the known values of the key before a colon.

    Bash passes ``key:value`` as three words: the key, the colon, and the value.

    Args:
        ctx: the context of the command, with the words of the filter that were typed before.
        _param: not used.
        incomplete: the part of the word typed so far, or a whole filter in quotes.
    """
    words = ["", "", *(ctx.params.get("filter_words") or ()), incomplete]
    if incomplete == ":":
        incomplete, before = "", f"{words[-2]}:"
    else:
        before = f"{words[-3]}:" if words[-2] == ":" else ""
    offered = _filters(before + incomplete)
    return [text.removeprefix(before) for text in offered]


def _filters(incomplete: str) -> list[str]:
    from acp_proxy.recording.filters import TERMS

    place = max(incomplete.rfind(c) for c in " (") + 1
    before, word = incomplete[:place], incomplete[place:]
    key, colon, _ = word.partition(":")
    if not colon:
        offered = [*(f"{key}:" for key in TERMS), *_PATHS, "not", "or", "and"]
    else:
        offered = [f"{key}:{value}" for value in TERMS[key].values] if key in TERMS else []
    return [before + text for text in offered if text.startswith(word)]


def _paths(incomplete: str, kind: str) -> "list[CompletionItem]":
    """Makes the shell offer files or directories."""
    from click.shell_completion import CompletionItem  # late: only a shell asks

    return [CompletionItem(incomplete, type=kind)]


def _names(directory: Path) -> list[str]:
    """Returns the names of the recordings in a directory, newest first."""
    names = set()
    with suppress(OSError):
        for entry in directory.iterdir():
            name = entry.name.removesuffix(".log")
            if name.endswith(_SUFFIXES):
                names.add(name.removesuffix(".db"))
    return sorted(names, reverse=True)


def _files(directory: Path, *, directories: bool) -> list[str]:
    names = []
    with suppress(OSError):
        for entry in directory.iterdir():
            if entry.suffix in _SUFFIXES:
                names.append(entry.name)
            elif directories and entry.is_dir() and not entry.name.startswith("."):
                names.append(f"{entry.name}/")
    return sorted(names)
