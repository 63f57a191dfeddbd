"""``inspect log``: the timeline, as lines, as JSON, as bytes, and one frame in full."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.commands import complaint, run
from tests.scribe import Scribe, handshake, line, record_story, tell_story, text, update

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """The recording of `tell_story`."""
    return record_story(tmp_path / "story.db")


def test_a_timeline_has_a_line_for_each_frame_and_event(story: Path) -> None:
    """Columns stand one below the other, the text after them, nothing is cut."""
    lines = run("inspect", "log", story).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, 24)]
    assert lines[5:10] == [
        "6      0.005     → session/prompt               #2    →15            128 B    hello 你好",
        "7      0.006     ← session/update                                    159 B    "
        "agent_message_chunk: Hi",
        "8      0.007     ← session/update                                    164 B    "
        "tool_call: Edit [pending]",
        "9      0.008     ← session/request_permission   #0    →10            187 B    "
        "Edit (allow_once)",
        "10     0.009     → session/request_permission ✓ #0    ↩9 1 ms        83 B     selected y",
    ]
    assert lines[17] == "18     0.017     ←                                                   0 B"


def test_output_that_is_no_terminal_is_plain_and_never_cut(tmp_path: Path) -> None:
    """In a file or a pipe a line is as long as it is, without colours."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.to_client(update("s", "agent_message_chunk", content=text("word " * 300 + "end")))
    out = run("inspect", "log", scribe.path, COLUMNS="40").stdout
    assert out.splitlines()[1].endswith(" word end")
    assert "\x1b" not in out


def test_colours_can_be_forced(story: Path) -> None:
    """With FORCE_COLOR each direction has its colour, and NO_COLOR is the last word."""
    lines = run("inspect", "log", story, FORCE_COLOR="1").stdout.splitlines()
    assert lines[5].startswith("\x1b[36m6 ")
    assert lines[6].startswith("\x1b[32m7 ")
    assert lines[11].startswith("\x1b[31m12 ")
    assert lines[5].endswith("\x1b[0m")
    out = run("inspect", "log", story, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in out


def test_as_json_there_is_a_line_for_each(story: Path) -> None:
    """Each frame and each event is one JSON object on one line, in one order."""
    result = run("inspect", "log", "--json", story)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["seq"] for row in found] == list(range(1, 24))
    assert [row.get("kind") or row["event"] for row in found][:4] == [
        "start",
        "request",
        "response",
        "request",
    ]
    with RecordingReader(story) as reader:
        raws = {row["seq"]: bytes(row["raw"]) for row in reader.frames()}
    for printed, row in zip(result.stdout_bytes.splitlines(), found, strict=True):
        if "message" in row:
            assert printed.endswith(b',"message":' + raws[row["seq"]] + b"}")
        elif "text" in row:
            assert row["text"].encode() == raws[row["seq"]]


def test_raw_is_what_was_received(story: Path) -> None:
    """The bytes of all frames in their order, line endings and the lack of one included."""
    with RecordingReader(story) as reader:
        expected = b"".join(bytes(r["raw"]) + r["newline"].encode() for r in reader.frames())
    out = run("inspect", "log", "--raw", story).stdout_bytes
    assert out == expected
    assert out.endswith(b"not json\r\n\nunfinished")


def test_raw_may_be_anything(tmp_path: Path) -> None:
    """Bytes that are no text come out as they came in."""
    said = bytes(range(256)).replace(b"\n", b"") + b"\n"
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.chunk(2, said)
    assert run("inspect", "log", "--raw", scribe.path).stdout_bytes == said


def test_one_frame_in_full(story: Path) -> None:
    """A frame has its line, what it belongs to, and its message indented."""
    assert (
        run("inspect", "log", "--seq", "9", story).stdout
        == """\
9      0.008     ← session/request_permission   #0    →10            187 B    Edit (allow_once)
  stream: to-client
  kind: request
  session: s-1
  turn: 1
  tool_call: c-1
  delivered: full
{
  "jsonrpc": "2.0",
  "id": 0,
  "method": "session/request_permission",
  "params": {
    "sessionId": "s-1",
    "toolCall": {
      "toolCallId": "c-1",
      "title": "Edit"
    },
    "options": [
      {
        "optionId": "y",
        "kind": "allow_once"
      }
    ]
  }
}
"""
    )


