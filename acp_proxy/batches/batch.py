"""Runs the jobs of a batch through an executor: one recording, one job, one verdict."""

import platform
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.errors import AcpProxyError, UnreadableRecording
from acp_proxy.base.plain_files import reason
from acp_proxy.batches.results import JobVerdict, VerdictKind

_LOST_EXIT = 3
_LOOK_S = 2.0
"""How often it is looked whether the executor has room for more: a cluster may grow."""


@frozen
class Job:
    """A command, and the recording that it is to be run on; that of a whole batch has none yet.

    Attributes:
        command: ``verify``, ``check`` or ``faults sweep``.
        options: the command's options, as words of a command line.
        words: what follows ``--``: the agent's command.
        files: what `options` names besides: the values of some of them, as they stand there. By
            their contents batches differ as well.
        output: where a new run is recorded, or the directory of all; None if the command records
            none, or for the recordings directory.
        keeps_clean: whether a new run is kept in which nothing is wrong.
        digest: of the command, its options and the files; see `digest_of`.
        recording: its name in the results: the path, as it was given.
        path: where this machine finds it.
        is_shared: whether every machine finds the recording at this path.
    """

    command: str
    options: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    output: str | None = None
    keeps_clean: bool = False
    digest: str = ""
    recording: str = ""
    path: str = ""
    is_shared: bool = False

    def verdict(self, exit_code: int, kind: VerdictKind, error: str | None = None) -> JobVerdict:
        """Returns a verdict on this job.

        Args:
            exit_code: of the command.
            kind: what the recording came to.
            error: why there is no other verdict.
        """
        error = error and " ".join(error.split())
        name = platform.node()
        return JobVerdict(
            self.recording, self.command, self.digest, exit_code, kind, 0.0, node=name, error=error
        )


def run_batch(jobs: Iterable[Job], executor: Any) -> Iterator[JobVerdict]:
    """Yields the verdict of each job as it comes; the order is any.

    Args:
        jobs: is read only as far as the executor has room.
        executor: runs them, as an executor of `concurrent.futures` does, and returns what a future
            has come to; to end it is the caller's.
    """
    rest = iter(jobs)
    pending: dict[Future[Any], tuple[Job, float]] = {}
    while True:
        for job in islice(rest, max(0, executor.in_flight - len(pending))):
            try:
                pending[executor.submit(job)] = job, time.monotonic()
            except (OSError, UnreadableRecording) as e:
                why = reason(e) if isinstance(e, OSError) else str(e)
                yield job.verdict(2, VerdictKind.UNREADABLE, why)
        if not pending:
            return
        for future in wait(pending, _LOOK_S, FIRST_COMPLETED).done:
            job, start = pending.pop(future)
            try:
                verdict = executor.verdict(future, job)
            except AcpProxyError:
                raise
            except (Exception, CancelledError) as e:
                verdict = lost(job, f"{type(e).__name__}: {e}", time.monotonic() - start)
            yield verdict


def lost(job: Job, why: str, seconds: float) -> JobVerdict:
    """Returns the verdict of a job whose process has ended without one.

    Args:
        job: the job.
        why: what is known of its end.
        seconds: how long it ran.
    """
    return evolve(job.verdict(_LOST_EXIT, VerdictKind.LOST, why), seconds=round(seconds, 3))
