"""The export of any recording as text is imported again as the same rows."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.recording.log_format import END, GAP, SIGNAL, UNDELIVERED
from acp_proxy.recording.recording import Recording
from acp_proxy.recording.text_form.text_lines import (
    event_data,
    milliseconds,
    nanoseconds,
    read_event_data,
)
from acp_proxy.store.copies import text_import
from acp_proxy.store.files import database
from acp_proxy.store.indexing import line_masking
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_writer import RowWriter
from tests.property.test_indexer import conversations
from tests.support.log_writer import STARTED_AT, LogWriter
from tests.support.strategies import broken_lines, json_values, lines
from tests.support.text_recordings import assert_comes_back

if TYPE_CHECKING:
    from collections.abc import Iterator

ODD = [
    b"", b" ", b"\r", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"{", b"null", b"1.0", b"{}", b"[]",
    b'{"id":-0,"method":"x"}', b'{"id":1.0,"method":"x"}', b'{"id":1e5,"method":"x"}',
    b'{"id":9007199254740993,"method":"x"}', b'{"id":123456789012345678901234567890,"result":1}',
    b'{"id":1,"id":2,"method":"x"}', b'{"method":"\\ud800"}', b'{"method":"\\ud83d\\ude00"}',
    b'{"id": 7, "method": "session/prompt", "params": {"sessionId": "\\u00e9"}}',
    b'{"id":7,"result":{"stopReason":"end_turn","x":[0.1,-2.5e-7,1E400]}}',
    b'[{"id":7,"result":{}},{"id":8,"method":"x"}]', b"[1,[2]]", b'{"a":NaN,"method":"x"}',
    '{"method":"\u2028\x85\u202e\x7f\U000e0041"}'.encode(), b'{"method":"<\\u003c\\u2028>"}',
    b'{"method":"a\\/b"}', b"[" * 200 + b"]" * 200, b"[" * 3000 + b"]" * 3000,
    b'{"method":"x","params":' + b'{"a":' * 130 + b"1" + b"}" * 131, b"\xef\xbb\xbf{}",
    b'{"method":"\x01"}', b'{"method":"\\u0000\\u001F\\b"}', b"# no remark", b"acp_proxy",
]  # fmt: skip
one_line = (
    st.sampled_from(ODD) | lines() | broken_lines() | st.binary(max_size=30)
).map(lambda line: line.replace(b"\n", b""))  # fmt: skip
streams = st.integers(1, 3)
happenings = st.lists(
    st.tuples(st.just("chunk"), streams, one_line.map(lambda line: line + b"\n"))
    | st.tuples(st.just("chunk"), streams, one_line)
    | st.tuples(st.just("wait"), st.integers(0, 10**16), st.none())
    | st.tuples(st.sampled_from([END, GAP, UNDELIVERED, SIGNAL]), streams, st.integers(0, 200)),
    max_size=14,
)


@contextlib.contextmanager
def recorded(happened: list[tuple[Any, int, Any]], closed: bool, dialect: str) -> Iterator[Path]:
    """Yields a recording of drawn chunks and events."""
    names = ("", *Stream)
    with TemporaryDirectory() as directory:
        with LogWriter(Path(directory, "x.db"), dialect=dialect) as recorder:
            for what, where, detail in happened:
                if what == "wait":
                    recorder.t_ns += where
                elif what == "chunk":
                    recorder.chunk(where, detail)
                elif what == GAP:
                    recorder.event(GAP, reason="full", since=2**60 + detail, **{names[where]: 9})
                elif what == SIGNAL:
                    recorder.event(SIGNAL, signal=detail, action="é\udcff")
                else:
                    recorder.event(what, where, bytes=detail, reason="\x9b")
            if closed:
                recorder.close()
            recorder.finish()
        yield Path(directory, "x.db")


@given(happenings, st.booleans(), st.sampled_from(["auto", "v1", "v2", "draft-1.0"]))
def test_a_recording_comes_back_from_its_text(
    happened: list[tuple[Any, int, Any]], closed: bool, dialect: str
) -> None:
    """A recording of any bytes is the same after an export as text and an import."""
    with recorded(happened, closed, dialect) as path:
        assert_comes_back(path)


@given(conversations(), st.integers(4, 60))
def test_large_lines_come_back(chunks: list[tuple[int, bytes]], large: int) -> None:
    """A line too large for memory is the same after an export as text and an import."""
    pieces = [
        ("chunk", stream, chunk[start : start + large])
        for stream, chunk in chunks
        for start in range(0, len(chunk), large)
    ]
    with (
        mock.patch.multiple(line_masking, LARGE_LINE=large, LINE_EDGE=large),
        mock.patch.multiple(text_import, LARGE_LINE=large, LINE_EDGE=large),
        recorded(pieces, True, "auto") as path,
    ):
        assert_comes_back(path)


numbers = st.integers(-(2**62), 2**62) | st.integers(-(10**15) - 5, 10**15 + 5)
bytes_or_none = st.none() | st.binary(max_size=9) | st.sampled_from(["é".encode(), b"\xe9"])
texts = st.none() | st.text(st.characters(codec="utf-8"), max_size=9)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "seq": st.integers(1, 9),
            "stream": st.sampled_from(list(Stream)),
            "raw": one_line,
            "newline": st.sampled_from([b"", b"\n", b"\r\n"]),
            "t_ns": st.integers(-(10**12), 10**12),
            "lag_ns": numbers,
            "delivered": st.sampled_from(["full", "partial", "none"]),
            "fault": texts,
            "masked": st.booleans(),
            "fired": st.lists(st.tuples(texts, texts, bytes_or_none, bytes_or_none), max_size=2),
        }
    ),
    max_size=6,
)


@given(rows, st.integers(-(2**63), 2**63 - 1), texts)
def test_every_column_comes_back(frames: list[dict[str, Any]], seed: int, note: str | None) -> None:
    """A recording with notes and faults is the same after an export as text and an import."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "x.db")
        recording = Recording("c0ffee", "x", "0.1.0", STARTED_AT, state="complete", seed=seed)
        recording = evolve(recording, note=note, end_reason=note, command='["a", "\\ud800"]',
                           dialect="v1", dialect_reason="given")  # fmt: skip
        with contextlib.closing(database.create(path)) as connection:
            write = RowWriter(connection, IndexerState(recording=recording), resumable=False)
            write.set_dialect("v1")
            for frame in frames:
                add(write, dict(frame))
            write.commit()
            database.close(connection)
        assert_comes_back(path)


def add(write: RowWriter, frame: dict[str, Any]) -> None:
    """Adds a frame and the faults that fired at it to the rows, and skips a frame number."""
    write.state.next_seq += frame.pop("seq") - 1
    seq, fired = write.state.next_seq, frame.pop("fired")
    stderr = frame["stream"] is Stream.STDERR
    message = Message(Kind.STDERR) if stderr else read(frame["raw"])
    write.add_frame(message=message, **frame)
    for values in fired:
        write.add_fired(seq, *values)


@given(numbers)
def test_milliseconds_are_exact(ns: int) -> None:
    """A time in ns is the same after it was written to the text form in ms and read back."""
    text = milliseconds(ns)
    assert nanoseconds("after_ms", json.loads(text)) == ns
    assert text.startswith(b'"') == (abs(ns) >= 10**15)


@given(st.dictionaries(st.sampled_from(["wall", "bytes", "x", "é"]), json_values, max_size=3))
def test_the_data_of_events_come_back(data: dict[str, Any]) -> None:
    """The data of an event are the same after they were written to the text form and read back."""
    for text in (
        json.dumps(data),
        json.dumps(data, indent=1),
        json.dumps(data, ensure_ascii=False),
    ):
        assert read_event_data(event_data(text)) == text
