"""All output arrives at the client, even if it is written at or after the agent's exit."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agents import flood
from tests.integration.processes import (
    Gate,
    agent,
    exists,
    needs_proc,
    shell,
    wait_until,
)
from tests.support.fork_server import IMPATIENT

if TYPE_CHECKING:
    from tests.integration.processes import Recorder, Talk


@pytest.mark.slow
def test_the_last_bytes_before_an_exit_arrive(record: Recorder, tmp_path: Path) -> None:
    """If an agent writes 1 MB and exits immediately, a recorder delivers all of it."""
    sent = b"".join(b"%01023d\n" % n for n in range((1 << 20) // 1024))
    (tmp_path / "sent").write_bytes(sent)
    for _ in range(5):
        conversation = record(["cat", str(tmp_path / "sent")])
        assert conversation.read_all() == sent
        assert conversation.wait() == 0
        assert conversation.recording.stream("to-client") == sent
        assert conversation.recording.field("state") == "complete"


@needs_proc
def test_output_of_a_grandchild_arrives_after_the_exit(record: Recorder, tmp_path: Path) -> None:
    """If a child of the agent writes after the agent's exit, a recorder delivers the output."""
    gate = Gate(tmp_path / "gate")
    conversation = record(shell('(read go <"$1"; echo later) & printf "%08d\n" $$', gate.path))
    conversation.run(until=lambda: len(conversation.received) == 9)
    pid = int(conversation.received)
    wait_until(lambda: not exists(pid), "the agent to be gone")
    gate.open()
    conversation.expect(b"later\n")
    assert conversation.read_all() == b"%08d\nlater\n" % pid
    assert conversation.wait() == 0
    assert conversation.recording.stream("to-client") == b"%08d\nlater\n" % pid
    assert conversation.recording.sent_signals() == []


def test_an_agent_that_closes_its_input_can_still_write(record: Recorder, tmp_path: Path) -> None:
    """Behind a recorder, an agent that has closed its input can still write to its client."""
    gate = Gate(tmp_path / "gate")
    conversation = record(
        shell('exec <&-; echo closed; read go <"$1"; echo "still here"', gate.path)
    )
    conversation.expect(b"closed\n")
    with pytest.raises(BrokenPipeError):
        conversation.run(iter(lambda: b"to nobody\n", b""), until=lambda: False)
    gate.open()
    conversation.expect(b"still here\n")
    conversation.read_all()
    assert conversation.wait() == 0
    recorded = conversation.recording.stream("to-agent")  # what the proxy has read, and no more
    assert recorded
    assert (b"to nobody\n" * conversation.written).startswith(recorded)
    (end,) = [e for e in conversation.recording.events("eof") if e["stream"] == "to-agent"]
    assert end["reason"] == "the reader is gone"


def test_a_closed_output_ends_the_stream_at_once(record: Recorder, tmp_path: Path) -> None:
    """If an agent closes its output, the recorder immediately closes its own stdout."""
    conversation = record(
        shell('echo bye; exec >&-; read line; echo "$line" >"$1"; exit 7', tmp_path / "received")
    )
    assert conversation.read_all() == b"bye\n"
    assert conversation.process.poll() is None
    conversation.write(b"anybody there?\n")
    assert conversation.wait() == 7
    assert (tmp_path / "received").read_bytes() == b"anybody there?\n"
    assert conversation.recording.stream("to-agent") == b"anybody there?\n"


def test_an_unfinished_line_of_the_client_is_recorded(record: Recorder, tmp_path: Path) -> None:
    """If a client's last line has no newline, a recorder still stores the line."""
    gate = Gate(tmp_path / "gate")
    conversation = record(
        shell('head -c 8 >"$1"; echo received; read go <"$2"', tmp_path / "received", gate.path)
    )
    conversation.write(b"half a l")
    conversation.expect(b"received\n")
    conversation.wait_for_rows("select 1 from frames")
    gate.open()
    assert conversation.wait() == 0
    assert not os.path.lexists(f"{conversation.recording.path}.log")
    assert conversation.recording.stream("to-agent") == b"half a l"
    assert conversation.recording.field("state") == "complete"


