"""Helpers for tests with real processes: a recorder, its recording, and /proc.

No helper sleeps to let another process act first. Each wait is for a condition, with a deadline
that only a broken acp-proxy reaches.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from tests.support.fork_server import Forked, ForkServer

T = TypeVar("T")

DEADLINE_S = 300.0
"""Seconds after which a wait fails; no test measures time by it."""
AGENTS = Path(__file__).parents[1] / "agents"
MARK = "TALK_OF_A_TEST"
"""A variable in the environment of each agent and its descendants; tests find them by it."""
CHUNK = 1 << 16
READABLE_PATH = {"PATH": "/usr/bin:/bin"}
"""A PATH without unreadable directories, which might contain a missing program."""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="expected /proc, to look at processes"
)


def wait_until(holds: Callable[[], T | None], what: str) -> T:
    """Calls a function until its result is true, and returns the result."""
    deadline = time.monotonic() + DEADLINE_S
    while not (result := holds()):
        assert time.monotonic() < deadline, f"expected {what}"
        time.sleep(0.005)
    return result


def wait_until_still(measure: Callable[[], int], what: str) -> int:
    """Waits until a number is positive and no longer changes, and returns the number."""
    events: list[int] = []

    def is_still() -> bool:
        time.sleep(0.02)
        events.append(measure())
        return events[-1] > 0 and len(events) > 15 and len(set(events[-15:])) == 1

    wait_until(is_still, what)
    return events[-1]


def agent(name: str, *arguments: str | Path | int) -> list[str]:
    """Returns the command of a program in `tests/agents`, with an interpreter that starts fast."""
    return [sys.executable, "-IS", str(AGENTS / f"{name}.py"), *map(str, arguments)]


def shell(script: str, *arguments: str | Path) -> list[str]:
    """Returns the command of an agent that is a shell script with the arguments $1, $2 and more."""
    return ["/bin/sh", "-c", script, "sh", *map(str, arguments)]


class Gate:
    """A FIFO that blocks an agent (``read go <FIFO``) until the test opens it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    def open(self) -> None:
        """Waits until the agent reads from the FIFO, and lets it continue."""
        fd = wait_until(self._enter, f"somebody to wait at {self.path.name}")
        os.write(fd, b"go\n")
        os.close(fd)

    def _enter(self) -> int | None:
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            return None


@dataclass(frozen=True)
class Process:
    """A process as /proc describes it."""

    pid: int
    state: str
    parent: int
    group: int

    @property
    def lives(self) -> bool:
        """Whether the process is not a zombie."""
        return self.state not in "ZX"


def processes() -> Iterator[Process]:
    """Yields all processes of the machine."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                yield Process(int(entry.name), state, int(parent), int(group))


def marked(mark: str) -> list[int]:
    """Returns the running processes whose environment has a value of the variable `MARK`."""
    result = []
    for process in processes():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment.split(b"\0") and process.lives:
            result.append(process.pid)
    return result


def living(group: int) -> list[int]:
    """Returns the running processes of a process group."""
    return [p.pid for p in processes() if p.group == group and p.lives]


def exists(pid: int) -> bool:
    """Whether a process exists; a zombie does."""
    return Path(f"/proc/{pid}").exists()


def peak_memory(pid: int) -> int:
    """Returns the peak memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


