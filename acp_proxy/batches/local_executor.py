"""Runs each job in its own process on this machine, forked by the forkserver.

The forkserver has imported everything that a job needs. If a worker process is killed, only its own
job is lost. If the process that waits for the verdict ends, the worker and its agent end as well.
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
"""The name of the module that runs a job in a worker. (This room must not import the module.)"""
_PRELOADED = [_WORKER, "dask.__main__"] if "dask" in sys.modules else [_WORKER]
"""The modules that the forkserver imports when it starts."""
_AHEAD = 2
"""The number of jobs that are submitted for each process."""
_LOOK_S = 0.2
_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_LOCK = threading.Lock()
"""Held by a thread that starts or reaps a process. No two threads may do this at the same time,
since `multiprocessing` does not allow it."""


class LocalExecutor:
    """Runs jobs in parallel, each in a process.

    Args:
        jobs: how many jobs run at once.

    Attributes:
        in_flight: how many unfinished jobs the executor should have; below this, submit more.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs, "job")
        self.in_flight = _AHEAD * jobs
        self._is_stopped = threading.Event()

    def submit(self, job: Job, /) -> Future[JobVerdict]:
        """Starts a job as soon as a process is free, and returns its future."""
        return self._threads.submit(run, job, self._is_stopped.is_set)

    def verdict(self, future: Future[JobVerdict], _: Job) -> JobVerdict:
        """Returns the verdict on a job.

        Args:
            future: the future of the job.
            _: the job.
        """
        return future.result()

    def shutdown(self, *, stop: bool) -> None:
        """Shuts the executor down, and waits until its jobs have ended.

        Args:
            stop: whether to end running jobs with their agents, and to drop waiting jobs.
        """
        if stop:
            self._is_stopped.set()
        self._threads.shutdown(cancel_futures=stop)


def run(job: Job, is_surplus: Callable[[], bool] = lambda: False) -> JobVerdict:
    """Runs a job in a process of its own.

    Any thread of any process may call this function. If the job's process is killed, the verdict
    says that the job is lost.

    Args:
        job: the job.
        is_surplus: a function that is called several times a second. When it returns True, the job
            is ended and counts as lost.
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
    """Starts the forkserver if needed. The server imports nothing from the current directory."""
    before = {**os.environ}
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONSAFEPATH"]
        os.environ.update(before)


def _work(pipe: "connection.Connection[Any, Any]", job: Job, environment: dict[str, str]) -> None:
    """Runs a job in this worker process."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that Ctrl-C reaches only the batch
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    verdict = import_module(_WORKER).work(job)
    with suppress(OSError):
        pipe.send(verdict)


def _end_with(pipe: "connection.Connection[Any, Any]") -> None:
    """Waits until the parent process closes its end of the pipe, and then stops this process."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os.kill(os.getpid(), signal.SIGTERM)
