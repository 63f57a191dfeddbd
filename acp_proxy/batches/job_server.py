"""Forks workers off a process that has imported what they need, and runs jobs in them.

The server has one thread and no open files but its channel, so a fork of it can do anything. Each
worker has a channel of its own to the process that asked for it. The end of that channel is the end
of the worker: whoever is killed leaves no agent behind.
"""

import gc
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import NoReturn

from attrs import asdict

from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict, line_of

FORK, WAIT = b"f", b"w"
NUMBER = 8
"""Bytes of a process id and of an exit code."""
_CHUNK = 1 << 16
Perform = Callable[[Job], JobVerdict]


def serve(fd: int, perform: Perform) -> NoReturn:
    """Serves until the channel is closed.

    Args:
        fd: the channel, a stream socket.
        perform: runs a job in a worker; it may change whatever a process has.
    """
    # Whoever has asked may be gone before the answer.
    with suppress(ConnectionError), socket.socket(fileno=fd) as channel:
        channel.sendall(_number(os.getpid()))  # everything is imported
        gc.collect()
        gc.freeze()
        _fork_workers(channel, perform)
    os._exit(0)


def _fork_workers(channel: socket.socket, perform: Perform) -> None:
    while True:
        request, fds, _, _ = socket.recv_fds(channel, 1 + NUMBER, 1)
        if not request:
            return
        if request[:1] == WAIT:
            channel.sendall(_number(_exit_code(int.from_bytes(request[1:], "big"))))
        elif pid := os.fork():
            os.close(fds[0])
            channel.sendall(_number(pid))
        else:
            channel.close()
            _work(socket.socket(fileno=fds[0]), perform)


def serve_alone(perform: Perform) -> None:
    """Runs jobs of standard input in this process, until its end; where there is no `fork`.

    Args:
        perform: runs one.
    """
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line_of(perform(job_of(line))))
        sys.stdout.buffer.flush()


def _number(value: int) -> bytes:
    return value.to_bytes(NUMBER, "big", signed=True)


def _exit_code(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


def _work(channel: socket.socket, perform: Perform) -> NoReturn:
    """Runs the jobs that come, until the channel is closed."""
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(channel, lines), daemon=True).start()
    code = 1
    try:
        while (line := lines.get()) is not None:
            channel.sendall(line_of(perform(job_of(line))))
        code = 0
    except Exception:  # a mistake of ours
        traceback.print_exc()
    finally:
        os._exit(code)


def _listen(channel: socket.socket, lines: "SimpleQueue[bytes | None]") -> None:
    """Passes lines on; at the end of the channel this process is told to stop, as by a user."""
    held = b""
    while data := _received(channel):
        *whole, held = (held + data).split(b"\n")
        for line in whole:
            lines.put(line)
    lines.put(None)
    os.kill(os.getpid(), signal.SIGTERM)


def _received(channel: socket.socket) -> bytes:
    try:
        return channel.recv(_CHUNK)
    except OSError:
        return b""


def line_of_job(job: Job) -> bytes:
    """Returns a job as a line."""
    return json.dumps(asdict(job)).encode() + b"\n"


def job_of(line: bytes) -> Job:
    """Reads a job."""
    members = json.loads(line)
    for name in ("options", "words", "files"):
        members[name] = tuple(members[name])
    return Job(**members)
