"""Masks the lines of a log before they become rows.

A masked line may have another length. Everything derived from a line, such as its labels, is read
from the masked line. The state of masking (secrets, and the key of the markers) is stored in the
log only, never with the rows. To continue masking a log, read the state from its first record, or
mask the lines that are already indexed again.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from acp_proxy.capture import log_format as capture_log
from acp_proxy.forms import converter
from acp_proxy.protocol.framing import Line, LineFramer
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Stream
from acp_proxy.redaction.edits import Edits, apply
from acp_proxy.redaction.markers import KEY_SIZE
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.redaction.text_streams import NotYet
from acp_proxy.store.log_reader import LogReader

LOOKAHEAD = 1 << 20
"""How many bytes of the log are searched for the next pieces of a text, at most."""
_OF_STREAM = {
    Stream.TO_AGENT: capture_log.TO_AGENT,
    Stream.TO_CLIENT: capture_log.TO_CLIENT,
    Stream.STDERR: capture_log.STDERR,
}
_PLAIN_FIELDS = {"id", "connection_id", "parent", "stream", "name", "tool_version", "platform"}
"""Fields of events that contain only text of acp-proxy itself."""
_LAST = {capture_log.GAP, capture_log.CLOSE}


def masked_fields(redactor: Redactor, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an event without the secrets in them.

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
    """Masks the lines of one log, in their order.

    Args:
        log: the log, from which the lines that follow are read.
        level: ``secrets`` or ``private``.
        state: the state of the redactor after the earlier lines.
        waits: whether to raise `NotYet` for a line if later lines decide what is masked in it, and
            are not written yet; if not, the line is masked without them.
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
        """What `Redactor.search_lines` returned for the lines of the chunk."""
        self._begun = 0
        """How many of these lines begin before the chunk: 1 or 0."""

    def dump(self) -> bytes:
        """Returns the state as the payload of a record, from which `load` can continue."""
        stored = {"level": self.level, "state": converter.unstructure(self.redactor.snapshot())}
        return converter.dumps(stored).encode()

    def begin(self, lines: list[Line], framer: LineFramer, offset: int, chunk: bytes) -> None:
        """Prepares for the lines of a chunk; call it before `line`, which reads what follows.

        Args:
            lines: all lines that end in the chunk, in order.
            framer: the framer of their stream, after these lines.
            offset: the offset in the log after the chunk.
            chunk: the bytes of the chunk.
        """
        self._lines, self._framer, self._offset = lines, framer, offset
        self._searched = self.redactor.search_lines(chunk) if len(lines) > 1 else None
        self._begun = sum(line.segments[0][0] < offset - len(chunk) for line in lines[:1])

    def line(
        self, stream: Stream, raw: bytes, message: Message | None, number: int | None
    ) -> bytes:
        """Returns a masked line.

        Args:
            stream: the stream that the line was read from.
            raw: its bytes without the newline.
            message: the parsed line; None on stderr.
            number: the number of the line in the chunk, from 1; None if no line follows it.

        Raises:
            NotYet: later lines decide what is masked, and are not written yet.
        """
        self._place = stream, number
        searched = self._searched if number is not None and number > self._begun else None
        edits = self.redactor.line(stream, raw, self._following, message, searched)
        return apply(raw, edits) if edits else raw

    def large(self, stream: Stream, pieces: Callable[[], Iterable[bytes]]) -> Edits:
        """Returns the edits of a line that is too large to be in memory.

        Args:
            stream: the stream that the line was read from.
            pieces: returns its bytes without the newline, from the beginning at each call.
        """
        return self.redactor.large(stream, pieces)

    def alone(self, stream: Stream, raw: bytes) -> bytes:
        """Returns a masked line that no peer sent, such as one that a fault added or changed.

        Args:
            stream: the stream that the line was written to.
            raw: its bytes without the newline.
        """
        return apply(raw, self.redactor.changed(stream, raw))

    def fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns the masked fields of an event."""
        return masked_fields(self.redactor, fields)

    def _following(self) -> Iterator[bytes]:
        """Yields the lines after the latest one in its stream, without their newlines."""
        stream, number = self._place
        if number is None:
            return
        for line in self._lines[number:]:
            yield self._bytes(line)
        framer, end = self._framer.copy(), self._log.end
        for record in self._log.records(self._offset, LOOKAHEAD):
            is_of_stream = record.stream == _OF_STREAM[stream]
            if record.kind in _LAST or (record.kind == capture_log.END and is_of_stream):
                return
            if record.kind == capture_log.DATA and is_of_stream:
                for line in framer.feed(record.payload, record.offset, record.t_ns):
                    yield self._bytes(line)
        if self.waits and end - self._offset < LOOKAHEAD:
            raise NotYet

    def _bytes(self, line: Line) -> bytes:
        raw = self._log.read_segments(line.segments) if line.size <= LOOKAHEAD else b""
        return raw.removesuffix(b"\n").removesuffix(b"\r")


def load(log: LogReader, payload: bytes, *, waits: bool) -> Masking:
    """Returns a masking with a stored state, or with a new state if that cannot be read.

    Args:
        log: the log.
        payload: what `Masking.dump` returned.
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
    """Returns a masking of a log from its beginning, or None if the log is not to be masked.

    Args:
        log: the log.
        level: the value of the recorder's option ``--redact``.
        state: the key of the markers, and what is known of secrets already.
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
