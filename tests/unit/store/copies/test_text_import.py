"""Tests which changes of a text form by a person are accepted, and which texts are refused."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.errors import (
    DamagedRecording,
    NewerRecording,
    NotARecording,
    UnreadableRecording,
)
from acp_proxy.recording.text_form.text_lines import Style, event_data, read_event_data
from acp_proxy.recording.text_form.text_reader import _Fired, _Line
from acp_proxy.store.copies.text_import import header_of, is_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import record_conversation
from tests.support.text_recordings import (
    HEADER,
    rows_of_text,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def complaint(text: bytes) -> str:
    """Returns the error about a wrong text, without the file's name."""
    with pytest.raises(UnreadableRecording) as caught:
        rows_of_text(text)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix("cannot read x.jsonl as a recording: ")


# What a person may do


def test_remarks_may_occur_anywhere() -> None:
    """`import` ignores comments and blank lines in a text form."""
    plain = HEADER + b'{"stream":"stderr","text":"a"}\n{"event":"note"}\n'
    edited = (
        b"\xef\xbb\xbf# from a bug report\n\n \t\r\n"
        + HEADER.replace(b":", b" : ").replace(b"\n", b"\r\n")
        + b'  # here it begins\n  { "text" : "a", "stream":"stderr" }\r\n#\n{"event":"note"}'
    )
    header = json.loads(HEADER)["recording"]
    edited = edited.replace(b"15 : 06 : 40", b"15:06:40").replace(b"00 : 00", b"00:00")
    rows = rows_of_text(edited)
    assert rows == rows_of_text(plain)
    assert rows["recording"][0]["id"] == header["id"]
    assert [row["raw"] for row in rows["frames"]] == [b"a"]


def test_a_text_can_be_written_by_hand() -> None:
    """A text form that a person writes needs only a short header, streams and messages."""
    rows = rows_of_text(
        HEADER
        + b'{"stream":"to-agent","message":{"id":1,"method":"session/prompt"}}\n'
        + b'{"after_ms":"1500.25","stream":"to-client","message":{"id":1, "result":'
        + b'{"stopReason":"x"}}}\n'
    )
    assert rows["frames"][1]["raw"] == b'{"id":1,"result":{"stopReason":"x"}}'
    assert rows["exchanges"][0]["latency_ns"] == 1_500_250_000
    assert rows["turns"][0]["end_seq"] == 2


DRAFT_TALK = [
    (b"agent", b'"id":0,"method":"initialize","params":{"protocolVersion":1,'
     b'"clientInfo":{"name":"c","version":"2"},"capabilities":{}}'),
    (b"client", b'"id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"a"},'
     b'"capabilities":{}}'),
    (b"agent", b'"id":1,"method":"session/prompt","params":{"sessionId":"s","content":[]}'),
    (b"client", b'"id":9,"method":"fs/read_text_file","params":{"path":"/p"}'),
]  # fmt: skip


def _said(conversation: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b'{"stream":"to-%b","message":{%b}}\n' % line for line in conversation)


def test_members_that_a_header_omits_are_found_in_the_frames() -> None:
    """If the header of a text form lacks the dialect and names, `import` takes them from frames."""
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK))["recording"]
    assert row["dialect"] == "draft-1.0"
    assert row["dialect_reason"] == "capabilities in the initialize result"
    names = ("client_name", "client_version", "agent_name", "protocol_version")
    assert [row[name] for name in names] == ["c", "2", "a", "1"]
    header = HEADER.replace(b'"id"', b'"agent_name":"mine","dialect":"v2","id"')
    (row,) = rows_of_text(header + _said(DRAFT_TALK))["recording"]
    assert (row["agent_name"], row["client_name"]) == ("mine", "c")
    assert (row["dialect"], row.get("dialect_reason")) == ("v2", None)


def test_a_later_frame_shows_the_dialect_without_a_handshake() -> None:
    """If a text form has no handshake, `import` detects the dialect from later frames."""
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK[2:]))["recording"]
    assert row["dialect"] == "draft-1.0"
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK[3:]))["recording"]
    assert "dialect" not in row


def test_a_header_may_name_the_dialect() -> None:
    """If the frames of a text form do not show the dialect, `import` takes it from the header."""
    frames = _said([(b"agent", b'"id":1,"method":"session/prompt","params":{"sessionId":"s"}')])
    frames += _said(DRAFT_TALK[3:])
    assert "turn" not in rows_of_text(HEADER + frames)["frames"][1]
    header = HEADER.replace(b'"id"', b'"dialect":"draft-1.0","id"')
    assert rows_of_text(header + frames)["frames"][1]["turn"] == 1


