"""Tests how a Dask worker runs a job, and how its task ends: with a verdict or an error."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy import __version__
from acp_proxy.base.errors import ClusterFailed
from acp_proxy.batches.batch import Job, lost
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import delivered, packed, reply_of
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from acp_proxy.batches.dask_executor import DaskExecutor

ADDRESS = "tcp://127.0.0.1:4711"
HELLO = str(DIRECTORY / "hello.db")
JOB = Job("check", digest="digest", recording="hello.db", path=HELLO)
CLEAN = JobVerdict("hello.db", "check", "digest", 0, VerdictKind.CLEAN, 0.5)


class Tasks:
    """Stands for Dask's part of an executor: it returns futures that the test ends."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: object) -> Future[Any]:
        """Returns a future, and keeps it for the test."""
        self.futures.append(Future())
        return self.futures[-1]


@pytest.fixture
def tasks() -> Tasks:
    """Returns the futures of an executor that stands for a cluster."""
    return Tasks()


@pytest.fixture(scope="module")
def dask_executor() -> Any:
    """Returns the module about Dask; only these tests import it, since the import takes long."""
    from acp_proxy.batches import dask_executor

    return dask_executor


@pytest.fixture
def executor(dask_executor: Any, tasks: Tasks) -> DaskExecutor:
    """Returns an executor that is not connected to a cluster."""
    item: DaskExecutor = dask_executor.DaskExecutor.__new__(dask_executor.DaskExecutor)
    item.address = ADDRESS
    item._executor = tasks
    item._client = SimpleNamespace(status="connecting")
    return item


def test_a_reply_is_a_verdict(executor: DaskExecutor, tasks: Tasks) -> None:
    """The reply of a Dask worker to a job is read as the verdict on the job's recording."""
    future = executor.submit(JOB)
    tasks.futures[0].set_result(reply_of(CLEAN, {}))
    assert executor.verdict(future, JOB) == CLEAN


def test_lost_workers_are_an_error(
    dask_executor: Any, executor: DaskExecutor, tasks: Tasks
) -> None:
    """If a job on a Dask cluster lost its workers, the error says how many were lost."""
    future = executor.submit(JOB)
    tasks.futures[0].set_exception(dask_executor.KilledWorker("eval-1", None, 3))
    said = "^4 workers were lost while they ran this job.*$"
    with pytest.raises(dask_executor.WorkersLost, match=said):
        executor.verdict(future, JOB)


@pytest.mark.parametrize(
    ("end", "error", "said"),
    [
        (lambda task: task.cancel(), ClusterFailed, f"lost the Dask scheduler at {ADDRESS}"),
        (
            lambda task: task.set_exception(ModuleNotFoundError("No module named 'acp_proxy'")),
            ClusterFailed,
            f"on each worker of {ADDRESS}: No module named 'acp_proxy'",
        ),
        (lambda task: task.set_result("it is too old"), ClusterFailed, "it is too old"),
        (lambda task: task.set_exception(OSError("no space")), OSError, "no space"),
    ],
    ids=["scheduler lost", "not installed", "another version", "any other"],
)
def test_other_ends_are_errors(
    executor: DaskExecutor,
    tasks: Tasks,
    end: Callable[[Future[Any]], object],
    error: type[Exception],
    said: str,
) -> None:
    """If a job on a Dask cluster fails, the error says why, such as a lost scheduler."""
    future = executor.submit(JOB)
    end(tasks.futures[0])
    with pytest.raises(error, match=said) as raised:
        executor.verdict(future, JOB)
    assert "\n" not in str(raised.value)


def test_what_cannot_be_read_is_not_sent(executor: DaskExecutor, tasks: Tasks) -> None:
    """A recording that cannot be read raises an error before it is sent to a Dask cluster."""
    with pytest.raises(FileNotFoundError):
        executor.submit(evolve(JOB, recording="gone.db", path="/no/such/gone.db"))
    assert tasks.futures == []


def test_a_batch_has_as_much_in_flight_as_there_is_room(executor: DaskExecutor) -> None:
    """A batch sends at most two recordings at a time for each thread of a Dask cluster."""
    threads = {"tcp://a": 4, "tcp://b": 1}
    executor._threads, executor._most = 0, None
    assert executor.in_flight == 2  # for a worker that may come
    executor._client = SimpleNamespace(status="running", nthreads=lambda: threads)
    assert executor.in_flight == 10
    executor._client.status = "connecting"
    assert executor.in_flight == 10
    executor._most = 3
    assert executor.in_flight == 3


@pytest.fixture
def worker(dask_executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker of this thread, which has a task named "key"."""
    task = SimpleNamespace(state="executing")
    worker = SimpleNamespace(
        address=ADDRESS,
        local_directory=tmp_path,
        state=SimpleNamespace(tasks={"key": task}),
        status=dask_executor.Status.running,
        task=task,
    )
    monkeypatch.setattr(dask_executor, "get_worker", lambda: worker)
    monkeypatch.setattr(dask_executor, "thread_state", SimpleNamespace(key="key"))
    return worker


def answer(
    monkeypatch: pytest.MonkeyPatch, job: Job, run: Callable[[Job, Callable[[], bool]], JobVerdict]
) -> Any:
    """Returns the worker's reply to a job."""
    from acp_proxy.batches import dask_executor

    monkeypatch.setattr(dask_executor, "run", run)
    actual = dask_executor.answer(__version__, packed(job))
    assert isinstance(actual, bytes)
    return delivered(actual, job)


def test_a_worker_of_another_version_reads_nothing(dask_executor: Any, worker: Any) -> None:
    """A Dask worker refuses a job of a different acp-proxy version, and names both versions."""
    said = f"expected acp-proxy 9.9 on each worker: {worker.address} has {__version__}"
    assert dask_executor.answer("9.9", b"of another form") == said


def test_a_worker_removes_the_recording_it_unpacked(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Dask worker unpacks a recording into its own directory, and removes it after the job."""

    def run(job: Job, _: object) -> JobVerdict:
        assert job.path.startswith(str(worker.local_directory))
        return JobVerdict(job.recording, job.command, job.digest, 0, VerdictKind.CLEAN, 0.5)

    actual = answer(monkeypatch, JOB, run)
    assert (actual.kind, actual.node, actual.recording) == (VerdictKind.CLEAN, ADDRESS, "hello.db")
    assert list(worker.local_directory.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "status", "is_surplus"),
    [
        ("executing", "running", False),
        ("executing", "paused", False),
        ("executing", "closing_gracefully", False),
        ("cancelled", "running", True),
        (None, "running", True),
        ("executing", "closing", True),
    ],
)
def test_a_job_that_nobody_waits_for_is_stopped(
    dask_executor: Any,
    worker: Any,
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    status: str,
    is_surplus: bool,
) -> None:
    """A Dask worker stops a job if its task was cancelled or if the worker is closing."""
    worker.status, worker.task.state = dask_executor.Status[status], state
    if state is None:
        worker.state.tasks.clear()

    def run(job: Job, surplus: Callable[[], bool]) -> JobVerdict:
        assert surplus() == is_surplus
        return lost(job, "its process ended", 0.5)

    if is_surplus:
        with pytest.raises(dask_executor.Reschedule):
            answer(monkeypatch, JOB, run)
    else:
        assert answer(monkeypatch, JOB, run).kind is VerdictKind.LOST
