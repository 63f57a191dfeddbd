"""Runs the jobs of a batch through an executor. Each job has one recording and one verdict."""

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
"""After this many seconds, the executor is asked again whether it has room: a cluster may grow."""


@frozen
class Job:
    """A command, and the recording to run it on.

    The job that describes a whole batch has no recording.

    Attributes:
        command: ``verify``, ``check`` or ``faults sweep``.
        options: the command's options, as words of a command line.
        words: the words after ``--``: the agent's command.
        files: the values in `options` that name files. The contents of these files are part of the
            batch.
        output: the file or directory for the recording of the new run. None for the usual
            directory, or if nothing is recorded.
        keeps_clean: whether to keep the recording of the new run even if the run had no problems.
        digest: a hash of the command, its options and the files; see `digest_of`.
        recording: the name of the recording in the results: its path as the user gave it.
        path: the path of the recording on this machine.
        is_shared: whether the recording has this path on every machine.
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
            exit_code: the exit code of the command.
            kind: the kind of the verdict.
            error: why the job failed; None for a job that did not fail.
        """
        error = error and " ".join(error.split())
        name = platform.node()
        return JobVerdict(
            self.recording, self.command, self.digest, exit_code, kind, 0.0, node=name, error=error
        )


def run_batch(jobs: Iterable[Job], executor: Any) -> Iterator[JobVerdict]:
    """Yields the verdict on each job as soon as the job ends, in any order.

    Args:
        jobs: the jobs. The next job is read when the executor has room for it.
        executor: runs the jobs, as an executor of `concurrent.futures` does, and turns futures into
            verdicts. The caller shuts the executor down.
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
    """Returns the verdict on a job whose process ended without a verdict.

    Args:
        job: the job.
        why: why the process ended; empty if this is not known.
        seconds: how long the job ran.
    """
    return evolve(job.verdict(_LOST_EXIT, VerdictKind.LOST, why), seconds=round(seconds, 3))
