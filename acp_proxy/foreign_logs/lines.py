"""Reads any log that has messages in its lines, and excerpts that people paste.

Where a line has JSON, the text before it may say when the message was sent and which way: an arrow,
``OUT:``, ``[agent]``, ``CLIENT → AGENT`` and so on. The JSON may go on in the lines that follow. A
line without JSON that says a direction speaks of the JSON after it. Everything else is a remark.

An arrow is seen from the side that wrote the log. Where the messages in the beginning of the input
contradict it, all arrows are read the other way round, and count as inferred.
"""

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator

from attrs import evolve

from acp_proxy.foreign_logs.directions import direction_of_method
from acp_proxy.foreign_logs.envelopes import EnclosedMessage, read_envelope
from acp_proxy.foreign_logs.json_text import ReadMessage, read_message
from acp_proxy.foreign_logs.line_pattern import LinePattern, MessageStart
from acp_proxy.foreign_logs.markers import Marker, edges, is_stderr, read_marker
from acp_proxy.foreign_logs.messages import is_message
from acp_proxy.foreign_logs.pasted_text import PastedText, RepeatedText, is_fence, remark_kind
from acp_proxy.foreign_logs.splitting import Brackets, items_of
from acp_proxy.foreign_logs.times import Clock, Stamp, read_stamp
from acp_proxy.foreign_logs.values import (
    BROKEN,
    LONGEST,
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

_JSON = re.compile(rb"""\[?\s{0,9}\{(?=\s{0,9}(?:["'}]|\.\.|\xe2\x80\xa6|\Z))""")
_MESSAGE = re.compile(rb"""["'](?:jsonrpc|method|params|result|error|id)["']\s*:""")
_COMPLAINT = re.compile(rb"(?i:\b(?:error|warn|warning|failed|panic(?:ked)?|raw)\b)")
_FAILED = re.compile(rb"(?i:\b(?:error|failed)\b)")
_RAW = re.compile(rb"(?i:\braw:\s{0,9}(?=\{))")
"""What stands before a message that could not be read, and that is repeated here."""
_BRACELESS = re.compile(rb"""\s*"(?:jsonrpc|id|type|method|params|result|error)"\s*:.*\}\s*\Z""")
_MOST_REPEATED = 30
_MOST_COMPLAINT = 1_000
_MOST_STARTS = 4


def read_lines(
    pieces: Iterable[bytes], head: bytes, pattern: LinePattern | None = None
) -> Iterator[Entry]:
    """Yields the entries of a log.

    Args:
        pieces: of the input.
        head: its beginning.
        pattern: how its lines look; None to find that out.
    """
    is_flipped = _is_flipped(head, pattern)
    return _LineReader(head, pattern, is_flipped=is_flipped).read(pieces)


def _is_flipped(head: bytes, pattern: LinePattern | None) -> bool:
    """Whether arrows are seen from the agent's side, by the methods in the beginning."""
    votes = 0
    whole = head[: head.rfind(b"\n") + 1] or head
    for entry in _LineReader(head, pattern, is_flipped=False).read(io.BytesIO(whole)):
        line = entry.line if isinstance(entry, Repaired) else entry
        if not isinstance(line, LoggedLine) or line.stream in (None, Stream.STDERR):
            continue
        found = read_message(line.raw)
        method = found.value.get("method") if found and isinstance(found.value, dict) else None
        if isinstance(method, str) and (stream := direction_of_method(method)) is not None:
            votes += 1 if stream is not line.stream else -1
    return votes > 0


class _LineReader:
    def __init__(self, head: bytes, pattern: LinePattern | None, *, is_flipped: bool) -> None:
        self._pasted = PastedText(head)
        self._repeated = RepeatedText(head)
        self._latest: deque[bytes] = deque(maxlen=_MOST_REPEATED)
        """The latest messages, which complaints repeat."""
        self._pattern = pattern
        self._is_flipped = is_flipped
        self._clock = Clock()
        self._announced: MessageStart | None = None
        """What a line without JSON said of the JSON after it."""
        self._begun: MessageStart | None = None
        """A message that goes on in the lines that follow."""
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
        whole = self._with_brace(line)
        starts = self._starts(number, whole)
        for start in starts:
            if (entries := self._message(start, number)) is not None:
                yield from entries if whole is line else map(_repaired, entries)
                return
        if starts and self._is_meant(start := starts[0]):
            self._brackets = Brackets()
            if self._brackets.end(start.text) is None:
                self._begun, self._parts = self._joined(start), [start.text]
                self._size = len(start.text)
            else:
                yield UnreadLines(number, number, BROKEN)
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
        at = None if self._pattern is not None else _quoted_at(line)
        if at is None or (found := _read(line[at:])) is None or not is_message(found.value):
            return []
        entries: list[Entry] = []
        stamp = read_stamp(line[:at])
        if found.raw not in self._latest:
            start = MessageStart(number, b"", None, stamp, says_so=False)
            entries.append(self._logged(start, number, found, is_elided=found.is_elided))
        method = found.value.get("method")
        if isinstance(method, str) and direction_of_method(method) is Stream.TO_AGENT:
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

    def _starts(self, number: int, line: bytes) -> list[MessageStart]:
        """Returns the places of a line at which a message may begin."""
        if self._pattern is not None:
            start = self._pattern.start(number, line)
            return [] if start is None else [start]
        found = []
        quoted_at = _quoted_at(line)
        for match in _JSON.finditer(line):
            prefix = edges(line[: match.start()])
            marker = read_marker(prefix)
            is_quoted = quoted_at is not None and match.start() >= quoted_at
            if (marker is None and is_stderr(prefix)) or is_quoted:
                break
            says_so = marker is not None or not prefix.strip()
            if says_so or _COMPLAINT.search(prefix) is None:
                text = line[match.start() :]
                found.append(MessageStart(number, text, marker, read_stamp(prefix), says_so))
            if len(found) == _MOST_STARTS:
                break
        return found

    def _is_meant(self, start: MessageStart) -> bool:
        """Whether text that is no JSON by itself should be a message."""
        if self._pattern is not None:
            return start.text.lstrip()[:1] in (b"{", b"[")
        if start.says_so and (start.marker is not None or self._announced is not None):
            return True
        return _MESSAGE.search(start.text) is not None or (
            start.says_so and start.text.strip() in (b"{", b"[{", b"[ {")
        )

    def _message(self, start: MessageStart, last: int) -> list[Entry] | None:
        """Returns the entries of a message, or of several in an array; None if it is none."""
        found = _read(start.text)
        if found is None:
            return None
        return self._entries(self._joined(start), last, found)

    def _joined(self, start: MessageStart) -> MessageStart:
        """Adds what the line before has said."""
        if (said := self._announced) is None:
            return start
        self._announced = None
        return start._replace(marker=start.marker or said.marker, stamp=start.stamp or said.stamp)

    def _entries(self, start: MessageStart, last: int, found: ReadMessage) -> list[Entry] | None:
        value = found.value
        if isinstance(value, list) and start.marker is None and len(value) > 0:
            raws = [read_message(one) for one in items_of(found.raw)]
            if any(one is None or not is_message(one.value) for one in raws):
                return None
            return [
                self._logged(start, last, one, is_elided=found.is_elided) for one in raws if one
            ]
        if is_message(value):
            return [self._logged(start, last, found, is_elided=found.is_elided)]
        if (envelope := read_envelope(found)) is not None:
            return [self._enclosed(start, last, envelope)]
        return None

    def _logged(
        self, start: MessageStart, last: int, found: ReadMessage, *, is_elided: bool
    ) -> Entry:
        self._latest.append(found.raw)
        stream, is_inferred = self._stream(start.marker)
        line = self._timed(LoggedLine(start.number, last, stream, found.raw), start.stamp)
        line = line._replace(is_inferred=is_inferred)
        return Repaired(line) if is_elided else line

    def _enclosed(self, start: MessageStart, last: int, envelope: EnclosedMessage) -> Entry:
        stream, is_inferred = self._stream(envelope.marker or start.marker)
        if envelope.is_stderr:
            stream, is_inferred = Stream.STDERR, False
        line = LoggedLine(start.number, last, stream, envelope.raw, is_inferred=is_inferred)
        return self._timed(line, envelope.stamp or start.stamp)

    def _timed(self, line: LoggedLine, stamp: Stamp | None) -> LoggedLine:
        if stamp is None:
            return line
        return line._replace(time_ns=self._clock.time(stamp), has_zone=stamp.has_zone)

    def _stream(self, marker: Marker | None) -> tuple[Stream | None, bool]:
        if marker is None:
            return None, True
        if marker.names_peers or not self._is_flipped:
            return marker.stream, False
        opposite = {Stream.TO_AGENT: Stream.TO_CLIENT, Stream.TO_CLIENT: Stream.TO_AGENT}
        return opposite[marker.stream], True

    def _announce(self, number: int, line: bytes) -> None:
        """Keeps what a line says of the JSON that may follow it."""
        if not line.strip() or is_fence(line):
            return
        self._announced = None
        if len(line) < 300 and (marker := read_marker(line)) is not None:
            self._announced = MessageStart(number, b"", marker, read_stamp(line), says_so=True)

    def _is_new(self, number: int, line: bytes) -> bool:
        """Whether a line begins another message, so that the one before was cut off."""
        if self._pattern is not None:
            return self._pattern.start(number, line) is not None
        if line.startswith((b" ", b"\t")):
            return False
        starts = self._starts(number, line)
        return bool(starts) and (
            starts[0].marker is not None or line.startswith((b'{"jsonrpc"', b'{"id"'))
        )

    def _continued(self, number: int, line: bytes) -> Iterator[Entry]:
        assert self._begun is not None
        end = self._brackets.end(line)
        self._parts.append(line if end is None else line[:end])
        self._size += len(line) + 1
        if end is None and self._size <= LONGEST:
            return
        start, text, self._begun = self._begun, b"\n".join(self._parts), None
        found = read_message(text, repairs=True) if end is not None else None
        entries = None if found is None else self._entries(start, number, found)
        if entries is not None:
            yield from entries
        elif (found is not None and start.marker is None) or not _MESSAGE.search(text):
            yield Remark(start.number, number)
        else:
            yield UnreadLines(start.number, number, BROKEN)

    def _given_up(self) -> Iterator[Entry]:
        """Ends a message that never came to its end."""
        if self._begun is not None:
            first, text, self._begun = self._begun.number, b"\n".join(self._parts), None
            last = max(first, self._last)
            is_meant = _MESSAGE.search(text) is not None
            yield UnreadLines(first, last, BROKEN) if is_meant else Remark(first, last)


def _repaired(entry: Entry) -> Entry:
    """Marks a message of which somebody has left out a part, be it a brace."""
    return Repaired(entry) if isinstance(entry, LoggedLine) else entry


def _quoted_at(line: bytes) -> int | None:
    """Returns where a line repeats a message that could not be read; None if it does not."""
    raw = None if line[:1] == b"{" else _RAW.search(line, 0, _MOST_COMPLAINT)
    if raw is None or _FAILED.search(line, 0, raw.start()) is None:
        return None
    return raw.end()


def _read(text: bytes) -> ReadMessage | None:
    """Reads the message at the beginning of a text; what follows it is ignored."""
    found = read_message(text, repairs=True)
    if found is None and (end := Brackets().end(text)) is not None:
        found = read_message(text[:end], repairs=True)
    return found


def _reads(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    return read_lines(pieces, head)


def _recognizes(head: bytes) -> bool:
    """Whether a message is in the beginning, beside whatever else."""
    whole = io.BytesIO(head[: head.rfind(b"\n") + 1] or head)
    return any(isinstance(entry, LoggedLine | Repaired) for entry in read_lines(whole, head))


SOURCE = LogFormat(
    name="lines",
    title="a log with messages in its lines",
    lost=("bytes", "command", "ending", "stderr"),
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
