"""Opens the recording that a user means, for every command that takes one."""

from pathlib import Path

from acp_proxy.cli.main import recordings
from acp_proxy.cli.output import warn
from acp_proxy.store.library import resolve
from acp_proxy.store.reader import RecordingReader


def open_recording(word: str) -> RecordingReader:
    """Opens a recording by path, name, start of its id, or as the latest; says what is odd of it.

    Raises:
        NoSuchRecording: none goes by that word, or several do.
        UnreadableRecording: it cannot be read.
    """
    reader = RecordingReader(resolve(word, recordings(), Path.cwd()))
    if reader.warning is not None:
        warn(reader.warning)
    return reader
