"""Reads the text form of recordings, and makes databases from it; an error leaves no database.

The text contains only what was observed. `RowWriter` derives everything else, as it does for a
recorder's log. The memory use does not grow with the number of lines.
"""

import io
import re
import sqlite3
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from attrs import asdict, evolve

from acp_proxy.base.errors import NotARecording, UnreadableRecording
from acp_proxy.base.limits import LARGE_LINE, LINE_EDGE
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.protocol.connection_state import Handshake
from acp_proxy.protocol.dialects import DRAFT, FORMER_REASON, V1, V2
from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.protocol.outline import read_outline
from acp_proxy.recording.recording import Recording
from acp_proxy.recording.text_form.text_header import read_header
from acp_proxy.recording.text_form.text_lines import BadLine
from acp_proxy.recording.text_form.text_reader import (
    EventLine,
    FiredLine,
    FrameLine,
    LineReader,
    is_remark,
)
from acp_proxy.store.files import database
from acp_proxy.store.files.database import new_file, new_rows, place, plain_name
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_writer import RowWriter

_BATCH, _BATCH_BYTES = 4096, 4 << 20
_HEADER = re.compile(rb'\s*\{\s*"acp_proxy"\s*:')
_LONGEST_START, _MOST_REMARKS, _MOST_SEEN = 1 << 16, 10_000, 20


def is_text_form(path: Path) -> bool:
    """Whether a file begins like the text form of a recording."""
    with suppress(OSError), open_plain(path) as file:
        return _begins_with_header(file)
    return False


def is_text_head(head: bytes) -> bool:
    """Whether an input begins like the text form of a recording."""
    return _begins_with_header(io.BytesIO(head))


def _begins_with_header(file: BinaryIO) -> bool:
    for _ in range(_MOST_REMARKS):
        line = file.readline(_LONGEST_START).removeprefix(BOM_UTF8)
        if not line or not is_remark(line):
            return _HEADER.match(line) is not None
    return False


def header_of(path: Path) -> Recording:
    """Reads the header of a text form, or raises `UnreadableRecording`."""
    try:
        with open_plain(path) as source:
            lines = _TextLines(source)
            with lines.errors_located(path):
                return read_header(lines.first(), path)
    except OSError as e:
        raise UnreadableRecording(path, reason(e)) from None


def import_text_form(
    source: Iterable[bytes],
    path: Path,
    directory: Path,
    *,
    stem: str | None = None,
    name: str | None = None,
) -> Path:
    """Makes a database from the text form of a recording. Only the owner can read the database.

    Args:
        source: the lines of the text.
        path: the path of the text, for error messages.
        directory: where to create the database.
        stem: the name of the database, without ``.db``; by default the recording's own name. If the
            name is taken, the database is named ``STEM-2.db``.
        name: a new name for the recording.

    Returns:
        The path of the database.

    Raises:
        UnreadableRecording: the text has an error. No file is left.
        OSError: the text cannot be read, or the database cannot be created. No file is left.
    """
    with new_file(directory) as made:
        with closing(new_rows(made)) as connection:
            recording = read_text_form(source, path, connection, name=name)
        return place(made, directory / f"{stem or plain_name(recording.name)}.db")


def read_text_form(
    source: Iterable[bytes], path: Path, connection: sqlite3.Connection, *, name: str | None = None
) -> Recording:
    """Makes the rows of a recording from its text form; returns the recording's row.

    Args:
        source: the lines of the text.
        path: the path of the text, for error messages.
        connection: a database with our tables and no rows; unusable after a failure.
        name: a new name for the recording.

    Raises:
        UnreadableRecording: the text is not a text form, or a line has an error.
        OSError, sqlite3.Error: the text cannot be read, or the rows cannot be written.
    """
    lines = _TextLines(source)
    with lines.errors_located(path):
        recording = read_header(lines.first(), path)
        if name is not None:
            recording = evolve(recording, name=name)
        rows = RowWriter(connection, IndexerState(recording=recording), resumable=False)
        if recording.dialect in (V1, V2, DRAFT) and recording.dialect_reason != FORMER_REASON:
            rows.set_dialect(recording.dialect)
        answers = () if recording.origin is None else recording.origin.named_answers
        named = {answer.seq: answer.method for answer in answers}
        committed = 0
        for count, line in enumerate(lines.others(), 1):
            _add(rows, line, named)
            if not count % _BATCH or lines.bytes_read - committed > _BATCH_BYTES:
                rows.commit()
                committed = lines.bytes_read
        recording = completed(recording, rows.conversation.state.handshake)
        rows.finish(recording)
    return recording


