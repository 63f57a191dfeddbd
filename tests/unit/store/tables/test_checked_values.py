"""A reader keeps only a part of a large value in memory, and says if it cut or refused one."""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import LABEL, LINE_EDGE, WHOLE_VALUE
from acp_proxy.explain.log.frame_json import large_frame_json
from acp_proxy.recording.filters import parse
from acp_proxy.recording.log_format import MAX_PAYLOAD, TO_CLIENT
from acp_proxy.recording.text_form.text_lines import large_member
from acp_proxy.store.copies.text_export import write_parts, write_text_form
from acp_proxy.store.log import log_recovery
from acp_proxy.store.queries import recorded_steps
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import is_excerpt
from tests.support.command_line import complaint, run
from tests.support.log_writer import (
    LogWriter,
    line,
    notification,
    record_conversation,
    write_conversation,
)

if TYPE_CHECKING:
    from pathlib import Path

SEQ = 7
"""A chunk of the agent's message in the story."""
MUCH = 5_000_000


def change(path: Path, sql: str, *parameters: object) -> Path:
    """Changes a recording as no recorder would."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(sql, parameters)
        connection.commit()
    return path


@pytest.fixture(scope="module")
def long_line() -> bytes:
    """A line that readers do not keep in memory as a whole."""
    more = "x" * (WHOLE_VALUE + 5000)
    message = notification("session/update", sessionId="s-1", text="é\x7f" * 10, more=more)
    return line(message).removesuffix(b"\n")


@pytest.fixture
def large(tmp_path: Path, long_line: bytes) -> Path:
    """A recording with a line that readers do not keep in memory as a whole."""
    path = record_conversation(tmp_path / "x.db")
    return change(path, "UPDATE frame_rows SET raw = ? WHERE seq = ?", long_line, SEQ)


def test_a_large_line_is_an_excerpt_among_rows(large: Path, long_line: bytes) -> None:
    """`RecordingReader.frames` returns only the beginning of a very large line."""
    with RecordingReader(large) as reader:
        (row,) = (row for row in reader.frames() if row["seq"] == SEQ)
        assert row["raw"] == long_line[:LINE_EDGE]
        assert row["size"] == len(long_line)
        assert [row["seq"] for row in reader.frames() if is_excerpt(row)] == [SEQ]
        sql = "SELECT raw, size FROM frames WHERE seq = ?"
        assert list(reader.query(sql, (SEQ,))) == [
            {"raw": long_line[:LINE_EDGE], "size": len(long_line)}
        ]
        assert b"".join(reader.pieces(SEQ)) == long_line


def test_the_text_form_has_all_of_it(large: Path, long_line: bytes) -> None:
    """`export` and `import` keep a very large line unchanged."""
    with RecordingReader(large) as reader:
        lines = list(write_text_form(reader))
        assert b"".join(write_parts(reader)) == b"".join(lines)
        (long,) = (json.loads(text) for text in lines if len(text) > WHOLE_VALUE)
        assert long["text"].encode() == long_line
        assert b"\x7f" not in b"".join(lines)
        with RecordingReader(large, lines) as again:
            assert b"".join(again.pieces(SEQ)) == long_line
            assert list(again.heads()) == list(reader.heads())


def test_an_export_holds_little(large: Path) -> None:
    """The memory that `export` needs does not grow with the size of a line."""
    change(large, "UPDATE frame_rows SET raw = ? WHERE seq = ?", b"x" * (3 * WHOLE_VALUE), SEQ)
    with RecordingReader(large) as reader:
        next(reader.frames())
        tracemalloc.start()
        try:
            total = sum(len(part) for part in write_parts(reader))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert total > 3 * WHOLE_VALUE
    assert peak < WHOLE_VALUE


def test_the_commands_report_what_they_cut(large: Path, long_line: bytes) -> None:
    """`log` reports that it cuts a line of 16.8 MB; `log --raw` and `export` print all of it."""
    shown = run("inspect", "log", large, f"seq:{SEQ}").stdout
    assert "[the first 64 kB of 16.8 MB]" in shown
    whole = run("inspect", "log", large, "--seq", str(SEQ)).stdout
    assert "… cut: the line has 16.8 MB; --raw prints it" in whole
    assert len(whole) < 2 * LINE_EDGE
    assert run("inspect", "log", large, f"seq:{SEQ}", "--raw").stdout_bytes == long_line + b"\n"
    assert run("inspect", "export", large, f"seq:{SEQ}", "--format", "raw").stdout_bytes == (
        long_line + b"\n"
    )
    printed = json.loads(run("inspect", "log", large, f"seq:{SEQ}", "--json").stdout)
    assert printed["size"] == len(long_line)
    assert printed["text"].encode() == long_line
    for command in ("show", "stats"):
        assert run("inspect", command, large).exit_code == 0
    assert "equal: 16 frames" in run("inspect", "diff", large, large).stdout


def test_a_filter_does_not_judge_by_an_excerpt(large: Path) -> None:
    """`log text:WORD` fails if a line of 16.8 MB would have to be searched, and names its frame."""
    assert "frame 7 has 16782" in complaint("inspect", "log", large, "text:nothing")
    assert run("inspect", "log", large, "size:<16M text:nothing").exit_code == 0
    with RecordingReader(large) as reader:
        assert [row["seq"] for row in reader.frames(parse("size:>16M"))] == [SEQ]


def test_a_line_that_is_not_utf_8_comes_back(tmp_path: Path) -> None:
    """`export` writes a large line that is not UTF-8 as one Base64 text."""
    content = bytes(range(256)) * 7 + b"\xc3"
    pieces = [content[n : n + 100] for n in range(0, len(content), 100)]
    written = json.loads(b"{" + b"".join(large_member(lambda: pieces)) + b"}")
    assert list(written) == ["base64"]
    path = record_conversation(tmp_path / "x.db")
    change(path, "UPDATE frame_rows SET raw = ? || zeroblob(0) WHERE seq = 13", b"\xff" * 8)
    change(path, "UPDATE frame_rows SET raw = CAST(raw AS BLOB)")
    with RecordingReader(path) as reader:
        row = next(reader.frames(parse("seq:13")))
        printed = b"".join(large_frame_json(row, lambda: reader.pieces(13)))
        assert json.loads(printed)["base64"] == "//////////8="


def test_a_large_line_is_played_whole(
    large: Path, long_line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`replay` sends every byte of a line of megabytes, but refuses a line above a limit."""
    with RecordingReader(large) as reader:
        assert RecordedSteps(reader).wire(SEQ).raw == long_line
        assert RecordedSteps(reader).wire(SEQ - 1).raw != long_line
        monkeypatch.setattr(recorded_steps, "PLAYED_LINE", WHOLE_VALUE)
        with pytest.raises(UnreadableRecording, match=f"frame 7 has {len(long_line)} bytes"):
            RecordedSteps(reader).wire(SEQ)


