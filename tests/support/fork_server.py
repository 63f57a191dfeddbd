"""Starts `acp-proxy` quickly: a server imports the program once and forks for each start.

Tests of how a process starts cannot use this server. After the fork, a process gets its own
descriptors, environment, directory and session, as from `subprocess.Popen`. But its interpreter
has started with the environment of the server.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import acp_proxy
from acp_proxy.entry import main

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

ROOT = Path(__file__).parents[2]
IMPATIENT = {
    "IMPATIENT": json.dumps(
        {"acp_proxy.record.supervisor.LINGER": 0.5, "acp_proxy.record.supervisor.STALL": 0.5}
    )
}
"""A variable for a fork that names constants and their smaller values, so that it waits less."""
POLL_S = 0.005
DEADLINE_S = 300.0
"""Seconds after which the server's answer counts as missing."""
MESSAGE = 1 << 20
NOT_IMPORTED = (
    "acp_proxy.__main__",
    "acp_proxy.pytest_plugin",
    # What Dask starts threads for, and few tests need.
    "acp_proxy.batches.dask_executor",
    # It computes something when it is imported.
    "acp_proxy.cli.batches.batch_worker",
)


class Forked:
    """A process that the server has forked, with some methods of `subprocess.Popen`."""

    def __init__(
        self, server: ForkServer, pid: int, stdin: IO[bytes] | None, stdout: IO[bytes] | None
    ) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Returns the exit code, a negative signal, or None while the process runs."""
        if self.returncode is None:
            self.returncode = self._server.ask(wait=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the process ends; returns its exit code, or a negative signal.

        Raises:
            subprocess.TimeoutExpired: the process has not ended in time.
        """
        started = time.monotonic()
        while (code := self.poll()) is None:
            left = None if timeout is None else timeout + started - time.monotonic()
            if timeout is not None and (left or 0) <= 0:
                raise subprocess.TimeoutExpired(["acp-proxy"], timeout)
            self._await_end(left)
        return code

    def _await_end(self, timeout: float | None) -> None:
        """Waits until the process may have ended; without Linux, for a moment."""
        if sys.platform != "linux":
            time.sleep(POLL_S)
            return
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(self.pid)
            select.select([fd], [], [], timeout)
            os.close(fd)

    def send_signal(self, signum: int) -> None:
        """Sends a signal to the process if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """Kills the process if it still runs."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """A running fork server; a context manager, which ends the server.

    Args:
        **variables: added to the environment of the server and of its forks. The interpreter
            reads some variables only when it starts.
    """

    def __init__(self, **variables: str) -> None:
        self._variables = variables
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(DEADLINE_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
                env={**os.environ, **variables},
            )

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: object, ___: TracebackType | None
    ) -> None:
        self._channel.close()
        self._process.communicate()

    def start(
        self,
        arguments: Sequence[str | Path],
        *,
        stdin: int | None,
        stdout: int | None,
        stderr: int,
        env: Mapping[str, str],
        cwd: Path,
    ) -> Forked:
        """Starts ``acp-proxy`` in a fork, in a new session of processes.

        Args:
            arguments: the arguments of acp-proxy.
            stdin: a descriptor, `subprocess.PIPE` or `subprocess.DEVNULL`; None for our own stdin.
            stdout: a value as for ``stdin``.
            stderr: a descriptor.
            env: the whole environment, without the server's variables.
            cwd: the working directory.
        """
        with contextlib.ExitStack() as theirs:
            ends: list[IO[bytes] | None] = [None, None]
            given = [0 if stdin is None else stdin, 1 if stdout is None else stdout, stderr]
            for number in (0, 1):
                if given[number] == subprocess.DEVNULL:
                    given[number] = os.open(os.devnull, os.O_RDWR)
                    theirs.callback(os.close, given[number])
                elif given[number] == subprocess.PIPE:
                    reading, writing = os.pipe()
                    ours, given[number] = (reading, writing) if number else (writing, reading)
                    theirs.callback(os.close, given[number])
                    ends[number] = open(ours, "rb" if number else "wb", buffering=0)  # noqa: PTH123, SIM115
            words = [str(word) for word in arguments]
            environment = {**env, **self._variables}
            pid = self.ask(given, start=words, env=environment, cwd=str(cwd))
        return Forked(self, pid, *ends)

    def run(
        self, arguments: Sequence[str | Path], sent: bytes, *, env: Mapping[str, str], cwd: Path
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs ``acp-proxy`` in a fork to its end, and returns its exit code and output.

        Args:
            arguments: the arguments of acp-proxy.
            sent: the bytes on stdin.
            env: as for `start`.
            cwd: the working directory.
        """
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
            out, err = (file.fileno() for file in files)
            process = self.start(
                arguments, stdin=subprocess.PIPE, stdout=out, stderr=err, env=env, cwd=cwd
            )
            assert process.stdin is not None
            with process.stdin, contextlib.suppress(BrokenPipeError):
                process.stdin.write(sent)
            code = process.wait(DEADLINE_S)
            printed = [os.pread(fd, os.fstat(fd).st_size, 0) for fd in (out, err)]
        return subprocess.CompletedProcess([*arguments], code, *printed)

    def ask(self, descriptors: Sequence[int] = (), **request: Any) -> Any:
        """Sends a request to the server, and returns the server's answer."""
        socket.send_fds(self._channel, [json.dumps(request).encode() + b"\n"], descriptors)
        return json.loads(self._channel.recv(MESSAGE))


