"""Runs one job of a batch: runs the command and turns its result into a verdict.

Each job has a process of its own, a worker. Nobody reads the worker's output, so the verdict
contains all text for the user.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import evolve

import acp_proxy.cli.playback.work_directory
import acp_proxy.playback.drivers.verifier
import acp_proxy.store.log.log_recovery  # noqa: F401
from acp_proxy.base.errors import AcpProxyError, NoSuchRecording, UnreadableRecording
from acp_proxy.base.limits import LISTED, PHRASE
from acp_proxy.base.plain_files import reason
from acp_proxy.base.system import signal_name
from acp_proxy.batches.batch import Job, lost
from acp_proxy.batches.results import FirstDivergence, JobVerdict, VerdictKind
from acp_proxy.batches.selection import sha256_of
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import reported
from acp_proxy.check.judgement import check_whole
from acp_proxy.cli.check.check import check
from acp_proxy.cli.check.check_reports import checked_verdict, with_findings
from acp_proxy.cli.diff.diff_reports import report_diff
from acp_proxy.cli.faults.sweep import exit_code, runs_of, sweep
from acp_proxy.cli.interruption import exit_by
from acp_proxy.cli.masking import one_line
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.output_files import new_path
from acp_proxy.cli.playback.verify import NothingRecorded, RunNotRecorded, verify
from acp_proxy.cli.playback.verify_screen import VerifyReport
from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffEntry, Field
from acp_proxy.playback.drivers.sweep import BAD, NOT_REACHED
from acp_proxy.playback.shared.divergence import DivergenceKind, Rank
from acp_proxy.store.files.directory import delete, recording_at
from acp_proxy.store.queries.frames import last_stderr_lines
from acp_proxy.store.reader import RecordingReader

_KEPT = 64
"""The largest number of chunks of a command's stderr that are kept. The last chunks are kept, since
they contain the reason of a failure."""
_CHUNK = 4096
_OURS = "acp-proxy: "
_STALLED = 3
_LOOKED_AT = 20
"""Only this many lines at the end of stderr are searched for a line that is not blank."""
_LAST_WORDS_S = 0.2
"""Seconds to wait for the last output on stderr."""


_CHANGES = {"only-a": "missing:", "only-b": "added:", "changed": "changed:", "moved": "moved:"}


def work(job: Job) -> JobVerdict:
    """Runs the only job of this process and returns the verdict."""
    return perform(job, Printed())


class Printed:
    """Discards the stdout of this process, and keeps the end of its stderr.

    The file descriptors are redirected, since an agent inherits them. Nothing is written to a file,
    because an agent may print without end.
    """

    def __init__(self) -> None:
        self._kept: deque[bytes] = deque(maxlen=_KEPT)
        self._nothing = os.open(os.devnull, os.O_WRONLY)
        reading, writing = os.pipe()
        os.dup2(self._nothing, 1)
        os.dup2(writing, 2)
        os.close(writing)
        self._reader = threading.Thread(target=self._drain, args=(reading,), daemon=True)
        self._reader.start()

    def reason(self) -> str | None:
        """Returns the last message of acp-proxy on stderr. To be called once, after the job."""
        sys.stderr.flush()
        os.dup2(self._nothing, 2)
        self._reader.join(_LAST_WORDS_S)  # a process that the agent left may keep stderr open
        lines = b"".join([*self._kept]).decode(errors="replace").splitlines()
        ours = [line for line in lines if line.startswith(_OURS)]
        return one_line(ours[-1].removeprefix(_OURS)) if ours else None

    def _drain(self, fd: int) -> None:
        while data := os.read(fd, _CHUNK):
            self._kept.append(data)


def perform(job: Job, printed: Printed) -> JobVerdict:
    """Runs a job, and returns its verdict.

    Args:
        job: the job.
        printed: the output of this process.

    Raises:
        SystemExit: a signal stopped the job.
    """
    start = time.monotonic()
    try:
        hashed = sha256_of(job.path)
    except OSError as e:
        error = one_line(f"cannot read {job.path}: {reason(e)}")
        return job.verdict(2, VerdictKind.UNREADABLE, error)
    verdict = job.verdict(2, VerdictKind.REFUSED)
    try:
        if job.command == "verify":
            verdict = _verify(job, verdict, printed)
        elif job.command == "check":
            verdict = _check(job, verdict)
        else:
            verdict = _sweep(job, verdict)
    except (NoSuchRecording, UnreadableRecording) as e:
        verdict = evolve(verdict, kind=VerdictKind.UNREADABLE, error=one_line(str(e)))
    except (click.ClickException, AcpProxyError) as e:
        verdict = evolve(verdict, error=one_line(str(e)))
    except Exception as e:  # a bug of acp-proxy, which other recordings may not trigger
        verdict = evolve(verdict, error=one_line(f"{type(e).__name__}: {e}"))
    return evolve(
        verdict,
        seconds=round(time.monotonic() - start, 3),
        sha256=None if verdict.kind is VerdictKind.LOST else hashed,
    )


def _verify(job: Job, verdict: JobVerdict, printed: Printed) -> JobVerdict:
    reports: list[Any] = []
    output = new_path(job.words, Path(job.output or ""))
    path = f"./{job.path}" if job.path.startswith("-") else job.path  # not an option
    words = [*job.options, f"--output={output}", path, "--", *job.words]
    try:
        code = _exit_code(verify, words, reports.append)
    except SystemExit:
        delete(output)  # there is no verdict, so the same batch runs the recording again later
        raise
    except RunNotRecorded as e:
        left = None if recording_at(output) is None else str(output)
        return evolve(lost(job, e.cause, 0.0), new_recording=left)
    except NothingRecorded as e:
        return evolve(verdict, error=printed.reason() or one_line(str(e)))
    if not reports:
        kind = VerdictKind.STALLED if code == _STALLED else VerdictKind.CANNOT_START
        return evolve(verdict, exit=code, kind=kind, error=printed.reason())
    (report,) = reports
    new, kept = Path(report.recorded_as), report.recorded_as
    if code == 0 and not job.keeps_clean:
        kept = None if delete(new) else kept
    verdict = evolve(
        verdict,
        exit=code,
        kind=VerdictKind(report.verdict),
        new_recording=kept,
        first_divergence=_first_divergence(report),
        ending=_ending(report) if code else None,
    )
    return verdict if report.check is None else with_findings(verdict, report.check, "warning")


def _exit_code(command: click.Command, words: list[str], collector: Callable[[Any], object]) -> int:
    """Runs a command and returns its exit code. Errors of the command are not caught."""
    try:
        command.main(words, prog_name=command.name, standalone_mode=False, obj=collector)
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 2
        if code > _STALLED:  # a signal
            raise
        return code
    return 0


def _check(job: Job, verdict: JobVerdict) -> JobVerdict:
    ctx = check.make_context("check", [*job.options])
    chosen = {*chosen_rules(ctx.params["rule"], ctx.params["ignore_rule"])}
    find = partial(check_whole, dialect=ctx.params["dialect"])
    # The option for showing secrets is read from the context.
    with ctx.scope(cleanup=False), open_recording(job.path) as reader:
        report = reported(reader, find(reader, now_ns=time.monotonic_ns()), chosen)
    return checked_verdict(verdict, report, ctx.params["fail_on"])


def _sweep(job: Job, verdict: JobVerdict) -> JobVerdict:
    signal.signal(signal.SIGTERM, exit_by)
    with sweep.make_context("sweep", [*job.options, "--", job.path]) as ctx:
        given = (ctx.params[name] for name in ("plans", "client", "timeout", "seed"))
        runs = [*runs_of(Path(job.path).absolute(), *given)]
    wrong = [run for run in runs if run.outcome in BAD or run.untested is not None]
    code = exit_code(runs)
    kinds = {0: VerdictKind.CLEAN, 1: VerdictKind.FAILED, 2: VerdictKind.UNTESTED}
    reported = [*wrong, *(run for run in runs if run.outcome == NOT_REACHED)]
    listed = ({"plan": each.plan, "outcome": each.outcome, "exit_code": each.exit_code,
               "output": one_line(each.last_line)}
              for each in reported[:LISTED])  # fmt: skip
    untested = [each for each in wrong if each.untested is not None]
    return evolve(
        verdict,
        exit=code,
        kind=kinds[code],
        broken=len(wrong),
        findings=(*listed,),
        error=one_line(f"{untested[0].untested}: {untested[0].last_line}") if untested else None,
    )


def _ending(report: VerifyReport) -> str | None:
    """Returns how the agent ended, with its last line on stderr; None for a normal end."""
    code = report.agent_exit_code
    kinds = {divergence.kind for divergence in report.conversation.divergences}
    has_stalled = DivergenceKind.STALL in kinds  # then the agent ended because it was stopped
    if not (code or has_stalled or DivergenceKind.AGENT_LEFT in kinds):
        return None
    with RecordingReader(Path(report.recorded_as)) as new:
        lines = [line for line in last_stderr_lines(new, _LOOKED_AT, _CHUNK) if line.strip()]
    last = lines[-1].decode(errors="replace") if lines else ""
    if has_stalled:
        return one_line(f"the agent's last line on stderr: {last}") if last else None
    how = f"exit {code}" if code is not None else signal_name(report.agent_exit_signal or 0)
    return one_line(f"the agent ended with {how}{last and f': {last}'}")


def _first_divergence(report: VerifyReport) -> FirstDivergence | None:
    """Returns the first divergence of a run, or else its first difference from the recording."""
    counted = [point for point in report.conversation.divergences if point.rank is not Rank.INFO]
    places: list[tuple[int | None, str]] = [
        *((point.seq, point.summary) for point in counted[:1]),
        *((None, f"handshake {_difference(point)}") for point in report.handshake[:1]),
        *((point.a, _entry(point)) for point in report.entries[:1]),
        *((None, f"ending {_difference(point)}") for point in report.ending[:1]),
    ]
    return FirstDivergence(places[0][0], one_line(places[0][1])) if places else None


def _entry(entry: DiffEntry) -> str:
    where = _difference(entry.fields[0]) if entry.fields else entry.preview
    return f"{_CHANGES[entry.change]} {entry.title}{f': {where}' if where else ''}"


def _difference(field: Field) -> str:
    """Describes a differing place in a message, with both values."""
    a, b = ("nothing" if field.only == other else _value(value)
            for other, value in (("b", field.a), ("a", field.b)))  # fmt: skip
    return f"{field.pointer}: recorded {a}, now {b}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= PHRASE else f"{text[:PHRASE]}..."


# Regular expressions and tables of schemas are built on first use: here once, before any fork.
with RecordingReader(Path(__file__).with_suffix(".jsonl")) as conversation:
    report_diff(diff(conversation, conversation), [])
    reported(conversation, check_whole(conversation), chosen_rules((), ()))
