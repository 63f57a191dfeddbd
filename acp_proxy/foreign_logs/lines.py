"""Reads any log that has messages in its lines, and excerpts that people paste.

Where a line has JSON, the text before it may say when the message was sent and which way: an arrow,
``OUT:``, ``[agent]``, ``CLIENT → AGENT`` and so on. The JSON may go on in the lines that follow. A
line without JSON that says a direction speaks of the JSON after it. Everything else is a remark.

An arrow is seen from the side that wrote the log. Where the messages in the beginning of the input
contradict it, all arrows are read the other way round, and count as inferred. A word such as "sent"
may speak of either side: where the method of a message contradicts it, the direction is inferred.
"""

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve

from acp_proxy.foreign_logs.directions import direction_of_method
from acp_proxy.foreign_logs.envelopes import EnclosedMessage, read_envelope
from acp_proxy.foreign_logs.json_text import ReadMessage, read_message
from acp_proxy.foreign_logs.line_pattern import LinePattern, MessageStart
from acp_proxy.foreign_logs.markers import Marker, edges, read_marker
from acp_proxy.foreign_logs.message_starts import (
    is_of_message,
    quoted_at,
    read_start,
    starts_after,
    starts_in,
    with_method,
)
from acp_proxy.foreign_logs.messages import is_message
from acp_proxy.foreign_logs.no_messages import broken
from acp_proxy.foreign_logs.pasted_text import PastedText, RepeatedText, is_fence, remark_kind
from acp_proxy.foreign_logs.splitting import Brackets, items_of
from acp_proxy.foreign_logs.times import STAMP, Clock, Stamp, read_stamp
from acp_proxy.foreign_logs.values import (
    CUT_OFF,
    LONGEST,
    OTHER_JSON,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    Repaired,
    UnreadLines,
    bad_too_long,
    numbered,
)
from acp_proxy.protocol.peers import Stream

_BRACELESS = re.compile(rb"""\s*"(?:jsonrpc|id|type|method|params|result|error)"\s*:.*\}\s*\Z""")
_STAMP_ALONE = re.compile(rb"[^\w{]*(?:[A-Za-z]{1,8}[^\w{]*)?")
"""What a line with nothing but a time has beside it."""
_MOST_REPEATED = 30
_MOST_ANNOUNCEMENT = 300
_OPPOSITE = {Stream.TO_AGENT: Stream.TO_CLIENT, Stream.TO_CLIENT: Stream.TO_AGENT}


def read_lines(
    pieces: Iterable[bytes], head: bytes, pattern: LinePattern | None = None
) -> Iterator[Entry]:
    """Yields the entries of a log.

    Args:
        pieces: of the input.
        head: its beginning.
        pattern: how its lines look; None to find that out.
    """
    return _LineReader(head, pattern, is_flipped=_is_flipped(head, pattern)).read(pieces)


def _is_flipped(head: bytes, pattern: LinePattern | None) -> bool:
    """Whether arrows are seen from the agent's side, by the methods in the beginning."""
    votes = 0
    whole = head[: head.rfind(b"\n") + 1] or head
    for entry in _LineReader(head, pattern, is_flipped=None).read(io.BytesIO(whole)):
        line = entry.line if isinstance(entry, Repaired) else entry
        if not isinstance(line, LoggedLine) or line.stream in (None, Stream.STDERR):
            continue
        found = read_message(line.raw)
        if found is not None and (stream := _direction_of(found.value)) is not None:
            votes += 1 if stream is not line.stream else -1
    return votes > 0


def _direction_of(value: Any) -> Stream | None:
    """Returns the direction that the method of a message implies; None if it implies none."""
    method = value.get("method") if isinstance(value, dict) else None
    return direction_of_method(method) if isinstance(method, str) else None


