"""``log`` prints the timeline as lines, JSON or bytes, and one frame in full."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.support.batch_messages import CHAT, lines_of
from tests.support.command_line import complaint, run
from tests.support.log_writer import (
    MS,
    LogWriter,
    handshake,
    line,
    notification,
    record_conversation,
    request,
    result,
    text,
    update,
    write_conversation,
)
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """The recording of `write_conversation`."""
    return record_conversation(tmp_path / "story.db")


def test_a_timeline_has_a_line_for_each_frame_and_event(story: Path) -> None:
    """In a pipe, `log` prints an aligned, uncut line for each frame and each event."""
    lines = run("inspect", "log", story).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, 24)]
    assert lines[5:10] == [
        "     6     0.005 → session/prompt               #2    →15              128 B  hello 你好",
        "     7     0.006 ← agent_message_chunk                                 159 B  Hi",
        "     8     0.007 ← tool_call                                           164 B  "
        "Edit (c-1) [pending]",
        "     9     0.008 ← session/request_permission   #0    →10              187 B  "
        "Edit (c-1): y (allow_once)",
        "    10     0.009 → session/request_permission ✓ #0    ↩9 1 ms           83 B  "
        "selected allow_once",
    ]
    assert lines[17] == "    18     0.017 ←" + " " * 55 + "0 B"


def test_output_that_is_no_terminal_is_plain_and_never_cut(tmp_path: Path) -> None:
    """In a pipe, `log` prints whole lines, without colours."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s", "agent_message_chunk", content=text("word " * 300 + "end")))
    out = run("inspect", "log", recorder.path, COLUMNS="40").stdout
    assert out.splitlines()[1].endswith(" word end")
    assert "\x1b" not in out


def test_colours_can_be_forced(story: Path) -> None:
    """With FORCE_COLOR, `log` has a colour for each direction."""
    lines = run("inspect", "log", story, FORCE_COLOR="1").stdout.splitlines()
    assert "\x1b[1;38;5;32m→ session/prompt" in lines[5]
    assert "\x1b[38;5;28m← agent_message_chunk" in lines[6]
    assert "\x1b[38;5;196m→ fs/read_text_file ✗" in lines[11]
    assert lines[5].endswith("\x1b[0m")
    out = run("inspect", "log", story, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in out


def test_as_json_there_is_a_line_for_each(story: Path) -> None:
    """`log --json` prints each frame and each event as one line of JSON."""
    result = run("inspect", "log", "--json", story)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, 24))
    assert [row.get("kind") or row["event"] for row in rows][:4] == [
        "start",
        "request",
        "response",
        "request",
    ]
    with RecordingReader(story) as reader:
        raws = {row["seq"]: bytes(row["raw"]) for row in reader.frames()}
    for printed, row in zip(result.stdout_bytes.splitlines(), rows, strict=True):
        if "message" in row:
            assert printed.endswith(b',"message":' + raws[row["seq"]] + b"}")
        elif "text" in row:
            assert row["text"].encode() == raws[row["seq"]]


def test_raw_has_the_bytes_that_were_received(story: Path) -> None:
    """`log --raw` prints the bytes of all frames in order."""
    with RecordingReader(story) as reader:
        expected = b"".join(bytes(r["raw"]) + r["newline"].encode() for r in reader.frames())
    out = run("inspect", "log", "--raw", story).stdout_bytes
    assert out == expected
    assert out.endswith(b"not json\r\n\nunfinished")


def test_one_frame_in_full(story: Path) -> None:
    """`log --seq` prints a frame's line, its details and its message."""
    lines = run("inspect", "log", "--seq", "9", story).stdout.splitlines()
    assert lines[0].startswith("     9     0.008 ← session/request_permission   #0    →10 ")
    assert lines[1].startswith("  time        2025-06-15 ")
    assert (
        "\n".join(lines[2:])
        == """\
  stream      to-client
  kind        request
  method      session/request_permission
  id          0
  exchange    4
  session     s-1
  turn        1
  tool_call   c-1
  size        187 bytes
  newline     \\n
  delivered   full
  answer      10, after 1 ms
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

    10     0.009 → session/request_permission ✓ #0    ↩9 1 ms           83 B  selected allow_once
{
  "jsonrpc": "2.0",
  "id": 0,
  "result": {
    "outcome": {
      "outcome": "selected",
      "optionId": "y"
    }
  }
}"""
    )


