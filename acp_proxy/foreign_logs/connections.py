"""Divides the messages of a log into connections, and infers directions that it does not say."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from acp_proxy.foreign_logs.directions import DirectionFinder
from acp_proxy.foreign_logs.values import Entry, Facts, LoggedLine, Remark, Repaired, UnreadLines
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.peers import Stream


class ConnectionBegins(NamedTuple):
    """A client starts another agent: the messages that follow are those of another connection."""


class Sent(NamedTuple):
    """A message with its direction, or a line of stderr."""

    line: LoggedLine
    stream: Stream
    is_repaired: bool
    begins: bool
    """Whether the client introduces itself with it."""


Happened = Sent | ConnectionBegins | Remark | UnreadLines | Facts


def connections(entries: Iterable[Entry]) -> Iterator[Happened]:
    """Yields the entries of a log with directions, and where a connection begins after another.

    A client introduces itself once in a connection, with the request ``initialize``.

    Args:
        entries: what a reader has yielded.
    """
    finder = DirectionFinder()
    has_messages = False
    for entry in entries:
        if not isinstance(entry, LoggedLine | Repaired):
            yield entry
            continue
        line = entry.line if isinstance(entry, Repaired) else entry
        is_repaired = isinstance(entry, Repaired)
        if line.stream is Stream.STDERR:
            yield Sent(line, Stream.STDERR, is_repaired, begins=False)
            continue
        value = json_or_none(line.raw)
        begins = _introduces(value) and line.stream in (None, Stream.TO_AGENT)
        if begins and has_messages:
            finder = DirectionFinder()
            yield ConnectionBegins()
        if line.stream is None:
            line = line._replace(is_inferred=True)
            stream = finder.find(value)
        else:
            stream = line.stream
            finder.note(value, stream)
        has_messages = True
        yield Sent(line, stream, is_repaired, begins)


def _introduces(value: Any) -> bool:
    return isinstance(value, dict) and value.get("method") == "initialize" and "id" in value
