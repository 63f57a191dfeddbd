"""What becomes of a task is told apart: a verdict, a job that may be tried again, or the end."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from distributed import KilledWorker

from acp_proxy.batches.dask_executor import DaskExecutor, WorkersLost
from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import Reply, to_bytes
from acp_proxy.errors import ClusterFailed
from tests.shipped import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS = "tcp://127.0.0.1:4711"
JOB = Job("hello.db", str(DIRECTORY / "hello.db"), "check", (), (), "digest")
CLEAN = JobVerdict("hello.db", "check", "digest", 0, VerdictKind.CLEAN, 0.5)


class Tasks:
    """Stands for what Dask makes of an executor: futures that the test ends."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: object) -> Future[Any]:
        """Returns a future, and keeps it."""
        self.futures.append(Future())
        return self.futures[-1]


@pytest.fixture
def tasks() -> Tasks:
    """Those of a cluster."""
    return Tasks()


@pytest.fixture
def executor(tasks: Tasks) -> DaskExecutor:
    """One that is connected to nothing."""
    one = DaskExecutor.__new__(DaskExecutor)
    one.address = ADDRESS
    one._executor = tasks
    one._client = SimpleNamespace(status="connecting")
    return one


def submitted(executor: DaskExecutor, job: Job = JOB) -> Future[JobVerdict]:
    """The future of a job."""
    return executor.submit(lambda _: CLEAN, job)


def test_a_reply_is_a_verdict(executor: DaskExecutor, tasks: Tasks) -> None:
    """As the worker has found it."""
    future = submitted(executor)
    tasks.futures[0].set_result(to_bytes(Reply(CLEAN)))
    assert future.result(1) == CLEAN


@pytest.mark.parametrize(
    ("end", "error", "said"),
    [
        (
            lambda task: task.set_exception(KilledWorker("eval-1", None, 3)),
            WorkersLost,
            "4 workers were lost while they ran it",
        ),
        (lambda task: task.cancel(), ClusterFailed, f"lost the Dask scheduler at {ADDRESS}"),
        (
            lambda task: task.set_exception(ModuleNotFoundError("No module named 'acp_proxy'")),
            ClusterFailed,
            f"on each worker of {ADDRESS}: No module named 'acp_proxy'",
        ),
        (lambda task: task.set_result("it is too old"), ClusterFailed, "it is too old"),
        (lambda task: task.set_exception(OSError("no space")), OSError, "no space"),
    ],
    ids=["workers lost", "scheduler lost", "not installed", "another version", "any other"],
)
def test_other_ends_are_errors(
    executor: DaskExecutor,
    tasks: Tasks,
    end: Callable[[Future[Any]], object],
    error: type[Exception],
    said: str,
) -> None:
    """Those of ours end the batch, with one line; all others may be tried again."""
    future = submitted(executor)
    end(tasks.futures[0])
    with pytest.raises(error, match=said) as raised:
        future.result(1)
    assert "\n" not in str(raised.value)


def test_what_cannot_be_sent_has_a_verdict(executor: DaskExecutor, tasks: Tasks) -> None:
    """As it has where it is."""
    gone = Job("gone.db", "/no/such/gone.db", "check", (), (), "digest")
    assert submitted(executor, gone).result(1).kind is VerdictKind.UNREADABLE
    assert tasks.futures == []


def test_a_cancelled_job_is_cancelled_on_the_cluster(executor: DaskExecutor, tasks: Tasks) -> None:
    """And what becomes of its task then is of no interest."""
    future = submitted(executor)
    assert future.cancel()
    assert tasks.futures[0].cancelled()


def test_a_batch_has_as_much_in_flight_as_there_is_room(executor: DaskExecutor) -> None:
    """Two jobs for each thread, or as many as were asked for; two for a worker that may come."""
    executor._client = SimpleNamespace(
        status="running", nthreads=lambda: {"tcp://a": 4, "tcp://b": 1}
    )
    for most, threads, expected in ((None, 5, 10), (3, 5, 3), (None, 0, 2)):
        executor._most, executor._threads, executor._counted_at = most, threads, float("inf")
        assert executor.in_flight == expected
    executor._counted_at = float("-inf")
    assert executor.in_flight == 10
    assert executor.has_workers
