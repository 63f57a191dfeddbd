"""Runs each job in a process of its own on this machine, forked by the forkserver.

The server has imported everything that a job needs. A worker that is killed loses its job and
nothing else. Each worker holds one end of a pipe: when the process ends that waits for the verdict,
however it does, the worker ends as by a signal, and its agent with it.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from multiprocessing import connection, forkserver
from multiprocessing.process import BaseProcess
from typing import Any

from acp_proxy.base.system import signal_name
from acp_proxy.batches.batch import Job, lost
from acp_proxy.batches.results import JobVerdict

_WORKER = "acp_proxy.cli.batches.batch_worker"
"""What the server imports, by name, since it stands above this room."""
_PRELOADED = [_WORKER, "dask.__main__"] if "dask" in sys.modules else [_WORKER]
"""Each process imports what the main module does, which on a worker of Dask is not ours."""
_AHEAD = 2
"""Jobs for each process: one that runs, and one that it finds when that is done."""
_LOOK_S = 0.2
_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_LOCK = threading.Lock()
"""Is held while processes are started and reaped, which `multiprocessing` does in one thread."""


class LocalExecutor:
    """Runs jobs at once, each in a process.

    Args:
        jobs: how many jobs it runs at once.

    Attributes:
        in_flight: how many jobs it is to have.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs, "job")
        self.in_flight = _AHEAD * jobs
        self._is_stopped = threading.Event()

    def submit(self, job: Job, /) -> Future[JobVerdict]:
        """Runs a job."""
        return self._threads.submit(run, job, self._is_stopped.is_set)

    def verdict(self, future: Future[JobVerdict], _: Job) -> JobVerdict:
        """Returns what a job has come to.

        Args:
            future: the future of the job.
            _: the job.
        """
        return future.result()

    def shutdown(self, *, stop: bool) -> None:
        """Ends it, and waits for that.

        Args:
            stop: whether jobs that run end as by a signal, and their agents with them, and jobs
                that wait are never run.
        """
        if stop:
            self._is_stopped.set()
        self._threads.shutdown(cancel_futures=stop)


def run(job: Job, is_surplus: Callable[[], bool] = lambda: False) -> JobVerdict:
    """Runs a job in a process of its own.

    It may be called in any thread of any process. A job whose process is killed is lost.

    Args:
        job: the job.
        is_surplus: asked several times a second; when it returns True, the job ends as by a signal,
            and is lost.
    """
    start = time.monotonic()
    try:
        process, pipe = _started(job)
    except (OSError, EOFError) as e:
        return lost(job, f"cannot start a process for it: {e}", time.monotonic() - start)
    with pipe:
        is_ending = False
        while not pipe.poll(_LOOK_S):
            if not is_ending and is_surplus():
                is_ending = True
                process.terminate()
        job_verdict: JobVerdict | None = None
        with suppress(EOFError, OSError):
            job_verdict = pipe.recv()
    connection.wait([process.sentinel])
    with _LOCK:
        process.join()
    if job_verdict is not None:
        return job_verdict
    code = process.exitcode or 0
    how = f"exit code {code}" if code >= 0 else signal_name(-code)
    why = f"its process ended without a verdict ({how})"
    return lost(job, why, time.monotonic() - start)


def _started(job: Job) -> tuple[BaseProcess, "connection.Connection[Any, Any]"]:
    context: Any = multiprocessing.get_context("forkserver" if _HAS_SERVER else "spawn")
    ours, theirs = context.Pipe()
    with _LOCK, theirs:
        if _HAS_SERVER:
            context.set_forkserver_preload(_PRELOADED)
            _start_server()
        process = context.Process(target=_work, args=(theirs, job, {**os.environ}), daemon=True)
        process.start()
    return process, ours


def _start_server() -> None:
    """Starts the server, unless it runs; it imports no module of the current directory."""
    before = {**os.environ}
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONSAFEPATH"]
        os.environ.update(before)


def _work(pipe: "connection.Connection[Any, Any]", job: Job, environment: dict[str, str]) -> None:
    """Runs a job in this process, which is a worker."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C comes to the batch alone
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    verdict = import_module(_WORKER).work(job)
    with suppress(OSError):
        pipe.send(verdict)


def _end_with(pipe: "connection.Connection[Any, Any]") -> None:
    """Waits for the end of the pipe; then this process is told to stop, as by a user."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os.kill(os.getpid(), signal.SIGTERM)