class Recording:
    """Reads a recording by SQL, without the code of acp-proxy."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Returns the rows of a query, after the rest of the capture log is indexed."""
        if Path(f"{self.path}.log").exists():
            RecordingReader(self.path).close()
        return self.rows_so_far(sql, *parameters)

    def rows_so_far(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Returns the rows of a query while recording continues; none without a table."""
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as database:
            try:
                return database.execute(sql, parameters).fetchall()
            except sqlite3.OperationalError as e:
                if not str(e).startswith("no such table"):
                    raise
                return []

    def stream(self, name: str) -> bytes:
        """Returns all recorded bytes of a stream."""
        result = self.rows("select raw, newline from frames where stream = ? order by seq", name)
        return b"".join(bytes(raw) + newline.encode() for raw, newline in result)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Returns the data of all events of a kind, in order."""
        result = self.rows("select data from events where kind = ? order by seq", kind)
        return [json.loads(data) for (data,) in result]

    def sent_signals(self) -> list[int]:
        """Returns the signals that the recorder itself sent, without forwarded ones."""
        return [e["signal"] for e in self.events("signal") if e["action"] == "sent"]

    def field(self, column: str) -> Any:
        """Returns a column of the table `recording`, which has one row."""
        ((value,),) = self.rows(f"select {column} from recording")
        return value


class Talk:
    """A running ``acp-proxy record``, and the client's ends of its pipes.

    Attributes:
        process: the process of the recorder.
        recording: the recording that it makes.
        received: all bytes that the client has read so far.
        written: how many bytes the client has written so far.
        ended: whether the client has read the end of the agent's output.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes] | Forked,
        recording: Recording,
        complaints: Path,
        mark: str,
    ) -> None:
        self.process = process
        self.recording = recording
        self.received = bytearray()
        self.written = 0
        self.ended = False
        self._complaints = complaints
        self._mark = mark
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    @property
    def stderr(self) -> bytes:
        """Returns all bytes that recorder and agent have written to stderr so far."""
        return self._complaints.read_bytes()

    def run(self, chunks: Iterable[bytes] = (), *, until: Callable[[], object]) -> None:
        """Writes chunks one by one, and reads at the same time, until a condition holds."""
        rest, pending = memoryview(b""), filter(None, chunks)
        while not until():
            rest = rest or memoryview(next(pending, b""))
            read_from = [self._stdout] if not self.ended else []
            write_to = [self._stdin] if rest else []
            readable, writable, _ = select.select(read_from, write_to, [], DEADLINE_S)
            assert readable or writable, (
                f"expected bytes to move, {len(self.received)} were received"
            )
            if writable:
                rest = rest[self._say_some(rest) :]
            if readable:
                self._hear_some()

    def write(self, *chunks: bytes) -> None:
        """Writes chunks to the agent, one by one."""
        target = self.written + sum(map(len, chunks))
        self.run(chunks, until=lambda: self.written == target)

    def expect(self, wanted: bytes) -> None:
        """Reads the next bytes, and asserts that they are the given ones."""
        start = len(self.received)
        self.run(until=lambda: self.ended or len(self.received) >= start + len(wanted))
        assert bytes(self.received[start:]) == wanted

    def close_output(self) -> None:
        """Closes the client's end of stdout, as if the client had died."""
        self._stdout.close()

    def close_input(self) -> None:
        """Closes the recorder's stdin, so that no message follows."""
        self._stdin.close()

    def read_all(self) -> bytes:
        """Reads until the agent's output ends; returns all received bytes."""
        self.run(until=lambda: self.ended)
        return bytes(self.received)

    def exchange(self, *chunks: bytes) -> bytes:
        """Writes chunks, closes the input, and returns all bytes received until the end."""
        target = self.written + sum(map(len, chunks))
        self.run(chunks, until=lambda: self.written == target)
        self.close_input()
        return self.read_all()

    def write_until_full(self) -> None:
        """Writes as much as the pipe to the recorder can take."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._say_some(memoryview(b"0123456789abcde\n" * 4096))

    def wait(self) -> int:
        """Waits until the recorder has ended, and returns its exit code."""
        return self.process.wait(DEADLINE_S)

    def catch_up(self) -> None:
        """Waits until all bytes that the client wrote and received are indexed."""
        sql = "select sum(size + length(newline)) from frames where stream != 'stderr'"
        total = len(self.received) + self.written
        wait_until(
            lambda: self.recording.rows_so_far(sql) == [(total,)], "everything to be indexed"
        )

    def wait_for_rows(self, sql: str) -> None:
        """Waits until a query on the recording returns rows."""
        wait_until(lambda: self.recording.rows_so_far(sql), f"the indexer to make {sql!r} true")

    def agent_group(self) -> int:
        """Waits until the agent has a process group, and returns the group's number."""
        own = os.getpgid(self.process.pid)

        def find() -> int | None:
            children = (p for p in processes() if p.parent == self.process.pid)
            return next((p.group for p in children if p.group not in (0, own)), None)

        return wait_until(find, "the agent's process group")

    def descendants(self) -> list[int]:
        """Returns all running processes that the agent has started, in any group."""
        result = []
        for process in processes():
            with contextlib.suppress(OSError):
                environment = Path(f"/proc/{process.pid}/environ").read_bytes()
                if f"{MARK}={self._mark}".encode() in environment.split(b"\0") and process.lives:
                    result.append(process.pid)
        return [pid for pid in result if pid != self.process.pid]

    def abandon(self) -> list[int]:
        """Kills the recorder if it runs, and returns the processes that remain."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not self.descendants(), "nothing to be left")
        left = self.descendants()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

    @property
    def _stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def _say_some(self, data: memoryview) -> int:
        written = os.write(self._stdin.fileno(), data)
        self.written += written
        return written

    def _hear_some(self) -> None:
        data = os.read(self._stdout.fileno(), CHUNK)
        self.received += data
        self.ended = not data


EXACT = ("--redact", "none")
"""Options of ``record`` for tests that compare random bytes, which may look like a secret."""


class Recorder:
    """Starts recorders for one test, and asserts at the end that no process remains.

    With a `ForkServer`, recorders without a wrapper are its forks.
    """

    def __init__(self, acp_proxy: Path, directory: Path, server: ForkServer | None = None) -> None:
        self.acp_proxy = acp_proxy
        self.server = server
        self.directory = directory
        self.recordings = directory / "recordings"
        self._talks: list[Talk] = []

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        left = [pid for conversation in self._talks for pid in conversation.abandon()]
        if kind is None:
            assert not left, "expected no process to be left behind"

    def __call__(
        self,
        command: Sequence[str],
        *options: str,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.PIPE,
        stdout: int | None = subprocess.PIPE,
        stderr: int | None = None,
        wrapper: Sequence[str] = (),
    ) -> Talk:
        """Starts a recorder.

        Args:
            command: the command of the agent.
            *options: options of ``record``.
            env: variables that are added to the environment.
            stdin: a value as for `subprocess.Popen`.
            stdout: a value as for `subprocess.Popen`.
            stderr: a value as for `subprocess.Popen`; None for a file that `Talk.stderr` reads.
            wrapper: a command that gets the recorder's command as arguments, and starts it.
        """
        number = len(self._talks) + 1
        path = self.directory / f"talk-{number}.db"
        complaints = self.directory / f"stderr-{number}"
        mark = uuid.uuid4().hex
        words: list[str | Path] = ["record", "-o", path, *options, "--", *command]
        environment = {**self._environment(), MARK: mark, **(env or {})}
        process: subprocess.Popen[bytes] | Forked
        with complaints.open("wb") as file, plain_signals():
            errors = file.fileno() if stderr is None else stderr
            if self.server is not None and not wrapper:
                process = self.server.start(
                    words,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=errors,
                    env=environment,
                    cwd=self.directory,
                )
            else:
                process = subprocess.Popen(
                    [*wrapper, self.acp_proxy, *words],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=errors,
                    bufsize=0,
                    env=environment,
                    cwd=self.directory,
                    start_new_session=True,  # whoever runs the tests may have a terminal
                )
        conversation = Talk(process, Recording(path), complaints, mark)
        self._talks.append(conversation)
        return conversation

    def inspect(self, *arguments: str | Path) -> str:
        """Runs ``acp-proxy inspect``, which must succeed, and returns its output."""
        result = run("inspect", *arguments, home=self.recordings)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ACP_PROXY_", "PYTHON"))}
        return {**kept, "ACP_PROXY_RECORDINGS": str(self.recordings)}


@contextlib.contextmanager
def plain_signals() -> Iterator[None]:
    """Restores the default action of stop signals that this process ignores."""
    stopping = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
    ignored = [s for s in stopping if signal.getsignal(s) is signal.SIG_IGN]
    for signum in ignored:
        signal.signal(signum, signal.SIG_DFL)
    try:
        yield
    finally:
        for signum in ignored:
            signal.signal(signum, signal.SIG_IGN)
