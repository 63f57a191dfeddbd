"""Reads the lines of a log and masks them before they become rows.

A masked line may have another length, and a large line is read in pieces. So everything derived
from a line, such as its labels, is read from the masked line.

The state of masking (secrets, and the key of the markers) is stored only in the log, never with the
rows. To continue masking a log, read the state from its first record, or mask all indexed lines
again.
"""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from acp_proxy.base.forms import converter
from acp_proxy.base.limits import LARGE_LINE, LINE_EDGE, READ_AHEAD
from acp_proxy.protocol.framing import Line, LineFramer
from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.protocol.outline import read_outline
from acp_proxy.recording import log_format as capture_log
from acp_proxy.redaction.edits import apply, apply_to_pieces
from acp_proxy.redaction.markers import KEY_SIZE
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.redaction.text_streams import NotYet
from acp_proxy.store.indexing.row_batch import LargeLine
from acp_proxy.store.log.log_reader import LOG_STREAMS, LogReader

_PLAIN_FIELDS = {"id", "connection_id", "parent", "stream", "name", "tool_version", "platform"}
"""Fields of events that contain only text written by acp-proxy."""
_LAST = {capture_log.GAP, capture_log.CLOSE}
_STDERR = Stream.STDERR  # looking it up takes a while


def masked_fields(redactor: Redactor, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an event, masked.

    Args:
        redactor: the redactor of the recording.
        fields: the fields as they were logged.
    """
    masked = {}
    for name, value in fields.items():
        masked[name] = value
        if name == "command" and isinstance(value, list):
            masked[name] = redactor.command([str(word) for word in value])
        elif isinstance(value, list):
            masked[name] = [
                redactor.text(each) if isinstance(each, str) else each for each in value
            ]
        elif isinstance(value, str) and name not in _PLAIN_FIELDS:
            masked[name] = redactor.text(value)
    return masked


class Masking:
    """Masks the lines of one log, in order.

    Args:
        log: the log; used to look ahead at later lines.
        level: ``secrets`` or ``private``.
        state: the state of the redactor after the earlier lines.
        waits: whether to raise `NotYet` if masking a line needs later lines that are not written
            yet. Otherwise the line is masked without later lines.
    """

    def __init__(self, log: LogReader, level: str, state: RedactorState, *, waits: bool) -> None:
        self._log = log
        self.level = level
        self.waits = waits
        self.redactor = Redactor(state, private=level == "private")
        self._place: tuple[Stream, int | None] = Stream.TO_CLIENT, None
        self._lines: list[Line] = []
        self._framer = LineFramer()
        self._offset = 0
        self._searched: int | None = None
        """The result of `Redactor.search_lines` for the lines of the chunk."""
        self._begun = 0
        """The number of lines, 0 or 1, that end in the chunk but began in an earlier chunk."""

    def dump(self) -> bytes:
        """Returns the state as the payload of a record; see `load`."""
        stored = {"level": self.level, "state": converter.unstructure(self.redactor.snapshot())}
        return converter.dumps(stored).encode()

    def begin(self, lines: list[Line], framer: LineFramer, offset: int, chunk: bytes) -> None:
        """Prepares the masking of the lines of a chunk; call this method before `line`.

        Args:
            lines: all lines that end in the chunk, in order.
            framer: the framer of the stream, after these lines.
            offset: the offset in the log after the chunk.
            chunk: the bytes of the chunk.
        """
        self._lines, self._framer, self._offset = lines, framer, offset
        self._searched = self.redactor.search_lines(chunk) if len(lines) > 1 else None
        self._begun = sum(line.segments[0][0] < offset - len(chunk) for line in lines[:1])

    def line(
        self, stream: Stream, raw: bytes, message: Message | None, number: int | None
    ) -> bytes:
        """Masks a line.

        Args:
            stream: the stream that the line was read from.
            raw: the bytes of the line without the newline.
            message: the parsed line; None on stderr.
            number: the number of the line in the chunk, from 1; None for an unfinished line at the
                end of its stream.

        Raises:
            NotYet: the masking depends on later lines that are not written yet.
        """
        self._place = stream, number
        searched = self._searched if number is not None and number > self._begun else None
        edits = self.redactor.line(stream, raw, self._following, message, searched)
        return apply(raw, edits) if edits else raw

    def _following(self) -> Iterator[bytes]:
        """Yields the lines that follow the current line in its stream, without newlines."""
        stream, number = self._place
        if number is None:
            return
        for line in self._lines[number:]:
            yield self._bytes(line)
        framer, end = self._framer.copy(), self._log.end
        for record in self._log.records(self._offset, READ_AHEAD):
            is_of_stream = LOG_STREAMS.get(record.stream) is stream
            if record.kind in _LAST or (record.kind == capture_log.END and is_of_stream):
                return
            if record.kind == capture_log.DATA and is_of_stream:
                for line in framer.feed(record.payload, record.offset, record.t_ns):
                    yield self._bytes(line)
        if self.waits and end - self._offset < READ_AHEAD:
            raise NotYet

    def _bytes(self, line: Line) -> bytes:
        raw = self._log.read_segments(line.segments) if line.size <= READ_AHEAD else b""
        return raw.removesuffix(b"\n").removesuffix(b"\r")


def load(log: LogReader, payload: bytes, *, waits: bool) -> Masking:
    """Returns a `Masking` with a stored state, or with a new state if no state can be read.

    Args:
        log: the log.
        payload: the result of `Masking.dump`.
        waits: see `Masking`.
    """
    try:
        stored = converter.loads(payload, dict)
        state = converter.structure(stored["state"], RedactorState)
        level = "private" if stored["level"] == "private" else "secrets"
        return Masking(log, level, state, waits=waits)
    except Exception:  # the converter may raise anything if a value is foreign or damaged
        key = hashlib.blake2b(payload, digest_size=KEY_SIZE).hexdigest()
        return Masking(log, "secrets", RedactorState(key), waits=waits)


def start(log: LogReader, level: str, state: RedactorState, *, waits: bool) -> Masking | None:
    """Returns a new `Masking` for a log, from the first line on; None if the log is not masked.

    Args:
        log: the log.
        level: the value of the recorder's option ``--redact``.
        state: the key of the markers, and the secrets that are known from the start.
        waits: see `Masking`.
    """
    if level not in ("secrets", "private") or not _is_key(state.key):
        return None
    return Masking(log, level, state, waits=waits)


def _is_key(text: str) -> bool:
    try:
        return 0 < len(bytes.fromhex(text)) <= 64
    except ValueError:
        return False


class ReadLine(NamedTuple):
    """The content of a line after masking, for the database."""

    message: Message
    newline: bytes
    body: bytes | LargeLine
    received: int | None
    """The size in bytes before the line was masked; None if nothing in the line is masked."""


def read_line(
    log: LogReader,
    masking: Masking | None,
    stream: Stream,
    line: Line,
    raw: bytes | None = None,
    number: int | None = None,
) -> ReadLine:
    """Reads a line, and masks it.

    Args:
        log: the log.
        masking: masks the line; None if nothing is masked.
        stream: the stream of the line.
        line: the place of the line in the log.
        raw: the bytes of the line, if the caller has them.
        number: the number of the line in its chunk, from 1; None for an unfinished line at the end
            of its stream.

    Raises:
        NotYet: the masking depends on later lines that are not logged yet.
    """
    if raw is None and line.size > LARGE_LINE:
        return _outlined(log, masking, stream, line)
    whole = log.read_segments(line.segments) if raw is None else raw
    newline = _newline_of(line, whole)
    body = whole[: len(whole) - len(newline)]
    message = Message(Kind.STDERR) if stream is _STDERR else read(body)
    received = None
    if masking is not None:
        masked = masking.line(stream, body, message, number)
        if masked is not body:
            received, body = len(body), masked
            message = message if stream is _STDERR else read(body)
    return ReadLine(message, newline, body, received)


def _outlined(log: LogReader, masking: Masking | None, stream: Stream, line: Line) -> ReadLine:
    """Reads the first and the last bytes of a line that is too large for memory."""
    tail = log.read_range(line.segments, line.size - LINE_EDGE, LINE_EDGE)
    newline = _newline_of(line, tail)
    tail = tail[: len(tail) - len(newline)]
    size = line.size - len(newline)
    pieces = partial(log.pieces, line.segments, size)
    edits = masking.redactor.large(stream, pieces) if masking is not None else ()
    if stream is _STDERR:
        message = Message(Kind.STDERR)
    else:
        head = log.read_range(line.segments, 0, LINE_EDGE)
        message = read_outline(
            b"".join(apply_to_pieces((head,), edits)),
            b"".join(apply_to_pieces((tail,), edits, size - len(tail))),
        )
    if not edits:
        return ReadLine(message, newline, LargeLine(size, pieces), None)
    masked = size + sum(len(edit.new) - (edit.end - edit.start) for edit in edits)
    body = LargeLine(masked, lambda: apply_to_pieces(pieces(), edits))
    return ReadLine(message, newline, body, size)


def _newline_of(line: Line, end: bytes) -> bytes:
    if not line.terminated:
        return b""
    return b"\r\n" if end.endswith(b"\r\n") else b"\n"
