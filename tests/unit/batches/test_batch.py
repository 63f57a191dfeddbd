"""Tests the verdicts of a batch on lost jobs, on jobs that cannot be sent, and after errors."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

import pytest
from attrs import define, field

from acp_proxy.base.errors import ClusterFailed
from acp_proxy.batches import batch
from acp_proxy.batches.batch import Job, run_batch
from acp_proxy.batches.results import JobVerdict, VerdictKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLEAN = VerdictKind.CLEAN
LOST = VerdictKind.LOST
Outcome = VerdictKind | BaseException
"""The result of a job: a verdict or an error."""


def jobs(count: int) -> Iterator[Job]:
    """Yields a number of jobs, each with another recording to check."""
    return (
        Job("check", digest="digest", recording=f"{n}.db", path=f"{n}.db") for n in range(count)
    )


@define
class Promises:
    """An executor whose jobs end with planned outcomes: at once, or when the test releases them."""

    plan: Callable[[Job], Outcome]
    in_flight: int = 4
    queued: list[tuple[Job, Future[JobVerdict]]] = field(factory=list)
    is_held: bool = False
    most: int = 0
    lock: threading.RLock = field(factory=threading.RLock)

    def submit(self, job: Job, /) -> Future[JobVerdict]:
        """Queues a job. The job ends at once if jobs are not held back."""
        if job.recording == "unreadable.db":
            raise FileNotFoundError(2, "No such file or directory", job.path)
        future: Future[JobVerdict] = Future()
        self.queued.append((job, future))
        self.most = max(self.most, len(self.queued))
        if not self.is_held:
            self.release()
        return future

    def verdict(self, future: Future[JobVerdict], _: Job) -> JobVerdict:
        """Returns how a future has ended."""
        return future.result()

    def release(self) -> None:
        """Ends the futures of all queued jobs with their planned outcomes."""
        with self.lock:
            while self.queued:
                job, future = self.queued.pop(0)
                outcome = self.plan(job)
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(verdict(job, outcome))


def verdict(job: Job, kind: VerdictKind) -> JobVerdict:
    """Returns a clean verdict on a job."""
    return job.verdict(0 if kind is CLEAN else 3, kind)


@pytest.mark.parametrize(
    "end", [RuntimeError("4 workers were lost"), CancelledError(), OSError("no space")], ids=str
)
def test_a_job_that_ends_without_a_verdict_is_lost(end: Outcome) -> None:
    """If a worker dies during `check` of many recordings, only one recording has no result."""
    actual = run_batch(jobs(3), Promises(lambda job: end if job.recording == "1.db" else CLEAN))
    assert {item.recording: item.kind for item in actual} == {
        "0.db": CLEAN, "1.db": LOST, "2.db": CLEAN,
    }  # fmt: skip


def test_what_cannot_be_sent_is_unreadable() -> None:
    """If one of many recordings is missing, `check` calls it unreadable and checks the others."""
    job = Job("check", digest="digest", recording="unreadable.db", path="x")
    first, second = run_batch([job, *jobs(1)], Promises(lambda _: CLEAN))
    assert (first.kind, first.exit) == (VerdictKind.UNREADABLE, 2)
    assert first.error == "no such file or directory"
    assert second.kind is CLEAN


def test_a_lost_job_says_why() -> None:
    """If a worker of a batch dies, the result of its recording has an error and exit code 3."""
    (actual,) = run_batch(jobs(1), Promises(lambda _: OSError("no\nspace")))
    assert (actual.exit, actual.error) == (3, "OSError: no space")


def test_an_error_of_ours_ends_the_batch() -> None:
    """If a Dask cluster fails, a command on many recordings ends, but earlier results are kept."""
    actual = run_batch(
        jobs(9),
        Promises(lambda job: ClusterFailed("gone") if job.recording == "2.db" else CLEAN, 1),
    )
    assert [next(actual).recording, next(actual).recording] == ["0.db", "1.db"]
    with pytest.raises(ClusterFailed, match="gone"):
        next(actual)


def test_no_more_is_in_flight_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a Dask cluster gets more workers, a command sends it more recordings at once."""
    monkeypatch.setattr(batch, "_LOOK_S", 0.001)
    executor = Promises(lambda _: CLEAN, 2, is_held=True)
    actual: list[JobVerdict] = []
    thread = threading.Thread(target=lambda: actual.extend(run_batch(jobs(9), executor)))
    thread.start()
    for room in (2, 5):
        executor.in_flight = room
        while len(executor.queued) < room:
            threading.Event().wait(0.001)
        threading.Event().wait(0.01)
        assert executor.most == room
    executor.is_held = False
    executor.release()
    thread.join()
    assert len({item.recording for item in actual}) == len(actual) == 9