@each_case(
    ("line", "said"),
    [
        (b'{"stream":"to-agnet","text":""}', "expected a frame or event, got"),
        (b'{"strem":"to-agent","text":""}', "unknown field strem"),
        (b"{}", "expected one of 'stream', 'event' or 'fired', got {}"),
        (b'{"stream":"stderr"}', "expected one of 'message', 'text' or 'base64', got none"),
        (b'{"stream":"stderr","text":"","base64":""}', "got 'text' and 'base64'"),
        (b'{"stream":"stderr","base64":"?"}', "base64 is not Base64"),
        (b'{"stream":"stderr","text":"a\\nb"}', "expected 'text' to be one line without a newline"),
        (b'{"stream":"stderr","text":"","style":"html"}', "expected 'style' only with 'message'"),
        (b'{"stream":"stderr","text":"","newline":"\\r"}', r"expected 'newline' to be \n, \r\n or"),
        (b'{"stream":"stderr","text":"","delivered":"no"}', "expected 'delivered' to be one of"),
        (b'{"stream":"stderr","text":"","data":{}}', "expected no 'data' in the line of a frame"),
        (b'{"stream":"stderr","text":"","seq":0}', "expected 'seq' to be above 1 and"),
        (b'{"stream":"stderr","text":"","after_ms":"1,5"}', "expected 'after_ms' to be millis"),
        (b'{"stream":"stderr","text":"","after_ms":1e300}', "after_ms is out of range"),
        (b'{"stream":"stderr","text":"","lag_ms":1e300}', "lag_ms is out of range"),
        (b'{"stream":"stderr","message":' + b"[" * 99999 + b"]" * 99999 + b"}", "too deeply"),
        (b'{"event":"x","stream":"stderr"}', "expected no 'stream' in the line of an event"),
        (b'{"event":"x","data":[]}', "expected 'data' to be a JSON object, got []"),
        (b'{"fired":{},"after_ms":1}', "expected no 'after_ms' in the line of a fault that fired"),
        (b'{"fired":{"received":"","received_base64":""}}', "expected one of 'received' and"),
        (b'{"fired":{"late_ms":"99999999999999999"}}', "late_ms is out of range"),
        (b'{"stream":"stderr"', "expected a frame or event"),
        (b"hello", "expected a frame or event, got hello: JSON is malformed"),
        (b"\xff\xfe", "expected a frame or event"),
        (HEADER.strip(), "expected one recording, got a second header"),
    ],
)
def test_a_wrong_line_is_named(line: bytes, said: str) -> None:
    """If a line of a text form is wrong, the error of `import` has the number of the line."""
    text = HEADER + b"# a remark\n" + b'{"event":"note"}\n' + line + b"\n"
    error = complaint(text)
    assert error.startswith("line 4: ")
    assert said in error


@each_case(
    ("old", "new", "said"),
    [
        (b'"acp_proxy":1', b'"acp_proxy":0', "expected format 1, got 0"),
        (b'"acp_proxy":1', b'"acp_proxy":"1"', "expected a header"),
        (b'"name":"x",', b"", "the recording lacks 'name'"),
        (b'"name"', b'"nmae"', "a recording has no member 'nmae'"),
        (b'"name":"x"', b'"name":7', "expected 'name' to be a string, got 7"),
        (b'"name":"x"', b'"name":"x","seed":true', "expected 'seed' to be an integer, got True"),
        (b'"name":"x"', b'"name":"x","seed":1.5', "expected 'seed' to be an integer, got 1.5"),
        (b'"name":"x"', b'"name":"x","seed":"' + b"9" * 30 + b'"', "seed is out of range"),
        (b'"name":"x"', b'"name":"x","command":"ls"', "expected 'command' to be a list of strings"),
        (b'"name":"x"', b'"name":"x","command":[1]', "expected 'command' to be a list of strings"),
        (b"2025-06-15", b"yesterday", "expected 'started_at' to be a time such as"),
        (b"+00:00", b"", "expected 'started_at' to be a time such as"),
        (b'"recording"', b'"more":1,"recording"', "unknown field more"),
    ],
)
def test_a_wrong_header_is_named(old: bytes, new: bytes, said: str) -> None:
    """If the header of a text form is wrong, the error of `import` has its line and the mistake."""
    error = complaint(b"# a remark\n" + HEADER.replace(old, new))
    assert error.startswith("line 2: ")
    assert said in error


def test_times_that_are_too_far_apart_are_a_complaint() -> None:
    """`import` refuses a text form if the times of two lines are centuries apart."""
    far = b'"after_ms":"%d",'
    error = complaint(
        HEADER
        + b'{%s"stream":"to-agent","message":{"id":1,"method":"x"}}\n' % (far % -(9 * 10**12))
        + b'{%s"stream":"to-client","message":{"id":1,"result":1}}\n' % (far % (18 * 10**12))
    )
    assert error == "line 3: its time is too far from those of other lines"


def test_a_newer_format_is_refused() -> None:
    """If a text form has a newer version, `import` refuses it and says to upgrade acp-proxy."""
    text = HEADER.replace(b'"acp_proxy":1', b'"acp_proxy":2,"more":{}')
    with pytest.raises(NewerRecording, match="expected at most format 1, got 2; upgrade"):
        rows_of_text(text)


