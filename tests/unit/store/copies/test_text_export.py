"""Tests the lines of the text form, and that they are read back into the same recording."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.recording.filters import parse
from acp_proxy.recording.log_format import STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.recording.text_form.text_lines import Style, find_style
from acp_proxy.store.copies.text_export import text_lines, write_text_form
from acp_proxy.store.copies.text_import import read_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.captures import Exit, Read, Signal, StreamEnd, load, weighted_captures
from tests.support.cases import each_case
from tests.support.indexed_rows import new_database
from tests.support.log_writer import (
    LogWriter,
    handshake,
    record_conversation,
    request,
)
from tests.support.text_recordings import (
    assert_comes_back,
    rows_of_recording,
    rows_of_text,
    text_of,
)

RECORDINGS = sorted((Path(__file__).parents[4] / "recordings").glob("*.db"))

CODES = {"to-agent": TO_AGENT, "to-client": TO_CLIENT, "stderr": STDERR}


def lines_of(path: Path) -> list[Any]:
    """Returns the lines of a recording's text form, decoded."""
    return [json.loads(line) for line in text_of(path).splitlines()]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_kept_recording_comes_back(path: Path) -> None:
    """Each shipped recording is the same after an export as text and an import."""
    written = assert_comes_back(path)
    streams = [line for line in map(json.loads, written.splitlines()) if "stream" in line]
    odd = [line for line in streams if "message" not in line and line["stream"] != "stderr"]
    assert not [line for line in odd if line.get("text", "{").startswith("{")]


@pytest.mark.parametrize("path", [*weighted_captures()])
def test_a_captured_conversation_comes_back(path: Path, tmp_path: Path) -> None:
    """Recordings of real agents are the same after an export as text and an import."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for record in load(path).records:
            recorder.t_ns = record.t_ns
            match record:
                case Read(_, stream, data):
                    recorder.chunk(CODES[stream], data)
                case StreamEnd(_, stream):
                    recorder.event(2, CODES[stream])
                case Signal(_, number):
                    recorder.event(5, signal=number)
                case Exit(_, code):
                    recorder.event(6, code=abs(code))
        recorder.finish()
    assert_comes_back(recorder.path)
    frames = [line for line in lines_of(recorder.path) if line.get("stream") in CODES]
    assert not [line for line in frames if line.get("text", "").startswith("{")]


@pytest.mark.skipif(shutil.which("jq") is None, reason="expected jq")
def test_jq_changes_nothing(tmp_path: Path) -> None:
    """If `jq -c` rewrites the text form of a recording, it is imported as the same recording."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(b'{"id":1.0,"method":"x","params":[1e5,0.1,-0,9007199254740993]}\n')
        recorder.to_agent(b'{"id":1,"method":"x","params":[0.1,9007199254740991,"\\u0000"]}\n')
        recorder.t_ns += 86_400_000_000_001
        recorder.to_client("{}\u2028\x7f\n".encode(), b"\xff\n", b'{"a":"\\ud800"}\n')
        recorder.t_ns += 10**17 + 1
        recorder.close()
        recorder.finish()
    written = text_of(recorder.path)
    through = subprocess.run(["jq", "-c", "."], input=written, capture_output=True, check=True)
    assert through.stdout != written
    assert rows_of_text(through.stdout) == rows_of_recording(recorder.path)


def test_a_live_recording_is_written_as_far_as_it_is(tmp_path: Path) -> None:
    """`export` of a running recording as text has all frames so far."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.stderr("later")
        written = text_of(recorder.path)
    assert written.count(b'"stream":') == 3
    with RecordingReader(Path("x.jsonl"), io.BytesIO(written)) as reader:
        assert reader.recording.state == "recording"
        assert reader.warning is not None
        assert not reader.live


# What lines look like


def test_a_line_has_only_what_cannot_be_derived(tmp_path: Path) -> None:
    """In the text form, a usual frame has only a time, a stream and a message."""
    header, start, first, second, *_ = lines_of(record_conversation(tmp_path / "x.db"))
    assert header["acp_proxy"] == 1
    assert header["recording"]["command"] == ["agent", "--acp"]
    assert "parent" not in header["recording"]
    assert (start["event"], start["data"]["wall"]) == ("start", "1750000000000000000")
    assert list(first) == ["after_ms", "stream", "message"]
    assert (first["after_ms"], first["stream"]) == (1, "to-agent")
    assert second["message"]["result"]["agentInfo"] == {"name": "ag", "version": "3.4"}


def test_a_line_has_what_is_unusual(tmp_path: Path) -> None:
    r"""In the text form, a line of a frame also notes what is unusual, such as an ending `\r\n`."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_AGENT, b'{"a"')
        recorder.t_ns += 500_001
        recorder.chunk(TO_AGENT, b':1}\r\nplain\n\xff\n{"b": "\xc3\xa9"}\n["\\u00e9"]\n"end"')
        recorder.event(3, TO_AGENT, bytes=5)
        recorder.event(2, TO_AGENT)
        recorder.finish()
    frames = [line for line in lines_of(recorder.path) if "stream" in line]
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
    """The text form names the style of a frame's JSON, such as where it has spaces."""
    style_found = find_style(raw)
    assert style_found is not None
    assert style_found[1] is style