def test_a_line_that_is_not_utf8_in_full(tmp_path: Path) -> None:
    """If a frame is not UTF-8, `log --seq` prints a hex view of its bytes."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(2, b"caf\xe9 \x1b[2J\n")
    lines = run("inspect", "log", "--seq", "2", recorder.path).stdout.splitlines()
    assert "  parse_error not UTF-8 at byte 3" in lines
    assert lines[-3:] == [
        "caf\\xe9 \\x1b[2J",
        "not UTF-8:",
        "00000000  63 61 66 e9 20 1b 5b 32 4a                       caf. .[2J",
    ]


def test_a_batch_shows_its_messages(tmp_path: Path) -> None:
    """For a JSON-RPC batch, `log` prints a line for each message."""
    path = tmp_path / "batches.jsonl"
    path.write_bytes(b"".join(lines_of(*CHAT)))
    batch, *members = run("inspect", "log", path, "kind:error").stdout.splitlines()
    assert batch.startswith("     4     0.000 ← batch")
    assert [re.sub(r" +([0-9]+ B)? *", " ", line) for line in members] == [
        " ← tool_call_update c [completed]",
        " ← session/set_mode ✗ #3 ↩1 <1 µs -32603 (internal error) no such mode",
        " ← session/prompt ✓ #2 ↩1 <1 µs end_turn",
    ]


def test_a_batch_in_full(tmp_path: Path) -> None:
    """For a JSON-RPC batch, `log --seq` prints a line for each message, and then the whole JSON."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client([notification("_a"), notification("_b")])
    out = run("inspect", "log", "--seq", "2", recorder.path).stdout
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [["←", "_a"], ["←", "_b"]]
    shown = json.loads(out[out.index("\n[") :])
    assert [message["method"] for message in shown] == ["_a", "_b"]


def test_a_batch_in_full_says_what_its_line_says(tmp_path: Path) -> None:
    """`log --seq` describes each message of a JSON-RPC batch by the same line as `log`."""
    path = tmp_path / "batches.jsonl"
    path.write_bytes(b"".join(lines_of(*CHAT)))
    lines = run("inspect", "log", path, "seq:4").stdout.splitlines()
    assert run("inspect", "log", "--seq", "4", path).stdout.splitlines()[:4] == lines
    assert "-32603 (internal error) no such mode" in lines[2]


