"""Finds and opens the recording that a user names."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from acp_proxy.base.errors import BadFilter, NoSuchRecording
from acp_proxy.base.plain_files import open_plain
from acp_proxy.base.wording import counted
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.masking import is_unredacted
from acp_proxy.recording.recording import Fact
from acp_proxy.store.files.lookup import LatestRecording, hidden_by, latest, latest_running, resolve
from acp_proxy.store.reader import RecordingReader, is_text

if TYPE_CHECKING:
    from acp_proxy.store.queries.masked_rows import Level, Watch

# A replay uses this module to find its recording, and must then answer quickly. Therefore modules
# that a replay does not need are imported inside the functions that use them.

STDIN = Path("standard input")
"""Stands in messages for the path of a recording that was read from standard input."""
_POLL_S = 0.25
_LEAST = 100
"""The smallest number of things that are divided among several processes."""
_CHUNK = 16
_MOST = 8
"""The largest number of processes. More processes do not make reading faster."""
NEEDED: dict[str, tuple[tuple[Fact, ...], str]] = {
    "--exact": (("bytes",), "--exact compares bytes, but {path} was imported, and how messages"
                " were spelled is not known"),
    "--timing": (("durations",), "expected --timing instant; {why}"),
    "--turn": (("middle", "durations"), "the steps of a turn need times; {why}"),
}  # fmt: skip
"""For each option: the facts that it needs, and the message if an imported recording lacks a
fact."""
_COMPARED: dict[str, Fact] = {"latencies": "durations", "endings": "ending"}
"""For each comparison that needs a fact in both recordings: this fact."""
T = TypeVar("T")
R = TypeVar("R")


def working_directory() -> Path:
    """Returns the current directory, or its former path if the directory was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or os.sep)


def find_recording(word: str) -> Path:
    """Finds a recording by its path, a part of its name, the start of its id, or ``latest``.

    Warns on stderr if ``latest`` skips a newer recording of another directory. Also warns if the
    word names both a file in the current directory and a recording.

    Raises:
        NoSuchRecording: no recording matches the word, or several recordings match.
    """
    if word != "latest":
        try:
            named = resolve(word, recordings(), working_directory())
        except NoSuchRecording:
            if asked := _as_filter(word):
                raise NoSuchRecording(_filter_first(word, asked)) from None
            raise
        _warn_of_hidden(named, word)
        return named
    path = latest(recordings(), working_directory())
    return _path_with_warning(path, "the latest of this directory")


def _warn_of_hidden(path: Path, word: str) -> None:
    if (hidden := hidden_by(path, word, recordings())) is not None:
        from acp_proxy.cli.screens.output import warn

        warn(f"{word!r} means the file {path} in this directory, not the recording {hidden}")


def _as_filter(word: str) -> str:
    """Returns the filter that a word seems to be; empty if the word does not look like a filter."""
    from acp_proxy.recording.filters import TERMS, terms_of

    states = [f"is:{name}" for name in (word, word.removesuffix("s")) if name in TERMS["is"].values]
    try:
        is_filter = word.startswith("not ") or bool(terms_of(word))
    except BadFilter:
        is_filter = False
    return next(iter(states), word if is_filter else "")


def _filter_first(word: str, asked: str) -> str:
    context = click.get_current_context(silent=True)
    command = context.command_path if context is not None else "acp-proxy log"
    return (
        f"no recording named {word!r}: it looks like a filter, which comes after the recording:"
        f" `{command} latest {shlex.quote(asked)}`"
    )


def wait_for_running() -> Path:
    """Finds the latest running recording. If no recording runs, warns and waits for one."""
    from acp_proxy.cli.screens.output import warn

    where = recordings()
    path = latest_running(where, working_directory())
    if path is None:
        warn(f"no recording is running in {where}; waiting for the next one, until Ctrl-C")
    while path is None:
        time.sleep(_POLL_S)
        path = latest_running(where, working_directory())
    return _path_with_warning(path, "running")


def open_recording(
    word: str,
    *,
    follow: bool = False,
    unredacted: bool = False,
    level: "Level | None" = None,
    watch: "Watch | None" = None,
) -> RecordingReader:
    """Opens the recording that a word names.

    The word is a path, a name, the start of an id, ``latest``, or ``-`` for standard input. Secrets
    are masked, unless ``--unredacted`` was given. Prints on stderr how many secrets were
    masked, and the warning of the reader, if any.

    Args:
        word: what the user wrote.
        follow: whether ``latest`` means a running recording. If no recording runs, waits for one.
        unredacted: whether secrets are left unmasked because the caller does not print them.
        level: which secrets to mask, even with ``--unredacted``, and even if the recording was
            masked when it was made. Then the number of masked secrets is not printed.
            None to mask as described above.
        watch: shows the progress of masking; the default is a progress bar.

    Raises:
        NoSuchRecording: no recording matches the word, or several recordings match.
        Refusal: standard input is a terminal.
        UnreadableRecording: the recording cannot be read.
    """
    from acp_proxy.cli.screens.output import warn

    is_shown = unredacted or (is_unredacted() and level is None)
    read = partial(RecordingReader, unredacted=is_shown, level=level, watch=watch or _watch)
    if word == "-":
        reader = read(STDIN, read_stdin())
    else:
        path = wait_for_running() if follow and word == "latest" else find_recording(word)
        reader = _open(path, read)
    if reader.warning is not None:
        warn(reader.warning)
    if level is not None:
        return reader
    if reader.masked_rows is not None:
        note_masked(len(reader.masked_rows.made), f"in {reader.path}")
    elif is_unredacted() and reader.is_masked:
        warn(f"{reader.path} was masked when it was made; the masked values are not in it")
    return reader


