"""Describes content: media by type and size, resources by name, and diffs by files.

A prompt or a message contains an array of blocks, such as texts and images. A tool call contains an
array of wrapped blocks, diffs and terminals. In the 1.0 draft, media are under ``source``, the
members of a resource are directly in its content block, and terminals contain their output.

A diff has three forms: the old and the new text of a file (v1), changes with a patch (v2), or hunks
(the 1.0 draft).
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any

from acp_proxy.base.limits import LONG_LIST
from acp_proxy.base.wording import byte_size
from acp_proxy.explain.describe.phrases import (
    Value,
    bracketed,
    decoded_size,
    joined,
    listed,
    media,
    number,
    part,
    parts,
    payload,
    quantity,
    word,
)

_COMMANDS = ("command", "cmd", "commandLine", "script")
_IN_QUOTES = re.compile(r'["\\$`]')


def command_of(value: Value) -> str | None:
    """Returns the command line in an object; None without a command.

    The object contains the command as a text, with or without ``args``, or as a list of words.
    """
    for name in _COMMANDS:
        command = value.get(name)
        if isinstance(command, list):
            return _joined(command) or None
        if isinstance(command, str) and command:
            arguments = value.get("args")
            if not isinstance(arguments, list) or not arguments:
                return command
            # The command is not quoted, since it may be a whole line for a shell.
            return f"{command} {_joined(arguments)}"
    return None


def _joined(words: list[Any]) -> str:
    """Returns a shell command made of words, each quoted if necessary."""
    return " ".join(_quoted(str(word)) for word in words[:LONG_LIST])


def _quoted(word: str) -> str:
    if "'" not in word:
        return shlex.quote(word)
    return '"' + _IN_QUOTES.sub(r"\\\g<0>", word) + '"'


_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_OPERATIONS = {"add": "new", "modify": "", "delete": "deleted", "move": "moved", "copy": "copied"}


def content(value: object) -> str:
    """Describes a content block, an array of content blocks, or plain text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(content, value)))
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    if isinstance(kind, str) and (describe := BLOCKS.get(kind)) is not None:
        return describe(value)
    if "text" in value:
        return word(value, "text")
    return bracketed(joined(word(value, "type"), payload(value, "type"), by=": "))


def exit_state(status: Value) -> str:
    """Describes how a command ended; empty for a running command."""
    signal, code = word(status, "signal"), word(status, "exitCode")
    how = f"signal {signal}" if signal else f"exit {code}" if code else ""
    timed_out = "timed out" if status.get("timedOut") is True else ""
    return joined(timed_out, how if signal or not timed_out else "", by=", ")


def _media(block: Value) -> str:
    source = part(block, "source") or block
    kind = word(source, "mimeType", "mediaType") or word(block, "type")
    return media(source) or bracketed(kind, word(source, "uri", "url"))


def _resource(block: Value) -> str:
    inner = part(block, "resource") or block
    blob, text = inner.get("blob"), inner.get("text", inner.get("content"))
    kind = size = ""
    if isinstance(blob, str):
        kind, size = word(inner, "mimeType") or "binary", decoded_size(blob)
    elif isinstance(text, str):
        size = quantity(text)
    return bracketed(word(inner, "uri") or "resource", kind, size)


def _link(block: Value) -> str:
    uri, size = word(block, "uri"), block.get("size")
    name = word(block, "title", "name")
    known = name in uri
    return bracketed(
        joined("" if known else name, uri) or "resource_link",
        word(block, "mimeType") if size is not None else "",
        byte_size(size) if isinstance(size, int) else "",
    )


def _terminal(block: Value) -> str:
    name = f"terminal {word(block, 'command', 'terminalId')}".rstrip()
    printed = joined(word(block, "stdout"), word(block, "stderr"))
    return joined(bracketed(name, exit_state(block)), printed)


