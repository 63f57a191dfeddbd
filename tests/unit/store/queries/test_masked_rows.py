"""If a recording contains secrets, the reader masks them."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.filters import parse
from acp_proxy.recording.log_format import STDERR
from acp_proxy.redaction.edits import apply
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.files.directory import list_recordings, paths
from acp_proxy.store.queries.masked_rows import Level, masked_recording
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.log_writer import LogWriter, notification, record_conversation, request, result
from tests.support.planted_secrets import ARGUMENT, ENV, KEY, SECRETS, record_planted
from tests.support.text_recordings import assert_comes_back

if TYPE_CHECKING:
    from pathlib import Path

HASH = re.compile(r":[0-9a-f]{8}\]")
COMMANDS = (
    ("show",),
    ("show", "--json"),
    ("log",),
    ("log", "--no-fold"),
    ("log", "--seq", "6"),
    ("log", "--json", "size:>100"),
    ("log", "--raw"),
    ("stats",),
    ("stats", "--json"),
    ("audit",),
    ("export", "dir:to-agent|to-client"),
    ("export", "--format", "raw"),
)


def everything(reader: RecordingReader) -> str:
    """Returns all data that a reader can read from a recording."""
    return "\n".join(
        repr(value)
        for value in (
            reader.recording,
            [*reader.rows()],
            [*reader.heads(with_lines=True)],
            [*reader.runs(-1)],
            [*reader.query("SELECT * FROM frames")],
            [*reader.query("SELECT * FROM faults_fired")],
            *(b"".join(reader.pieces(row["seq"])) for row in reader.frames()),
            b"".join(write_text_form(reader)),
        )
    )


def test_no_way_to_read_shows_a_secret(tmp_path: Path) -> None:
    """If a recording is stored unmasked, every way to read it masks every secret."""
    with RecordingReader(record_planted(tmp_path / "x.db")) as reader:
        shown = everything(reader)
        assert reader.masked_rows is not None
        assert reader.masked_rows.count >= 8
    for secret in (*SECRETS, KEY[14:]):
        assert secret not in shown
    assert "hello, the key is" in shown


def test_a_reader_that_is_asked_to_shows_all(tmp_path: Path) -> None:
    """With `--unredacted`, commands mask nothing that is stored unmasked."""
    path = record_planted(tmp_path / "x.db")
    with RecordingReader(path, unredacted=True) as reader:
        shown = everything(reader)
        assert reader.masked_rows is None
    assert all(secret in shown for secret in (ENV, ARGUMENT, KEY[14:]))
    assert_comes_back(path)


def test_sizes_are_those_of_the_masked_lines(tmp_path: Path) -> None:
    """If a line is masked when it is read, the size of its frame is that of the masked line."""
    with RecordingReader(record_planted(tmp_path / "x.db")) as reader:
        rows = [*reader.frames()]
        assert all(row["size"] == len(row["raw"]) for row in rows)
        assert [head.size for head in reader.heads()] == [row["size"] for row in rows]
        assert {row["seq"] for row in rows if row["masked"]} == {
            row["seq"] for row in rows if b"[redacted:" in row["raw"] or b'"text":""' in row["raw"]
        } | {row["seq"] for row in rows if row["kind"] == "batch"}
        size = rows[3]["size"]
        sized = {row["seq"] for row in reader.frames(parse(f"size:>{size - 1}"))}
        assert sized == {row["seq"] for row in rows if row["size"] >= size}


def test_a_large_line_is_masked_piece_by_piece(tmp_path: Path) -> None:
    """In a large line that is read in pieces, masking replaces only the secret."""
    path = record_planted(tmp_path / "x.db", large=5 << 20)
    with RecordingReader(path) as reader:
        row = next(r for r in reader.frames() if r["size"] > 4 << 20)
        line = b"".join(reader.pieces(row["seq"]))
        assert row["masked"] == 1
        assert row["size"] == len(line)
        assert ENV.encode() not in line
        assert json.loads(line)["params"]["update"]["content"]["text"].endswith("] end")


def test_a_large_line_on_stderr_is_masked(tmp_path: Path) -> None:
    """Commands mask a secret in a line of 17 MB on stderr."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(STDERR, f"{KEY} ".encode())
        for _ in range(17):
            recorder.chunk(STDERR, b"x " * (1 << 19))
        recorder.chunk(STDERR, f"{KEY}\n".encode())
        recorder.finish()
    with RecordingReader(tmp_path / "x.db") as reader:
        (row,) = reader.frames()
        assert KEY.encode() not in row["raw"]
        assert KEY.encode() not in b"".join(reader.pieces(row["seq"]))
        assert sum(map(len, reader.pieces(row["seq"]))) == row["size"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_reads_as_if_masked_when_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Commands print the same whether a recording is masked when made or when read."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = record_planted(tmp_path / "a" / "x.db")
    masked = record_planted(tmp_path / "b" / "x.db", redaction="secrets", marker_key="00" * 16)
    name, *options = command
    outputs = [run("inspect", name, path, *options).stdout for path in (plain, masked)]
    first, other = (_without_accidents(text) for text in outputs)
    assert first == other


def _without_accidents(text: str) -> str:
    text = HASH.sub(":]", text).replace("/b/x.db", "/a/x.db")
    return text.replace('"redaction": "none"', '"redaction": "secrets"').replace(
        '"redaction":"none"', '"redaction":"secrets"'
    )


def test_a_recording_with_masks_is_not_looked_through(tmp_path: Path) -> None:
    """If a recorder has masked a recording, a reader does not search it for secrets again."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    with RecordingReader(path) as reader:
        assert reader.masked_rows is None
        assert reader.is_masked
        assert KEY[14:] not in everything(reader)


def test_a_running_recording_is_masked_as_it_grows(tmp_path: Path) -> None:
    """While a recording grows, a secret that appears again is masked by the same marker."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "x", env={"DEPLOY": ENV}))
        with RecordingReader(tmp_path / "x.db") as reader:
            first = everything(reader)
            recorder.to_client(result(1, word=f"it is {ENV}"))
            reader.refresh()
            later = everything(reader)
            row = [*reader.frames()][-1]
    assert ENV not in first + later
    (marker,) = set(re.findall(r"\[redacted:env:\w+\]", later))
    assert marker.encode() in row["raw"]


def test_fired_faults_are_masked(tmp_path: Path) -> None:
    """Commands mask a secret in the recorded bytes that a fault received or delivered."""
    path = record_conversation(tmp_path / "x.db")
    line = b'{"jsonrpc":"2.0","method":"x","params":{"password":"Hn6wQz3LfTyB"}}'
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE frame_rows SET raw = ? WHERE seq = 3", (line,))
        connection.executemany(
            "INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)",
            [(3, "r", "delay", line, line + b"\n"), (5, "s", "made", None, b"cut " + line)],
        )
    connection.close()
    with RecordingReader(path) as reader:
        fired = [*reader.query("SELECT * FROM faults_fired")]
        (frame,) = reader.frames(parse("seq:3"))
        assert fired[0]["received"] == frame["raw"]
        assert fired[0]["delivered"] == frame["raw"] + b"\n"
        assert b"Hn6wQz3LfTyB" not in everything(reader).encode()


def test_a_note_is_masked(tmp_path: Path) -> None:
    """Commands mask a secret in a note when they show it, and do not change the file."""
    path = record_conversation(tmp_path / "x.db")
    set_note(path, f"broken with password={ARGUMENT}")
    with RecordingReader(path) as reader:
        assert ARGUMENT not in str(reader.recording.note)
        assert reader.recording.redaction == "secrets"
    with RecordingReader(path, unredacted=True) as reader:
        row = masked_recording(reader.recording, Redactor(RedactorState("00" * 16)))
        assert ARGUMENT in str(reader.recording.note)
        assert ARGUMENT not in str(row.note)


def test_what_holds_no_secret_stays_as_it_is(tmp_path: Path) -> None:
    """If a stored recording has no secret, `RecordingReader` masks no line of it."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        assert reader.masked_rows is not None
        assert reader.masked_rows.count == 0
        assert reader.recording.redaction == "none"


@pytest.mark.parametrize("before", [0, 15, 16, 40])
def test_lines_that_are_searched_at_once_are_masked_as_one_by_one(
    tmp_path: Path, before: int
) -> None:
    """Masking of several lines at once gives the same lines as masking them one by one."""
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "completed"}
    plain = [notification("session/update", sessionId="s", update=call)] * 20
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(*(plain * 2)[:before])
        env = [{"name": "DEPLOY", "value": ENV}]
        servers = [{"name": "m", "command": "m", "args": [], "env": env}]
        recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=servers))
        recorder.to_client(*plain, result(1, sessionId="s"))
        recorder.stderr("-----BEGIN RSA PRIVATE KEY-----\nMIIEow")
        recorder.to_client(*plain, notification("_log", line=f"with {ENV}"), *plain)
        recorder.stderr("IBAAKCAQ")
        recorder.to_client(*plain)
    redactor = Redactor(RedactorState("00" * 16))
    with RecordingReader(tmp_path / "x.db", unredacted=True) as reader:
        expected = [
            apply(frame.raw, redactor.line(Stream(frame.stream), frame.raw))
            for frame in reader.heads(with_lines=True)
            if frame.raw is not None
        ]
    with RecordingReader(tmp_path / "x.db") as reader:
        lines = [frame.raw or b"" for frame in reader.heads(with_lines=True)]
    assert [HASH.sub("]", line.decode()) for line in lines] == [
        HASH.sub("]", line.decode()) for line in expected
    ]
    assert sum(b"[redacted:" in line for line in lines) == 4


def test_a_list_masks_what_it_shows(tmp_path: Path) -> None:
    """`list` masks secrets in the first prompt."""
    record_planted(tmp_path / "x.db")
    (listed,) = list_recordings(paths(tmp_path))
    assert not any(secret in repr(listed) for secret in SECRETS)
    assert listed.masked > 0
    (shown,) = list_recordings(paths(tmp_path), unredacted=True)
    assert ENV in repr(shown)
    assert shown.masked == 0


def test_private_masks_what_was_said(tmp_path: Path) -> None:
    """With the level `private`, commands show the texts of prompts as letters x."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    with RecordingReader(path, level=Level(private=True)) as reader:
        shown = everything(reader)
        assert reader.recording.redaction == "private"
    assert "as you see" not in shown
    assert "xx xxx xxx" in shown


@pytest.mark.parametrize("level", ["none", "secrets"])
def test_what_another_recording_has_shown_is_masked_as_well(tmp_path: Path, level: str) -> None:
    """`RecordingReader` with `known` also masks secrets that only another recording reveals."""
    path = tmp_path / "x.db"
    with LogWriter(path, redaction=level, marker_key="07" * 16) as recorder:
        recorder.to_agent(request(1, "session/prompt", prompt="it is plum-rhubarb-771"))
        recorder.close()
        recorder.finish()
    with RecordingReader(path) as reader:
        assert "plum-rhubarb" in everything(reader)
        assert reader.known_secrets == {}
    with RecordingReader(path, known={"plum-rhubarb-771": "[redacted:env:00000001]"}) as reader:
        assert "plum-rhubarb" not in everything(reader)
        (marker,) = reader.known_secrets.values()
        assert f"it is {marker}" in everything(reader)
        assert marker.startswith("[redacted:env:")
        assert reader.recording.redaction == "secrets"
