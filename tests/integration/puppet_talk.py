"""Conversations that a test controls: it is the client, and the agent is a puppet."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attrs import frozen

from tests.agents import puppet
from tests.integration.processes import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.support.fork_server import Forked, ForkServer

EXIT_CODE = 7
"""The exit code of the puppet, which no other program returns."""

PUPPET = [sys.executable, "-S", "-E", str(Path(puppet.__file__)), str(EXIT_CODE)]


@frozen
class Outcome:
    """How a recorded conversation ended, and the bytes that the client should have received."""

    code: int
    stderr: str
    received: bytes
    expected: bytes

    @property
    def is_unharmed(self) -> bool:
        """Whether the client received exactly the agent's bytes and its exit code."""
        return self.received == self.expected and self.code == EXIT_CODE

    @property
    def complaints(self) -> list[str]:
        """Returns the lines on stderr that begin with ``acp-proxy:``, without the prefix."""
        marked = [line for line in self.stderr.splitlines() if line.startswith("acp-proxy: ")]
        return [line.removeprefix("acp-proxy: ") for line in marked]


class PuppetTalk:
    """A running conversation that ``acp-proxy record`` records with the given options.

    If the ``with`` block ends before `end` is called, the recorder is killed.
    """

    def __init__(
        self,
        program: Path | ForkServer,
        *options: str | Path,
        home: Path,
        command: list[str] = PUPPET,
        variables: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.process, self._stdin, self._stdout, self._stderr = start(
            program,
            ["record", *options, "--", *command],
            home=home,
            env=environment_in(home, **dict(variables)),
        )
        self._watchdog = watch(self.process)
        self._prompts = 0
        self._received: list[bytes] = []
        self._expected: list[bytes] = []
        self._complained = b""

    def __enter__(self) -> PuppetTalk:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    @property
    def received(self) -> bytes:
        """Returns all bytes that the client has read so far."""
        return b"".join(self._received)

    def prompt(self, text: str, times: int = 1, stderr: str = "") -> bytes:
        """Sends a prompt, and returns it after the whole answer has arrived."""
        self._prompts += 1
        return self._send(puppet.ask(self._prompts, text, times, stderr))

    def stream(self, text: str, times: int = 1, stderr: str = "") -> bytes:
        """Sends a notification that the agent answers with chunks, and returns it afterwards."""
        return self._send(puppet.tell(text, times, stderr))

    def write(self, line: bytes) -> None:
        """Sends a line, and waits for no answer."""
        self._stdin.write(line)
        self._stdin.flush()

    def complaint(self) -> str:
        """Waits for the next line on stderr, and returns the line."""
        line = self._stderr.readline()
        self._complained += line
        return line.decode()

    def end(self) -> Outcome:
        """Closes the client's end, and waits until the recorder has ended."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self._received.append(self._stdout.read())
        stderr = (self._complained + self._stderr.read()).decode()
        code = self.process.wait(DEADLINE_S)
        return Outcome(code, stderr, self.received, b"".join(self._expected))

    def _send(self, line: bytes) -> bytes:
        answer, _ = puppet.reply(line)
        self.write(line)
        self._expected.append(answer)
        self._received.append(self._stdout.read(len(answer)))
        return line


def start(
    program: Path | ForkServer, words: Sequence[str | Path], *, home: Path, env: dict[str, str]
) -> tuple[subprocess.Popen[bytes] | Forked, IO[bytes], IO[bytes], IO[bytes]]:
    """Starts ``acp-proxy``; returns the process, and our ends of stdin, stdout and stderr.

    Args:
        program: the console script, or a server that forks it. A fork does not inherit our limits
            or umask.
        words: the arguments of acp-proxy.
        home: the working directory.
        env: the environment.
    """
    stdin, to_stdin = os.pipe()
    from_stdout, stdout = os.pipe()
    from_stderr, stderr = os.pipe()
    process: subprocess.Popen[bytes] | Forked
    if isinstance(program, Path):
        process = subprocess.Popen(
            [program, *words], stdin=stdin, stdout=stdout, stderr=stderr, cwd=home, env=env
        )
    else:
        process = program.start(words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=home, env=env)
    for fd in (stdin, stdout, stderr):
        os.close(fd)
    return (
        process,
        os.fdopen(to_stdin, "wb"),
        os.fdopen(from_stdout, "rb"),
        os.fdopen(from_stderr, "rb"),
    )


def environment_in(home: Path, **more: str) -> dict[str, str]:
    """Returns an environment with a home directory, and without settings of acp-proxy."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ACP_PROXY_", "XDG_")) and not name.endswith("_COLOR")
    }
    return {**ours, "HOME": str(home), "ACP_PROXY_RECORDINGS": str(home / "recordings"), **more}


def inspect(
    acp_proxy: Path, *arguments: str | Path, home: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs ``acp-proxy inspect`` to its end, and returns the result."""
    return subprocess.run(
        [acp_proxy, "inspect", *arguments],
        cwd=home,
        env=environment_in(home, **environment),
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE_S,
        check=False,
    )


def watch(process: subprocess.Popen[bytes] | subprocess.Popen[str] | Forked) -> threading.Timer:
    """Kills a process that takes too long, so that reads of its output end."""
    timer = threading.Timer(DEADLINE_S, process.kill)
    timer.daemon = True
    timer.start()
    return timer


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limits the size of files for started programs, to simulate a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
