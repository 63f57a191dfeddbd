"""Fuzzes the text form: each text is read or refused, and exported rows are imported again."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, evolve

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.wording import visible_json
from acp_proxy.imports import log_formats  # noqa: F401  an error imports it, in too many steps
from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.recording.recording import Recording
from acp_proxy.recording.text_form.text_lines import find_style, spell
from acp_proxy.store import rows
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.copies.text_import import read_text_form
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_writer import RowWriter
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.views import make_views
from tests.fuzz import seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target
from tests.support.indexed_rows import new_database
from tests.support.text_recordings import HEADER, Rows, rows_of, spelled_anew

if TYPE_CHECKING:
    import sqlite3

_NAME = Path("x.jsonl")
_COMPLAINT = re.compile(r"line \d+: |has format -?\d+")
_DELIVERED = ("full", "partial", "none")
_NEWLINES = (b"\n", b"\r\n", b"")


def check(data: bytes) -> None:
    """Reads a text form, or writes and reads rows; the first byte decides which."""
    source = ByteSource(data)
    match source.number(3):
        case 0:
            _check_text(source.rest())
        case 1:
            _check_text(HEADER + source.rest())
        case 2:
            _check_line(source.rest().replace(b"\n", b""))
        case _:
            _check_rows(source)


def _check_text(text: bytes) -> None:
    """Checks that a text form is refused with a line number, or can be exported and read."""
    try:
        rows = _rows_of_text(text)
    except UnreadableRecording as e:
        assert _COMPLAINT.search(str(e)), e
        assert "\n" not in str(e)
        return
    _check_comes_back(rows, _written(text))


def _check_line(line: bytes) -> None:
    """Checks that a line in a known style is read unchanged from the text form."""
    if (styled := find_style(line)) is not None:
        message, style = styled
        assert spell(message, style) == spell(visible_json(message), style) == line


def _check_rows(source: ByteSource) -> None:
    """Checks that rows with any values are the same after export and import."""
    with new_database() as connection:
        recording = Recording("c0ffee", "x", "0.1.0", "2025-06-15T15:06:40Z", state="complete")
        rows = RowWriter(connection, IndexerState(recording=recording), resumable=False)
        while source:
            _add(rows, source)
        handshake = asdict(rows.conversation.state.handshake)  # optional in a header
        rows.state.recording = evolve(recording, **handshake)
        rows.commit()
        before = rows_of(connection)
        text = b"".join(write_text_form(reader_of(connection)))
    _check_comes_back(before, text)


def _add(rows: RowWriter, source: ByteSource) -> None:
    """Adds a frame to the rows, perhaps with a fault that fired, and skips a frame number."""
    rows.state.next_seq += source.number(3)
    seq, stream = rows.state.next_seq, source.choice([*Stream])
    t_ns = int.from_bytes(source.short(7), "little", signed=True)
    lag_ns = source.number(1 << 32)
    newline, delivered = source.choice(_NEWLINES), source.choice(_DELIVERED)
    fault = source.choice((None, "rule", source.short(7).decode(errors="replace")))
    fired = source.choice((None, source.short(7)))
    raw = source.short(1 << 9).replace(b"\n", b"")
    message = Message(Kind.STDERR) if stream is Stream.STDERR else read(raw)
    rows.add_frame(stream, message, newline, t_ns, lag_ns, raw, delivered, fault, masked=t_ns == 1)
    if fired is not None:
        late_ns = source.choice((None, 0, lag_ns))
        rows.add_fired(seq, fault, None, fired, source.choice((None, raw)), late_ns)


def _check_comes_back(rows: Rows, text: bytes) -> None:
    assert _rows_of_text(text) == rows
    assert _rows_of_text(spelled_anew(text, ascii_only=False)) == rows
    assert _written(text) == text


def _rows_of_text(text: bytes) -> Rows:
    with new_database() as connection:
        read_text_form(io.BytesIO(text), _NAME, connection)
        return rows_of(connection)


def _written(text: bytes) -> bytes:
    with RecordingReader(_NAME, io.BytesIO(text), unredacted=True) as reader:
        return b"".join(write_text_form(reader))


def reader_of(connection: sqlite3.Connection) -> rows.Rows:
    """Returns a reader of rows in memory."""
    reader = rows.Rows()
    reader.path, reader.connection = _NAME, connection
    reader.tables = make_views(connection, tail=False)
    return reader


def _seeds() -> list[bytes]:
    texts = [b"\0" + text[:4000].rpartition(b"\n")[0] + b"\n" for text in seeds.texts()]
    bodies = [b"\1" + b"\n".join(text.split(b"\n")[1:8]) for text in seeds.texts()]
    row = b"\0\0\1\5\0\0\0\0\0\0\0\0\0"
    rows = [b"\3" + row + len(raw).to_bytes(2, "little") + raw for raw in _short_lines()]
    return texts + bodies + rows + [b"\2" + line for line in seeds.lines()]


def _short_lines() -> list[bytes]:
    return [line for line in seeds.lines() if len(line) < 400]


WORDS = (b'"after_ms":', b'"seq":', b'"stream":"to-agent"', b'"stream":"stderr"', b'"lag_ms":',
         b'"newline":"\\r\\n"', b'"newline":""', b'"delivered":"none"', b'"fault":',
         b'"masked":true', b'"style":"spaced-ascii"', b'"style":"html"', b'"message":', b'"text":',
         b'"base64":"AAA="', b'"event":"exit"', b'"data":{', b'"fired":{"rule":',
         b'"received_base64":', b'# remark\n', b'\xef\xbb\xbf', b'"acp_proxy":1,', b'"recording":{',
         b'"command":[', b'"started_at":"', b'9007199254740993', b'1e-7', b'\\u2028',
         b'\x7f')  # fmt: skip
TARGET = Target("text_form", check, _seeds, WORDS, steps=60_000, steps_per_byte=1500)