class _LineReader:
    """Reads the lines of a log.

    Args:
        head: its beginning.
        pattern: how its lines look; None to find that out.
        is_flipped: whether arrows are seen from the agent's side; None if that is being found out.
    """

    def __init__(
        self, head: bytes, pattern: LinePattern | None, *, is_flipped: bool | None
    ) -> None:
        self._pasted = PastedText(head)
        self._repeated = RepeatedText(head)
        self._latest: deque[int] = deque(maxlen=_MOST_REPEATED)
        """The hashes of the latest messages, which complaints repeat."""
        self._pattern = pattern
        self._is_flipped = is_flipped
        self._clock = Clock()
        self._announced: MessageStart | None = None
        """What a line without JSON said of the JSON after it."""
        self._begun: MessageStart | None = None
        """A message that goes on in the lines that follow."""
        self._indentation = 0
        """Blanks before the line in which it began."""
        self._brackets = Brackets()
        self._parts: list[bytes] = []
        self._size = 0
        self._last = 0

    def read(self, pieces: Iterable[bytes]) -> Iterator[Entry]:
        for number, line in numbered(pieces):
            if line is None:
                yield from self._given_up()
                yield bad_too_long(number)
            else:
                yield from self._line(number, self._pasted.clean(line))
            self._last = number
        yield from self._given_up()

    def _line(self, number: int, line: bytes) -> Iterator[Entry]:
        if self._repeated.has(line):
            yield from self._given_up()
            yield Remark(number, number, remark_kind(line))
            return
        if complaint := self._complaint(number, line):
            yield from self._given_up()
            yield from complaint
            return
        if self._begun is not None:
            if not (is_fence(line) or self._is_new(number, line)):
                yield from self._continued(number, line)
                return
            yield from self._given_up()
        line = line if self._pattern is not None else with_method(line)
        whole = self._with_brace(line)
        first = None
        for start in self._starts(number, whole):
            first = first or start
            if (entries := self._messages(start)) is not None:
                yield from entries if whole is line else map(_repaired, entries)
                return
        if first is not None and self._is_meant(first):
            self._brackets = Brackets()
            if self._brackets.end(first.text) is None:
                self._begun, self._parts = self._joined(first), [first.text]
                self._size = len(first.text)
                self._indentation = _indentation(line)
            else:
                is_json = read_start(first.text)[0] is not None
                yield UnreadLines(number, number, OTHER_JSON if is_json else broken(first.text))
            return
        if self._pattern is None:
            self._announce(number, line)
        yield Remark(number, number, self._kind(line))

    def _with_brace(self, line: bytes) -> bytes:
        """Adds the first brace of a message that was copied without it."""
        if self._pattern is not None or self._announced or _BRACELESS.match(line) is None:
            return line
        whole = b"{" + line.strip()
        found = read_message(whole)
        return whole if found is not None and is_message(found.value) else line

    def _complaint(self, number: int, line: bytes) -> list[Entry]:
        """Returns what is in a line of who could not read a message, and repeats it.

        The message is one of its own only if it has not been in a line before. Of a message of the
        client it is the agent who complains, on stderr.
        """
        at = None if self._pattern is not None else quoted_at(line)
        found = None if at is None else read_start(line[at:])[0]
        if found is None or not is_message(found.value):
            return []
        entries: list[Entry] = []
        stamp = read_stamp(line[:at])
        if hash(found.raw) not in self._latest:
            start = MessageStart(number, b"", None, stamp, says_so=False)
            entries.append(self._logged(start, number, found, is_elided=found.is_elided))
        if _direction_of(found.value) is Stream.TO_AGENT:
            stderr = LoggedLine(number, number, Stream.STDERR, line)
            entries.append(self._timed(stderr, stamp))
        return entries or [Remark(number, number)]

    def _kind(self, line: bytes) -> RemarkKind:
        """Returns what a line without a message is."""
        kind = remark_kind(line)
        is_of_log = self._pattern is not None or self._announced is not None or is_fence(line)
        if kind is not RemarkKind.REMARK or is_of_log or read_stamp(edges(line)) is not None:
            return kind
        return RemarkKind.WORDS

    def _starts(self, number: int, line: bytes) -> Iterable[MessageStart]:
        """Returns the places of a line at which a message may begin."""
        if self._pattern is not None:
            start = self._pattern.start(number, line)
            return [] if start is None else [start]
        return starts_in(number, line)

    def _is_meant(self, start: MessageStart) -> bool:
        """Whether text that is no JSON by itself should be a message."""
        if self._pattern is not None:
            return start.text.lstrip()[:1] in (b"{", b"[")
        has_mark = any(one is not None and one.marker for one in (start, self._announced))
        if start.says_so and has_mark:
            return True
        return is_of_message(start.text) or (
            start.says_so and start.text.strip() in (b"{", b"[{", b"[ {")
        )

    def _messages(self, start: MessageStart) -> list[Entry] | None:
        """Returns the entries of a message, and of those after it; None if it is none."""
        found, end = read_start(start.text)
        if found is None:
            return None
        number = start.number
        entries = self._entries(self._joined(start), number, found)
        if entries is None:
            return None
        for other in starts_after(start, end):
            if (found := read_message(other.text, repairs=True)) is not None:
                entries += self._entries(other, number, found) or []
            elif is_of_message(other.text):
                entries.append(UnreadLines(number, number, broken(other.text)))
        return entries

    def _joined(self, start: MessageStart) -> MessageStart:
        """Adds what the line before has said."""
        if (said := self._announced) is None:
            return start
        self._announced = None
        return start._replace(marker=start.marker or said.marker, stamp=start.stamp or said.stamp)

    def _entries(self, start: MessageStart, last: int, found: ReadMessage) -> list[Entry] | None:
        value = found.value
        if isinstance(value, list) and start.marker is None and len(value) > 0:
            entries: list[Entry] = []
            for item in items_of(found.raw):
                one = read_message(item)
                is_elided = found.is_elided
                of_one = one and self._entries(start, last, one._replace(is_elided=is_elided))
                if not of_one:
                    return None
                entries += of_one
            return entries or None
        if is_message(value):
            return [self._logged(start, last, found, is_elided=found.is_elided)]
        if (envelope := read_envelope(found)) is not None:
            return self._enclosed(start, last, envelope)
        return None

    def _logged(
        self, start: MessageStart, last: int, found: ReadMessage, *, is_elided: bool
    ) -> Entry:
        self._latest.append(hash(found.raw))
        stream, is_inferred = self._stream(start.marker, found.value)
        line = self._timed(LoggedLine(start.number, last, stream, found.raw), start.stamp)
        line = line._replace(is_inferred=is_inferred)
        return Repaired(line) if is_elided else line

    def _enclosed(self, start: MessageStart, last: int, envelope: EnclosedMessage) -> list[Entry]:
        stamp = envelope.stamp or start.stamp
        if envelope.is_stderr:
            texts = envelope.raw.removesuffix(b"\n").split(b"\n")
            return [
                self._timed(LoggedLine(start.number, last, Stream.STDERR, text), stamp)
                for text in texts
            ]
        stream, is_inferred = self._stream(envelope.marker or start.marker)
        line = LoggedLine(start.number, last, stream, envelope.raw, is_inferred=is_inferred)
        line = self._timed(line, stamp)
        return [Repaired(line) if envelope.is_elided else line]

    def _timed(self, line: LoggedLine, stamp: Stamp | None) -> LoggedLine:
        if stamp is None:
            return line
        return line._replace(time_ns=self._clock.time(stamp), has_zone=stamp.has_zone)

    def _stream(self, marker: Marker | None, value: Any = None) -> tuple[Stream | None, bool]:
        """Returns the direction of a message, or None, and whether the direction is inferred."""
        if marker is None:
            return None, True
        if marker.names_peers or self._is_flipped is None:
            return marker.stream, False
        stream = _OPPOSITE[marker.stream] if self._is_flipped else marker.stream
        if marker.is_vague and _direction_of(value) is _OPPOSITE[stream]:
            return None, True
        return stream, self._is_flipped

    def _announce(self, number: int, line: bytes) -> None:
        """Keeps what a line says of the JSON that may follow it."""
        if not line.strip() or is_fence(line):
            return
        said, self._announced = self._announced, None
        if len(line) >= _MOST_ANNOUNCEMENT:
            return
        marker, stamp = read_marker(line), read_stamp(line)
        if marker is not None:  # its time may be on the line before
            stamp = stamp or (said.stamp if said is not None else None)
        elif stamp is None or _STAMP_ALONE.fullmatch(STAMP.sub(b"", line)) is None:
            return
        self._announced = MessageStart(number, b"", marker, stamp, says_so=True)

    def _is_new(self, number: int, line: bytes) -> bool:
        """Whether a line begins another message, so that the one before was cut off."""
        if self._pattern is not None:
            return self._pattern.start(number, line) is not None
        if _indentation(line) > self._indentation:
            return False
        if (start := next(starts_in(number, line), None)) is not None:
            begins = line.lstrip().startswith((b'{"jsonrpc"', b'{"id"'))
            return start.marker is not None or begins
        if len(line) >= _MOST_ANNOUNCEMENT or line.lstrip()[:1] in (b'"', b"'", b"}", b"]"):
            return False
        return read_stamp(line) is not None and read_marker(line) is not None

    def _continued(self, number: int, line: bytes) -> Iterator[Entry]:
        assert self._begun is not None
        end = self._brackets.end(line)
        rest = b"" if end is None else line[end:].strip(b" \t\r,")
        self._parts.append(line if end is None else line[:end])
        self._size += len(line) + 1
        if end is None and self._size <= LONGEST:
            return
        start, text, self._begun = self._begun, b"\n".join(self._parts), None
        found = read_message(text, repairs=True) if end is not None else None
        entries = None if found is None else self._entries(start, number, found)
        if entries is not None:
            yield from entries
        elif (found is not None and start.marker is None) or not is_of_message(text):
            yield Remark(start.number, number)
        else:
            yield UnreadLines(start.number, number, broken(text))
        if rest.startswith((b"{", b"[")):
            yield from self._line(number, rest)

    def _given_up(self) -> Iterator[Entry]:
        """Ends a message that never came to its end."""
        if self._begun is not None:
            first, text, self._begun = self._begun.number, b"\n".join(self._parts), None
            last = max(first, self._last)
            is_meant = is_of_message(text)
            yield UnreadLines(first, last, CUT_OFF) if is_meant else Remark(first, last)


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _repaired(entry: Entry) -> Entry:
    """Marks a message of which somebody has left out a part, be it a brace."""
    return Repaired(entry) if isinstance(entry, LoggedLine) else entry


def _reads(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    return read_lines(pieces, head)


def _recognizes(head: bytes) -> bool:
    """Whether a message is in the beginning, beside whatever else."""
    whole = io.BytesIO(head[: head.rfind(b"\n") + 1] or head)
    return any(isinstance(entry, LoggedLine | Repaired) for entry in read_lines(whole, head))


SOURCE = LogFormat(
    name="lines",
    title="a plain log",
    lost=("bytes", "command", "ending", "stderr"),
    has_preamble=True,
    recognizes=_recognizes,
    read=_reads,
)


def source_of_pattern(pattern: LinePattern) -> LogFormat:
    """Returns the format of a log whose lines match a pattern of the user."""
    return evolve(
        SOURCE,
        has_pattern=True,
        recognizes=lambda _: True,
        read=lambda pieces, head: read_lines(pieces, head, pattern),
    )