def test_a_huge_frame_in_full_is_cut(tmp_path: Path) -> None:
    """`log --seq` cuts a frame of megabytes, and names the option that prints the whole frame."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "_ask", x="y" * (3 << 20)))
        recorder.to_client(result(1, x="z" * (3 << 20)))
        recorder.chunk(2, b"w" * (3 << 20) + b"\n")
    lines = run("inspect", "log", "--seq", "2", recorder.path).stdout.splitlines()
    assert sum(map(len, lines)) < 1_200_000
    assert lines[-1] == "--seq 3 prints the rest"
    assert "--raw prints the rest" in lines
    assert lines[-2].endswith("z… cut: the whole has 3.1 MB")
    lines = run("inspect", "log", "--seq", "4", recorder.path).stdout.splitlines()
    assert lines[-1] == "… cut: the line has 3.1 MB; --raw prints it"


def test_one_frame_as_json_and_as_bytes(story: Path) -> None:
    """`log --seq` with `--json` or `--raw` prints the chosen frame as JSON or as its bytes."""
    row = json.loads(run("inspect", "log", "--seq", "6", "--json", story).stdout)
    assert (row["seq"], row["method"]) == (6, "session/prompt")
    assert run("inspect", "log", "--seq", "17", "--raw", story).stdout_bytes == b"not json\r\n"
    assert run("inspect", "log", "--seq", "20", "--raw", story).stdout_bytes == b"unfinished"


def test_one_event_in_full(story: Path) -> None:
    """`log --seq` prints an event with its time and its data."""
    lines = run("inspect", "log", "--seq", "23", story).stdout.splitlines()
    assert lines[0].endswith("the agent exited with 3")
    assert lines[1].startswith("  time ")
    assert lines[2:] == ["  event       exit", "{", '  "code": 3', "}"]
    row = json.loads(run("inspect", "log", "--seq", "23", "--json", story).stdout)
    assert row == {"seq": 23, "t_ns": 22_000_000, "event": "exit", "data": {"code": 3}}
    assert run("inspect", "log", "--seq", "23", "--raw", story).stdout == ""


@pytest.mark.parametrize("number", ["24", "9223372036854775808", "99999999999999999999999"])
def test_an_unknown_number_is_refused(story: Path, number: str) -> None:
    """If a frame number does not exist, the error of `log --seq` names the last frame number."""
    answer = complaint("inspect", "log", "--seq", number, story)
    assert answer == f"no frame or event {number} in {story}; the last one is 23"
    assert complaint("inspect", "log", "--around", number, story) == answer


def test_raw_and_json_exclude_each_other(story: Path) -> None:
    """`log --raw --json` is a usage error."""
    assert complaint("inspect", "log", "--raw", "--json", story) == (
        "expected --json or --raw, got both"
    )


@pytest.mark.parametrize("other", [["--seq", "1"], ["--follow"], ["--lines", "1"]])
def test_around_excludes_other_choices(story: Path, other: list[str]) -> None:
    """`log --around` cannot be combined with `--seq`, `--follow` or `--lines`."""
    assert complaint("inspect", "log", "--around", "5", *other, story) == (
        "--around cannot be combined with --seq, --lines or --follow"
    )


def numbers(*arguments: str | Path) -> list[str]:
    """Returns the first word of each line of the timeline."""
    out = run("inspect", "log", *arguments).stdout
    return [line.split()[0] for line in out.splitlines()]


def seqs(*arguments: str | Path) -> list[int]:
    """Returns the numbers of the frames in JSON lines."""
    out = run("inspect", "log", "--json", *arguments).stdout
    return [json.loads(line)["seq"] for line in out.splitlines()]


@pytest.fixture
def streamed(tmp_path: Path) -> Path:
    """A recording of two turns with chunks: frames 1 to 19."""
    with LogWriter(tmp_path / "streamed.db") as recorder:
        handshake(recorder)
        for turn, session in enumerate(("left", "right")):
            prompt = [text("go")]
            recorder.to_agent(request(turn, "session/prompt", sessionId=session, prompt=prompt))
            for said in ("one ", "two ", "three"):
                recorder.to_client(update(session, "agent_message_chunk", content=text(said)))
            recorder.to_client(result(turn, stopReason="end_turn"))  # 8, 13
        recorder.close()
        recorder.finish()
    return recorder.path


def test_chunks_of_a_message_are_one_line(streamed: Path) -> None:
    """`log` prints successive chunks of a message as one line."""
    lines = run("inspect", "log", streamed).stdout.splitlines()
    assert " ".join(line.split()[0] for line in lines) == "1 2 3 4 5–7 8 9 10–12 13"
    expected = "5–7 0.004 ← agent_message_chunk ×3 2 ms 487 B one two three"
    assert " ".join(lines[4].split()) == expected
    assert numbers("--no-fold", streamed) == [str(n) for n in range(1, 14)]


@pytest.mark.parametrize("form", ["--json", "--raw"])
def test_programs_get_every_chunk(streamed: Path, form: str) -> None:
    """`log --json` prints each chunk of a message separately."""
    folded = run("inspect", "log", form, streamed).stdout_bytes
    assert folded == run("inspect", "log", form, "--no-fold", streamed).stdout_bytes
    assert folded.count(b"agent_message_chunk") == 6


def test_a_turn_and_a_session_can_be_chosen(streamed: Path) -> None:
    """With `--turn`, `--session` or both, `log` prints only the frames of that turn and session."""
    assert numbers("--turn", "1", streamed) == ["4", "5–7", "8"]
    assert numbers("--session", "right", streamed) == ["9", "10–12", "13"]
    assert numbers("--session", "r", streamed, "kind:request") == ["9"]
    assert seqs("--session", "l", "--turn", "1", streamed) == [4, 5, 6, 7, 8]
    assert seqs("--session", "l", "--turn", "2", streamed) == []


def test_a_turn_has_what_came_on_stderr_meanwhile(tmp_path: Path) -> None:
    """`log --turn` includes the stderr lines that came during the turn."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.stderr("before")  # 2
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 3
        recorder.stderr("ERROR tool toolu_01 failed")  # 4
        recorder.to_client(result(1, stopReason="end_turn"))  # 5
        recorder.stderr("after")  # 6
        recorder.to_agent(request(2, "session/prompt", sessionId="s", prompt=[text("on")]))  # 7
        recorder.stderr("in the open turn")  # 8
    assert numbers("--turn", "1", recorder.path) == ["3", "4", "5"]
    assert numbers("--turn", "1", recorder.path, "not kind:stderr") == ["3", "5"]
    assert numbers("--turn", "2", recorder.path) == ["7", "8"]