def diff(block: Value) -> str:
    """Describes a diff in the form of v1, of v2 or of the 1.0 draft."""
    if "changes" in block or "patch" in block:
        return _changes(block)
    if "hunks" in block:
        return joined(word(block, "path"), _hunks(parts(block, "hunks")))
    lines = signed(*diff_lines(block))
    if isinstance(block.get("oldText"), str):
        return joined(word(block, "path"), lines or "unchanged")
    return joined("new", word(block, "path"), lines)


def diff_lines(block: Value) -> tuple[int, int]:
    """Counts the lines that a diff adds and removes, in any dialect."""
    if "changes" in block or "patch" in block:
        patch = block.get("patch")
        text = patch.get("text") if isinstance(patch, dict) else patch
        return patch_lines(text) if isinstance(text, str) else (0, 0)
    if "hunks" in block:
        counts = [patch_lines(word(hunk, "content")) for hunk in parts(block, "hunks")]
        return sum(a for a, _ in counts), sum(r for _, r in counts)
    old, new = block.get("oldText"), block.get("newText")
    return changed_lines(old if isinstance(old, str) else "", new if isinstance(new, str) else "")


def changed_files(call: Value) -> dict[str, tuple[int, int]]:
    """Returns the files that a tool call changes, each with the numbers of added and removed lines.

    If a diff changes several files, all its lines count for the first file.

    Args:
        call: the members of the tool call, as `call_of` returns them.
    """
    files: dict[str, tuple[int, int]] = {}
    for block in parts(call, "content") or [part(call, "content")]:
        if block.get("type") == "diff":
            paths = [word(change, "path") for change in parts(block, "changes")]
            lines = diff_lines(block)
            for path in filter(None, [word(block, "path"), *paths]):
                files[path], lines = lines, (0, 0)
    return files


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """Returns the number of added lines and the number of removed lines.

    A line that only moved does not count.

    Args:
        old: the text before the change.
        new: the text after the change.
    """
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return (after - before).total(), (before - after).total()


def patch_lines(text: str) -> tuple[int, int]:
    """Counts the lines that a patch adds and removes."""
    added = removed = 0
    old_left = new_left = 0  # lines left in the hunk; between hunks, "---" and "+++" name files
    hunks = _HUNK.search(text) is not None
    for line in text.splitlines():
        if hunks and old_left <= 0 and new_left <= 0:
            if match := _HUNK.match(line):
                old_left, new_left = int(match[1] or 1), int(match[2] or 1)
        elif line.startswith("+"):
            added, new_left = added + 1, new_left - 1
        elif line.startswith("-"):
            removed, old_left = removed + 1, old_left - 1
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            old_left, new_left = old_left - 1, new_left - 1
    return added, removed


def _changes(block: Value) -> str:
    return joined(listed(map(_change, parts(block, "changes")), most=4), signed(*diff_lines(block)))


def _change(change: Value) -> str:
    operation, path, old = word(change, "operation"), word(change, "path"), word(change, "oldPath")
    kind = word(change, "fileType")
    return joined(
        _OPERATIONS.get(operation, operation),
        f"{old} → {path}" if old else path,
        f"({kind})" if kind not in ("", "text") else "",
    )


def _hunks(hunks: list[Value]) -> str:
    if lines := signed(*diff_lines({"hunks": hunks})):
        return lines
    old = sum(number(hunk, "oldLines") or 0 for hunk in hunks)
    new = sum(number(hunk, "newLines") or 0 for hunk in hunks)
    return f"{old} → {new} lines" if old or new else ""


def signed(added: int, removed: int) -> str:
    """Writes the numbers of changed lines, such as ``+2 −3``. The number 0 is left out.

    Args:
        added: the number of added lines.
        removed: the number of removed lines.
    """
    return joined(f"+{added}" if added else "", f"−{removed}" if removed else "")


BLOCKS: dict[str, Callable[[Value], str]] = {
    "text": lambda block: word(block, "text"),
    "image": _media,
    "audio": _media,
    "resource": _resource,
    "resource_link": _link,
    "content": lambda block: content(block.get("content")),
    "diff": lambda block: bracketed(f"diff {diff(block)}"),
    "terminal": _terminal,
}
"""The describers of content blocks, by type. The blocks of tool calls are included."""