@each_case(
    "raw",
    [
        b'{"a":1.0}', b'{"a":1e5}', b'{"a":-0}', b'{"a":9007199254740992}', b'{"a":1,"a":2}',
        b'{"a":"\\ud800"}', b'{"a":NaN}', b'{"a" :1}', b'{"a":1} ', b'{"a":"\xff"}', b'{"a":"\\/"}',
        b"[" * 129 + b"]" * 129, b"[" * 99999 + b"]" * 99999, b"7", b'"a"', b"", b'{"a":1E400}',
        b'{"a":0.10}', b'{"a":2.5e-7}',
    ],
)  # fmt: skip
def test_a_line_that_another_tool_might_change_is_kept_as_text(raw: bytes) -> None:
    """If a JSON tool could change a frame, the text form stores the frame as a string."""
    assert find_style(raw) is None


def test_nothing_in_a_text_commands_a_terminal_or_hides(tmp_path: Path) -> None:
    """In the text form, control characters are escaped."""
    hidden = "\x9b31m \u202e \u2028 \x7f \U000e0041 \ufeff"
    with LogWriter(tmp_path / "x.db", cwd=f"/{hidden}") as recorder:
        recorder.to_agent(request(1, hidden), f"{hidden}\n".encode())
        recorder.stderr(f"\x1b[31m{hidden}")
        recorder.finish()
    written = text_of(recorder.path).decode()
    assert written.replace("\n", "").isprintable()
    assert_comes_back(recorder.path)


def test_a_part_of_a_recording_keeps_times_and_numbers(tmp_path: Path) -> None:
    """If `export` writes only some frames as text, they keep their times and numbers."""
    path = record_conversation(tmp_path / "x.db")
    with RecordingReader(path) as reader:
        part = b"".join(write_text_form(reader, parse("kind:error or seq:20..21")))
    kept = rows_of_text(part)
    whole = rows_of_recording(path)
    for table in ("frames", "events"):
        wanted = {row["seq"]: row["t_ns"] for row in whole[table] if row["seq"] in (12, 20, 21)}
        assert {row["seq"]: row["t_ns"] for row in kept[table]} == wanted
    assert kept["recording"] == whole["recording"]


def test_faults_that_fired_follow_their_frame(tmp_path: Path) -> None:
    """In the text form, the line about a fired fault follows the line of its frame."""
    path = record_conversation(tmp_path / "x.db")
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, ?)",
            [(7, "late", "delay", b"a\n", b"a\n", 1_500_000), (99, None, None, None, None, None),
             (3, "r", "cut", b"\xff", None, None), (7, "b", "cut", b"", b"", 0)],
        )  # fmt: skip
    connection.close()
    lines = lines_of(path)
    after = [lines[n + 1].get("fired") for n, line in enumerate(lines[:-1]) if "stream" in line]
    assert after[1] == {"rule": "r", "action": "cut", "received_base64": "/w=="}
    assert [line["fired"].get("late_ms") for line in lines if "fired" in line] == [
        None, 1.5, 0, None,
    ]  # fmt: skip
    assert lines[-1] == {"seq": 99, "fired": {}}
    assert_comes_back(path)
    with RecordingReader(path) as reader:
        part = b"".join(write_text_form(reader, parse("seq:7")))
    assert [row["rule"] for row in rows_of_text(part)["faults_fired"]] == ["b", "late"]


def test_memory_stays_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory that `export` needs does not grow with the length of the recording."""
    monkeypatch.setattr("acp_proxy.store.copies.text_import._BATCH", 256)  # so many lines are held
    peaks = {}
    for count in (250, 2_500):
        with LogWriter(tmp_path / f"{count}.db") as recorder:
            block = b"".join(
                json.dumps({"method": "m", "params": {"n": n, "x": "y" * 200}}).encode() + b"\n"
                for n in range(100)
            )
            for _ in range(count // 100):
                recorder.chunk(TO_CLIENT, block)
            recorder.finish()
        with (
            RecordingReader(recorder.path) as reader,
            (tmp_path / "x.jsonl").open("w+b") as file,
            new_database() as rows,
        ):
            tracemalloc.start()
            file.writelines(write_text_form(reader))
            file.seek(0)
            read_text_form(file, Path("x.jsonl"), rows)
            peaks[count] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peaks[2_500] < peaks[250] * 2


def test_the_lines_are_those_of_the_export(tmp_path: Path) -> None:
    """`text_lines` returns the line numbers that frames have in the text form of `export`."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        written = [*write_text_form(reader)]
        seqs = [row["seq"] for row in reader.rows()]
        lines = text_lines(reader, seqs)
        assert [*lines] == seqs
        prompt = next(n for n, line in enumerate(written, 1) if b"session/prompt" in line)
        row = next(row for row in reader.frames() if row["method"] == "session/prompt")
        assert lines[row["seq"]] == prompt
        assert text_lines(reader, []) == text_lines(reader, [10**6]) == {}


def test_remarks_of_a_file_count(tmp_path: Path) -> None:
    """In a text form, the line numbers from `text_lines` include comments and blank lines."""
    path = tmp_path / "x.jsonl"
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        header, *rest = write_text_form(reader)
        seqs = [row["seq"] for row in reader.rows()]
    path.write_bytes(b"".join([b"# a remark\n", header, b"\n", *rest[:2], b"#\n", *rest[2:]]))
    with RecordingReader(path) as reader:
        numbers = text_lines(reader, seqs)
    lines = path.read_bytes().splitlines()
    assert [numbers[seq] for seq in seqs[:4]] == [4, 5, 7, 8]
    assert numbers[seqs[-1]] == len(lines)