def test_a_missing_turn_or_session_is_reported(streamed: Path) -> None:
    """If `log --turn` or `--session` names what a recording lacks, the error names what it has."""
    assert complaint("inspect", "log", "--turn", "3", streamed) == (
        f"no turn 3 in {streamed}; number of turns: 2"
    )
    assert complaint("inspect", "log", "--session", "x", streamed) == (
        f"no session id begins with 'x' in {streamed}; expected one of left, right"
    )


def test_around_a_frame(streamed: Path) -> None:
    """`log --around` never joins the chosen frame or its answer with other chunks in one line."""
    lines = run("inspect", "log", "--around", "5", "--context", "2", streamed).stdout.splitlines()
    assert [line[:2].strip() for line in lines] == ["", "", "▸", ""]
    assert [line[2:].split()[0] for line in lines] == ["3", "4", "5", "6–7"]
    lines = run("inspect", "log", "--around", "4", "--context", "1", streamed).stdout.splitlines()
    assert [line[:2].strip() for line in lines] == ["", "▸", "", "▹"]
    assert seqs("--around", "4", "--context", "1", streamed) == [3, 4, 5, 8]
    assert seqs("--around", "4", streamed, "kind:notification") == [4, 5, 6, 7, 8, 10, 11, 12]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ("0", ""),
        ("2", "10–12 13"),
        ("99", "1 2 3 4 5–7 8 9 10–12 13"),
    ],
)
def test_the_last_lines(streamed: Path, count: str, expected: str) -> None:
    """`log -n NUMBER` prints the last NUMBER lines, or all lines if there are fewer."""
    assert " ".join(numbers("-n", count, streamed)) == expected
    assert " ".join(numbers("-n", count, "--follow", streamed)) == expected


def test_the_last_lines_of_what_is_chosen(streamed: Path) -> None:
    """`log -n` counts only lines that match the filter."""
    assert seqs("-n", "2", streamed) == [12, 13]
    assert seqs("-n", "2", streamed, "kind:request") == [4, 9]
    assert numbers("-n", "1", streamed, "dir:to-agent") == ["9"]
    raw = run("inspect", "log", "--raw", "-n", "1", streamed).stdout_bytes
    assert json.loads(raw)["result"] == {"stopReason": "end_turn"}


