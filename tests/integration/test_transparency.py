"""Neither peer notices the recorder, whatever kind of descriptors it gets."""

from __future__ import annotations

import os
import random
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import (
    DEADLINE_S,
    EXACT,
    READABLE_PATH,
    Gate,
    agent,
    needs_proc,
    shell,
)

if TYPE_CHECKING:
    from tests.integration.processes import Recorder

SIZE = 3 << 20


@pytest.fixture
def speech() -> bytes:
    """Returns random bytes, more than fit into a pipe."""
    return random.Random(9).randbytes(SIZE)


def test_switched_off_the_agent_runs_in_our_place(record: Recorder) -> None:
    """With ACP_PROXY_OFF=1, `record` becomes the agent's process, and nothing is recorded."""
    says = "import os, sys; print(os.getpid(), os.getpgrp(), sys.argv[1:])"
    conversation = record([sys.executable, "-IS", "-c", says, "-x", ""], env={"ACP_PROXY_OFF": "1"})
    received = conversation.read_all().decode()
    assert conversation.wait() == 0
    assert received == f"{conversation.process.pid} {conversation.process.pid} ['-x', '']\n"
    assert conversation.stderr == b""
    assert not conversation.recording.path.exists()
    assert not Path(f"{conversation.recording.path}.log").exists()
    assert not record.recordings.exists()


def test_switched_off_a_missing_agent_is_127(record: Recorder) -> None:
    """With ACP_PROXY_OFF=1, `record` exits with 127 if the agent does not exist."""
    conversation = record(["no-such-agent"], env={**READABLE_PATH, "ACP_PROXY_OFF": "1"})
    assert conversation.wait() == 127
    assert conversation.stderr.count(b"\n") == 1
    assert b"cannot start the agent 'no-such-agent'" in conversation.stderr


def test_stderr_passes_and_is_recorded(record: Recorder, tmp_path: Path, speech: bytes) -> None:
    """A recorder forwards the agent's stderr and records it."""
    (tmp_path / "errors").write_bytes(speech)
    conversation = record(shell('echo "{}"; cat "$1" >&2; echo "{}"', tmp_path / "errors"))
    assert conversation.read_all() == b"{}\n{}\n"
    assert conversation.wait() == 0
    assert conversation.stderr == speech
    assert conversation.recording.stream("stderr") == speech
    assert conversation.recording.rows(
        "select distinct kind from frames where stream = 'stderr'"
    ) == [("stderr",)]


def test_our_own_messages_go_to_stderr(record: Recorder, tmp_path: Path) -> None:
    """A recorder writes its own messages to stderr."""
    taken = tmp_path / "talk-1.db"
    taken.write_bytes(b"somebody else's")
    run = record(shell("echo hello"))
    assert run.read_all() == b"hello\n"
    assert run.wait() == 0
    other = tmp_path / "talk-1-2.db"
    assert run.stderr.decode() == f"acp-proxy: {taken} exists; recording into {other}\n"
    assert taken.read_bytes() == b"somebody else's"


class Ends:
    """The standard descriptors of a recorder, and the client's ends of them."""

    def __init__(self, kind: str) -> None:
        self.theirs: list[int] = []
        self.ours: list[int] = []
        for number in range(3):
            if kind == "socket":
                first, other = (end.detach() for end in socket.socketpair())
            else:
                first, other = os.pipe() if number else os.pipe()[::-1]
            self.ours.append(first)
            self.theirs.append(other)
            os.set_blocking(other, False)

    def close_theirs(self) -> None:
        """Closes our copies of the descriptors that the recorder uses."""
        for fd in self.theirs:
            os.close(fd)

    def write(self, data: bytes) -> None:
        """Writes all data to stdin, and closes stdin."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.ours[0], rest[: 1 << 16]) :]
        os.close(self.ours[0])

    def read_all(self, number: int, into: bytearray) -> None:
        """Reads a descriptor until its end."""
        while data := os.read(self.ours[number], 1 << 16):
            into += data
        os.close(self.ours[number])


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_descriptors_that_do_not_block(
    record: Recorder, tmp_path: Path, speech: bytes, kind: str
) -> None:
    """If a client made its pipes non-blocking, a recorder forwards all bytes."""
    (tmp_path / "sent").write_bytes(speech[::-1])
    talker = agent("duplex", tmp_path / "sent", tmp_path / "received")
    ends = Ends(kind)
    conversation = record(
        shell('cat "$1" >&2 & shift; "$@"; wait', tmp_path / "sent", *talker),
        *EXACT,
        stdin=ends.theirs[0],
        stdout=ends.theirs[1],
        stderr=ends.theirs[2],
    )
    ends.close_theirs()
    received, complaints = bytearray(), bytearray()
    threads = [
        threading.Thread(target=ends.write, args=[speech]),
        threading.Thread(target=ends.read_all, args=[1, received]),
        threading.Thread(target=ends.read_all, args=[2, complaints]),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert conversation.wait() == 0
    assert received == speech[::-1]
    assert complaints == speech[::-1]
    assert (tmp_path / "received").read_bytes() == speech
    assert conversation.recording.stream("to-agent") == speech
    assert conversation.recording.stream("to-client") == speech[::-1]
    assert conversation.recording.stream("stderr") == speech[::-1]


@needs_proc
@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_descriptors_that_are_closed(
    record: Recorder, tmp_path: Path, closed: str
) -> None:
    """If stdin, stdout or stderr is closed when a recorder starts, /dev/null takes its place."""
    gate = Gate(tmp_path / "gate")
    script = 'cat; echo sent; echo complained >&2; read go <"$1"; exit 3'
    if "<" not in closed:
        script = script.removeprefix("cat; ")
    conversation = record(
        shell(script, gate.path), wrapper=["/bin/sh", "-c", f'exec "$@" {closed}', "sh"]
    )
    conversation.wait_for_rows("select 1 from frames where stream = 'to-client'")
    for fd in (0, 1, 2):
        target = Path(f"/proc/{conversation.process.pid}/fd/{fd}").readlink()
        assert str(target) == os.devnull or target.name == "stderr-1"
    gate.open()
    received = conversation.read_all()
    assert conversation.wait() == 3
    assert received == (b"" if ">&-" in closed.split() else b"sent\n")
    assert conversation.stderr == (b"" if "2>&-" in closed else b"complained\n")
    assert conversation.recording.stream("to-client") == b"sent\n"
    assert conversation.recording.stream("stderr") == b"complained\n"
    assert conversation.recording.field("state") == "complete"


@needs_proc
def test_closed_descriptors_are_not_reused(record: Recorder, tmp_path: Path) -> None:
    """After both sides have closed, a recorder opens no file as stdin or stdout."""
    gate = Gate(tmp_path / "gate")
    conversation = record(shell('cat; exec >&-; read go <"$1"', gate.path))
    assert conversation.exchange(b"{}\n") == b"{}\n"
    conversation.wait_for_rows("select 1 from events where kind = 'eof'")
    fds = Path(f"/proc/{conversation.process.pid}/fd")
    assert str((fds / "0").readlink()) == os.devnull
    assert (fds / "1").readlink().name == "stderr-1"
    gate.open()
    assert conversation.wait() == 0
