"""Makes recordings beside tests of what was recorded while they ran."""

import os
import tempfile
from pathlib import Path

from acp_proxy.testing.places import numbered, story


class NotKept(Exception):
    """A recording that no test could use; says why."""


def keep(databases: list[Path], place: Path) -> list[Path]:
    """Writes recordings, in their text form unless it is to be a .db, in place of those there.

    Args:
        databases: what was recorded, one for each start of the agent.
        place: the file of the first one.

    Returns:
        The files.

    Raises:
        NotKept: one does not replay even to its own client; nothing was written.
        UnreadableRecording: one cannot be read; nothing was written.
        OSError: one cannot be written.
    """
    contents = [_content(database, place.suffix) for database in databases]
    old = story(place)
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
