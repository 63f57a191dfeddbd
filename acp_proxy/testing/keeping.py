"""Stores what was recorded during a test as the recordings of the test."""

import os
import tempfile
from pathlib import Path

from acp_proxy.testing.places import files_of, numbered


class NotKept(Exception):
    """A recording cannot be used by a test; the message has the reason."""


def keep(databases: list[Path], place: Path) -> list[Path]:
    """Replaces the recordings of a test, in the text form unless the file's name ends with .db.

    Args:
        databases: what was recorded, one for each start of the agent.
        place: the file of the first one.

    Returns:
        the files.

    Raises:
        NotKept: one does not replay to its own client; nothing was written.
        UnreadableRecording: one cannot be read; nothing was written.
        OSError: one cannot be written.
    """
    contents = [_content(database, place.suffix) for database in databases]
    old = files_of(place)
    files = [numbered(place, number) for number in range(1, len(contents) + 1)]
    place.parent.mkdir(parents=True, exist_ok=True)
    for file, content in zip(files, contents, strict=True):
        _replace(file, content)
    for file in set(old) - set(files):
        file.unlink()
    return files


def _content(database: Path, suffix: str) -> bytes:
    from acp_proxy.engine.agent.report import text
    from acp_proxy.store.reader import RecordingReader
    from acp_proxy.store.text_export import write_transcript
    from acp_proxy.testing.rehearsal import rehearse

    with RecordingReader(database) as reader:
        found = rehearse(reader)
        if found.verdict != "clean":
            raise NotKept("\n".join(text(found)))
        if suffix != ".db":
            return b"".join(write_transcript(reader))
    return database.read_bytes()


def _replace(file: Path, content: bytes) -> None:
    fd, made = tempfile.mkstemp(prefix=f".{file.name[:40]}.", dir=file.parent)
    try:
        with open(fd, "wb") as into:  # noqa: PTH123  a descriptor
            into.write(content)
        os.replace(made, file)  # noqa: PTH105
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