def test_the_last_lines_are_found_far_back(tmp_path: Path) -> None:
    """`log -n` counts thousands of successive chunks as one line."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        for _ in range(3000):
            recorder.to_client(update("s", "agent_message_chunk", content=text("a")))
        recorder.close()
    assert numbers("-n", "2", recorder.path) == ["3", "4–3003"]


@pytest.mark.parametrize(
    ("words", "expected"),
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
def test_a_filter_selects_frames(story: Path, words: list[str], expected: list[int]) -> None:
    """With a filter, `log` and `log --json` print only the matching frames."""
    printed = run("inspect", "log", "--json", story, *words).stdout.splitlines()
    numbers = [json.loads(line)["seq"] for line in printed]
    assert numbers == expected
    lines = run("inspect", "log", story, *words).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == numbers


def test_a_bad_filter_is_explained(story: Path) -> None:
    """`log` reports an invalid filter as a usage error before it prints anything."""
    assert "kind" in complaint("inspect", "log", story, "knd:error")


def test_following_a_finished_recording_reads_it(story: Path) -> None:
    """`log --follow` of a finished recording prints the recording and ends."""
    assert run("inspect", "log", "-f", story).stdout == run("inspect", "log", story).stdout


def test_a_finished_recording_may_have_had_a_problem(story: Path) -> None:
    """If a finished recording ends with a crash, `log --follow --until problem` exits with 1."""
    ended = f"acp-proxy: the recording has ended: {story}\n"
    for until in ("end", "stall:1s"):
        result = run("inspect", "log", "-n", "0", "-f", "--until", until, story)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", ended)
    result = run("inspect", "log", "-f", "--until", "problem", DIRECTORY / "crash.db")
    assert result.exit_code == 1
    assert result.stderr.startswith("acp-proxy: agent.ended by the agent: #14: the agent crashed")


@pytest.mark.parametrize("until", ["stall", "stall:", "stall:soon", "stall:60m", "never", ""])
def test_a_condition_is_one_of_three(story: Path, until: str) -> None:
    """`log --until` refuses all but `problem`, `end` and a form such as `stall:60s`."""
    assert complaint("inspect", "log", "-f", "--until", until, story) == (
        f"expected --until stall:60s, problem or end, got {until}"
    )


@pytest.mark.parametrize("words", [[], ["--follow", "--seq", "1"]])
def test_a_condition_needs_a_recording_that_is_followed(story: Path, words: list[str]) -> None:
    """`log --until` without `--follow` is a usage error."""
    assert complaint("inspect", "log", *words, "--until", "end", story) == (
        "--until needs --follow, and cannot be combined with --seq"
    )


def test_frames_of_the_log_and_of_the_rows_come_in_one_order(tmp_path: Path) -> None:
    """`log` sorts frames of the database, and of the log not yet indexed, by their numbers."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        write_conversation(recorder)
        rows = run("inspect", "log", "--json", recorder.path).stdout.splitlines()
    assert [json.loads(row)["seq"] for row in rows] == list(range(1, 26))


def test_a_large_frame_is_printed_whole(tmp_path: Path) -> None:
    """`log --json` prints a frame of three megabytes as one line."""
    said = line(update("s", "agent_message_chunk", content=text("x" * (3 << 20))))
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(2, said)
    assert run("inspect", "log", "--raw", recorder.path).stdout_bytes == said
    printed = run("inspect", "log", "--json", "--seq", "2", recorder.path).stdout_bytes
    assert printed.endswith(said.rstrip(b"\n") + b"}\n")


def test_times_by_the_clock_and_between_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`log --time` prints clock times, seconds between lines, or seconds since the start."""
    monkeypatch.setenv("TZ", "Etc/GMT-2")
    time.tzset()
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)  # 2, 3
        recorder.t_ns += 1500 * MS
        for said in ("a", "b"):
            recorder.to_client(update("s", "agent_message_chunk", content=text(said)))  # 4, 5
        recorder.to_client(update("s", "plan", entries=[]))  # 6

    def times(form: str, *words: str) -> list[str]:
        lines = run("inspect", "log", recorder.path, *words, "--time", form).stdout.splitlines()
        return [line.split()[1] for line in lines]

    assert times("clock") == [
        "17:06:40.000", "17:06:40.001", "17:06:40.002", "17:06:41.503", "17:06:41.505",
    ]  # fmt: skip
    assert times("delta") == ["0.000000", "0.001000", "0.001000", "1.501000", "0.001000"]
    assert times("delta", "seq:3 or seq:6") == ["0.000000", "1.503000"]
    assert times("relative") == ["0.000", "0.001", "0.002", "1.503", "1.505"]
    monkeypatch.undo()
    time.tzset()
    for form in ("--json", "--raw"):
        said = complaint("inspect", "log", recorder.path, "--time", "clock", form)
        assert said == "--time cannot be combined with --json or --raw"
