"""A batch gives each job one verdict, whatever becomes of its futures."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, evolve, field

from acp_proxy.batches import batch
from acp_proxy.batches.batch import run_batch
from acp_proxy.batches.job import Job
from acp_proxy.batches.results import RETRIED, JobVerdict, VerdictKind
from acp_proxy.errors import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLEAN = VerdictKind.CLEAN
LOST = VerdictKind.LOST
STALLED = VerdictKind.STALLED
Outcome = VerdictKind | BaseException
"""What becomes of an attempt."""


def jobs(count: int) -> Iterator[Job]:
    """So many."""
    return (Job(f"{n}.db", f"{n}.db", "check", (), (), "digest") for n in range(count))


def run(job: Job) -> JobVerdict:
    """Is run by nobody here."""
    raise AssertionError(job)


@define
class Promises:
    """An executor whose futures end as planned, at once unless they are held back."""

    plan: Callable[[Job], Outcome]
    in_flight: int = 4
    held: list[tuple[Job, Future[JobVerdict]]] = field(factory=list)
    is_held: bool = False
    most: int = 0
    lock: threading.RLock = field(factory=threading.RLock)

    def submit(self, fn: object, job: Job, /) -> Future[JobVerdict]:
        """Plans a future."""
        assert fn is run
        future: Future[JobVerdict] = Future()
        self.held.append((job, future))
        self.most = max(self.most, len(self.held))
        if not self.is_held:
            self.release()
        return future

    def release(self) -> None:
        """Ends what was held back."""
        with self.lock:
            while self.held:
                job, future = self.held.pop(0)
                outcome = self.plan(job)
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(verdict(job, outcome))


def verdict(job: Job, kind: VerdictKind) -> JobVerdict:
    """One of a kind."""
    code = {CLEAN: 0, VerdictKind.DIFFERS: 1}.get(kind, 3)
    found = JobVerdict(job.recording, job.command, job.digest, code, kind, 0.1)
    return evolve(found, attempt=job.attempt)


def outcomes(plan: Callable[[Job], Outcome], count: int, **how: Any) -> list[tuple[Any, ...]]:
    """Recording, kind and attempt of each verdict, sorted."""
    found = run_batch(jobs(count), Promises(plan), run, **how)
    return sorted((one.recording, one.kind, one.attempt) for one in found)


@pytest.mark.parametrize(
    "first",
    [STALLED, VerdictKind.KILLED, LOST, RuntimeError("4 workers were lost"), CancelledError()],
    ids=str,
)
def test_what_may_be_the_fault_of_a_machine_is_tried_again(first: Outcome) -> None:
    """Until it is no more, or as often as was said; the last verdict is the only one."""

    def plan(job: Job) -> Outcome:
        return first if job.recording == "1.db" and job.attempt < 3 else CLEAN

    whole = [("0.db", CLEAN, 1), ("1.db", CLEAN, 3), ("2.db", CLEAN, 1)]
    assert outcomes(plan, 3, retries=2) == whole
    kind = LOST if isinstance(first, BaseException) else first
    assert outcomes(plan, 3, retries=1)[1] == ("1.db", kind, 2)
    assert outcomes(plan, 3)[1] == ("1.db", kind, 1)


def test_what_an_attempt_has_left_is_discarded_before_the_next() -> None:
    """What the last one has left is not."""
    happened: list[tuple[str, int]] = []

    def plan(job: Job) -> Outcome:
        happened.append(("runs", job.attempt))
        return STALLED

    def discard(job: Job, found: JobVerdict) -> None:
        assert job.attempt == found.attempt
        happened.append(("discarded", job.attempt))

    assert len([*run_batch(jobs(1), Promises(plan), run, retries=1, discard=discard)]) == 1
    assert happened == [("runs", 1), ("discarded", 1), ("runs", 2)]


def test_a_verdict_is_never_asked_for_again() -> None:
    """Nor is one that is bad."""
    kinds = [one for one in VerdictKind if one not in RETRIED]

    def plan(job: Job) -> Outcome:
        return kinds[int(job.recording.removesuffix(".db"))]

    found = outcomes(plan, len(kinds), retries=2)
    assert [attempt for *_, attempt in found] == [1] * len(kinds)


def test_a_lost_job_says_why() -> None:
    """In one line."""
    (found,) = run_batch(jobs(1), Promises(lambda _: OSError("no\nspace")), run)
    assert (found.exit, found.error) == (3, "OSError: no space")


def test_an_error_of_ours_ends_the_batch() -> None:
    """What was found before is there."""
    found = run_batch(
        jobs(9),
        Promises(lambda job: ClusterFailed("gone") if job.recording == "2.db" else CLEAN, 1),
        run,
        retries=2,
    )
    assert [next(found).recording, next(found).recording] == ["0.db", "1.db"]
    with pytest.raises(ClusterFailed, match="gone"):
        next(found)


def test_the_first_bad_verdict_may_end_it() -> None:
    """Jobs that were not begun are never read."""
    rest = jobs(9)
    executor = Promises(lambda job: STALLED if job.recording == "1.db" else CLEAN, 1)
    found = [*run_batch(rest, executor, run, fail_fast=True)]
    assert [one.recording for one in found] == ["0.db", "1.db"]
    assert next(rest).recording == "2.db"


def test_no_more_is_in_flight_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may grow while nothing ends."""
    monkeypatch.setattr(batch, "_LOOK_S", 0.001)
    executor = Promises(lambda _: CLEAN, 2, is_held=True)
    found: list[JobVerdict] = []
    thread = threading.Thread(target=lambda: found.extend(run_batch(jobs(9), executor, run)))
    thread.start()
    for room in (2, 5):
        executor.in_flight = room
        while len(executor.held) < room:
            threading.Event().wait(0.001)
        threading.Event().wait(0.01)
        assert executor.most == room
    executor.is_held = False
    executor.release()
    thread.join()
    assert len({one.recording for one in found}) == len(found) == 9
