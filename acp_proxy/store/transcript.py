"""Turns recordings into their text form and back, a line at a time.

Only what was observed is written. What follows from it, which frames are an exchange or a turn, is
found out again by the machine that found it for the recording (`RowWriter`), so the rows are the
same. Memory is flat either way, however many lines there are.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve

from acp_proxy.errors import DamagedRecording, NewerRecording, NotARecording, UnreadableRecording
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.plain_files import open_plain, reason
from acp_proxy.protocol import outline
from acp_proxy.protocol.correlation import FORCED, Handshake
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Stream
from acp_proxy.store import indexer
from acp_proxy.store.held_values import is_excerpt
from acp_proxy.store.indexer_state import Memory
from acp_proxy.store.row_writer import RowWriter
from acp_proxy.transcript.header import FORMAT, NewerFormat, read_header, write_header
from acp_proxy.transcript.reader import (
    EventLine,
    FiredLine,
    FrameLine,
    LineReader,
    is_remark,
)
from acp_proxy.transcript.values import BadLine
from acp_proxy.transcript.writer import LineWriter

if TYPE_CHECKING:
    from acp_proxy.recording import Recording
    from acp_proxy.store.reader import RecordingReader

_BATCH, _BATCH_BYTES = 4096, 4 << 20
_HEADER = re.compile(rb'\s*\{\s*"acp_proxy"\s*:')
_SQLITE = b"SQLite format 3\0"
_MARK = b"\xef\xbb\xbf"  # some editors begin a file with it
_LONGEST_START, _MOST_REMARKS = 1 << 16, 10_000
_NEVER = 1 << 63  # beyond every number of a frame


def is_transcript(path: Path) -> bool:
    """Whether a file is the text form of a recording, by how it begins."""
    with suppress(OSError), open_plain(path) as file:
        for _ in range(_MOST_REMARKS):
            line = file.readline(_LONGEST_START).removeprefix(_MARK)
            if not line or not is_remark(line):
                return _HEADER.match(line) is not None
    return False


def header_of(path: Path) -> "Recording":
    """Reads what the header of a text form says, and nothing more.

    Raises:
        UnreadableRecording: it cannot be read.
    """
    try:
        with open_plain(path) as source:
            lines = _Lines(source)
            with lines.blamed(path):
                return read_header(lines.first())
    except OSError as e:
        raise UnreadableRecording(path, reason(e)) from None


def write_transcript(reader: "RecordingReader", chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields the lines of a recording's text form, each with its newline.

    A filter leaves lines out; those that stay keep their times and their numbers.

    Raises:
        UnreadableRecording: the recording cannot be read.
    """
    line: list[bytes] = []
    for part in write_parts(reader, chosen):
        line.append(part)
        if part.endswith(b"\n"):
            yield b"".join(line)
            line.clear()