def serve(channel: socket.socket) -> list[str]:
    """Answers requests; returns only in a forked process, with the arguments of acp-proxy."""
    while True:
        request, descriptors = receive(channel)
        if "wait" in request:
            pid, status = os.waitpid(request["wait"], os.WNOHANG)
            answer(channel, os.waitstatus_to_exitcode(status) if pid else None)
        elif os.fork():
            for fd in descriptors:
                os.close(fd)
        else:
            become(request, descriptors)
            answer(channel, os.getpid())  # not earlier: it has its session when somebody knows it
            channel.close()
            words: list[str] = request["start"]
            return words


def answer(channel: socket.socket, value: int | None) -> None:
    """Sends the server's answer to a request."""
    channel.send(json.dumps(value).encode())


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Waits for a request and its descriptors; exits if the test has closed the channel."""
    data, descriptors, _, _ = socket.recv_fds(channel, MESSAGE, 3)
    while not data.endswith(b"\n"):
        more = channel.recv(MESSAGE)
        if not more:
            os._exit(0)
        data += more
    return json.loads(data), descriptors


def become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Gives this process the descriptors, environment and directory of a request."""
    os.setsid()
    for number, fd in enumerate(descriptors):
        os.dup2(fd, number)
    for fd in descriptors:
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    for name, value in json.loads(os.environ.pop("IMPATIENT", "{}")).items():
        module, _, constant = name.rpartition(".")
        assert hasattr(sys.modules[module], constant)
        setattr(sys.modules[module], constant, value)


def import_everything() -> None:
    """Imports all modules of acp-proxy, also those that it imports late."""
    for module in pkgutil.walk_packages(acp_proxy.__path__, "acp_proxy."):
        if module.name not in NOT_IMPORTED:
            importlib.import_module(module.name)
    for name in ("sqlite_utils", "wcwidth"):
        importlib.import_module(name)
    gc.freeze()


def end(code: object) -> None:
    """Ends a forked process without freeing its memory, which would take 50 ms.

    The function returns if Python has to end the process: to wait for threads or print an error.
    """
    threads = [thread for thread in threading.enumerate() if not thread.daemon]
    if threads != [threading.main_thread()] or not isinstance(code, int | None):
        return
    atexit._run_exitfuncs()
    try:
        for file in (sys.stdout, sys.stderr):
            if not file.closed:
                file.flush()
    except OSError:
        return
    os._exit(code or 0)


if __name__ == "__main__":
    import_everything()
    sys.argv = ["acp-proxy", *serve(socket.socket(fileno=int(sys.argv[1])))]
    try:
        main()
    except SystemExit as e:
        end(e.code)
        raise