def test_a_large_line_in_a_log_is_read_the_same(
    tmp_path: Path, long_line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If only the capture log has a line of 16.8 MB, the reader's rows have its beginning."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
        recorder.index()
        for start in range(0, len(long_line), MAX_PAYLOAD):
            recorder.chunk(TO_CLIENT, long_line[start : start + MAX_PAYLOAD])
        recorder.chunk(TO_CLIENT, b"\n")
    monkeypatch.setattr(log_recovery, "finish", refuse)
    with RecordingReader(recorder.path) as reader:
        (row,) = (row for row in reader.frames() if is_excerpt(row))
        assert row["raw"] == long_line[:LINE_EDGE]
        sql = "SELECT raw, size FROM frames WHERE seq = ?"
        selected = list(reader.query(sql, (row["seq"],)))
        assert selected == [{"raw": long_line[:LINE_EDGE], "size": len(long_line)}]
        assert b"".join(reader.pieces(row["seq"])) == long_line
        assert RecordedSteps(reader).wire(row["seq"]).raw == long_line
        assert sum(map(len, write_parts(reader))) > len(long_line)


def read_all(path: Path) -> None:
    """Reads all rows of a recording one by one."""
    with RecordingReader(path) as reader:
        assert reader.recording
        for row in reader.rows():
            assert row


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE recording SET name = replace(hex(zeroblob(?)), '0', 'x')",
        "UPDATE recording SET note = replace(hex(zeroblob(?)), '0', 'x')",
        "UPDATE labels SET text = replace(hex(zeroblob(?)), '0', 'x') WHERE id = 2",
        "UPDATE labels SET text = zeroblob(?) WHERE id = 2",
        "UPDATE events SET data = '{\"x\":\"' || hex(zeroblob(4 * ?)) || '\"}' WHERE seq = 1",
        "UPDATE frame_rows SET rpc_id = hex(zeroblob(4 * ?)) WHERE seq = 6",
    ],
)
def test_a_value_that_no_recorder_writes_is_refused(tmp_path: Path, sql: str) -> None:
    """A command refuses a database if a value that should be small, such as a name, is huge."""
    path = change(record_conversation(tmp_path / "x.db"), sql, MUCH)
    assert MUCH > LABEL
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableRecording, match="a value in it is larger than 16 MiB"):
            read_all(path)
        assert tracemalloc.get_traced_memory()[1] < MUCH
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "change_of",
    ["seed = 'x'", "seed = x'01'", "agent_name = x'ff'", "exit_code = 1.5", "id = x'01'"],
)
def test_a_recording_of_other_types_is_damaged(tmp_path: Path, change_of: str) -> None:
    """`show` and `export` refuse a database whose table `recording` has a value of a wrong type."""
    path = change(record_conversation(tmp_path / "x.db"), f"UPDATE recording SET {change_of}")
    for command in ("show", "export"):
        assert "it does not say what was recorded" in complaint("inspect", command, path)
