"""Runs a command on many recordings, prints what is not clean as it comes, and a summary."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from acp_proxy import __version__
from acp_proxy.batches.batch import run_batch
from acp_proxy.batches.job import Job
from acp_proxy.batches.local_executor import LocalExecutor, run
from acp_proxy.batches.results import (
    JobVerdict,
    ResultsHeader,
    VerdictKind,
    digest_of,
    worst_exit,
)
from acp_proxy.batches.results_file import ResultsFile, read_results
from acp_proxy.batches.selection import SelectedRecording, Shard, selected, sha256_of
from acp_proxy.batches.words import is_url
from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.cli.batch_options import LOCAL, RETRIES, BatchOptions
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.new_runs import discard, expect_elsewhere, make_directory, new_names
from acp_proxy.cli.parallel import processors
from acp_proxy.cli.recordings import find_recording
from acp_proxy.cli.redaction import new_redactor, one_line, without_secrets
from acp_proxy.cli.render.batch_screen import BatchScreen
from acp_proxy.cli.render.output import warn
from acp_proxy.errors import BadResults
from acp_proxy.events import STOP_SIGNALS
from acp_proxy.plain_files import reason
from acp_proxy.redaction.markers import MARKER

_DASK = "dask"


@frozen
class Batch:
    """One command, and the recordings that it is run on.

    Attributes:
        command: ``verify``, ``check`` or ``faults sweep``.
        recordings: words that name them.
        options: those of the command, as words.
        words: what follows ``--``.
        how: the options of the batch.
        output: where new runs go; None if there are none.
        keeps_clean: whether new runs are kept in which nothing is wrong.
        files: contents of files that the options name, by which batches differ as well.
    """

    command: str
    recordings: tuple[str, ...]
    options: tuple[str, ...]
    words: tuple[str, ...]
    how: BatchOptions
    output: Path | None = None
    keeps_clean: bool = False
    files: tuple[Path, ...] = ()

    @property
    def digest(self) -> str:
        """Tells it from other batches; raises Refusal if a file cannot be read."""
        try:
            contents = [digest for path in self.files for digest in _digests(path)]
        except OSError as e:
            raise Refusal(f"cannot read {e.filename}: {reason(e)}") from None
        return digest_of(self.command, [*self.options, "--", *self.words, *contents])


def _digests(path: Path) -> Iterator[str]:
    """Yields the hash of a file, or name and hash of each file in a directory."""
    if path.is_file():
        yield sha256_of(str(path))
    elif path.is_dir():
        for one in sorted(path.iterdir()):
            if one.is_file():
                yield from (one.name, sha256_of(str(one)))


def _masked_name(one: SelectedRecording) -> SelectedRecording:
    """Returns a recording whose name in the results has no secret: a URL may have some.

    Markers are without their digest here, which is another one in every run.
    """
    if not is_url(one.path):
        return one
    return evolve(one, name=MARKER.sub(r"[redacted:\1]", without_secrets(one.name)))


def _masked_error(verdict: JobVerdict) -> JobVerdict:
    """Returns a verdict whose error has no secret, wherever it comes from."""
    return verdict if verdict.error is None else evolve(verdict, error=one_line(verdict.error))


def run_many(batch: Batch) -> int:
    """Runs a batch, or what is left of it, and returns the exit code.

    Raises:
        BadResults: the results file cannot be used, or not be written any more.
        NoSuchRecording: a word names no recording.
        Refusal: a word cannot be used, or no new run can be recorded.
    """
    if "-" in batch.recordings:
        raise Refusal("a batch reads files: expected no recording on standard input")
    if batch.output is not None:
        make_directory(batch.output)
    elif batch.command == "verify" and batch.how.results is None:
        expect_elsewhere(batch.recordings)
    how = batch.how
    if batch.command == "verify" and batch.output is None and how.results is not None:
        batch = evolve(batch, output=how.results.absolute().with_suffix(".runs"))
    spared = [path for path in (batch.output, how.results) if path is not None]
    expand = partial(_expand_url, executor=how.executor)
    found = selected(batch.recordings, find_recording, expand_url=expand, without=spared)
    every = [_masked_name(one) for one in found]
    part = every if how.shard is None else Shard.read(how.shard).part_of(every)
    digest = batch.digest
    header = ResultsHeader(
        version=__version__,
        command=batch.command,
        digest=digest,
        words=tuple(new_redactor().command([*batch.options, "--", *batch.words])),
        shard=how.shard,
        recordings=len(part),
        total=len(every),
    )
    with ExitStack() as stack:
        done = _Done()
        file = None
        if how.results is not None:
            is_stale = _Staleness(how.results, every, part)
            file = stack.enter_context(ResultsFile(how.results, header, is_stale))
            for verdict in read_results(how.results):
                done.add(verdict)
        rest = [one for one in part if one.name not in done.names]
        screen = BatchScreen(len(part), done.kinds)
        screen.names.extend(one.name for one in rest)
        jobs = _jobs(batch, digest, rest, screen.remark)
        code = _run(jobs, how, file, screen, done)
    if batch.output is not None and not batch.keeps_clean:
        with suppress(OSError):  # some runs are kept, or there were none
            batch.output.rmdir()
    return code


@define
class _Done:
    """What is known of verdicts that were found before and now."""

    names: set[str] = field(factory=set)
    kinds: Counter[str] = field(factory=Counter)
    exits: set[int] = field(factory=set)

    def add(self, verdict: JobVerdict) -> None:
        self.names.add(verdict.recording)
        self.kinds[verdict.kind] += 1
        self.exits.add(verdict.exit)


class _Staleness:
    """Whether a verdict is about a recording that has changed, or is no longer part of a batch.

    A verdict of a recording that is there, and was only not named this time, is never given up.
    """

    def __init__(
        self, results: Path, every: Iterable[SelectedRecording], part: Iterable[SelectedRecording]
    ) -> None:
        self._results = results
        self._every = {one.name for one in every}
        self._paths = {one.name: one.path for one in part}
        self._known: dict[str, bool] = {}

    def __call__(self, verdict: JobVerdict) -> bool:
        name = verdict.recording
        if name not in self._known:
            self._known[name] = name not in self._paths or self._has_changed(verdict)
        if name not in self._every and (is_url(name) or os.path.lexists(name)):
            raise BadResults(
                self._results,
                f"it has verdicts of recordings that are not named here, such as {name}; expected"
                " all of them, or a new file",
            )
        return self._known[name]

    def _has_changed(self, verdict: JobVerdict) -> bool:
        if is_url(self._paths[verdict.recording]):
            return verdict.kind is VerdictKind.LOST  # nobody here has the file
        try:
            return sha256_of(self._paths[verdict.recording]) != verdict.sha256
        except OSError:
            return verdict.sha256 is not None


def _run(
    jobs: Iterator[Job],
    how: BatchOptions,
    file: ResultsFile | None,
    screen: BatchScreen,
    done: _Done,
) -> int:
    executor = executor_of(how.executor, how.jobs)
    retries = RETRIES if how.retries is None else how.retries
    is_complete, signum = False, None
    screen.begin()
    with _signals() as stopped:
        try:
            found = run_batch(
                jobs, executor, run, retries=retries, fail_fast=how.fail_fast, discard=discard
            )
            for verdict in map(_masked_error, found):
                if file is not None:
                    file.add(verdict)
                done.add(verdict)
                screen.show(verdict)
            is_complete = len(done.names) == screen.total
        except _Stopped as e:
            signum = e.signum
        finally:
            stopped.append(True)  # first: from here on a signal raises nothing
            with suppress(OSError):  # the terminal may be gone
                screen.clear()
            executor.shutdown(wait=True, cancel_futures=not is_complete)
    if signum is None:
        screen.end()
        return worst_exit(done.exits)
    with suppress(OSError):
        screen.end()
    return 128 + signum


class _Stopped(BaseException):
    """A signal stops the batch."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def _signals() -> Iterator[list[bool]]:
    """Raises `_Stopped` at the first signal; a second one, or one while we stop, ends us at once.

    The workers end their agents whether we wait for them or not.
    """
    stopped: list[bool] = []

    def stop(signum: int, _: object) -> None:
        if stopped:
            os._exit(128 + signum)
        stopped.append(True)
        raise _Stopped(signum)

    unhandled = (signal.SIG_IGN, None)  # as SIGHUP is with `nohup`
    signums = [one for one in STOP_SIGNALS if signal.getsignal(one) not in unhandled]
    before = {signum: signal.signal(signum, stop) for signum in signums}
    try:
        yield stopped
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def executor_of(word: str | None, jobs: int | None) -> Any:
    """Returns what runs the jobs.

    Args:
        word: the value of ``--executor``; None is ``local``.
        jobs: how many run at once; None for as many as there are processors.

    Raises:
        Refusal: the word names no executor.
    """
    kind, _, address = (word or LOCAL).partition("=")
    if kind == _DASK and address:
        return _dask_executor(address, jobs)
    if word not in (None, LOCAL):
        raise Refusal(f"--executor {word}: expected local or dask=ADDRESS")
    return LocalExecutor(jobs or processors())