def test_one_frame_as_json_and_as_bytes(story: Path) -> None:
    """One frame can be had in the forms that all of them can."""
    found = json.loads(run("inspect", "log", "--seq", "6", "--json", story).stdout)
    assert (found["seq"], found["method"]) == (6, "session/prompt")
    assert run("inspect", "log", "--seq", "17", "--raw", story).stdout_bytes == b"not json\r\n"
    assert run("inspect", "log", "--seq", "20", "--raw", story).stdout_bytes == b"unfinished"


def test_one_event_in_full(story: Path) -> None:
    """An event has its line and its JSON; it has no bytes."""
    assert run("inspect", "log", "--seq", "23", story).stdout.endswith("the agent exited with 3\n")
    found = json.loads(run("inspect", "log", "--seq", "23", "--json", story).stdout)
    assert found == {"seq": 23, "t_ns": 22_000_000, "event": "exit", "data": {"code": 3}}
    assert run("inspect", "log", "--seq", "23", "--raw", story).stdout == ""


@pytest.mark.parametrize("number", ["24", "9223372036854775808", "99999999999999999999999"])
def test_a_number_that_is_not_there(story: Path, number: str) -> None:
    """A frame that does not exist is told, however large its number."""
    answer = complaint("inspect", "log", "--seq", number, story)
    assert answer == f"no frame or event {number} in {story}"


def test_bytes_and_json_are_not_one(story: Path) -> None:
    """Two forms at once are wrong use."""
    assert complaint("inspect", "log", "--raw", "--json", story) == (
        "expected --json or --raw, got both"
    )


def test_a_running_one_is_read_to_its_newest_frame(tmp_path: Path) -> None:
    """Without --follow a running recording is printed as far as it is, and no further."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        scribe.index()
        scribe.to_client(update("s", "agent_message_chunk", content=text("now")))
        lines = run("inspect", "log", scribe.path).stdout.splitlines()
    assert len(lines) == 4
    assert lines[-1].endswith("agent_message_chunk: now")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["kind:error"], [12]),
        (["dir:to-agent", "method:session/*"], [4, 6, 10, 16]),
        (["kind:event", "not", "seq:19..22"], [1, 23]),
        (["kind:error or kind:stderr"], [12, 13]),
        (["latency:>5ms"], [6, 15]),
        (["call:c-1"], [8, 9, 10, 14]),
        (["text:nowhere"], []),
    ],
)
def test_a_filter_chooses(story: Path, words: list[str], found: list[int]) -> None:
    """A filter, in one word or several, leaves the frames that are meant, in every form."""
    printed = run("inspect", "log", "--json", story, *words).stdout.splitlines()
    numbers = [json.loads(line)["seq"] for line in printed]
    assert numbers == found
    lines = run("inspect", "log", story, *words).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == numbers


def test_a_bad_filter_is_answered(story: Path) -> None:
    """A filter that cannot be understood is wrong use, before anything is printed."""
    assert "kind" in complaint("inspect", "log", story, "knd:error")


def test_following_what_has_ended_is_reading(story: Path) -> None:
    """--follow of a recording that runs no more prints it and ends."""
    assert run("inspect", "log", "-f", story).stdout == run("inspect", "log", story).stdout


def test_frames_beyond_the_log_and_in_the_rows_come_in_one_order(tmp_path: Path) -> None:
    """What is indexed and what is not are one timeline."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        scribe.index()
        tell_story(scribe)
        found = run("inspect", "log", "--json", scribe.path).stdout.splitlines()
    assert [json.loads(row)["seq"] for row in found] == list(range(1, 26))


def test_a_large_frame_is_printed_whole(tmp_path: Path) -> None:
    """A line of three megabytes is one line of JSON, and its bytes are its bytes."""
    said = line(update("s", "agent_message_chunk", content=text("x" * (3 << 20))))
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.chunk(2, said)
    assert run("inspect", "log", "--raw", scribe.path).stdout_bytes == said
    printed = run("inspect", "log", "--json", "--seq", "2", scribe.path).stdout_bytes
    assert printed.endswith(said.rstrip(b"\n") + b"}\n")
