"""Processes of the fork server are as `subprocess` would have started them."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fork_server import Forked, ForkServer
from tests.log_writer import record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEADLINE_S = 300.0


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """A server under a locale of its own."""
    with ForkServer(PYTHONIOENCODING="ascii") as server:
        yield server


def start(server: ForkServer, directory: Path, *arguments: str) -> Forked:
    """Starts ``acp-proxy`` with pipes."""
    with (directory / "stderr").open("wb") as file:
        return server.start(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file.fileno(),
            env={"PATH": os.environ["PATH"], "HOME": str(directory), "WORD": "said"},
            cwd=directory,
        )


def end(process: Forked) -> tuple[bytes, int]:
    """Closes what a process reads, and returns what it writes and its exit code."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with process.stdout as stdout:
        return stdout.read(), process.wait(DEADLINE_S)


def test_a_fork_has_its_own_environment(server: ForkServer, tmp_path: Path) -> None:
    """It has the environment, directory and descriptors that it was given, and no others."""
    script = "pwd; echo $WORD $PYTHONIOENCODING; echo complained >&2; cat; ls /dev/fd | wc -l"
    command = ["/bin/sh", "-c", script]
    process = start(server, tmp_path, "record", "-o", "x.db", "--", *command)
    assert os.getsid(process.pid) == process.pid
    assert process.stdin is not None
    process.stdin.write(b"hello\n")
    said, code = end(process)
    alone = subprocess.run([*command[:2], "ls /dev/fd | wc -l"], capture_output=True, check=True)
    assert (said, code) == (f"{tmp_path}\nsaid ascii\nhello\n".encode() + alone.stdout, 0)
    assert (tmp_path / "stderr").read_bytes() == b"complained\n"
    assert (tmp_path / "x.db").exists()


def test_the_interpreter_has_the_encoding_of_the_server(server: ForkServer, tmp_path: Path) -> None:
    """What the interpreter reads from its environment as it starts is the server's."""
    record_conversation(tmp_path / "x.db")
    said, code = end(start(server, tmp_path, "inspect", "log", "x.db"))
    assert code == 0
    assert b"hello \\u4f60\\u597d" in said


def test_how_a_fork_ends(server: ForkServer, tmp_path: Path) -> None:
    """It returns the exit code or the signal; None while the process runs."""
    failed = start(server, tmp_path, "record", "--", "/bin/sh", "-c", "exit 5")
    assert end(failed)[1] == failed.poll() == 5
    running = start(server, tmp_path, "record", "--", "/bin/cat")
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0)
    assert running.poll() is None
    running.kill()
    assert end(running)[1] == -signal.SIGKILL
    running.kill()
