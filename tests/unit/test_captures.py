"""Captured conversations are read byte for byte, and each side of them can be played."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import player
from tests.support.captures import (
    ROOT,
    Exit,
    Read,
    Signal,
    StreamEnd,
    all_captures,
    all_text_forms,
    load,
    load_text_form,
    save,
)
from tests.support.cases import each_case

HANDSHAKE = ROOT / "pysdk-echo-0.12.1" / "handshake.jsonl"
PLAYER = [sys.executable, str(Path(player.__file__))]


def name(path: Path) -> str:
    """Return the agent and the scenario of a capture."""
    return str(path.relative_to(ROOT)).partition(".jsonl")[0]


def act(side: str, *arguments: str | Path, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the program that plays one side of a captured conversation, to its end."""
    command = [*PLAYER, side, *map(str, arguments)]
    return subprocess.run(command, input=said, capture_output=True, timeout=90, check=False)


def write_capture(path: Path, *lines: dict[str, object]) -> Path:
    """Write a captured conversation of invented lines between a start and an exit."""
    start = {"t": 0, "event": "start", "argv": ["agent"], "wall": 1.5}
    stop = {"t": 2.5, "event": "exit", "returncode": 7}
    path.write_text("".join(json.dumps(line) + "\n" for line in (start, *lines, stop)))
    return path


def test_all_are_found() -> None:
    """The tests find all 39 captured conversations with real agents in the test data."""
    assert len(all_captures()) == 39
    assert {path.parent.name.partition("-")[0] for path in all_captures()} == {
        "claude",
        "gemini",
        "pysdk",
    }


@each_case("path", all_captures(), ids=name)
def test_each_is_whole(path: Path) -> None:
    """Each captured conversation in the test data has ordered times and ends with an exit."""
    capture = load(path)
    for joined in capture.stream_bytes("to-agent"), capture.stream_bytes("to-client"):
        assert joined.endswith(b"\n")
        assert all(isinstance(json.loads(line), dict) for line in joined.splitlines())
    times = [record.t_ns for record in capture.records]
    assert times == sorted(times)
    assert [isinstance(record, Exit) for record in capture.records].index(True) == len(times) - 1


def test_eight_recordings_are_of_twelve_turns() -> None:
    """Eight captured conversations of the test data have twelve prompts each, and some cancels."""
    whole = [path for path in all_text_forms() if path.stem[-1].isdigit()]
    assert (len(whole), len(all_text_forms())) == (8, 11)
    for capture in map(load_text_form, whole):
        client = capture.stream_bytes("to-agent")
        assert client.count(b'"method":"session/prompt"') == 12
        assert client.count(b'"method":"session/cancel"') >= 2
        assert b'"session/request_permission"' in capture.stream_bytes("to-client")


@pytest.mark.parametrize("path", all_text_forms(), ids=name)
def test_a_recording_becomes_a_capture(path: Path, tmp_path: Path) -> None:
    """A captured conversation of the test data that is saved and loaded stays the same."""
    capture = load_text_form(path)
    save(capture, tmp_path / "capture.jsonl")
    assert load(tmp_path / "capture.jsonl") == capture


def test_recordings_name_no_machine() -> None:
    """The captured conversations in the tests contain no name or path of a real machine."""
    for path in all_text_forms():
        text = path.read_text()
        assert len(text) < 200_000
        assert "/root" not in text
        assert '"cwd":"/home/dev/project"' in text


def test_every_kind_of_line_is_read(tmp_path: Path) -> None:
    """`load` of the tests reads all of a captured conversation, such as base64 and signals."""
    path = write_capture(
        tmp_path / "x.jsonl",
        {"t": 0.5, "dir": "c2a", "n": 3, "text": "é\n"},
        {"t": 1, "dir": "a2c", "n": 2, "raw_b64": "w6k="},
        {"t": 1.25, "dir": "stderr", "event": "eof"},
        {"t": 2, "event": "signal", "signum": 15},
    )
    capture = load(path)
    assert (capture.argv, capture.started_at) == (("agent",), 1.5)
    assert capture.records == (
        Read(500_000_000, "to-agent", b"\xc3\xa9\n"),
        Read(1_000_000_000, "to-client", b"\xc3\xa9"),
        StreamEnd(1_250_000_000, "stderr"),
        Signal(2_000_000_000, 15),
        Exit(2_500_000_000, 7),
    )
    assert capture.exit.returncode == 7


