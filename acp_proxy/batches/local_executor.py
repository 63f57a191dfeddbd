"""Runs jobs in processes of this machine, which are forked off one that has imported everything.

A worker that is killed loses its job and nothing else. When this process ends, however it does, the
workers' channels are closed, and they end their agents.
"""

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from attrs import evolve

from acp_proxy.batches.batch import lost
from acp_proxy.batches.job import Job
from acp_proxy.batches.job_server import FORK, NUMBER, WAIT, line_of_job
from acp_proxy.batches.results import JobVerdict, verdict_of
from acp_proxy.system import signal_name

_CHUNK = 1 << 16
_LASTING = {"check"}
"""Commands of which one worker runs many jobs: they start nothing and leave nothing behind."""
_AHEAD = 2
"""Jobs for each worker: one that runs, and one that it finds when that is done."""
_LOOK_MS = 200
_SHORTEST_END_S, _LONGEST_END_S = 0.01, 5.0
"""How long it may take until a recording is free whose recorder was killed."""
Surplus = Callable[[], bool]
"""Whether nobody wants the verdict of a job any more."""


def run(job: Job, is_surplus: Surplus | None = None) -> JobVerdict:
    """Runs a job in a process of its own, or in one that runs such jobs one by one.

    It may be called in any thread of any process. A job whose process is killed is lost.

    Args:
        job: the job.
        is_surplus: asked several times a second; when it returns True, the job ends as by a signal,
            and is lost.
    """
    return _POOL.run(job, is_surplus)


class LocalExecutor(ThreadPoolExecutor):
    """An executor for `run`, whose workers end with it.

    Args:
        jobs: how many jobs it runs at once.

    Attributes:
        in_flight: how many jobs it is to have.
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, "job")
        self.in_flight = _AHEAD * jobs

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends it; jobs that run end as by a signal, and their agents with them.

        Args:
            wait: whether to wait for that.
            cancel_futures: whether jobs that wait are never run.
        """
        if cancel_futures:
            _POOL.stop()
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            _POOL.close()


class _Server:
    """A process that forks workers."""

    def __init__(self, command: str) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "acp_proxy.batch_worker", command, f"{number}"],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C comes to us alone
            )
        self._answer()

    def worker(self) -> "_ForkedWorker":
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self._channel, [FORK + bytes(NUMBER)], [theirs.fileno()])
            return _ForkedWorker(self, self._answer(), ours)

    def exit_code(self, pid: int) -> int:
        """Waits for the end of a worker."""
        with self._lock:
            self._channel.sendall(WAIT + pid.to_bytes(NUMBER, "big"))
            return self._answer()

    def close(self) -> None:
        self._channel.close()
        self._process.wait()

    def _answer(self) -> int:
        data = b""
        while len(data) < NUMBER:
            more = self._channel.recv(NUMBER - len(data))
            if not more:
                raise ConnectionError("the process that starts workers has ended")
            data += more
        return int.from_bytes(data, "big", signed=True)


class _Worker(Protocol):
    """A process that runs jobs."""

    def run(self, job: Job, is_surplus: Surplus | None) -> bytes | None:
        """Returns the line of a verdict; None if it has ended without one."""

    def stop(self) -> None:
        """Tells it to end; whoever waits for its verdict gets none."""

    def end(self) -> str:
        """Waits for its end, and says how it was."""


class _StartedWorker:
    """A worker that has imported everything itself, where a process cannot be forked."""

    def __init__(self, command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "acp_proxy.batch_worker", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, job: Job, _is_surplus: Surplus | None) -> bytes | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.write(line_of_job(job))
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            return line if line.endswith(b"\n") else None
        return None

    def stop(self) -> None:
        self._process.terminate()

    def end(self) -> str:
        self._process.communicate()
        return f" (exit code {self._process.returncode})"


