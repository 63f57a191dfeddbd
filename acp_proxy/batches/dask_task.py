"""What a worker of a Dask cluster does with one recording.

A thread cannot be cancelled, but the process in which the job runs can be ended. So the thread
looks several times a second whether anybody still waits for the verdict: the caller may have been
interrupted or killed, and the worker may have been told to leave.
"""

import multiprocessing
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import evolve
from distributed import Reschedule, Status, get_worker
from distributed.worker import thread_state

from acp_proxy import __version__
from acp_proxy.batches.local_executor import run
from acp_proxy.batches.results import VerdictKind
from acp_proxy.batches.shipments import reply_of, unpacked

_LEAVING = (Status.closing, Status.closed, Status.failed, Status.stopping)


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
