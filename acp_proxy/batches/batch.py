"""Runs the jobs of a batch through an executor, and tries again what may be the machine's fault."""

import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Protocol

from attrs import evolve

from acp_proxy.batches.job import Job
from acp_proxy.batches.results import RETRIED, JobVerdict, VerdictKind
from acp_proxy.errors import AcpProxyError

LOST_EXIT = 3
_LOOK_S = 2.0
"""How often it is looked whether the executor has room for more: a cluster may grow."""
Run = Callable[[Job], JobVerdict]
Discard = Callable[[Job, JobVerdict], None]


class BatchExecutor(Protocol):
    """What runs functions elsewhere: an executor of `concurrent.futures` that knows its width."""

    @property
    def in_flight(self) -> int:
        """How many functions it is to have, those that run and those that wait."""

    def submit(self, fn: Run, job: Job, /) -> "Future[JobVerdict]":
        """Runs a function elsewhere.

        Args:
            fn: a function of a module.
            job: its argument.
        """


def run_batch(
    jobs: Iterable[Job],
    executor: BatchExecutor,
    run: Run,
    *,
    retries: int = 0,
    fail_fast: bool = False,
    discard: Discard = lambda _, __: None,
) -> Iterator[JobVerdict]:
    """Yields the verdict of each job as it comes; the order is any.

    Args:
        jobs: is read only as far as the executor has room.
        executor: runs them; to end it is the caller's.
        run: what it runs: a function of a module, so that other machines find it.
        retries: how often a stall, a killed agent and a lost job are tried again.
        fail_fast: whether the first verdict that is not clean is the last one.
        discard: is given the verdict of each attempt that is followed by another one, before that
            begins, to remove what it has left.
    """
    rest, again = iter(jobs), deque[Job]()
    pending: dict[Future[JobVerdict], tuple[Job, float]] = {}
    while True:
        while len(pending) < executor.in_flight:
            job = again.popleft() if again else next(rest, None)
            if job is None:
                break
            pending[executor.submit(run, job)] = job, time.monotonic()
        if not pending:
            return
        for future in wait(pending, _LOOK_S, FIRST_COMPLETED).done:
            job, start = pending.pop(future)
            verdict = _verdict(future, job, start)
            if verdict.kind in RETRIED and job.attempt <= retries:
                discard(job, verdict)
                again.append(evolve(job, attempt=job.attempt + 1))
                continue
            yield verdict
            if fail_fast and verdict.exit:
                return


def _verdict(future: "Future[JobVerdict]", job: Job, start: float) -> JobVerdict:
    try:
        return future.result()
    except AcpProxyError:
        raise
    except (Exception, CancelledError) as e:
        return lost(job, f"{type(e).__name__}: {e}", time.monotonic() - start)


def lost(job: Job, why: str, seconds: float) -> JobVerdict:
    """Returns the verdict of a job whose process has ended without one.

    Args:
        job: the job.
        why: what is known of its end.
        seconds: how long it ran.
    """
    return JobVerdict(
        recording=job.recording,
        command=job.command,
        digest=job.digest,
        exit=LOST_EXIT,
        kind=VerdictKind.LOST,
        seconds=round(seconds, 3),
        node=platform.node(),
        attempt=job.attempt,
        error=" ".join(why.split()),
    )
