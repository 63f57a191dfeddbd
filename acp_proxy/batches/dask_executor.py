"""Runs the jobs of a batch on the workers of a Dask cluster.

Dask gives a job to a worker, and to another one if that worker is lost. A task is an expression
for `eval`, and its values are bytes and texts. Anything of ours would be unpickled where a worker
reads the messages of its scheduler: a worker without acp-proxy would stop reading there, and the
batch would wait for ever.

A thread of a worker cannot be cancelled, but the process in which its job runs can be ended. So the
thread looks several times a second whether anybody still waits for the verdict: the caller may have
been interrupted or killed, and the worker may have been told to leave.
"""

import asyncio
import logging
import multiprocessing
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from attrs import evolve
from distributed import Client, KilledWorker, Reschedule, Security, Status, get_worker
from distributed.comm import connect
from distributed.worker import thread_state

from acp_proxy import __version__
from acp_proxy.base.errors import ClusterFailed
from acp_proxy.batches.batch import Job
from acp_proxy.batches.local_executor import run
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import delivered, packed, reply_of, unpacked

if TYPE_CHECKING:
    from concurrent.futures import Future

_TASK = (
    "__import__('acp_proxy.batches.dask_executor').batches.dask_executor.answer(version, shipment)"
)
_LEAVING = (Status.closing, Status.closed, Status.failed, Status.stopping)
_CONNECT_S = 10
_AHEAD = 2
"""Jobs for each thread: one that runs, and one that is there when it ends."""


class DaskExecutor:
    """Runs jobs wherever the cluster has a thread for them.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``.
        most: how many jobs run at once; None for as many as the cluster has threads.

    Raises:
        ClusterFailed: the scheduler cannot be reached.
    """

    def __init__(self, address: str, most: int | None = None) -> None:
        _silence()
        self.address = address
        self._most = most
        self._threads = 0
        try:
            asyncio.run(_reach(address))
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as e:
            raise ClusterFailed(f"no Dask scheduler answers at {address}: {_line(e)}") from None
        self._executor = self._client.get_executor(pure=False)

    @property
    def in_flight(self) -> int:
        """How many jobs it is to have."""
        return self._most or _AHEAD * max(1, self.threads)

    @property
    def threads(self) -> int:
        """How many threads the cluster has, or had when it was connected last."""
        if self._client.status == "running":
            self._threads = sum(self._ask(self._client.nthreads).values())
        return self._threads

    def submit(self, job: Job, /) -> "Future[Any]":
        """Sends a job to the cluster.

        Raises:
            OSError: a file that it needs cannot be read.
            UnreadableRecording: its recording cannot be read.
        """
        values = {"version": __version__, "shipment": packed(job)}
        future: Future[Any] = self._ask(lambda: self._executor.submit(eval, _TASK, values))
        return future

    def shutdown(self, *, stop: bool) -> None:
        """Leaves the cluster.

        Args:
            stop: whether jobs are cancelled, which workers then end; otherwise it waits for them.
        """
        self._executor.shutdown(wait=not stop)
        self._client.close()

    def verdict(self, future: "Future[Any]", job: Job) -> JobVerdict:
        """Returns what a job has come to, whose new run is then on this machine.

        Args:
            future: the future of the job.
            job: what it was submitted for.

        Raises:
            ClusterFailed: it cannot run any job.
            WorkersLost: it has run this one too often.
        """
        if future.cancelled():
            raise ClusterFailed(
                f"lost the Dask scheduler at {self.address}; with --results, the same command goes"
                " on with what is left"
            )
        try:
            answer = future.result()
        except KilledWorker as e:
            count = e.allowed_failures + 1
            raise WorkersLost(f"{count} workers were lost while they ran it") from e
        except ImportError as e:
            raise ClusterFailed(
                f"expected acp-proxy {__version__} on each worker of {self.address}: {_line(e)}"
            ) from e
        if isinstance(answer, str):
            raise ClusterFailed(answer)
        return delivered(answer, job)

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Asks the scheduler."""
        try:
            return question()
        except Exception as e:
            raise ClusterFailed(
                f"the Dask scheduler at {self.address} does not answer: {_line(e)}"
            ) from e


class WorkersLost(Exception):
    """Raised for a job that has cost too many workers."""


async def _reach(address: str) -> None:
    """Connects once; a client of Dask that cannot connect complains for seconds on stderr."""
    how = Security().get_connection_args("client")
    await (await connect(address, timeout=_CONNECT_S, **how)).close()


def _silence() -> None:
    """Keeps Dask from writing to stderr: what matters is an exception in any case."""
    warnings.filterwarnings("ignore", module="distributed")
    logging.disable()
    # Else the last thousand recordings that were sent stay in memory.
    dask.config.set({"distributed.admin.low-level-log-length": 0})


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def answer(version: str, shipment: bytes) -> bytes | str:
    """Does a job and returns the bytes of the reply; or why this worker cannot, as a text.

    Args:
        version: of acp-proxy, where the job comes from.
        shipment: the bytes of the job; not read by another version.
    """
    worker = get_worker()
    if version != __version__:
        return f"expected acp-proxy {version} on each worker: {worker.address} has {__version__}"
    # Else a worker that Dask's nanny has started could start no process.
    multiprocessing.current_process().daemon = False
    # Dask removes what a worker that was killed has left there.
    with tempfile.TemporaryDirectory(prefix="acp-proxy-", dir=worker.local_directory) as name:
        job, names = unpacked(shipment, Path(name))
        is_surplus = _surplus_of(worker)
        verdict = run(job, is_surplus)
        if verdict.kind is VerdictKind.LOST:
            if is_surplus():
                raise Reschedule  # on another worker, unless nobody waits any more
            verdict = evolve(verdict, new_recording=None)  # what is left of it does not travel
        return reply_of(evolve(verdict, node=worker.address), names)


def _surplus_of(worker: Any) -> Callable[[], bool]:
    """Returns what says whether the task of this thread can be given up.

    Nobody may wait for it any more, or the worker may leave.
    """
    key = thread_state.key

    def is_surplus() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or worker.status in _LEAVING

    return is_surplus
