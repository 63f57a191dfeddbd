"""Runs a command on many recordings, prints what is not clean as it comes, and a summary."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from acp_proxy import __version__
from acp_proxy.batches.batch import Job, run_batch
from acp_proxy.batches.local_executor import LocalExecutor
from acp_proxy.batches.results import JobVerdict, ResultsFile, ResultsHeader, digest_of, worst_exit
from acp_proxy.batches.selection import SelectedRecording, selected, sha256_of
from acp_proxy.capture.files import LOG_SUFFIX, make_private
from acp_proxy.cli.batch_options import LOCAL, BatchOptions
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.output_files import check_report_files, new_path, spare_recordings, write_text
from acp_proxy.cli.recordings import find_recording, processors
from acp_proxy.cli.redaction import new_redactor, one_line
from acp_proxy.cli.render.batch_screen import BatchScreen, junit
from acp_proxy.cli.render.output import warn
from acp_proxy.events import STOP_SIGNALS
from acp_proxy.plain_files import reason

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
        files: those that the options name, by whose contents batches differ as well.
        junit: where a report of all verdicts goes; None for none.
    """

    command: str
    recordings: tuple[str, ...]
    options: tuple[str, ...]
    words: tuple[str, ...]
    how: BatchOptions
    output: Path | None = None
    keeps_clean: bool = False
    files: tuple[Path, ...] = ()
    junit: Path | None = None


def run_many(batch: Batch) -> int:
    """Runs a batch, or what is left of it, and returns the exit code.

    Raises:
        BadResults: the results file cannot be used, or not be written any more.
        NoSuchRecording: a word names no recording.
        Refusal: a word cannot be used, or no new run can be recorded.
    """
    how = batch.how
    if "-" in batch.recordings:
        raise Refusal("a batch reads files: expected no recording on standard input")
    if batch.command == "verify" and batch.output is None:
        if how.results is None:
            _expect_elsewhere(batch.recordings)
        else:
            batch = evolve(batch, output=how.results.absolute().with_suffix(".runs"))
    spared = [path for path in (batch.output, how.results) if path is not None]
    every = selected(batch.recordings, find_recording, spared)
    check_report_files(batch.junit)
    spare_recordings([batch.junit], [Path(one.path) for one in every])
    try:
        contents = [sha256_of(str(path)) for path in batch.files]
    except OSError as e:
        raise Refusal(f"cannot read {e.filename}: {reason(e)}") from None
    digest = digest_of(batch.command, [*batch.options, "--", *batch.words, *contents])
    words = new_redactor().command([*batch.options, "--", *batch.words])
    header = ResultsHeader(__version__, batch.command, digest, tuple(words))
    with ExitStack() as stack:
        file = None
        found: dict[str, JobVerdict] = {}
        if how.results is not None:
            file = stack.enter_context(ResultsFile(how.results, header))
            known = ((one, file.verdicts.get(one.name)) for one in every)
            found = {one.name: it for one, it in known if it and not _has_changed(one, it)}
        rest = [one for one in every if one.name not in found]
        screen = BatchScreen([one.name for one in rest], [one.kind for one in found.values()])
        if batch.output is not None:
            try:
                make_private(str(batch.output.absolute()))
            except OSError as e:
                raise Refusal(f"cannot make {batch.output}: {reason(e)}") from None
        jobs = _jobs(batch, digest, rest, screen.remark)
        code = _run(jobs, how, file, screen, found)
    if batch.output is not None and not batch.keeps_clean:
        with suppress(OSError):  # some runs are kept, or there were none
            batch.output.rmdir()
    if batch.junit is not None and len(found) == len(every):
        write_text(batch.junit, junit(batch.command, found.values()))
    return code


def _has_changed(one: SelectedRecording, verdict: JobVerdict) -> bool:
    """Whether a verdict is on another recording than the one that is there now, or on none."""
    try:
        return sha256_of(one.path) != verdict.sha256
    except OSError:
        return verdict.sha256 is not None


def _run(
    jobs: Iterator[Job],
    how: BatchOptions,
    file: ResultsFile | None,
    screen: BatchScreen,
    found: dict[str, JobVerdict],
) -> int:
    """Runs the jobs, adds their verdicts to those that were found before, and returns the code."""
    executor = executor_of(how.executor, how.jobs)
    is_complete, code = False, 0
    screen.show_progress()
    with _signals() as stopped:
        try:
            for one in run_batch(jobs, executor):
                verdict = evolve(one, error=one.error and one_line(one.error))
                if file is not None:
                    file.add(verdict)
                found[verdict.recording] = verdict
                screen.show(verdict)
            is_complete = True
        except SystemExit as e:
            code = int(e.code or 0)
        finally:
            stopped.append(True)  # first: from here on a signal raises nothing
            with suppress(OSError):  # the terminal may be gone
                screen.clear()
            executor.shutdown(stop=not is_complete)
    if is_complete:
        screen.end()
        return worst_exit(one.exit for one in found.values())
    with suppress(OSError):
        screen.end()
    return code


@contextmanager
def _signals() -> Iterator[list[bool]]:
    """Exits at the first signal; a second one, or one while we stop, ends us at once.

    The workers end their agents whether we wait for them or not.
    """
    stopped: list[bool] = []

    def stop(signum: int, _: object) -> None:
        if stopped:
            os._exit(128 + signum)
        stopped.append(True)
        sys.exit(128 + signum)

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
    try:
        from acp_proxy.batches.dask_executor import DaskExecutor
    except ModuleNotFoundError as e:
        install = "pip install '/path/to/acp-proxy[dask]', with the checkout or the wheel"
        raise Refusal(f"--executor dask needs {e.name}: {install}") from None
    executor = DaskExecutor(address, jobs)
    if not executor.threads:
        warn(f"no worker has joined {address} yet; the batch waits for one")
    return executor


def _jobs(
    batch: Batch, digest: str, part: Iterable[SelectedRecording], remark: Callable[[str], None]
) -> Iterator[Job]:
    given: set[Path] = set()
    for one in part:
        if _is_being_recorded(one.path):
            done = "checked" if batch.command == "check" else "played"
            remark(f"{one.path} is still being recorded; later frames are not {done}")
        output = None
        if batch.command == "verify":
            # Nothing has such a name, so whatever is there later is that run, or a part of it.
            named = batch.output and batch.output / f"{Path(one.path).stem}.db"
            given.add(output := new_path(batch.words, named, given))
        yield Job(
            recording=one.name,
            path=one.path,
            command=batch.command,
            options=batch.options,
            words=batch.words,
            digest=digest,
            output=str(output) if output else None,
            keeps_clean=batch.keeps_clean,
            files=tuple(map(str, batch.files)),
            is_shared=one.is_shared,
        )


def _is_being_recorded(path: str) -> bool:
    place = os.path.realpath(path)
    if not os.path.lexists(f"{place}{LOG_SUFFIX}"):
        return False
    # Imported late: it takes a while, and hardly any recording has a log.
    from acp_proxy.store.log_recovery import has_recorder

    return has_recorder(Path(place))


def _expect_elsewhere(words: Iterable[str]) -> None:
    """Raises Refusal if new runs would be recorded into a directory that is to be verified.

    Args:
        words: name the recordings.
    """
    home = os.path.realpath(recordings())
    for word in words:
        place = os.path.realpath(word)
        if os.path.isdir(place) and Path(home).is_relative_to(place):  # noqa: PTH112
            raise Refusal(
                f"new runs would be recorded into {home}, and be verified the next time; give"
                " another directory with --output"
            )
