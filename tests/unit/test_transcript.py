"""The text form: what its lines look like, what a person may do to it, and what is refused."""

from __future__ import annotations

import io
import json
import re
import shutil
import sqlite3
import subprocess
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.capture.log import STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.errors import DamagedRecording, NewerRecording, NotARecording, UnreadableRecording
from acp_proxy.filters import parse
from acp_proxy.store.indexer import LARGE
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.transcript import (
    header_of,
    is_transcript,
    read_transcript,
    write_transcript,
)
from acp_proxy.transcript.reader import _Fired, _Line
from acp_proxy.transcript.spelling import Style, find_style
from acp_proxy.transcript.values import event_data, read_event_data
from tests.captures import Exit, Read, Signal, StreamEnd, all_captures, load
from tests.rows import new_database
from tests.scribe import Scribe, handshake, record_story, request, result, text, update
from tests.texts import (
    HEADER,
    assert_comes_back,
    rows_of_recording,
    rows_of_text,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.db"))
CODES = {"to-agent": TO_AGENT, "to-client": TO_CLIENT, "stderr": STDERR}


def lines_of(path: Path) -> list[Any]:
    """The lines of a recording's text form, as values."""
    return [json.loads(line) for line in text_of(path).splitlines()]


def complaint(text: bytes) -> str:
    """What is said of a text that is wrong, without the file's name."""
    with pytest.raises(UnreadableRecording) as caught:
        rows_of_text(text)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix("cannot read x.jsonl as a recording: ")


# Round trips


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_kept_recording_comes_back(path: Path) -> None:
    """Every recording that is kept with the code gives equal rows, and can be read by a person."""
    written = assert_comes_back(path)
    streams = [line for line in map(json.loads, written.splitlines()) if "stream" in line]
    odd = [line for line in streams if "message" not in line and line["stream"] != "stderr"]
    assert not [line for line in odd if line.get("text", "{").startswith("{")]


@pytest.mark.parametrize("path", all_captures(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_captured_conversation_comes_back(path: Path, tmp_path: Path) -> None:
    """What real agents said gives equal rows, each message of theirs as readable JSON."""
    with Scribe(tmp_path / "x.db") as scribe:
        for record in load(path).records:
            scribe.t_ns = record.t_ns
            match record:
                case Read(_, stream, data):
                    scribe.chunk(CODES[stream], data)
                case StreamEnd(_, stream):
                    scribe.event(2, CODES[stream])
                case Signal(_, number):
                    scribe.event(5, signal=number)
                case Exit(_, code):
                    scribe.event(6, code=abs(code))
        scribe.finish()
    assert_comes_back(scribe.path)
    frames = [line for line in lines_of(scribe.path) if line.get("stream") in CODES]
    assert not [line for line in frames if line.get("text", "").startswith("{")]


@pytest.mark.skipif(shutil.which("jq") is None, reason="expected jq")
def test_jq_changes_nothing(tmp_path: Path) -> None:
    """A text that went through ``jq -c`` gives the same rows."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        scribe.to_agent(b'{"id":1.0,"method":"x","params":[1e5,0.1,-0,9007199254740993]}\n')
        scribe.to_agent(b'{"id":1,"method":"x","params":[0.1,9007199254740991,"\\u0000"]}\n')
        scribe.t_ns += 86_400_000_000_001
        scribe.to_client("{}\u2028\x7f\n".encode(), b"\xff\n", b'{"a":"\\ud800"}\n')
        scribe.t_ns += 10**17 + 1
        scribe.close()
        scribe.finish()
    written = text_of(scribe.path)
    through = subprocess.run(["jq", "-c", "."], input=written, capture_output=True, check=True)
    assert through.stdout != written
    assert rows_of_text(through.stdout) == rows_of_recording(scribe.path)


def test_a_line_too_large_to_hold_comes_back(tmp_path: Path) -> None:
    """What the indexer reads by its edges is read so again: as JSON, as text and as Base64."""
    middle = b"y" * LARGE
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        for line in (
            b'{"jsonrpc":"2.0","method":"session/update","params":{"x":"'
            + middle
            + b'"},"id":7}\n',
            b'{"id":1e2,"method":"a","params":{"x":"' + middle + b'"}}\r\n',
            b'{"id":8,"method":"a","params":{"x":"\xff' + middle + b'"}}',
        ):
            for start in range(0, len(line), 60_000):
                scribe.chunk(TO_CLIENT, line[start : start + 60_000])
        scribe.event(2, TO_CLIENT)
        scribe.close()
        scribe.finish()
    rows = rows_of_recording(scribe.path)
    assert [frame["rpc_id"] for frame in rows["frames"]] == ["0", "0", "7", "1e2", "8"]
    written = text_of(scribe.path)
    assert [set(line) & {"message", "text", "base64"} for line in map(
        json.loads, written.splitlines()) if "stream" in line][2:] == [
            {"message"}, {"text"}, {"base64"}]  # fmt: skip
    assert rows_of_text(written) == rows


def test_a_forced_dialect_stays_forced(tmp_path: Path) -> None:
    """What a person has said of the dialect holds for the rows that come back."""
    with Scribe(tmp_path / "x.db", dialect="v2") as scribe:
        handshake(scribe)
        scribe.to_agent(request(2, "session/prompt", sessionId="s", prompt=[text("hello")]))
        scribe.to_client(result(2))
        scribe.to_client(update("s", "agent_message_chunk", content=text("Hi")))
        scribe.finish()
    assert_comes_back(scribe.path)
    assert rows_of_recording(scribe.path)["frames"][-1]["turn"] == 1


def test_a_live_recording_is_written_as_far_as_it_is(tmp_path: Path) -> None:
    """What is only in the log is in the text as well, and the text says that there may be more."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        scribe.index()
        scribe.stderr("later")
        written = text_of(scribe.path)
    assert written.count(b'"stream":') == 3
    with RecordingReader(Path("x.jsonl"), io.BytesIO(written)) as reader:
        assert reader.recording.state == "recording"
        assert reader.warning is not None
        assert not reader.live


# What lines look like


def test_a_line_says_what_cannot_be_known_otherwise(tmp_path: Path) -> None:
    """The header has the recording; a usual frame has a time, a stream and a message."""
    header, start, first, second, *_ = lines_of(record_story(tmp_path / "x.db"))
    assert header["acp_proxy"] == 1
    assert header["recording"]["command"] == ["agent", "--acp"]
    assert "parent" not in header["recording"]
    assert (start["event"], start["data"]["wall"]) == ("start", "1750000000000000000")
    assert list(first) == ["after_ms", "stream", "message"]
    assert (first["after_ms"], first["stream"]) == (1, "to-agent")
    assert second["message"]["result"]["agentInfo"] == {"name": "ag", "version": "3.4"}


def test_a_line_says_what_is_unusual(tmp_path: Path) -> None:
    """Line endings, slow arrival, what was not delivered and what is no JSON are named."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.chunk(TO_AGENT, b'{"a"')
        scribe.t_ns += 500_001
        scribe.chunk(TO_AGENT, b':1}\r\nplain\n\xff\n{"b": "\xc3\xa9"}\n["\\u00e9"]\n"end"')
        scribe.event(3, TO_AGENT, bytes=5)
        scribe.event(2, TO_AGENT)
        scribe.finish()
    frames = [line for line in lines_of(scribe.path) if "stream" in line]
    for frame in frames:
        del frame["stream"]
    assert frames == [
        {"after_ms": 2.500001, "lag_ms": 1.500001, "newline": "\r\n", "message": {"a": 1}},
        {"text": "plain"},
        {"base64": "/w=="},
        {"style": "spaced", "message": {"b": "é"}},
        {"style": "ascii", "message": ["é"]},
        {"after_ms": 1, "lag_ms": 2, "newline": "", "delivered": "none", "text": '"end"'},
    ]


@pytest.mark.parametrize(
    ("raw", "style"),
    [
        (b'{"a":[1,"\xc3\xa9"]}', Style.COMPACT),
        (b'{"a": [1, "\xc3\xa9"]}', Style.SPACED),
        (b'{"a": [1, "\\u00e9"]}', Style.SPACED_ASCII),
        (b'{"a":[1,"\\u00e9"]}', Style.ASCII),
        (b'{"a":"\\u003cb\\u003e \xc3\xa9"}', Style.HTML),
        (b'{"a":0.1,"b":-1.5,"c":9007199254740991}', Style.COMPACT),
    ],
)
def test_styles_of_serializers(raw: bytes, style: Style) -> None:
    """The ways in which peers write JSON have names."""
    found = find_style(raw)
    assert found is not None
    assert found[1] is style


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1.0}', b'{"a":1e5}', b'{"a":-0}', b'{"a":9007199254740992}', b'{"a":1,"a":2}',
        b'{"a":"\\ud800"}', b'{"a":NaN}', b'{"a" :1}', b'{"a":1} ', b'{"a":"\xff"}', b'{"a":"\\/"}',
        b"[" * 129 + b"]" * 129, b"[" * 99999 + b"]" * 99999, b"7", b'"a"', b"", b'{"a":1E400}',
        b'{"a":0.10}', b'{"a":2.5e-7}',
    ],
)  # fmt: skip
def test_what_another_tool_might_change_is_no_json_here(raw: bytes) -> None:
    """A value that not every tool gives back as it was is kept as a string."""
    assert find_style(raw) is None


def test_nothing_in_a_text_commands_a_terminal_or_hides(tmp_path: Path) -> None:
    """Control characters, marks of direction and line separators are escapes, and come back."""
    hidden = "\x9b31m \u202e \u2028 \x7f \U000e0041 \ufeff"
    with Scribe(tmp_path / "x.db", cwd=f"/{hidden}") as scribe:
        scribe.to_agent(request(1, hidden), f"{hidden}\n".encode())
        scribe.stderr(f"\x1b[31m{hidden}")
        scribe.finish()
    written = text_of(scribe.path).decode()
    assert written.replace("\n", "").isprintable()
    assert_comes_back(scribe.path)


def test_a_part_of_a_recording_keeps_times_and_numbers(tmp_path: Path) -> None:
    """What a filter leaves is where and when it was."""
    path = record_story(tmp_path / "x.db")
    with RecordingReader(path) as reader:
        part = b"".join(write_transcript(reader, parse("kind:error or seq:20..21")))
    kept = rows_of_text(part)
    whole = rows_of_recording(path)
    for table in ("frames", "events"):
        wanted = {row["seq"]: row["t_ns"] for row in whole[table] if row["seq"] in (12, 20, 21)}
        assert {row["seq"]: row["t_ns"] for row in kept[table]} == wanted
    assert kept["recording"] == whole["recording"]


def test_faults_that_fired_follow_their_frame(tmp_path: Path) -> None:
    """Each has a line after the frame's; in a part only those of the frames that are kept."""
    path = record_story(tmp_path / "x.db")
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?)",
            [(7, "late", "delay", b"a\n", b"a\n"), (99, None, None, None, None),
             (3, "r", "cut", b"\xff", None), (7, "b", "cut", b"", b"")],
        )  # fmt: skip
    connection.close()
    lines = lines_of(path)
    after = [lines[n + 1].get("fired") for n, line in enumerate(lines[:-1]) if "stream" in line]
    assert after[1] == {"rule": "r", "action": "cut", "received_base64": "/w=="}
    assert lines[-1] == {"seq": 99, "fired": {}}
    assert_comes_back(path)
    with RecordingReader(path) as reader:
        part = b"".join(write_transcript(reader, parse("seq:7")))
    assert [row["rule"] for row in rows_of_text(part)["faults_fired"]] == ["b", "late"]


def test_memory_stays_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as many lines take no more memory, out or in."""
    monkeypatch.setattr("acp_proxy.store.transcript._BATCH", 256)  # so many lines are held
    peaks = {}
    for count in (500, 5_000):
        with Scribe(tmp_path / f"{count}.db") as scribe:
            block = b"".join(
                json.dumps({"method": "m", "params": {"n": n, "x": "y" * 200}}).encode() + b"\n"
                for n in range(100)
            )
            for _ in range(count // 100):
                scribe.chunk(TO_CLIENT, block)
            scribe.finish()
        with (
            RecordingReader(scribe.path) as reader,
            (tmp_path / "x.jsonl").open("w+b") as file,
            new_database() as rows,
        ):
            tracemalloc.start()
            file.writelines(write_transcript(reader))
            file.seek(0)
            read_transcript(file, Path("x.jsonl"), rows)
            peaks[count] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peaks[5_000] < peaks[500] * 2


# What a person may do


def test_remarks_may_stand_anywhere() -> None:
    """Comments, blank lines, spaces, Windows line ends and a byte order mark are no data."""
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
    """Little is needed: a header with four members, and frames with a stream and a message."""
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


def _said(talk: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b'{"stream":"to-%b","message":{%b}}\n' % line for line in talk)


def test_what_a_header_leaves_out_is_found_in_the_frames() -> None:
    """Dialect, version and names; what it does say stays."""
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK))["recording"]
    assert row["dialect"] == "draft-1.0"
    assert row["dialect_reason"] == "capabilities in the initialize result"
    names = ("client_name", "client_version", "agent_name", "protocol_version")
    assert [row[name] for name in names] == ["c", "2", "a", "1"]
    header = HEADER.replace(b'"id"', b'"agent_name":"mine","dialect":"v2","id"')
    (row,) = rows_of_text(header + _said(DRAFT_TALK))["recording"]
    assert (row["agent_name"], row["client_name"]) == ("mine", "c")
    assert (row["dialect"], row.get("dialect_reason")) == ("v2", None)


def test_a_later_frame_tells_the_dialect_where_no_handshake_does() -> None:
    """As it does while a connection is recorded."""
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK[2:]))["recording"]
    assert row["dialect"] == "draft-1.0"
    (row,) = rows_of_text(HEADER + _said(DRAFT_TALK[3:]))["recording"]
    assert "dialect" not in row


def test_a_header_may_say_the_dialect() -> None:
    """Where the frames do not: in the draft, files belong to the one turn that is open."""
    frames = _said([(b"agent", b'"id":1,"method":"session/prompt","params":{"sessionId":"s"}')])
    frames += _said(DRAFT_TALK[3:])
    assert "turn" not in rows_of_text(HEADER + frames)["frames"][1]
    header = HEADER.replace(b'"id"', b'"dialect":"draft-1.0","id"')
    assert rows_of_text(header + frames)["frames"][1]["turn"] == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"stream":"to-agnet","text":""}', "expected a frame or event, got"),
        (b'{"strem":"to-agent","text":""}', "unknown field strem"),
        (b"{}", "expected one of stream, event or fired, got {}"),
        (b'{"stream":"stderr"}', "expected one of message, text or base64, got none"),
        (b'{"stream":"stderr","text":"","base64":""}', "got text and base64"),
        (b'{"stream":"stderr","base64":"?"}', "base64 is not Base64"),
        (b'{"stream":"stderr","text":"a\\nb"}', "expected one line in text, without its newline"),
        (b'{"stream":"stderr","text":"","style":"html"}', "expected style with a message"),
        (b'{"stream":"stderr","text":"","newline":"\\r"}', r"expected newline to be \n, \r\n or"),
        (b'{"stream":"stderr","text":"","delivered":"no"}', "expected delivered to be one of full"),
        (b'{"stream":"stderr","text":"","data":{}}', "expected no data in the line of a frame"),
        (b'{"stream":"stderr","text":"","seq":0}', "expected a number beyond 1, got 0"),
        (b'{"stream":"stderr","text":"","after_ms":"1,5"}', "expected after_ms to be milliseconds"),
        (b'{"stream":"stderr","text":"","after_ms":1e300}', "after_ms is out of range"),
        (b'{"stream":"stderr","text":"","lag_ms":1e300}', "lag_ms is out of range"),
        (b'{"stream":"stderr","message":' + b"[" * 99999 + b"]" * 99999 + b"}", "too deeply"),
        (b'{"event":"x","stream":"stderr"}', "expected no stream in the line of an event"),
        (b'{"event":"x","data":[]}', "expected data to be a JSON object, got []"),
        (b'{"fired":{},"after_ms":1}', "expected no after_ms in the line of a fault that fired"),
        (b'{"fired":{"received":"","received_base64":""}}', "expected one of received and"),
        (b'{"stream":"stderr"', "expected a frame or event"),
        (b"hello", "expected a frame or event, got hello: JSON is malformed"),
        (b"\xff\xfe", "expected a frame or event"),
        (HEADER.strip(), "expected one recording, got a second header"),
    ],
)
def test_a_wrong_line_is_named(line: bytes, said: str) -> None:
    """The complaint has the number of the line, what was expected and what came."""
    text = HEADER + b"# a remark\n" + b'{"event":"note"}\n' + line + b"\n"
    found = complaint(text)
    assert found.startswith("line 4: ")
    assert said in found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"acp_proxy":1', b'"acp_proxy":0', "expected format 1, got 0"),
        (b'"acp_proxy":1', b'"acp_proxy":"1"', "expected a header"),
        (b'"name":"x",', b"", "expected a recording with name"),
        (b'"name"', b'"nmae"', "expected members of a recording, got nmae"),
        (b'"name":"x"', b'"name":7', "expected name to be a string, got 7"),
        (b'"name":"x"', b'"name":"x","seed":true', "expected seed to be an integer, got True"),
        (b'"name":"x"', b'"name":"x","seed":1.5', "expected seed to be an integer, got 1.5"),
        (b'"name":"x"', b'"name":"x","seed":"' + b"9" * 30 + b'"', "seed is out of range"),
        (b'"name":"x"', b'"name":"x","command":"ls"', "expected command to be a list of strings"),
        (b'"name":"x"', b'"name":"x","command":[1]', "expected command to be a list of strings"),
        (b"2025-06-15", b"yesterday", "expected started_at to be a time such as"),
        (b"+00:00", b"", "expected started_at to be a time such as"),
        (b'"recording"', b'"more":1,"recording"', "unknown field more"),
    ],
)
def test_a_wrong_header_is_named(old: bytes, new: bytes, said: str) -> None:
    """The complaint says what of the header is wrong."""
    found = complaint(b"# a remark\n" + HEADER.replace(old, new))
    assert found.startswith("line 2: ")
    assert said in found


def test_times_that_are_too_far_apart_are_a_complaint() -> None:
    """Each can be stored, and what lies between them cannot."""
    far = b'"after_ms":"%d",'
    found = complaint(
        HEADER
        + b'{%s"stream":"to-agent","message":{"id":1,"method":"x"}}\n' % (far % -(9 * 10**12))
        + b'{%s"stream":"to-client","message":{"id":1,"result":1}}\n' % (far % (18 * 10**12))
    )
    assert found == "line 3: its time is too far from the others"


def test_a_newer_format_is_refused() -> None:
    """What a newer version wrote is neither read nor called damaged, whatever is in it."""
    text = HEADER.replace(b'"acp_proxy":1', b'"acp_proxy":2,"more":{}')
    with pytest.raises(NewerRecording, match="it has format 2 and this is format 1; upgrade"):
        rows_of_text(text)


@pytest.mark.parametrize("text", [b"", b"# only\n\n", b"hello\n", b"SQLite format 3\0", b"[]\n"])
def test_another_file_is_not_a_recording(text: bytes) -> None:
    """What does not begin as the text form does is something else."""
    with pytest.raises(NotARecording, match=r"line [12]: expected"):
        rows_of_text(text)


def test_a_recording_whose_numbers_go_back_is_damaged(tmp_path: Path) -> None:
    """A frame and an event that share a number cannot be put in order."""
    path = record_story(tmp_path / "x.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET seq = 2 WHERE seq = 1")
    connection.close()
    with pytest.raises(DamagedRecording, match="number 2 follows number 2"):
        text_of(path)


# The manual


def blocks() -> list[bytes]:
    """The texts on the page of the text form."""
    page = (Path(__file__).parents[2] / "docs" / "text-form.md").read_bytes()
    found = re.findall(rb"^```(?:sh)?\n(.*?)^```", page, re.M | re.S)
    return [block for block in found if b'"acp_proxy"' in block]


def test_the_examples_of_the_manual_are_texts() -> None:
    """What the page shows can be imported."""
    assert [len(rows_of_text(block)["frames"]) for block in blocks()] == [4, 2]


def test_every_member_of_a_line_is_in_the_manual() -> None:
    """The tables have the members that a line may have, and every style."""
    page = (Path(__file__).parents[2] / "docs" / "text-form.md").read_text()
    documented = set(re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.M))))
    names = {*_Line.__struct_fields__, *_Fired.__struct_fields__, *Style, "acp_proxy", "recording"}
    assert documented == names


# Files


def test_a_text_is_known_by_how_it_begins(tmp_path: Path) -> None:
    """Whatever it is called, and whatever remarks come first."""

    def known(content: bytes) -> bool:
        (tmp_path / "x").write_bytes(content)
        return is_transcript(tmp_path / "x")

    assert known(HEADER)
    assert known(b"\xef\xbb\xbf\n# a\n" + HEADER.replace(b":", b" : "))
    assert not known(b'{"recording":{},"acp_proxy":1}')
    assert not known(b"SQLite format 3\0")
    assert not known(b"# acp_proxy\n")
    assert not known(b"")
    assert not is_transcript(tmp_path)
    assert not is_transcript(tmp_path / "none")


def test_a_header_can_be_read_alone(tmp_path: Path) -> None:
    """Who a recording is can be told without reading it all."""
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
    """All that can be asked of a recording can be asked of its text, by path or by its lines."""
    path = record_story(tmp_path / "x.db")
    (tmp_path / "y.txt").write_bytes(text_of(path))

    def asked(reader: RecordingReader) -> Iterator[Any]:
        yield from reader.rows()
        yield reader.recording
        for view in ("timeline", "unanswered", "latency"):
            yield list(reader.query(f"SELECT * FROM {view}"))

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
def test_what_an_event_says_is_safe_from_other_tools(column: str, written: bytes) -> None:
    """Numbers that a tool may change are strings, or in a string, and come back."""
    assert event_data(column) == written
    assert read_event_data(written) == column


def test_a_text_without_its_header_is_told_by_its_line(tmp_path: Path) -> None:
    """A file that is named as text is read as text, so the complaint is about what it lacks."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"stream":"to-agent","text":"a"}\n')
    with pytest.raises(UnreadableRecording, match="line 1: expected a header"):
        RecordingReader(path)
