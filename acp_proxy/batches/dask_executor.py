"""Runs the jobs of a batch on the workers of a Dask cluster.

If a worker is lost, Dask gives its job to another worker. A task contains only bytes and strings,
since a worker without acp-proxy cannot unpickle anything else. (If a worker cannot unpickle a task,
the batch waits forever.)

A thread of a worker cannot be cancelled, but the process of its job can be ended. So the thread
checks several times a second whether anybody still waits for the verdict.
"""

import asyncio
import logging
import multiprocessing
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

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

_TASK = (
    "__import__('acp_proxy.batches.dask_executor').batches.dask_executor.answer(version, shipment)"
)
_LEAVING = (Status.closing, Status.closed, Status.failed, Status.stopping)
_CONNECT_S = 10
_AHEAD = 2
"""The number of jobs that are submitted for each thread."""


class DaskExecutor:
    """Runs jobs on the threads of a cluster.

    Args:
        address: the scheduler, such as ``tcp://host:8786``.
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
        """How many unfinished jobs the executor should have; below this, submit more."""
        return self._most or _AHEAD * max(1, self.threads)

    @property
    def threads(self) -> int:
        """The number of threads in the cluster; without a connection, the last known number."""
        if self._client.status == "running":
            self._threads = sum(self._ask(self._client.nthreads).values())
        return self._threads

    def submit(self, job: Job, /) -> Future[Any]:
        """Sends a job to the cluster.

        Raises:
            OSError: a file of the job cannot be read.
            UnreadableRecording: the recording cannot be read.
        """
        values = {"version": __version__, "shipment": packed(job)}
        future: Future[Any] = self._ask(lambda: self._executor.submit(eval, _TASK, values))
        return future

    def shutdown(self, *, stop: bool) -> None:
        """Disconnects from the cluster.

        Args:
            stop: whether to cancel the jobs. Otherwise the call waits until the jobs have ended.
        """
        self._executor.shutdown(wait=not stop)
        self._client.close()

    def verdict(self, future: Future[Any], job: Job) -> JobVerdict:
        """Returns the verdict on a job. Stores the recording of the new run on this machine.

        Args:
            future: the future of the job.
            job: the submitted job.

        Raises:
            ClusterFailed: the cluster cannot run any job.
            WorkersLost: too many workers were lost while they ran this job.
        """
        if future.cancelled():
            raise ClusterFailed(
                f"lost the Dask scheduler at {self.address}; a batch with --results continues"
                " with the remaining recordings if you run the same command again"
            )
        try:
            answer = future.result()
        except KilledWorker as e:
            count = e.allowed_failures + 1
            raise WorkersLost(f"{count} workers were lost while they ran this job") from e
        except ImportError as e:
            raise ClusterFailed(
                f"expected acp-proxy {__version__} on each worker of {self.address}: {_line(e)}"
            ) from e
        if isinstance(answer, str):
            raise ClusterFailed(answer)
        return delivered(answer, job)

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Returns the result of a call to the scheduler; raises `ClusterFailed` if it fails."""
        try:
            return question()
        except Exception as e:
            raise ClusterFailed(
                f"the Dask scheduler at {self.address} does not answer: {_line(e)}"
            ) from e


class WorkersLost(Exception):
    """Raised for a job if too many workers were lost while they ran this job."""


async def _reach(address: str) -> None:
    """Tests whether the scheduler can be reached.

    No Dask client is used for the test, since a client would print its failed attempts.
    """
    how = Security().get_connection_args("client")
    await (await connect(address, timeout=_CONNECT_S, **how)).close()


def _silence() -> None:
    """Keeps Dask from writing to stderr."""
    warnings.filterwarnings("ignore", module="distributed")
    logging.disable()
    # Otherwise the last thousand recordings that were sent stay in memory.
    dask.config.set({"distributed.admin.low-level-log-length": 0})


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def answer(version: str, shipment: bytes) -> bytes | str:
    """Runs a job. Returns the reply as bytes, or as a string why this worker cannot run the job.

    Args:
        version: the version of acp-proxy that sent the job.
        shipment: the bytes of the job. A worker of another version does not read them.
    """
    worker = get_worker()
    if version != __version__:
        return f"expected acp-proxy {version} on each worker: {worker.address} has {__version__}"
    # Otherwise a worker that Dask's nanny started could not start processes.
    multiprocessing.current_process().daemon = False
    # Dask removes the files that a killed worker leaves there.
    with tempfile.TemporaryDirectory(prefix="acp-proxy-", dir=worker.local_directory) as name:
        job, names = unpacked(shipment, Path(name))
        is_surplus = _surplus_of(worker)
        verdict = run(job, is_surplus)
        if verdict.kind is VerdictKind.LOST:
            if is_surplus():
                raise Reschedule  # on another worker, if the verdict is still wanted
            verdict = evolve(verdict, new_recording=None)  # a partial run is not sent
        return reply_of(evolve(verdict, node=worker.address), names)


def _surplus_of(worker: Any) -> Callable[[], bool]:
    """Returns a function that tells whether the task of this thread is no longer needed.

    The function returns True if nobody waits for the task, or if the worker leaves the cluster.
    """
    key = thread_state.key

    def is_surplus() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or worker.status in _LEAVING

    return is_surplus
