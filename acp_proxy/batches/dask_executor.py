"""Runs the jobs of a batch on the workers of a Dask cluster.

Dask gives a job to a worker, and to another one if that worker is lost. A task is an expression
for `eval`, and its values are bytes and texts. Anything of ours would be unpickled where a worker
reads the messages of its scheduler: a worker without acp-proxy would stop reading there, and the
batch would wait for ever.
"""

import asyncio
import logging
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any

import dask
from distributed import Client, KilledWorker, Security
from distributed.comm import connect

from acp_proxy import __version__
from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict
from acp_proxy.batches.shipments import Reply, delivered, from_bytes, packed, to_bytes, unreadable
from acp_proxy.errors import ClusterFailed, UnreadableRecording

_VERSION = "__import__('acp_proxy').__version__"
_TASK = "__import__('acp_proxy.batches.dask_task').batches.dask_task.answer(version, shipment)"
_CONNECT_S = 10
_NAMED = 3
"""Workers that an error names."""
_AHEAD = 2
"""Jobs for each thread: one that runs, and one that is there when it ends."""
_COUNTED_S = 2.0
"""How long a number of threads is taken for true; workers come and go."""


class DaskExecutor(Executor):
    """An executor of `concurrent.futures` for jobs; a context manager that cancels what is left.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``.
        most: how many jobs run at once; None for as many as the cluster has threads.

    Raises:
        ClusterFailed: the scheduler cannot be reached, or a worker has no acp-proxy, or another
            version of it.
    """

    def __init__(self, address: str, most: int | None = None) -> None:
        _silence()
        self.address = address
        self._most = most
        self._is_closed = False
        self._threads, self._counted_at = 0, -_COUNTED_S
        try:
            asyncio.run(_reach(address))
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as e:
            raise ClusterFailed(f"no Dask scheduler answers at {address}: {_line(e)}") from None
        self._executor = self._client.get_executor(pure=False)
        try:
            self._expect_our_version()
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> "DaskExecutor":
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.shutdown(cancel_futures=True)

    @property
    def has_workers(self) -> bool:
        """Whether the cluster has a worker; if not, one may still come."""
        return self._counted() > 0

    @property
    def in_flight(self) -> int:
        """How many jobs it is to have."""
        return self._most or _AHEAD * max(1, self._counted())

    def _counted(self) -> int:
        """Returns how many threads the cluster has, or had a moment ago."""
        now = time.monotonic()
        # While it is not connected, its futures are about to say so.
        if now - self._counted_at > _COUNTED_S and self._client.status == "running":
            self._threads = sum(self._ask(self._client.nthreads).values())
            self._counted_at = now
        return self._threads

    def submit(  # type: ignore[override]  # it runs jobs and nothing else
        self, _fn: Callable[[Job], JobVerdict], job: Job, /
    ) -> "Future[JobVerdict]":
        """Sends a job to the cluster.

        Args:
            _fn: what workers run for a job, whatever is given.
            job: the job.
        """
        outer: Future[JobVerdict] = Future()
        try:
            shipment = to_bytes(packed(job))
        except (OSError, UnreadableRecording) as e:
            outer.set_result(unreadable(job, e))
            return outer
        inner = self._ask(
            lambda: self._executor.submit(
                eval, _TASK, {"version": __version__, "shipment": shipment}
            )
        )
        inner.add_done_callback(lambda done: self._settle(done, outer, job))
        # Weak: the cluster keeps the reply of a task, or makes it again, as long as it is held.
        task = weakref.ref(inner)
        outer.add_done_callback(lambda done: _cancel(task) if done.cancelled() else None)
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; workers end the jobs that are cancelled by that.

        Args:
            wait: whether to wait for the jobs that run.
            cancel_futures: whether to cancel them.
        """
        if not self._is_closed:
            self._executor.shutdown(wait=wait and not cancel_futures)
            self._is_closed = True
            self._client.close()

    def _settle(self, inner: "Future[Any]", outer: "Future[JobVerdict]", job: Job) -> None:
        """Passes on what has become of a task; runs in a thread of Dask."""
        if not outer.set_running_or_notify_cancel():
            return
        try:
            outer.set_result(self._verdict(inner, job))
        except BaseException as e:
            outer.set_exception(e)

    def _verdict(self, inner: "Future[Any]", job: Job) -> JobVerdict:
        if inner.cancelled():
            raise ClusterFailed(
                f"lost the Dask scheduler at {self.address}; with --results, the same command goes"
                " on with what is left"
            )
        try:
            answer = inner.result()
        except KilledWorker as e:
            lost = e.allowed_failures + 1
            raise WorkersLost(f"{lost} workers were lost while they ran it") from e
        except ImportError as e:  # of a worker that has joined later
            raise ClusterFailed(
                f"expected acp-proxy {__version__} on each worker of {self.address}: {_line(e)}"
            ) from e
        if isinstance(answer, str):
            raise ClusterFailed(answer)
        reply: Reply = from_bytes(answer)
        return delivered(reply, job)

    def _expect_our_version(self) -> None:
        found = self._ask(lambda: self._client.run(eval, _VERSION, on_error="return"))
        others = [
            f"{worker} has {'none' if isinstance(version, BaseException) else version}"
            for worker, version in sorted(found.items())
            if version != __version__
        ]
        if others:
            raise ClusterFailed(
                f"expected acp-proxy {__version__} on each worker: {', '.join(others[:_NAMED])}"
                f"{', ...' if len(others) > _NAMED else ''}"
            )

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


def _cancel(task: "weakref.ref[Future[Any]]") -> None:
    if (future := task()) is not None:
        future.cancel()


def _silence() -> None:
    """Keeps Dask from writing to stderr: what matters is an exception in any case."""
    warnings.filterwarnings("ignore", module="distributed")
    logging.disable()
    # Else the last thousand recordings that were sent stay in memory.
    dask.config.set({"distributed.admin.low-level-log-length": 0})


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