def masked_alike(
    readers: Sequence[RecordingReader], stack: ExitStack, known: Mapping[str, str] | None = None
) -> list[RecordingReader]:
    """Returns readers that mask, in each recording, every secret found in any of the recordings.

    A value may be a secret at its place in one recording, and ordinary text in another recording.

    Args:
        readers: the recordings.
        stack: closes the readers that are opened.
        known: further secrets, each with a marker.
    """
    every = dict(known or {})
    for reader in readers:
        every |= reader.known_secrets
    return [_with_secrets(reader, every, stack) for reader in readers]


def _with_secrets(
    reader: RecordingReader, known: Mapping[str, str], stack: ExitStack
) -> RecordingReader:
    # A reader masks a secret only after the frame in which it found the secret. A recording that is
    # opened again with the known secrets is also masked before this frame.
    if reader.unredacted or not known:
        return reader
    from acp_proxy.store.copies.text_export import write_text_form

    source = write_text_form(reader) if reader.path is STDIN else None
    again = RecordingReader(reader.path, source, known=known, watch=_watch)
    return stack.enter_context(again)


def require(option: str, value: object, reader: RecordingReader) -> None:
    """Refuses an option if an imported recording lacks a fact that the option needs.

    Args:
        option: a key of `NEEDED`.
        value: the value of the option; False or empty if the option was not given.
        reader: the recording.

    Raises:
        Refusal: the recording lacks a fact that the option needs.
    """
    facts, text = NEEDED[option]
    if value and not reader.recording.knows(*facts):
        from acp_proxy.explain.origins import why_no_times  # late: a replay starts sooner

        raise Refusal(text.format(path=reader.path, why=why_no_times(reader.recording)))


def note_imported(reader: RecordingReader) -> None:
    """Warns if a comparison with an imported recording cannot show everything."""
    from acp_proxy.cli.screens.output import warn

    recording = reader.recording
    missing = [name for name, fact in _COMPARED.items() if not recording.knows(fact)]
    limits = [f"{' and '.join(missing)} are not compared"] if missing else []
    limits += [] if recording.knows("start", "middle") else ["messages may be missing"]
    if limits and recording.origin is not None:
        warn(f"{reader.path} was imported from {recording.origin.title}: {', and '.join(limits)}")


def note_masked(count: int, where: str) -> None:
    """Prints a warning if the output is masked, but the file contains secrets.

    Args:
        count: the number of masked secrets.
        where: the file, in words.
    """
    from acp_proxy.cli.screens.output import warn

    if count:
        verb, them = ("is", "it") if count == 1 else ("are", "them")
        warn(f"{counted(count, 'secret')} {where} {verb} masked; --unredacted shows {them}")


def file_of(reader: RecordingReader) -> Path:
    """Returns the file that a recording was read from; ``/dev/stdin`` for standard input."""
    return Path("/dev/stdin") if reader.path is STDIN else reader.path


def read_stdin() -> Iterable[bytes]:
    """Returns the lines of standard input.

    Raises:
        Refusal: standard input is a terminal.
    """
    from acp_proxy.cli.screens.output import progress

    if sys.stdin is None or sys.stdin.isatty():
        raise Refusal("'-' means the text form of a recording on standard input: expected a pipe "
                      "or a file there, got a terminal")  # fmt: skip
    return progress(sys.stdin.buffer, label="reading")


def _open(path: Path, read: Callable[..., RecordingReader]) -> RecordingReader:
    from acp_proxy.cli.screens.output import progress

    if not is_text(path):
        return read(path)
    with ExitStack() as files:
        try:
            lines = files.enter_context(open_plain(path))
        except OSError:
            return read(path)  # this raises the error with the reason
        return read(path, progress(lines, label="reading"))


def _watch(rows: Iterable[Any], total: int) -> Iterable[Any]:
    from acp_proxy.cli.screens.output import progress

    return progress(rows, total, label="masking")


def _path_with_warning(latest_recording: LatestRecording, reason: str) -> Path:
    """Returns the path of ``latest``, and warns if a newer recording was skipped."""
    if latest_recording.passed_over is not None:
        from acp_proxy.cli.screens.output import warn

        path, recording = latest_recording.passed_over
        warn(
            f"'latest' means {latest_recording.path.name}, which is {reason}; the newer {path.name}"
            f" was made in {recording.cwd or 'an unknown directory'}"
        )
    return latest_recording.path


def mapped(work: Callable[[T], R], things: Iterable[T]) -> Iterator[R]:
    """Calls a function with each of several arguments; yields the results in the same order.

    On Linux, if there are many arguments, forked processes share the calls: at most one process for
    each processor. The function and its results must be picklable, and the function must print
    nothing.

    Args:
        work: the function.
        things: the arguments, one for each call of the function.
    """
    every = list(things)
    processes = min(processors(), _MOST) if sys.platform == "linux" else 1
    if processes == 1 or len(every) < _LEAST:
        yield from map(work, every)
        return
    # Late: most lists are short.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    forks = multiprocessing.get_context("fork")
    ignored = signal.SIGINT, signal.SIG_IGN
    pool = ProcessPoolExecutor(processes, forks, initializer=signal.signal, initargs=ignored)
    try:
        yield from pool.map(work, every, chunksize=_CHUNK)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def processors() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
