"""Reads logs and pasted text with one message per line, or with messages over several lines.

Before a message, a line may have a time and a mark of the direction: an arrow, ``OUT:``,
``Received``, ``CLIENT → AGENT`` and so on. The time and the mark may also be on the lines above.
Blank lines, comments and Markdown fences are skipped. Any other line is an error.

The meaning of an arrow depends on the side that wrote the log. If the first messages contradict the
arrows, all arrows are reversed, and the directions count as inferred.

The streams of acpx have one message per line, without times and marks. Notes between the messages
say where a turn or a segment of the journal begins, and how each turn ended.

In the log of a JetBrains IDE, the lines with messages are recognized by a pattern.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from acp_proxy.imports.connections import direction_of_method
from acp_proxy.imports.embedded_json import (
    Brackets,
    ReadMessage,
    is_message,
    items_of,
    read_message,
)
from acp_proxy.imports.headings import Clock, Heading, read_heading, read_stamp
from acp_proxy.imports.log_entries import (
    BROKEN,
    CUT_OFF,
    LONGEST,
    OTHER_TEXT,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
    bad_too_long,
    numbered,
)
from acp_proxy.imports.no_messages import broken, other_json
from acp_proxy.protocol.jsonrpc import Stream

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_SKIPPED = re.compile(rb"\s*+(?:(?:`{3,}|~{3,})[^`{]*|(?:#|//|;).*|[-=*_][-=*_\s]*)")
"""Matches a Markdown fence, a comment or a horizontal rule."""
_JSON = re.compile(rb"\{(?=\s*(?:[\"'}.&\xe2\xc2]|\Z))|\[(?=\s*(?:\{|\Z))")
_BEGINNING = re.compile(rb'\s*\{\s*"(?:jsonrpc|id|method)"')
_NAMES = re.compile(rb"jsonrpc|[\"'](?:method|result|error)[\"']")
"""Matches the name of a member of a message, with any kind of quotation marks."""
_JOURNAL = re.compile(rb'\s*\{\s*"schema"\s*:\s*"acpx\.session\.journal\.')
_TRANSPORT = re.compile(
    rb"(?P<prefix>.{0,200}?)AcpTransport\s+-\s+(?P<side>IN|OUT):\s?(?P<message>.*)", re.DOTALL
)
_TRANSPORT_SIDES = {b"OUT": Stream.TO_AGENT, b"IN": Stream.TO_CLIENT}
_NO_HEADING = Heading()
_OPPOSITE = {Stream.TO_AGENT: Stream.TO_CLIENT, Stream.TO_CLIENT: Stream.TO_AGENT}


def _reads(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    return _LineReader(is_flipped=_is_flipped(head)).read(pieces)


def _beginning(head: bytes) -> Iterator[Entry]:
    """Yields the entries in the beginning of an input, up to the last complete line."""
    whole = head[: head.rfind(b"\n") + 1] or head
    return _LineReader(is_flipped=None).read(io.BytesIO(whole))


def _is_flipped(head: bytes) -> bool:
    """Whether the arrows of a log contradict the methods of its first messages."""
    votes = 0
    for entry in _beginning(head):
        if isinstance(entry, LoggedLine) and entry.stream is not None:
            implied = _direction_of(entry.raw)
            votes += 0 if implied is None else -1 if implied is entry.stream else 1
    return votes > 0


def _direction_of(raw: bytes) -> Stream | None:
    """Returns the direction that a message's method implies; None if it implies no direction."""
    message = read_message(raw)
    method = message.value.get("method") if message and isinstance(message.value, dict) else None
    return direction_of_method(method) if isinstance(method, str) else None