def test_a_wrong_length_is_an_error(tmp_path: Path) -> None:
    """If a line of a captured conversation has a wrong length, loading it names the line."""
    path = write_capture(tmp_path / "x.jsonl", {"t": 1, "dir": "c2a", "n": 4, "text": "abc"})
    with pytest.raises(ValueError, match=r"x\.jsonl:2: expected 4 bytes, got 3"):
        load(path)


def test_an_unknown_line_is_an_error(tmp_path: Path) -> None:
    """If a line of a captured conversation is of an unknown kind, it is not loaded."""
    path = write_capture(tmp_path / "x.jsonl", {"t": 1, "event": "lunch"})
    with pytest.raises(ValueError, match="lunch"):
        load(path)


@pytest.mark.parametrize("agent", ["gemini-0.61.0", "claude-code-acp-0.16.2"])
def test_a_killed_agent_does_not_wait_for_the_end(agent: str) -> None:
    """The tests' player of a captured agent that was killed sends its bytes and dies by SIGKILL."""
    path = ROOT / agent / "killed.jsonl"
    capture = load(path)
    process = subprocess.Popen(
        [*PLAYER, "agent", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(capture.stream_bytes("to-agent"))
        said = b"".join(iter(lambda: process.stdout.read(65536), b""))  # type: ignore[union-attr]
        assert process.wait() == -9
    assert said == capture.stream_bytes("to-client")


def test_the_agent_notices_one_wrong_byte() -> None:
    """The tests' player of a captured agent fails at the client's first byte that differs."""
    said = load(HANDSHAKE).stream_bytes("to-agent").replace(b'"id":1', b'"id":2')
    result = act("agent", HANDSHAKE, said=said)
    assert result.returncode == player.TOLD_SOMETHING_ELSE
    assert b"at byte 268 expected b'1," in result.stderr
    assert act("agent", "--lenient", HANDSHAKE, said=said).returncode == 0


@pytest.mark.parametrize(
    ("program", "deadline", "reason"),
    [
        ("pass", "60", "expected 56 bytes before the end, got 0"),
        ("print('no')", "60", "at byte 0 expected b'{\""),
        ("import time; time.sleep(60)", "0.2", "expected the conversation to end in time"),
    ],
)
def test_the_client_reports_what_was_wrong(program: str, deadline: str, reason: str) -> None:
    """The tests' player of a captured client fails if the agent's bytes differ, and says where."""
    command = [sys.executable, "-c", program]
    result = act("client", "--deadline", deadline, HANDSHAKE, "--", *command)
    assert result.returncode == 1
    assert reason in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1


def test_the_client_fails_when_the_agent_got_other_bytes() -> None:
    """The tests' player of a captured client fails if the agent says that it got other bytes."""
    said = load(HANDSHAKE).stream_bytes("to-client")
    assert speak(said, exit_code=0).returncode == 0
    result = speak(said, exit_code=player.TOLD_SOMETHING_ELSE)
    assert result.returncode == 1
    assert result.stderr == b"player: client: the agent was told something else than was recorded\n"


def speak(said: bytes, exit_code: int) -> subprocess.CompletedProcess[bytes]:
    """Play the client of a captured handshake to an agent that sends all bytes at once."""
    program = (
        "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1])); sys.stdout.flush();"
        "sys.stdin.read(); sys.exit(int(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, said.hex(), str(exit_code)]
    return act("client", HANDSHAKE, "--", *command)
