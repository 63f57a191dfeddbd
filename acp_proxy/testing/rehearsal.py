"""Replays new recordings to their own clients, and keeps recordings that replay without divergence.

Both sides of this replay come from the recording, and there are no pipes and no clock. Only the
recording itself can therefore cause a divergence.
"""

import os
import tempfile
from collections import deque
from pathlib import Path

from acp_proxy.playback.events import EndOfInput, Event, Finish, LineReceived, Send, WakeAt, Wakeup
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_report import ReplayReport, report, text
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.verify.scripted_client import ScriptedClient
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.marker import files_of, numbered


class NotKept(Exception):
    """Raised when a test cannot use a recording; the message says why."""


def keep(databases: list[Path], place: Path) -> list[Path]:
    """Replaces the recordings of a test by new recordings.

    If the name of ``place`` ends in .db, the new files are databases; otherwise, text forms.

    Args:
        databases: the new recordings, one for each start of the agent.
        place: the file of the first recording.

    Raises:
        NotKept: a recording does not replay to its own client; nothing was written.
        OSError: a file cannot be written.
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
    with RecordingReader(database) as reader:
        report = rehearse(reader)
        if report.verdict != "clean":
            raise NotKept("\n".join(text(report)))
        if suffix != ".db":
            return b"".join(write_text_form(reader))
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


def rehearse(reader: RecordingReader) -> ReplayReport:
    """Replays a recording to its own client. Returns the report of this replay."""
    return _Rehearsal(reader).run()


class _Rehearsal:
    """A replay and its recorded client; the output of each is the input of the other."""

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self._replay = Replay(RecordedSteps(reader), ReplayOptions())
        self._client = ScriptedClient(RecordedSteps(reader))
        self._to_agent: deque[bytes] = deque()
        """Lines of the client that the replay has not received yet."""
        self._part = b""
        """The beginning of a line that the replay has not sent completely."""
        self._now = 1
        self._wake_at: int | None = None
        self._is_over = False

    def run(self) -> ReplayReport:
        self._feed(Wakeup(self._now))
        self._feed_client(Wakeup(self._now))
        while not self._is_over:
            if self._to_agent:
                raw = self._to_agent.popleft().rstrip(b"\n").removesuffix(b"\r")
                self._feed(LineReceived(raw, self._now))
            elif self._wake_at is None or self._client.is_done or self._client.is_hopeless:
                self._feed(EndOfInput(self._now))
            else:
                self._now = max(self._now + 1, self._wake_at)
                self._feed(Wakeup(self._now))
        incomplete = self._reader.recording.state == "incomplete"
        return report(self._replay, self._reader.recording.name, is_incomplete=incomplete)

    def _feed(self, event: Event) -> None:
        for command in self._replay.feed(event):
            match command:
                case Send(data):
                    *lines, self._part = (self._part + data).split(b"\n")
                    for line in lines:
                        self._feed_client(LineReceived(line, self._now))
                case WakeAt(at):
                    self._wake_at = at
                case Finish():
                    self._is_over = True

    def _feed_client(self, event: Event) -> None:
        commands = self._client.feed(event)
        self._to_agent.extend(command.data for command in commands if isinstance(command, Send))