class _LineReader:
    """Reads the lines of a log.

    Args:
        is_flipped: whether the agent's side wrote the arrows; None if this is not known yet.
    """

    def __init__(self, *, is_flipped: bool | None) -> None:
        self._is_flipped = is_flipped
        self._clock = Clock()
        self._above = _NO_HEADING
        """The heading that was read above the next message."""
        self._first: int | None = None
        """The number of the current message's first line; None outside of messages."""
        self._indentation = 0
        """The number of spaces and tabs at the beginning of the current message's first line."""
        self._heading = _NO_HEADING
        self._brackets = Brackets()
        self._parts: list[bytes] = []
        self._size = 0

    def read(self, pieces: Iterable[bytes]) -> Iterator[Entry]:
        """Yields the entries of a log; together they cover every line.

        Args:
            pieces: the pieces of the input.
        """
        number = 0
        for number, line in numbered(pieces):
            if line is None:
                yield from self._given_up(number - 1)
                yield bad_too_long(number)
                continue
            line = _ANSI.sub(b"", line) if b"\x1b" in line else line
            if self._first is not None and self._is_new(line):
                yield from self._given_up(number - 1)
            yield from self._line(number, line)
        yield from self._given_up(number)

    def _line(self, number: int, line: bytes) -> Iterator[Entry]:
        if self._first is not None:
            yield from self._continued(number, line)
        elif not line or line.isspace():
            yield Remark(number, number, RemarkKind.BLANK)
        elif _SKIPPED.fullmatch(line) or _JOURNAL.match(line):
            yield Remark(number, number)
        elif (match := _JSON.search(line)) is None:
            yield self._announced(number, read_heading(line))
        elif (heading := read_heading(line[: match.start()])) is None:
            yield UnreadLines(number, number, OTHER_TEXT)
        else:
            self._first, self._heading = number, self._joined(heading)
            self._indentation = _indentation(line)
            self._above, self._brackets = _NO_HEADING, Brackets()
            yield from self._continued(number, line[match.start() :])

    def _announced(self, number: int, heading: Heading | None) -> Entry:
        """Keeps the heading that a line without JSON contains, for the message after the line."""
        if not _is_announced(heading):
            self._above = _NO_HEADING
            return UnreadLines(number, number, OTHER_TEXT)
        self._above = self._joined(heading)
        return Remark(number, number)

    def _joined(self, heading: Heading) -> Heading:
        """Completes a heading: takes a missing mark or time from the lines above."""
        return Heading(heading.mark or self._above.mark, heading.stamp or self._above.stamp)

    def _is_new(self, line: bytes) -> bool:
        """Whether a line begins another message, so that the current message is incomplete."""
        if _SKIPPED.fullmatch(line) and line.strip():
            return True
        if _indentation(line) > self._indentation or line.lstrip()[:1] in (b'"', b"}", b"]"):
            return False
        if (match := _JSON.search(line)) is None:
            return _is_announced(read_heading(line))
        is_marked = read_heading(line[: match.start()]) not in (None, _NO_HEADING)
        return is_marked or _BEGINNING.match(line) is not None

    def _continued(self, number: int, line: bytes) -> Iterator[Entry]:
        assert self._first is not None
        end = self._brackets.end(line)
        self._parts.append(line if end is None else line[:end])
        self._size += len(line) + 1
        if end is None and self._size <= LONGEST:
            return
        first, text = self._taken()
        if end is None:
            yield UnreadLines(first, number, BROKEN)
            return
        entries = self._messages(first, number, text)
        rest = line[end:].strip(b" \t\r,")
        if rest and isinstance(entries[0], LoggedLine):
            entries = [UnreadLines(first, number, "expected nothing after the message")]
        yield from entries

    def _given_up(self, last: int) -> Iterator[Entry]:
        """Yields the error about the current message if it is incomplete."""
        if self._first is not None:
            first, text = self._taken()
            yield UnreadLines(first, last, broken(text, CUT_OFF))

    def _taken(self) -> tuple[int, bytes]:
        assert self._first is not None
        first, text = self._first, b"\n".join(self._parts)
        self._first, self._parts, self._size = None, [], 0
        return first, text

    def _messages(self, first: int, last: int, text: bytes) -> list[Entry]:
        """Returns the message in a text, or the messages if the text is an array without a mark."""
        message = read_message(text)
        if message is None:
            return [UnreadLines(first, last, broken(text))]
        if not is_message(message.value):
            return [UnreadLines(first, last, other_json(text))]
        if not isinstance(message.value, list) or self._heading.mark is not None:
            return [self._message(first, last, message)]
        items = filter(None, map(read_message, items_of(message.raw)))
        return [self._message(first, last, item) for item in items]

    def _message(self, first: int, last: int, message: ReadMessage) -> Entry:
        mark, stamp = self._heading
        stream = None if mark is None else mark.stream
        is_turned = bool(self._is_flipped) and mark is not None and not mark.names_peers
        return LoggedLine(
            first,
            last,
            _OPPOSITE[stream] if stream is not None and is_turned else stream,
            message.raw,
            None if stamp is None else self._clock.time(stamp),
            is_inferred=is_turned,
            has_zone=stamp is None or stamp.has_zone,
        )


