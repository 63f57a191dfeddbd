"""What a worker does before and after the job itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Reschedule, Status

from acp_proxy import __version__
from acp_proxy.batches import dask_task
from acp_proxy.batches.batch import Job, lost
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import delivered, packed
from tests.shipped import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADDRESS = "tcp://127.0.0.1:4711"
HELLO = str(DIRECTORY / "hello.db")
JOB = Job("hello.db", HELLO, "check", (), (), "digest")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker of this thread, which has a task named "key"."""
    task = SimpleNamespace(state="executing")
    one = SimpleNamespace(
        address=ADDRESS,
        local_directory=tmp_path,
        state=SimpleNamespace(tasks={"key": task}),
        status=Status.running,
        task=task,
    )
    monkeypatch.setattr(dask_task, "get_worker", lambda: one)
    monkeypatch.setattr(dask_task, "thread_state", SimpleNamespace(key="key"))
    return one


def answer(
    monkeypatch: pytest.MonkeyPatch, job: Job, run: Callable[[Job, Callable[[], bool]], JobVerdict]
) -> Any:
    """What comes back of a job."""
    monkeypatch.setattr(dask_task, "run", run)
    found = dask_task.answer(__version__, packed(job))
    assert isinstance(found, bytes)
    return delivered(found, job)


def test_a_worker_of_another_version_reads_nothing(worker: Any) -> None:
    """It may have joined after the others were asked."""
    said = f"expected acp-proxy 9.9 on each worker: {worker.address} has {__version__}"
    assert dask_task.answer("9.9", b"of another form") == said


def test_the_job_is_done_beside_the_worker_and_leaves_nothing(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict says where."""

    def run(job: Job, _: object) -> JobVerdict:
        assert job.path.startswith(str(worker.local_directory))
        return JobVerdict(job.recording, job.command, job.digest, 0, VerdictKind.CLEAN, 0.5)

    found = answer(monkeypatch, JOB, run)
    assert (found.kind, found.node, found.recording) == (VerdictKind.CLEAN, ADDRESS, "hello.db")
    assert list(worker.local_directory.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "status", "is_surplus"),
    [
        ("executing", Status.running, False),
        ("executing", Status.paused, False),
        ("executing", Status.closing_gracefully, False),
        ("cancelled", Status.running, True),
        (None, Status.running, True),
        ("executing", Status.closing, True),
    ],
)
def test_a_job_that_nobody_waits_for_is_ended(
    worker: Any,
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    status: Status,
    is_surplus: bool,
) -> None:
    """The caller is gone, or the worker leaves: then another one gets it. A full worker goes on."""
    worker.status, worker.task.state = status, state
    if state is None:
        worker.state.tasks.clear()

    def run(job: Job, surplus: Callable[[], bool]) -> JobVerdict:
        assert surplus() == is_surplus
        return lost(job, "its process ended", 0.5)

    if is_surplus:
        with pytest.raises(Reschedule):
            answer(monkeypatch, JOB, run)
    else:
        assert answer(monkeypatch, JOB, run).kind is VerdictKind.LOST
