"""Reads the lines of a log as they are stored: masked, and those that are too large in pieces.

What is read from a line, such as its labels, is read from the masked line.
"""

from functools import partial
from typing import NamedTuple

from acp_proxy.protocol.framing import Line
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.outline import EDGE, read_outline
from acp_proxy.protocol.peers import Stream
from acp_proxy.redaction.edits import apply_to_pieces
from acp_proxy.store import schema
from acp_proxy.store.log_reader import LogReader
from acp_proxy.store.masking import Masking
from acp_proxy.store.row_batch import LargeLine

LARGE = schema.LARGE
"""Bytes from which on a line is never held whole: its header is outlined, its BLOB copied."""

_STDERR = Stream.STDERR  # looking it up takes a while


class ReadLine(NamedTuple):
    """A line as it is stored."""

    message: Message
    newline: bytes
    body: bytes | LargeLine
    received: int | None
    """Its size in bytes as it was received, if something in it is masked."""


def read_line(
    log: LogReader,
    masking: Masking | None,
    stream: Stream,
    line: Line,
    raw: bytes | None = None,
    number: int | None = None,
) -> ReadLine:
    """Reads a line.

    Args:
        log: the log.
        masking: masks the line; None where nothing is to be masked.
        stream: where it was read.
        line: its place.
        raw: its bytes, if they are at hand.
        number: how many lines of its chunk are read with it; None if nothing follows it.

    Raises:
        NotYet: what follows the line decides what is masked in it, and is not logged yet.
    """
    if raw is None and line.size > LARGE:
        return _outlined(log, masking, stream, line)
    whole = log.read_segments(line.segments) if raw is None else raw
    newline = _newline_of(line, whole)
    held = whole[: len(whole) - len(newline)]
    message = Message(Kind.STDERR) if stream is _STDERR else read(held)
    received = None
    if masking is not None:
        masked = masking.line(stream, held, message, number)
        if masked is not held:
            received, held = len(held), masked
            message = message if stream is _STDERR else read(held)
    return ReadLine(message, newline, held, received)


def _outlined(log: LogReader, masking: Masking | None, stream: Stream, line: Line) -> ReadLine:
    """Reads the header of a line that is too large to hold from its two edges."""
    tail = log.read_range(line.segments, line.size - EDGE, EDGE)
    newline = _newline_of(line, tail)
    tail = tail[: len(tail) - len(newline)]
    size = line.size - len(newline)
    pieces = partial(log.pieces, line.segments, size)
    edits = masking.large(stream, pieces) if masking is not None else ()
    if stream is _STDERR:
        message = Message(Kind.STDERR)
    else:
        head = log.read_range(line.segments, 0, EDGE)
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