@needs_proc
def test_a_client_that_dies_breaks_the_agents_pipe(record: Recorder, tmp_path: Path) -> None:
    """If the client has left, an agent behind a recorder gets a broken pipe."""
    conversation = record(agent("flood", tmp_path / "count", 1 << 30))
    conversation.run(until=lambda: len(conversation.received) > 1 << 20)
    conversation.close_output()
    assert conversation.wait() == flood.NOBODY_LISTENS
    recorded = conversation.recording.stream("to-client")
    assert recorded.startswith(conversation.received)
    (lost,) = conversation.recording.events("undelivered")
    assert lost["stream"] == "to-client"
    assert 0 < lost["bytes"] <= len(recorded) - len(conversation.received)
    marked = conversation.recording.rows(
        "select seq, size + length(newline), delivered from frames"
        " where stream = 'to-client' and delivered != 'full' order by seq"
    )
    assert sum(size for _, size, _ in marked) >= lost["bytes"]
    assert sum(size for _, size, _ in marked[1:]) < lost["bytes"]
    assert {delivered for _, _, delivered in marked[1:]} <= {"none"}
    ((last,),) = conversation.recording.rows(
        "select max(seq) from frames where stream = 'to-client'"
    )
    assert marked[-1][0] == last


LEAVES = """(trap '' TERM HUP; read go <>"$1") >/dev/null 2>&1 & echo $!;"""
"""A shell command that starts a process without the agent's outputs, and prints its id."""


def program_name(pid: int) -> str:
    """Returns the name of the program that a process runs."""
    return Path(f"/proc/{pid}/exe").readlink().name


def leaver(tmp_path: Path, first: str, then: str) -> list[str]:
    """Returns the command of an agent that starts a child process and exits before it."""
    os.mkfifo(tmp_path / "never")
    return shell(f"{first} {LEAVES} {then}", tmp_path / "never")


def left_by(conversation: Talk) -> int:
    """Returns the process id that the agent printed: that of the child process it leaves."""
    conversation.run(until=lambda: conversation.received.endswith(b"\n"))
    return int(conversation.received)


@needs_proc
@pytest.mark.parametrize("end", ["exit 0", "kill -s SEGV $$"])
def test_what_an_agent_leaves_behind_lives_on(record: Recorder, tmp_path: Path, end: str) -> None:
    """If an agent ends by itself, its recorder lets the agent's child processes continue."""
    conversation = record(leaver(tmp_path, "ulimit -c 0;", end))
    left = left_by(conversation)
    try:
        assert conversation.wait() == (0 if "exit" in end else -signal.SIGSEGV)
        assert conversation.descendants() == [left]
        (note,) = conversation.recording.events("note")
        assert (note["action"], note["programs"]) == ("left", [program_name(left)])
        assert conversation.recording.sent_signals() == []
    finally:
        os.kill(left, signal.SIGKILL)


@needs_proc
@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_nothing_is_left_behind_by_a_stopped_agent(
    record: Recorder, tmp_path: Path, way: str
) -> None:
    """If a recorder is stopped, all processes of its agent end."""
    conversation = record(leaver(tmp_path, "trap 'exit 0' TERM;", "read line"), "--grace", "1000")
    left = left_by(conversation)
    conversation.process.send_signal(signal.SIGTERM if way == "stopped" else signal.SIGKILL)
    assert conversation.wait() == (0 if way == "stopped" else -signal.SIGKILL)
    wait_until(lambda: not exists(left), "what the agent has started to be gone")
    assert way == "killed" or conversation.recording.events("note") == []


@needs_proc
@pytest.mark.slow
def test_only_what_holds_the_output_is_killed(record: Recorder, tmp_path: Path) -> None:
    """After an agent's end, a recorder kills only child processes that keep the output open."""
    conversation = record(leaver(tmp_path, "sleep 1000 &", "exit 3"), env=IMPATIENT)
    left = left_by(conversation)
    try:
        assert conversation.wait() == 3
        assert conversation.descendants() == [left]
        assert conversation.recording.sent_signals() == [signal.SIGKILL]
        (note,) = conversation.recording.events("note")
        assert note["programs"] == [program_name(left)]
    finally:
        os.kill(left, signal.SIGKILL)
