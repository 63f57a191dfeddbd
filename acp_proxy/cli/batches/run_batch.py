"""Runs a command on many recordings; prints each verdict that is not clean, and a summary."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import evolve

from acp_proxy import __version__
from acp_proxy.base.plain_files import reason
from acp_proxy.batches.batch import Job, run_batch
from acp_proxy.batches.local_executor import LocalExecutor
from acp_proxy.batches.results import JobVerdict, ResultsFile, ResultsHeader, digest_of, worst_exit
from acp_proxy.batches.selection import SelectedRecording, selected, sha256_of
from acp_proxy.cli.batch_options import LOCAL, BatchOptions
from acp_proxy.cli.batches.batch_screen import BatchScreen, junit
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.interruption import handling
from acp_proxy.cli.masking import new_redactor, one_line
from acp_proxy.cli.opening import find_recording, processors
from acp_proxy.cli.output_files import check_report_files, new_path, spare_recordings, write_text
from acp_proxy.cli.screens.output import warn
from acp_proxy.playback.events import STOP_SIGNALS
from acp_proxy.recording.file_names import LOG_SUFFIX, make_private


def run_many(
    recordings: Sequence[str], whole: Job, how: BatchOptions, junit_file: Path | None
) -> int:
    """Runs a batch, or the rest of an interrupted batch, and returns the exit code.

    Args:
        recordings: words that name the recordings.
        whole: the command and its options, as a job without a recording.
        how: the options of the batch.
        junit_file: the file for a report of all verdicts, if any.

    Raises:
        BadResults: the results file cannot be used, or can no longer be written.
        NoSuchRecording: a word names no recording.
        Refusal: a word is invalid, or new runs cannot be recorded.
    """
    if "-" in recordings:
        raise Refusal("a batch reads files: expected no recording on standard input")
    output = None if whole.output is None else Path(whole.output)
    if whole.command == "verify" and output is None:
        if how.results is None:
            _expect_elsewhere(recordings)
        else:
            output = how.results.absolute().with_suffix(".runs")
    spared = [path for path in (output, how.results) if path is not None]
    every = selected(recordings, find_recording, spared)
    check_report_files(junit_file)
    spare_recordings([junit_file], [Path(recording.path) for recording in every])
    try:
        contents = [sha256_of(path) for path in whole.files]
    except OSError as e:
        raise Refusal(f"cannot read {e.filename}: {reason(e)}") from None
    digest = digest_of(whole.command, [*whole.options, "--", *whole.words, *contents])
    words = new_redactor().command([*whole.options, "--", *whole.words])
    header = ResultsHeader(__version__, whole.command, digest, tuple(words))
    with ExitStack() as stack:
        file = None
        verdicts: dict[str, JobVerdict] = {}
        if how.results is not None:
            file = stack.enter_context(ResultsFile(how.results, header))
            known = ((rec, file.verdicts.get(rec.name)) for rec in every)
            verdicts = {rec.name: it for rec, it in known if it and not _has_changed(rec, it)}
        rest = [rec for rec in every if rec.name not in verdicts]
        screen = BatchScreen([rec.name for rec in rest], [v.kind for v in verdicts.values()])
        if output is not None:
            try:
                make_private(str(output.absolute()))
            except OSError as e:
                raise Refusal(f"cannot make {output}: {reason(e)}") from None
        jobs = _jobs(evolve(whole, digest=digest), output, rest, screen.remark)
        code = _run(jobs, how, file, screen, verdicts)
    if output is not None and not whole.keeps_clean:
        with suppress(OSError):  # the directory is not empty, or does not exist
            output.rmdir()
    if junit_file is not None and len(verdicts) == len(every):
        write_text(junit_file, junit(whole.command, verdicts.values()))
    return code


def _has_changed(selected_recording: SelectedRecording, verdict: JobVerdict) -> bool:
    """Whether a recording has changed since the verdict on it was made."""
    try:
        return sha256_of(selected_recording.path) != verdict.sha256
    except OSError:
        return verdict.sha256 is not None


def _run(
    jobs: Iterator[Job],
    how: BatchOptions,
    file: ResultsFile | None,
    screen: BatchScreen,
    verdicts: dict[str, JobVerdict],
) -> int:
    """Runs the jobs, adds their verdicts to `verdicts`, and returns the exit code."""
    executor = executor_of(how.executor, how.jobs)
    is_complete, code = False, 0
    screen.show_progress()
    with _signals() as stopped:
        try:
            for raw in run_batch(jobs, executor):
                verdict = evolve(raw, error=raw.error and one_line(raw.error))
                if file is not None:
                    file.add(verdict)
                verdicts[verdict.recording] = verdict
                screen.show(verdict)
            is_complete = True
        except SystemExit as e:
            code = int(e.code or 0)
        finally:
            stopped.append(True)  # set first, so that signals no longer raise
            with suppress(OSError):  # the terminal may be gone
                screen.clear()
            executor.shutdown(stop=not is_complete)
    if is_complete:
        screen.end()
        return worst_exit(verdict.exit for verdict in verdicts.values())
    with suppress(OSError):
        screen.end()
    return code


@contextmanager
def _signals() -> Iterator[list[bool]]:
    """Exits at the first signal; a signal after that kills the process."""
    stopped: list[bool] = []

    def stop(signum: int, _: object) -> None:
        if stopped:
            os._exit(128 + signum)
        stopped.append(True)
        sys.exit(128 + signum)

    with handling(stop, *STOP_SIGNALS):
        yield stopped


def executor_of(word: str | None, jobs: int | None) -> Any:
    """Returns the executor of the jobs.

    Args:
        word: the value of ``--executor``; None means ``local``.
        jobs: how many jobs run at once; if None, as many as there are processors.

    Raises:
        Refusal: the word does not name an executor.
    """
    kind, _, address = (word or LOCAL).partition("=")
    if kind == "dask" and address:
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
        warn(f"no worker has joined {address} yet; the batch waits for a worker")
    return executor


def _jobs(
    whole: Job,
    directory: Path | None,
    part: Iterable[SelectedRecording],
    remark: Callable[[str], None],
) -> Iterator[Job]:
    given: set[Path] = set()
    for file in part:
        if _is_being_recorded(file.path):
            verb = "checked" if whole.command == "check" else "played"
            remark(f"{file.path} is still being recorded; later frames are not {verb}")
        output = None
        if whole.command == "verify":
            # The name is unused, so a later file with this name is this run, or a part of this run.
            named = directory and directory / f"{Path(file.path).stem}.db"
            given.add(output := new_path(whole.words, named, given))
        yield evolve(
            whole,
            recording=file.name,
            path=file.path,
            is_shared=file.is_shared,
            output=str(output) if output else None,
        )


def _is_being_recorded(path: str) -> bool:
    place = os.path.realpath(path)
    if not os.path.lexists(f"{place}{LOG_SUFFIX}"):
        return False
    # Imported late: the import is slow, and few recordings have a log.
    from acp_proxy.store.log.log_recovery import has_recorder

    return has_recorder(Path(place))


def _expect_elsewhere(words: Iterable[str]) -> None:
    """Raises Refusal if the directory for new runs is in a directory to verify.

    Args:
        words: the words that name the recordings.
    """
    home = os.path.realpath(recordings())
    for word in words:
        place = os.path.realpath(word)
        if os.path.isdir(place) and Path(home).is_relative_to(place):  # noqa: PTH112
            raise Refusal(
                f"new runs would be recorded in {home}, which is in a directory to verify;"
                " give another directory with --output"
            )
