"""Finds and opens the recording that a user names."""

import os
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.plain_files import open_plain
from acp_proxy.store.lookup import LatestRecording, latest, latest_running, resolve

if TYPE_CHECKING:
    from acp_proxy.store.reader import RecordingReader

# A replay finds its recording here and then has to answer quickly, so what it does not need is
# imported by the functions that do.

STDIN = Path("standard input")
"""The path of a recording that was read from standard input, as messages name it."""
_POLL_S = 0.25


def working_directory() -> Path:
    """Returns the current directory, or its former path: a shell may be in a removed one."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or os.sep)


def find_recording(word: str) -> Path:
    """Finds a recording by path, name, start of its id, or as the latest.

    Warns on stderr if ``latest`` passes over a newer one, which was made in another directory.

    Raises:
        NoSuchRecording: no recording matches the word, or several do.
    """
    if word != "latest":
        return resolve(word, recordings(), working_directory())
    found = latest(recordings(), working_directory())
    return _path_with_warning(found, "the latest of this directory")


def wait_for_running() -> Path:
    """Finds the latest running recording; if there is none, warns and waits for one."""
    from acp_proxy.cli.render.output import warn

    where = recordings()
    found = latest_running(where, working_directory())
    if found is None:
        warn(f"no recording is running in {where}; waiting for the next one, Ctrl-C ends")
    while found is None:
        time.sleep(_POLL_S)
        found = latest_running(where, working_directory())
    return _path_with_warning(found, "running")


def open_recording(word: str, *, follow: bool = False) -> "RecordingReader":
    """Opens a recording by path, name, start of its id, as the latest, or from standard input.

    Prints the reader's warning on stderr, if it has one.

    Args:
        word: what the user wrote.
        follow: whether ``latest`` means one that is running, and waits for one.

    Raises:
        NoSuchRecording: no recording matches the word, or several do.
        Refusal: standard input is a terminal.
        UnreadableRecording: it cannot be read.
    """
    from acp_proxy.cli.render.output import warn
    from acp_proxy.store.reader import RecordingReader

    if word == "-":
        reader = RecordingReader(STDIN, read_stdin())
    elif follow and word == "latest":
        reader = _open(wait_for_running())
    else:
        reader = _open(find_recording(word))
    if reader.warning is not None:
        warn(reader.warning)
    return reader


def file_of(reader: "RecordingReader") -> Path:
    """Returns the file that a recording was read from, also for standard input."""
    return Path("/dev/stdin") if reader.path is STDIN else reader.path


def read_stdin() -> Iterable[bytes]:
    """Returns the lines of standard input.

    Raises:
        Refusal: it is a terminal.
    """
    from acp_proxy.cli.render.output import progress

    if sys.stdin is None or sys.stdin.isatty():
        raise Refusal("- is the text form of a recording on standard input: expected a pipe or a "
                      "file there, got a terminal")  # fmt: skip
    return progress(sys.stdin.buffer, label="reading")


def _open(path: Path) -> "RecordingReader":
    from acp_proxy.cli.render.output import progress
    from acp_proxy.store.reader import RecordingReader
    from acp_proxy.store.text_import import is_transcript

    if not is_transcript(path):
        return RecordingReader(path)
    with ExitStack() as files:
        try:
            lines = files.enter_context(open_plain(path))
        except OSError:
            return RecordingReader(path)  # which raises with the reason
        return RecordingReader(path, progress(lines, label="reading"))


def _path_with_warning(found: LatestRecording, reason: str) -> Path:
    """Returns the path of ``latest``, and warns if a newer recording was passed over."""
    if found.passed_over is not None:
        from acp_proxy.cli.render.output import warn

        path, recording = found.passed_over
        warn(
            f"latest is {found.path.name}, which is {reason}; {path.name} is newer, made in"
            f" {recording.cwd or 'an unknown directory'}"
        )
    return found.path