def completed(recording: Recording, handshake: Handshake) -> Recording:
    """Adds the dialect and the names of the peers to a recording's row if they are missing.

    Args:
        recording: the row of the recording.
        handshake: the facts that the frames contain about the dialect and the peers.
    """
    facts = {name: value for name, value in asdict(handshake).items() if value is not None}
    dialect = {name: facts.pop(name) for name in ("dialect", "dialect_reason") if name in facts}
    if recording.dialect is None or recording.dialect_reason == FORMER_REASON:
        recording = evolve(recording, **dialect)
    return evolve(recording, **{k: v for k, v in facts.items() if getattr(recording, k) is None})


class _TextLines:
    """The lines of a text form while they are read."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self.bytes_read = 0
        self._source = iter(source)
        self._number = 0
        self._has_begun = False
        self._first = b""

    def first(self) -> bytes:
        """Returns the first line that is not a remark."""
        for line in self._source:
            self._number += 1
            self.bytes_read += len(line)
            text = line.removeprefix(BOM_UTF8) if self._number == 1 else line
            if not is_remark(text):
                self._has_begun = _HEADER.match(text) is not None
                self._first = line
                if text.startswith(database.MAGIC):
                    raise BadLine(
                        "expected the text form of a recording, got a database;"
                        " `acp-proxy show FILE` reads a database"
                    )
                return text
        raise BadLine("expected a header, got the end of the file")

    def others(self) -> Iterator[FrameLine | EventLine | FiredLine]:
        """Yields the lines after the header, decoded."""
        read_line = LineReader().read
        for line in self._source:
            self._number += 1
            self.bytes_read += len(line)
            if not is_remark(line):
                yield read_line(line)

    def _import_hint(self, path: Path) -> str:
        """Returns a hint for the error message if the text is another tool's log, otherwise ""."""
        from acp_proxy.imports.log_formats import import_hint

        if self._first.startswith(database.MAGIC):
            return ""
        named = str(path) if path.is_file() else "-"
        return import_hint(b"".join([self._first, *islice(self._source, _MOST_SEEN)]), named)

    @contextmanager
    def errors_located(self, path: Path) -> Iterator[None]:
        """Adds the path of the file and the number of the line to an error."""
        try:
            yield
        except BadLine as e:
            where = f"line {max(1, self._number)}: {e}"
            if self._has_begun:
                raise UnreadableRecording(path, where) from None
            raise NotARecording(path, self._import_hint(path).removeprefix("; ") or where) from None
        except OverflowError:
            problem = f"line {self._number}: its time is too far from those of other lines"
            raise UnreadableRecording(path, problem) from None


def _add(
    rows: RowWriter, line: FrameLine | EventLine | FiredLine, named: Mapping[int, str]
) -> None:
    if isinstance(line, FrameLine):
        seq, t_ns, lag_ns, stream, raw, newline, delivered, fault, masked = line
        rows.state.next_seq = seq
        message = message_of(stream, raw, newline)
        rows.add_frame(
            stream,
            message,
            newline,
            t_ns,
            lag_ns,
            raw,
            delivered,
            fault,
            masked=masked,
            answered=named.get(seq),
        )
    elif isinstance(line, EventLine):
        rows.state.next_seq = line.seq
        rows.add_event(line.kind, line.t_ns, line.data)
    else:
        rows.add_fired(*line)


def message_of(stream: Stream, raw: bytes, newline: bytes) -> Message:
    """Reads the labels of a line; of a large line, reads only the first and the last bytes.

    Args:
        stream: the stream of the line.
        raw: the line.
        newline: the line ending.
    """
    if stream is Stream.STDERR:
        return Message(Kind.STDERR)
    size = len(raw) + len(newline)
    if size <= LARGE_LINE:
        return read(raw)
    return read_outline((raw[:LINE_EDGE] + newline)[:LINE_EDGE], raw[max(0, size - LINE_EDGE) :])
