"""Rows and plain updates together are all rows, with the same values."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.errors import UnreadableRecording
from acp_proxy.store.plain_updates import LARGEST, PlainUpdate
from acp_proxy.store.reader import RecordingReader
from tests.captures import all_text_forms
from tests.log_writer import LogWriter, text, update
from tests.shipped import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path


def chunk(words: str) -> dict[str, object]:
    """A piece of a message."""
    return update("s", "agent_message_chunk", content=text(words))


def check(reader: RecordingReader) -> int:
    """Compares with all rows, and returns how many plain updates there are."""
    both = [*reader.rows_and_updates()]
    rows = [row.row() if isinstance(row, PlainUpdate) else row for row in both]
    assert rows == [*reader.rows()]
    return sum(isinstance(row, PlainUpdate) for row in both)


@pytest.mark.parametrize("path", [*SHIPPED, *all_text_forms()], ids=lambda path: path.stem)
def test_they_are_all_rows(path: Path) -> None:
    """Of every recording, masked or not."""
    with RecordingReader(path) as reader, RecordingReader(path, unredacted=True) as bare:
        assert check(reader) == check(bare)


def test_only_what_is_as_it_was_sent_is_plain(tmp_path: Path) -> None:
    """No tool call, no line without an end, nothing large; also in a log that is not indexed."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(chunk("a"), update("s", "tool_call", toolCallId="c", title="t"))
        recorder.index()
        recorder.to_client(chunk("the key is sk-ant-api03-" + "Ab9" * 30), chunk("word " * LARGEST))
        recorder.chunk(2, b'{"jsonrpc":"2.0","method":"session/update","params":{}}\r\n{"x')
        recorder.to_agent(chunk("c"))
        with RecordingReader(recorder.path) as reader:
            assert check(reader) == 2
            assert reader.live
    with RecordingReader(recorder.path) as reader:
        assert check(reader) == 2


@pytest.mark.parametrize("spoil", ["t_ns = 'x'", "raw = 'text'", "session = 99", "turn = 'x'"])
def test_wrong_values_are_damage(tmp_path: Path, spoil: str) -> None:
    """As everywhere in a recording."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(chunk("a"))
        recorder.close()
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        connection.execute(f"UPDATE frame_rows SET {spoil}")
        connection.commit()
    with (
        RecordingReader(recorder.path, unredacted=True) as reader,
        pytest.raises(UnreadableRecording),
    ):
        list(reader.rows_and_updates())