class _ForkedWorker:
    """A worker that a server has forked."""

    def __init__(self, server: _Server, pid: int, channel: socket.socket) -> None:
        self._server = server
        self._pid = pid
        self._channel = channel

    def run(self, job: Job, is_surplus: Surplus | None) -> bytes | None:
        held = bytearray()
        with suppress(OSError):
            self._channel.sendall(line_of_job(job))
            if is_surplus is not None:
                self._watch(is_surplus)
            while data := self._channel.recv(_CHUNK):
                held += data
                if data.endswith(b"\n"):
                    return bytes(held)
        return None

    def _watch(self, is_surplus: Surplus) -> None:
        """Waits until there is something to read, or nobody would read it."""
        readable = select.poll()
        readable.register(self._channel, select.POLLIN)
        while not readable.poll(_LOOK_MS):
            if is_surplus():
                self.stop()
                return

    def stop(self) -> None:
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def end(self) -> str:
        self._channel.close()
        code = None
        with suppress(OSError):
            code = self._server.exit_code(self._pid)
        if code is None or code >= 0:
            return "" if code is None else f" (exit code {code})"
        return f" ({signal_name(-code)})"


class _Pool:
    """The workers of this process, and what forks them: a server for each command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[str, _Server] = {}
        self._idle: dict[str, list[_Worker]] = {}
        self._busy: set[_Worker] = set()
        self._is_stopped = False

    def run(self, job: Job, is_surplus: Surplus | None) -> JobVerdict:
        start = time.monotonic()
        try:
            worker = self._taken(job.command)
        except OSError as e:
            return lost(job, f"cannot start a process for it: {e}", time.monotonic() - start)
        line = None if worker is None else worker.run(job, is_surplus)
        if worker is None or line is None:
            how = "" if worker is None else self._left(worker)
            why = f"its process ended without a verdict{how}"
            found = lost(job, why, time.monotonic() - start)
            return evolve(found, new_recording=_left_run(job))
        if job.command in _LASTING:
            self._give_back(job.command, worker)
        else:
            self._left(worker)
        return verdict_of(line)

    def stop(self) -> None:
        """Ends all workers, and lets none begin."""
        with self._lock:
            self._is_stopped = True
            for worker in self._busy:
                worker.stop()

    def close(self) -> None:
        """Ends what is left, once nothing runs any more; it can be used again."""
        with self._lock:
            idle = [worker for workers in self._idle.values() for worker in workers]
            servers = [*self._servers.values()]
            self._idle, self._servers, self._is_stopped = {}, {}, False
        for worker in idle:
            worker.end()
        for server in servers:
            server.close()

    def _taken(self, command: str) -> _Worker | None:
        """Returns a worker; None if there shall be none any more."""
        with self._lock:
            if self._is_stopped:
                return None
            idle = self._idle.get(command)
            worker = idle.pop() if idle else self._started(command)
            self._busy.add(worker)
            return worker

    def _started(self, command: str) -> _Worker:
        if not hasattr(os, "fork"):
            return _StartedWorker(command)
        if (server := self._servers.get(command)) is not None:
            with suppress(OSError):
                return server.worker()
            server.close()  # it was killed
        server = self._servers[command] = _Server(command)
        return server.worker()

    def _give_back(self, command: str, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            self._idle.setdefault(command, []).append(worker)

    def _left(self, worker: _Worker) -> str:
        with self._lock:
            self._busy.discard(worker)
        return worker.end()


def _left_run(job: Job) -> str | None:
    """Returns what a worker has recorded that was killed, as soon as nobody writes to it."""
    if job.output is None:
        return None
    # Imported late: few workers are killed.
    from acp_proxy.store.directory import recording_at
    from acp_proxy.store.log_recovery import is_finished_or_dead

    path = Path(job.output).absolute()
    latest = time.monotonic() + _LONGEST_END_S
    while recording_at(path) is not None:
        if is_finished_or_dead(path) or time.monotonic() > latest:
            return str(path)
        time.sleep(_SHORTEST_END_S)
    return None


_POOL = _Pool()


def _forget() -> None:
    """Leaves the workers to the process that has forked this one."""
    global _POOL
    _POOL = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