def _is_announced(heading: Heading | None) -> TypeGuard[Heading]:
    """Whether a line without JSON is the heading of the message on the next lines."""
    if heading is None or heading == _NO_HEADING:
        return False
    return heading.mark is None or heading.mark.is_alone


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _introduces(value: Any) -> bool:
    return isinstance(value, dict) and value.get("method") in ("initialize", "proxy/initialize")


def _is_of_acpx(head: bytes) -> bool:
    """Whether an input is a stream of acpx: it begins with a journal entry or with ``initialize``.

    An input that begins with ``initialize`` must also have messages without times and marks.
    """
    if _JOURNAL.match(head):
        return True
    lines = [entry for entry in _beginning(head) if isinstance(entry, LoggedLine)]
    if not lines or lines[0].first > 1 or any(line.stream or line.time_ns for line in lines):
        return False
    first = read_message(lines[0].raw)
    return first is not None and _introduces(first.value)


def _has_message(head: bytes) -> bool:
    """Whether an input has a message, or a broken message whose problem is known."""
    has_names = _NAMES.search(head) is not None
    return has_names and any(
        isinstance(entry, LoggedLine)
        or (isinstance(entry, UnreadLines) and entry.reason.startswith(f"{BROKEN}: "))
        for entry in _beginning(head)
    )


def _is_of_jetbrains(head: bytes) -> bool:
    return any(map(_TRANSPORT.match, head.splitlines()))


def _reads_jetbrains(pieces: Iterable[bytes], _head: bytes) -> Iterator[Entry]:
    """Reads a log in which each line with a message has the name of the transport's logger.

    Other lines are remarks. If the text of a message begins like JSON, it must be JSON. Any other
    text is kept, since the peer may have sent it.
    """
    clock = Clock()
    for number, text in numbered(pieces):
        if text is None:
            yield bad_too_long(number)
        elif (match := _TRANSPORT.match(text)) is not None:
            yield _matched(number, match, _TRANSPORT_SIDES[match["side"]], clock)
        else:
            kind = RemarkKind.REMARK if text.strip() else RemarkKind.BLANK
            yield Remark(number, number, kind)


def _matched(number: int, match: re.Match[bytes], stream: Stream, clock: Clock) -> Entry:
    raw = match["message"]
    if raw.lstrip()[:1] in (b"{", b"["):
        message = read_message(raw)
        if message is None:
            reason = CUT_OFF if Brackets().end(raw) is None else broken(raw)
            return UnreadLines(number, number, reason)
        raw = message.raw
    stamp = read_stamp(match["prefix"])
    time_ns = None if stamp is None else clock.time(stamp)
    has_zone = stamp is None or stamp.has_zone
    return LoggedLine(number, number, stream, raw, time_ns, has_zone=has_zone)


LINES = LogFormat(
    name="lines",
    title="a plain log",
    lost=("bytes", "command", "ending", "stderr"),
    recognizes=_has_message,
    read=_reads,
)
ACPX = LogFormat(
    name="acpx",
    title="a stream of messages that acpx has kept",
    lost=("bytes", "command", "ending", "stderr", "times"),
    recognizes=_is_of_acpx,
    read=_reads,
    has_marks=False,
)
JETBRAINS = LogFormat(
    name="jetbrains",
    title="a transport log of a JetBrains IDE",
    lost=("bytes", "command", "ending", "stderr"),
    recognizes=_is_of_jetbrains,
    read=_reads_jetbrains,
    resolution_ns=1_000_000,
)
"""The format of ``acp-transport.log``, which the IDEs of JetBrains write.

A line is ``2025-11-14 19:57:13,401 [    460]   FINE - AcpTransport - IN: {"jsonrpc":"2.0",...}``.
OUT marks messages to the agent. Lines of other loggers and of stack traces are remarks.
"""