def write_parts(reader: "RecordingReader", chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields the text form as `write_transcript` does, a line that is very large in parts.

    Raises:
        UnreadableRecording: the recording cannot be read.
    """
    yield write_header(reader.recording)
    write = LineWriter()
    fired = _Fired(reader, whole=chosen is EVERYTHING)
    try:
        for row in reader.rows(chosen):
            seq = row["seq"]
            if fired.next_seq < seq:
                yield from map(write.fired, fired.before(seq))
            if "raw" in row and is_excerpt(row):
                yield from write.large(row, partial(reader.pieces, seq))
            else:
                yield write.frame(row) if "raw" in row else write.event(row)
            if fired.next_seq == seq:
                yield from map(write.fired, fired.at(seq))
        yield from map(write.fired, fired.before(_NEVER))
    except (ValueError, TypeError, KeyError) as e:
        raise DamagedRecording(reader.path, str(e)) from None


class _Fired:
    """The faults that fired in a recording, in the order of the frames at which they did.

    Attributes:
        next_seq: the frame of the next one.
    """

    def __init__(self, reader: "RecordingReader", *, whole: bool) -> None:
        columns = "seq, rule, action, received, delivered"
        self._rows = reader.query(f"SELECT {columns} FROM faults_fired ORDER BY seq, rowid")
        self._whole = whole
        self._advance()

    def at(self, seq: int) -> Iterator[dict[str, Any]]:
        """Yields those of a frame that is kept."""
        while self.next_seq == seq and self._row is not None:
            yield self._row
            self._advance()

    def before(self, seq: int) -> Iterator[dict[str, Any]]:
        """Passes over those of frames that are not kept; yields them if nothing is left out."""
        while self.next_seq < seq and self._row is not None:
            if self._whole:
                yield self._row
            self._advance()

    def _advance(self) -> None:
        self._row = next(self._rows, None)
        self.next_seq = _NEVER if self._row is None else self._row["seq"]


def read_transcript(
    source: Iterable[bytes],
    path: Path,
    connection: sqlite3.Connection,
    *,
    name: str | None = None,
) -> "Recording":
    """Makes the rows of a recording from its text form.

    Args:
        source: the lines of the text, such as a file gives them.
        path: where it comes from, for complaints.
        connection: a database with our tables and no rows; nobody should use it after a failure.
        name: a name for the recording in place of the one it has.

    Returns:
        The recording's row.

    Raises:
        UnreadableRecording: it is no text form, or a line is wrong; says which.
        OSError: it cannot be read.
        sqlite3.Error: the rows cannot be written.
    """
    lines = _Lines(source)
    with lines.blamed(path):
        recording = read_header(lines.first())
        if name is not None:
            recording = evolve(recording, name=name)
        rows = RowWriter(connection, Memory(recording=recording), resumable=False)
        is_ours = recording.dialect_reason is not None and recording.dialect_reason != FORCED
        if recording.dialect in (V1, V2, DRAFT) and not is_ours:
            rows.speak(recording.dialect)
        committed = 0
        for count, line in enumerate(lines.others(), 1):
            _add(rows, line)
            if not count % _BATCH or lines.bytes_read - committed > _BATCH_BYTES:
                rows.commit()
                committed = lines.bytes_read
        recording = _completed(recording, rows.correlator.state.handshake)
        rows.memory.recording = recording
        rows.commit()
    return recording


def _completed(recording: "Recording", handshake: Handshake) -> "Recording":
    """Adds what a header leaves out of the dialect and the peers' names, as the frames tell it."""
    said = asdict(handshake)
    if recording.dialect is not None:
        del said["dialect"], said["dialect_reason"]
    return evolve(recording, **{k: v for k, v in said.items() if getattr(recording, k) is None})


class _Lines:
    """The lines of a text form while they are read.

    Attributes:
        bytes_read: how far it has come.
    """

    def __init__(self, source: Iterable[bytes]) -> None:
        self.bytes_read = 0
        self._source = iter(source)
        self._number = 0
        self._has_begun = False

    def first(self) -> bytes:
        """Returns the first line that is no remark.

        Raises:
            BadLine: there is none.
        """
        for line in self._source:
            self._number += 1
            self.bytes_read += len(line)
            text = line.removeprefix(_MARK) if self._number == 1 else line
            if not is_remark(text):
                self._has_begun = _HEADER.match(text) is not None
                if text.startswith(_SQLITE):
                    raise BadLine("expected the text form of a recording, got a database")
                return text
        raise BadLine("expected a header, got the end of the file")

    def others(self) -> Iterator[FrameLine | EventLine | FiredLine]:
        """Yields what the lines after the header say.

        Raises:
            BadLine: see `LineReader.read`.
        """
        read_line = LineReader().read
        for line in self._source:
            self._number += 1
            self.bytes_read += len(line)
            if not is_remark(line):
                yield read_line(line)

    @contextmanager
    def blamed(self, path: Path) -> Iterator[None]:
        """Says of what goes wrong in which line of ``path`` it did."""
        try:
            yield
        except NewerFormat as e:
            raise NewerRecording(path, e.version, FORMAT) from None
        except BadLine as e:
            kind = UnreadableRecording if self._has_begun else NotARecording
            raise kind(path, f"line {max(1, self._number)}: {e}") from None
        except OverflowError:
            problem = f"line {self._number}: its time is too far from the others"
            raise UnreadableRecording(path, problem) from None


def _add(rows: RowWriter, line: FrameLine | EventLine | FiredLine) -> None:
    if isinstance(line, FrameLine):
        seq, t_ns, lag_ns, stream, raw, newline, delivered, fault, masked = line
        rows.memory.next_seq = seq
        message = _message(stream, raw, newline)
        rows.add_frame(stream, message, newline, t_ns, lag_ns, raw, delivered, fault, masked=masked)
    elif isinstance(line, EventLine):
        rows.memory.next_seq = line.seq
        rows.add_event(line.kind, line.t_ns, line.data)
    else:
        rows.add_fired(tuple(line))


def _message(stream: Stream, raw: bytes, newline: bytes) -> Message:
    """Reads a line as the indexer does, by its edges where it is large."""
    if stream is Stream.STDERR:
        return Message(Kind.STDERR)
    size = len(raw) + len(newline)
    if size <= indexer.LARGE:
        return read(raw)
    edge = outline.EDGE
    return outline.read_outline((raw[:edge] + newline)[:edge], raw[max(0, size - edge) :])