@pytest.mark.parametrize("text", [b"", b"# only\n\n", b"hello\n", b"SQLite format 3\0", b"[]\n"])
def test_another_file_is_not_a_recording(text: bytes) -> None:
    """If a text file has no header, `import` refuses the file as not a recording."""
    with pytest.raises(NotARecording, match=r"line [12]: expected"):
        rows_of_text(text)


def test_a_recording_whose_numbers_go_back_is_damaged(tmp_path: Path) -> None:
    """If two rows of a database have the same number, `export` calls the database damaged."""
    path = record_conversation(tmp_path / "x.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET seq = 2 WHERE seq = 1")
    connection.close()
    with pytest.raises(DamagedRecording, match="expected 'seq' to be more than 2, got 2"):
        text_of(path)


# The manual


def blocks() -> list[bytes]:
    """Returns the examples on the page of the text form."""
    page = (Path(__file__).parents[4] / "docs" / "text-form.md").read_bytes()
    fenced = re.findall(rb"^```(?:sh)?\n(.*?)^```", page, re.M | re.S)
    return [block for block in fenced if b'"acp_proxy"' in block]


def test_the_examples_of_the_manual_are_texts() -> None:
    """Each example of a text form in the manual can be imported."""
    assert [len(rows_of_text(block)["frames"]) for block in blocks()] == [4, 2]


def test_every_member_of_a_line_is_in_the_manual() -> None:
    """The manual lists every JSON member of the text form."""
    page = (Path(__file__).parents[4] / "docs" / "text-form.md").read_text()
    documented = set(re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.M))))
    names = {*_Line.__struct_fields__, *_Fired.__struct_fields__, *Style, "acp_proxy", "recording"}
    assert documented == names


# Files


def test_a_text_is_known_by_how_it_begins(tmp_path: Path) -> None:
    """`is_text_form` is true only for a file whose first line, after any comments, is a header."""

    def known(content: bytes) -> bool:
        (tmp_path / "x").write_bytes(content)
        return is_text_form(tmp_path / "x")

    assert known(HEADER)
    assert known(b"\xef\xbb\xbf\n# a\n" + HEADER.replace(b":", b" : "))
    assert not known(b'{"recording":{},"acp_proxy":1}')
    assert not known(b"SQLite format 3\0")
    assert not known(b"# acp_proxy\n")
    assert not known(b"")
    assert not is_text_form(tmp_path)
    assert not is_text_form(tmp_path / "none")


def test_a_header_can_be_read_alone(tmp_path: Path) -> None:
    """`header_of` returns the header of a text form even if a later line is invalid."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"# a\n" + HEADER + b"nonsense\n")
    assert header_of(path).id == "c0ffee000001"
    with pytest.raises(UnreadableRecording, match="line 3: expected a frame or event"):
        RecordingReader(path)
    path.write_bytes(b"# a\n")
    with pytest.raises(NotARecording, match="end of the file"):
        header_of(path)
    with pytest.raises(UnreadableRecording, match="no such file"):
        header_of(tmp_path / "none")


def test_a_reader_takes_the_text_form(tmp_path: Path) -> None:
    """`RecordingReader` gives the same answers for a text form as for the database of it."""
    path = record_conversation(tmp_path / "x.db")
    (tmp_path / "y.txt").write_bytes(text_of(path))

    def asked(reader: RecordingReader) -> Iterator[Any]:
        yield from reader.rows()
        yield reader.recording
        for name in ("frames", "exchanges", "turns", "events"):
            yield list(reader.query(f"SELECT * FROM {name}"))

    with RecordingReader(path) as database, RecordingReader(tmp_path / "y.txt") as by_path:
        expected = list(asked(database))
        assert list(asked(by_path)) == expected
        assert (by_path.live, by_path.warning, by_path.newest) == (False, None, 0)
        by_path.refresh()
        with RecordingReader(Path("-"), io.BytesIO(text_of(path))) as by_lines:
            assert list(asked(by_lines)) == expected


@pytest.mark.parametrize(
    ("column", "written"),
    [
        ('{"wall": 9007199254740992, "x": 1}', b'{"wall":"9007199254740992","x":1}'),
        ('{"wall": "9007199254740992"}', rb'"{\"wall\": \"9007199254740992\"}"'),
        ('{"x": 9007199254740992}', rb'"{\"x\": 9007199254740992}"'),
        ('{"x": 1.0}', rb'"{\"x\": 1.0}"'),
        ('{"x":1}', rb'"{\"x\":1}"'),
    ],
)
def test_other_tools_do_not_change_the_data_of_an_event(column: str, written: bytes) -> None:
    """In the text form, event data that a JSON tool could change are written as a string."""
    assert event_data(column) == written
    assert read_event_data(written) == column


def test_a_missing_header_is_reported_with_its_line(tmp_path: Path) -> None:
    """If a `.jsonl` file has no header, commands refuse it and name its first line."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"stream":"to-agent","text":"a"}\n')
    with pytest.raises(UnreadableRecording, match="line 1: expected a header"):
        RecordingReader(path)
