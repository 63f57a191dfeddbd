"""An agent on a terminal behaves with a recorder as without one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import (
    AGENTS,
    DEADLINE_S,
    agent,
    exists,
    processes,
    shell,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.processes import Recorder, Talk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="expected Linux and its /proc")

CLIENT = ["/bin/sh", "-c", 'trap : INT; "$@"; exit', "client"]
"""A client that ignores Ctrl-C, but whose child processes do not ignore it."""


class Terminal:
    """A pseudo-terminal in which a shell runs a client, and the client runs a recorder."""

    def __init__(self, keys: int, path: str) -> None:
        self.path = path
        self.wrapper = [sys.executable, "-IS", str(AGENTS / "job_shell.py"), path, *CLIENT]
        self._keys = keys
        self._shown = b""

    def type(self, keys: bytes) -> None:
        """Types keys on the terminal."""
        os.write(self._keys, keys)

    def expect(self, text: bytes) -> None:
        """Waits until the terminal shows a text."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self._shown:
            assert time.monotonic() < deadline, f"expected {text!r}, got {self._shown!r}"
            try:
                self._shown += os.read(self._keys, 4096)
            except BlockingIOError:
                time.sleep(0.005)
        self._shown = self._shown.partition(text)[2]


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Opens a pseudo-terminal."""
    keys, screen = os.openpty()
    os.set_blocking(keys, False)
    try:
        yield Terminal(keys, os.ttyname(screen))
    finally:
        os.close(screen)
        os.close(keys)


def state(pid: int) -> str:
    """Returns the state of a process as one letter; empty if the process does not exist."""
    return next((p.state for p in processes() if p.pid == pid), "")


def proxy(conversation: Talk) -> int:
    """Returns the process id of the recorder, which is a child of the client."""
    (client,) = [p.pid for p in processes() if p.parent == conversation.process.pid]
    (result,) = [p.pid for p in processes() if p.parent == client]
    return result


def test_an_agent_reads_the_terminal_of_its_client(record: Recorder) -> None:
    """Behind a recorder, an agent can read the terminal of its client."""
    script = 'echo $$; printf "password?" >/dev/tty; read word </dev/tty; echo "it is $word"'
    with open_terminal() as terminal:
        conversation = record(shell(script), wrapper=terminal.wrapper)
        conversation.run(until=lambda: conversation.received.endswith(b"\n"))
        pid = int(conversation.received)
        terminal.expect(b"password?")
        terminal.type(b"\x1a")
        terminal.expect(b"stopped")
        wait_until(lambda: state(pid) == "T", "the agent to be stopped as well")
        terminal.type(b"fg\n")
        wait_until(lambda: state(pid) == "S", "the agent to go on")
        terminal.type(b"sesame\n")
        conversation.expect(b"it is sesame\n")
        assert conversation.wait() == 0
    assert conversation.recording.field("exit_code") == 0
    assert conversation.recording.events("signal") == []


def test_ctrl_c_reaches_an_agent_once(record: Recorder, tmp_path: Path) -> None:
    """On a terminal, Ctrl-C reaches a recorded agent only once."""
    notes = [tmp_path / "notes", tmp_path / "notes.child"]
    with open_terminal() as terminal:
        conversation = record(
            agent("signal_notes", notes[0]), "--grace", "0.1", wrapper=terminal.wrapper
        )
        conversation.expect(b"ready\nready\n")
        terminal.type(b"\x03")
        for path in notes:
            wait_until(lambda path=path: path.read_text(), "SIGINT to arrive")  # type: ignore[misc]
        os.kill(proxy(conversation), signal.SIGUSR1)
        assert conversation.wait() == 0
    for path in notes:
        assert path.read_text().split() == ["SIGINT", "SIGUSR1"]
    by_terminal = "by the terminal, to client and agent alike"
    assert [
        (e["name"], e["action"], e.get("reason")) for e in conversation.recording.events("signal")
    ] == [
        ("SIGINT", "passed on", by_terminal),
        ("SIGUSR1", "passed on", None),
    ]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_of_an_agent_is_left(record: Recorder, signum: signal.Signals) -> None:
    """If a recorder on a terminal is killed, no process of its agent remains."""
    ignore = "trap '' TERM HUP INT; "
    lost = f"{ignore} echo $$; exec sleep 1000"
    script = f'{ignore} (env -i /bin/sh -c "$1" &); read go; echo $$; read stay'
    with open_terminal() as terminal:
        conversation = record(shell(script, lost), "--grace", "0.1", wrapper=terminal.wrapper)
        conversation.run(until=lambda: conversation.received.count(b"\n") == 1)
        conversation.write(b"go\n")
        conversation.run(until=lambda: conversation.received.count(b"\n") == 2)
        pids = [int(pid) for pid in conversation.received.split()]
        groups = {os.getpgid(pid) for pid in [*pids, proxy(conversation)]}
        assert len(groups) == 1, "expected them in the group of the client"
        os.kill(proxy(conversation), signum)
        assert conversation.wait() == 128 + signal.SIGKILL
        wait_until(lambda: not any(map(exists, pids)), "the agent to be gone")
    if signum == signal.SIGTERM:
        assert conversation.recording.field("exit_signal") == signal.SIGKILL
        assert conversation.recording.field("state") == "complete"


def test_what_an_agent_leaves_behind_on_a_terminal_lives_on(
    record: Recorder, tmp_path: Path
) -> None:
    """If a recorded agent leaves a background process on a terminal, the process continues."""
    script = "(trap '' HUP; read go <>\"$1\") >/dev/null 2>&1 & echo $!"
    os.mkfifo(tmp_path / "never")
    with open_terminal() as terminal:
        conversation = record(shell(script, tmp_path / "never"), wrapper=terminal.wrapper)
        conversation.run(until=lambda: conversation.received.endswith(b"\n"))
        left = int(conversation.received)
        try:
            assert conversation.wait() == 0
            assert conversation.descendants() == [left]
            (note,) = conversation.recording.events("note")
            assert note["action"] == "left"
        finally:
            os.kill(left, signal.SIGKILL)


def test_an_agent_outlives_its_guardian(record: Recorder) -> None:
    """If the guardian process of a recorder is killed, the agent continues."""
    with open_terminal() as terminal:
        run = record(shell("read go; echo $PPID; read code; exit $code"), wrapper=terminal.wrapper)
        run.write(b"go\n")
        run.run(until=lambda: run.received.endswith(b"\n"))
        guardian = int(run.received)
        os.kill(guardian, signal.SIGKILL)
        wait_until(lambda: not exists(guardian), "the guardian to be gone")
        run.write(b"7\n")
        assert run.wait() == 7


def test_a_stop_by_the_terminal_is_reported(record: Recorder) -> None:
    """If a terminal stops an agent that reads in the background, its recorder prints a message."""
    conversation = record(shell("kill -s TTIN $$; echo woken"), "--grace", "1000")
    expected = b"stopped by SIGTTIN: it tried to read from the terminal of its client"
    wait_until(lambda: expected in conversation.stderr, "the stop to be printed")
    os.kill(conversation.process.pid, signal.SIGTERM)
    assert conversation.wait() == -signal.SIGTERM
    (note,) = conversation.recording.events("note")
    assert (note["action"], note["reason"].encode()) == ("stopped", b"the agent was " + expected)


@pytest.mark.parametrize("command", [["record", "--", "cat"], ["replay", "tour"]])
def test_whoever_types_the_command_is_told_what_it_waits_for(
    command: list[str], tmp_path: Path
) -> None:
    """If `record` or `replay` is typed on a terminal, stderr says that it waits for a client."""
    home = Path(__file__).parents[2] / "recordings" if command[0] == "replay" else tmp_path
    argv = [sys.executable, "-m", "acp_proxy", *command]
    env = os.environ | {"ACP_PROXY_RECORDINGS": str(home)}
    keys, screen = os.openpty()
    try:
        os.write(keys, b"\x04")  # Ctrl-D
        result = subprocess.run(argv, stdin=screen, capture_output=True, env=env, check=False)
    finally:
        os.close(screen)
        os.close(keys)
    first = result.stderr.splitlines()[0]
    assert first.startswith(b"acp-proxy: stdin is a terminal: waiting for the messages of a client")
    assert result.stdout == b""
    assert result.returncode == (1 if command[0] == "replay" else 0)  # not 3, for a stall


@pytest.mark.parametrize("command", [["record"], ["try", "--prompt", "hello"], ["try", "--probe"]])
def test_an_error_is_wrapped_between_words(command: list[str], tmp_path: Path) -> None:
    """If `record` or `try` cannot start an agent, the error is wrapped on an 80-column terminal."""
    argv = [sys.executable, "-m", "acp_proxy", *command, "--", "no-such-agent"]
    env = os.environ | {"ACP_PROXY_RECORDINGS": str(tmp_path), "COLUMNS": "80"}
    keys, screen = os.openpty()
    try:
        termios.tcsetwinsize(screen, (40, 80))
        code = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=screen,
            env=env,
            check=False,
        ).returncode
        shown = os.read(keys, 4096).decode().replace("\r\n", "\n")
    finally:
        os.close(screen)
        os.close(keys)
    reason = """\
acp-proxy: cannot start the agent 'no-such-agent': No such file or directory;
  give its absolute path
"""
    assert shown.endswith(reason)
    assert code == 127