def _dask_executor(address: str, jobs: int | None) -> Any:
    with _needed_for_dask():
        from acp_proxy.batches.dask_executor import DaskExecutor

    executor = DaskExecutor(address, jobs)
    if not executor.has_workers:
        warn(f"no worker has joined {address} yet; the batch waits for one")
    return executor


@contextmanager
def _needed_for_dask() -> Iterator[None]:
    """Says which package is missing."""
    try:
        yield
    except ModuleNotFoundError as e:
        install = "pip install '/path/to/acp-proxy[dask]', with the checkout or the wheel"
        raise Refusal(f"--executor dask needs {e.name}: {install}") from None


def _expand_url(url: str, executor: str | None) -> list[str]:
    if executor in (None, LOCAL):
        raise Refusal(f"{url}: only workers fetch what a URL names; give --executor dask=ADDRESS")
    with _needed_for_dask():
        from acp_proxy.batches.shared_files import expand_url
    return expand_url(url)


def _jobs(
    batch: Batch, digest: str, part: Iterable[SelectedRecording], remark: Callable[[str], None]
) -> Iterator[Job]:
    names = None
    if batch.command == "verify":
        names = new_names(batch.words, batch.output)
    for one in part:
        if _is_being_recorded(one.path):
            done = "checked" if batch.command == "check" else "played"
            remark(f"{one.path} is still being recorded; later frames are not {done}")
        output = names(one.path) if names else None
        yield Job(
            recording=one.name,
            path=one.path,
            command=batch.command,
            options=batch.options,
            words=batch.words,
            digest=digest,
            output=output,
            keeps_clean=batch.keeps_clean,
            files=tuple(map(str, batch.files)),
        )


def _is_being_recorded(path: str) -> bool:
    place = os.path.realpath(path)
    if is_url(path) or not os.path.lexists(f"{place}{LOG_SUFFIX}"):
        return False
    # Imported late: it takes a while, and hardly any recording has a log.
    from acp_proxy.store.log_recovery import has_recorder

    return has_recorder(Path(place))
