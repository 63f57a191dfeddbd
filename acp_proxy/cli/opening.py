"""Opens the recording that a user means, for every command that takes one."""

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from acp_proxy.cli.main import Refusal
from acp_proxy.cli.naming import find_recording, wait_for_running
from acp_proxy.cli.render.output import warn
from acp_proxy.cli.render.progress import progress
from acp_proxy.plain_files import open_plain
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_import import is_transcript

STDIN = Path("standard input")
"""What a recording is called that came that way."""


def open_recording(word: str, *, follow: bool = False) -> RecordingReader:
    """Opens a recording by path, name, start of its id, as the latest, or from standard input.

    Says what is odd of it.

    Args:
        word: what the user wrote.
        follow: whether ``latest`` means one that is running, and waits for one.

    Raises:
        NoSuchRecording: none goes by that word, or several do.
        Refusal: standard input is a terminal.
        UnreadableRecording: it cannot be read.
    """
    if word == "-":
        reader = RecordingReader(STDIN, read_stdin())
    else:
        is_awaited = follow and word == "latest"
        reader = _open(wait_for_running() if is_awaited else find_recording(word))
    if reader.warning is not None:
        warn(reader.warning)
    return reader


def file_of(reader: RecordingReader) -> Path:
    """The file that a recording was read from; of standard input, what the system calls that."""
    return Path("/dev/stdin") if reader.path is STDIN else reader.path


def read_stdin() -> Iterable[bytes]:
    """The lines of standard input.

    Raises:
        Refusal: it is a terminal, so nobody has sent anything.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise Refusal("- is the text form of a recording on standard input: expected a pipe or a "
                      "file there, got a terminal")  # fmt: skip
    return progress(sys.stdin.buffer, label="reading")


def _open(path: Path) -> RecordingReader:
    if not is_transcript(path):
        return RecordingReader(path)
    with ExitStack() as files:
        try:
            lines = files.enter_context(open_plain(path))
        except OSError:
            return RecordingReader(path)  # which says why
        return RecordingReader(path, progress(lines, label="reading"))
