"""Reads logs of other tools with `import`, and checks that each line belongs to an entry."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from acp_proxy.imports.connections import Sent, connections
from acp_proxy.imports.log_entries import HEAD, Entry, LoggedLine, UnreadLines
from acp_proxy.imports.log_formats import source_named, source_of
from tests.support.foreign_log_writers import BEGAN_NS, STDERR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.foreign_log_writers import Sent as Written
    from tests.support.foreign_log_writers import Writer

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
ANSWER = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'


def read(text: str | bytes, name: str | None = None) -> tuple[str, list[Entry]]:
    """Returns the detected format of a text and its entries; checks that they cover each line."""
    data = text.encode() if isinstance(text, str) else text
    source = source_of(data[:HEAD])
    assert source is not None
    assert name in (None, source.name)
    entries = list(source.read(io.BytesIO(data), data[:HEAD]))
    assert_covered(entries, data)
    return source.name, entries


def read_as(name: str, text: str | bytes) -> list[Entry]:
    """Returns the entries of a text in a given format; checks that they cover each line."""
    data = text.encode() if isinstance(text, str) else text
    entries = list(source_named(name).read(io.BytesIO(data), data[:HEAD]))
    assert_covered(entries, data)
    return entries


def assert_covered(entries: list[Entry], data: bytes) -> None:
    """Asserts that the entries cover every line of the text, in order."""
    covered = 0
    for entry in entries:
        assert entry.first <= covered + 1
        assert entry.first <= entry.last
        covered = max(covered, entry.last)
    assert covered == data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), entries


def messages(entries: list[Entry]) -> Iterator[LoggedLine]:
    """Yields the messages and the lines of stderr among the entries."""
    return (entry for entry in entries if isinstance(entry, LoggedLine))


def directed(entries: list[Entry]) -> list[Sent]:
    """Returns the messages among the entries with their directions; unknown ones are guessed."""
    return [
        connection
        for connection in connections(entries, guesses=True)
        if isinstance(connection, Sent)
    ]


def bad(entries: list[Entry]) -> list[tuple[int, int]]:
    """Returns the first and last line of each part that cannot be read."""
    return [(entry.first, entry.last) for entry in entries if isinstance(entry, UnreadLines)]


def assert_same(results: list[Sent], written: list[Written], writer: Writer) -> None:
    """Asserts that imported messages have the values and times of the written messages."""
    for item, original in zip(results, written, strict=True):
        if original.stream is STDERR:
            assert item.line.raw == original.raw
            continue
        ours, theirs = json.loads(item.line.raw), json.loads(original.raw)
        assert (ours == theirs) if writer.has_values else (_alike(ours) == _alike(theirs))
        assert item.line.time_ns == (BEGAN_NS + original.ms * 10**6 if writer.has_times else None)


def _alike(value: Any) -> Any:
    """Returns a value without members that are null, false or empty objects."""
    if isinstance(value, dict):
        members = {name: _alike(each) for name, each in value.items()}
        return {name: each for name, each in members.items() if each is not None} or None
    if isinstance(value, list):
        return [_alike(each) for each in value]
    return None if value is False else value
