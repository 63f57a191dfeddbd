"""Makes masked recordings from the logs of other tools, and reports which facts are lost.

The room `imports` reads the lines, and `RowWriter` derives exchanges, turns and labels. Each
connection in a log becomes a recording. By default, no recording is made if a line cannot be read.
The memory use does not grow with the log.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve, frozen

from acp_proxy import __version__
from acp_proxy.base.errors import NotARecording, UnreadableRecording
from acp_proxy.base.limits import LONG_LIST, NAMED
from acp_proxy.imports.connections import ConnectionBegins, Sent, connections
from acp_proxy.imports.headings import EARLIEST_NS, LATEST_NS, as_iso
from acp_proxy.imports.log_entries import (
    Entry,
    Facts,
    LogFormat,
    Remark,
    RemarkKind,
    UnreadLines,
    with_end,
)
from acp_proxy.imports.log_formats import source_of
from acp_proxy.imports.no_messages import nothing_in
from acp_proxy.protocol.jsonrpc import DIRECTIONS, Kind, Message, Stream
from acp_proxy.recording.recording import Lost, NamedAnswer, Origin, Recording, is_method
from acp_proxy.store.copies.log_masking import LogMasking, MaskedLine
from acp_proxy.store.copies.text_import import completed, message_of
from acp_proxy.store.files.database import new_file, new_rows, place
from acp_proxy.store.indexing.earlier_rows import mask_rows
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_writer import RowWriter

_BATCH, _BATCH_BYTES = 4096, 4 << 20
"""How many frames, and about how many bytes of frames, are written in one transaction."""
_SKIPPING = "; --skip-bad leaves such lines out"
_NEWLINE = b"\n"


@frozen
class ImportedConnection:
    """A recording that was made from a log."""

    path: Path
    messages: int
    origin: Origin


@frozen
class ImportedLog:
    """The recordings that were made from a log."""

    source: LogFormat
    lines: Counter[str]
    """The number of lines, by kind of content. Each line of the log is counted once."""
    connections: tuple[ImportedConnection, ...]
    skipped: tuple[UnreadLines, ...]
    """The first skipped lines."""


def import_log(
    entries: Iterable[Entry],
    head: bytes,
    source: LogFormat,
    path: Path,
    target: Path,
    *,
    redaction: str,
    skips_bad_lines: bool,
    name: str | None,
) -> ImportedLog:
    """Makes a recording from each connection of a log.

    Args:
        entries: the entries of the log, from the reader of its format.
        head: the beginning of the log, for error messages.
        source: the format of the log.
        path: the path of the log, for error messages.
        target: the path of the first database. If the path is taken, the database is named
            ``NAME-2.db`` and so on; so are the databases of further connections.
        redaction: the level of masking, as in the recorder's option ``--redact``: secrets, private
            or none.
        skips_bad_lines: whether lines that cannot be read are left out.
        name: the name of the recording, if it differs from the name of its file.

    Raises:
        UnreadableRecording: a line cannot be read, or the log has no message. No file is left.
        OSError: the log cannot be read, or a database cannot be created. No file is left.
    """
    counts = Counter[str]()
    skipped: list[UnreadLines] = []
    made: list[_Connection] = []
    sent = connections(with_end(entries), guesses=not source.has_marks)
    masking = LogMasking(sent, redaction)
    command: tuple[str, ...] | None = None
    name = name or target.stem
    with ExitStack() as files:
        current = _Connection(files, source, target.parent, masking)
        for happened, raw in masking:
            if isinstance(happened, ConnectionBegins):
                made.append(current)
                current.finish(_numbered(name, len(made)))
                if len(made) == LONG_LIST:
                    raise UnreadableRecording(path, f"it has more than {len(made)} connections")
                current = _Connection(files, source, target.parent, masking)
                continue
            at = happened.line if isinstance(happened, Sent) else happened
            counts[_content(happened)] += max(0, at.last - counts.total())
            if isinstance(happened, UnreadLines):
                if not (skips_bad_lines or (happened.is_end and current.has_messages)):
                    why = f"line {happened.first}: {happened.reason}{_SKIPPING}"
                    raise UnreadableRecording(path, why)
                skipped += [happened] if len(skipped) < NAMED else []
            elif isinstance(happened, Facts):
                command = happened.command or command
            current.add(happened, raw)
        if not current.has_messages:
            raise NotARecording(path, _why_nothing(head, source))
        made.append(current)
        current.finish(_numbered(name, len(made)), command)
        placed = tuple(connection.placed(target) for connection in made)
    return ImportedLog(source, counts, placed, tuple(skipped))


def _content(entry: Sent | Remark | UnreadLines | Facts) -> str:
    """Returns the kind of content that the lines of an entry have."""
    match entry:
        case Sent():
            return "stderr" if entry.stream is Stream.STDERR else "messages"
        case UnreadLines():
            return "skipped"
        case Remark(kind=RemarkKind.BLANK | RemarkKind.BRACKETS):
            return entry.kind.value
    return "remarks"


def _numbered(name: str, number: int) -> str:
    """Returns the name of a recording: ``name``, or ``name-2`` for the second connection."""
    return name if number == 1 else f"{name}-{number}"


def _why_nothing(head: bytes, source: LogFormat) -> str:
    why = nothing_in(head, f"a message of {source.title}")
    actual = source_of(head)
    is_other = actual is not None and actual.name != source.name
    return f"{why}; it looks like {actual.title}: leave out --from" if is_other and actual else why


class _Connection:
    """A connection of a log, while its rows are written.

    Args:
        files: closing this stack closes the database, and removes the file unless `placed` has
            moved it.
        source: the format of the log.
        directory: where the database is created.
        masking: masks the command.
    """

    def __init__(
        self, files: ExitStack, source: LogFormat, directory: Path, masking: LogMasking
    ) -> None:
        self._source = source
        self._masking = masking
        self._made = files.enter_context(new_file(directory))
        self._connection = files.enter_context(closing(new_rows(self._made)))
        self._now = datetime.now(UTC).isoformat(timespec="microseconds")
        self._recording = Recording(
            id=os.urandom(6).hex(),
            name="",
            tool_version=__version__,
            started_at=self._now,
            state="complete",
            redaction=masking.level,
        )
        self._rows = RowWriter(self._connection, IndexerState(), resumable=False)
        self._lost: set[Lost] = set(source.lost)
        self._frames = self._waiting = self._messages = 0
        self._skipped = self._inferred = self._untimed = 0
        self._answers: list[NamedAnswer] = []
        self._has_gap = False
        """Whether messages may be missing after the latest message read so far."""
        self._start_ns: int | None = None
        self._t_ns = 0
        self._step_ns = 10**9
        """The largest power of ten, up to one second, that divides all times read so far."""

    @property
    def has_messages(self) -> bool:
        """Whether the connection has messages, not only stderr."""
        return self._messages > 0

    def add(self, happened: Sent | Remark | UnreadLines | Facts, raw: MaskedLine | None) -> None:
        """Adds the next entry of the log.

        Args:
            happened: the entry.
            raw: the masked bytes of a message.
        """
        if isinstance(happened, Sent) and raw is not None:
            self._add_frame(happened, raw)
        elif isinstance(happened, UnreadLines):
            self._skipped += happened.last - happened.first + 1
            self._has_gap = True
        elif isinstance(happened, Remark) and happened.kind is RemarkKind.GAP:
            self._has_gap = True

    def _add_frame(self, sent: Sent, raw: MaskedLine) -> None:
        self._take_time(sent)
        if sent.stream is not Stream.STDERR:
            if not self.has_messages and not sent.begins:
                self._lost.add("start")
            elif self.has_messages and self._has_gap:
                self._lost.add("middle")
            if sent.line.stream is None and self._source.has_marks:
                self._lost.add("middle")  # a person may have left out messages
            self._messages += 1
            self._has_gap = False
        self._inferred += sent.line.is_inferred
        self._frames += 1
        message = message_of(sent.stream, raw.line, _NEWLINE)
        self._rows.add_frame(
            sent.stream,
            message,
            _NEWLINE,
            self._t_ns,
            0,
            raw.line,
            masked=raw.received is not None,
            received=raw.received,
            answered=self._named(sent, message),
        )
        self._waiting += len(raw.line)
        if not self._frames % _BATCH or self._waiting > _BATCH_BYTES:
            self._rows.commit()
            self._waiting = 0

    def _named(self, sent: Sent, message: Message) -> str | None:
        """Returns the method that the log names for an answer without a request in the log.

        Also adds the answer to the list of such answers in the recording's origin. Returns None for
        any other frame, if the log names no valid method, and if the list is full.

        Args:
            sent: the next frame.
            message: the labels of the frame.
        """
        method, is_answer = sent.line.answered, message.kind in (Kind.RESPONSE, Kind.ERROR)
        if not is_answer or not is_method(method) or len(self._answers) == LONG_LIST:
            return None
        asked = DIRECTIONS[sent.stream].other
        if self._rows.conversation.oldest(asked, message.rpc_id) is not None:
            return None
        self._answers.append(NamedAnswer(self._rows.state.next_seq, method))
        return method

    def _take_time(self, sent: Sent) -> None:
        time_ns = sent.line.time_ns
        if time_ns is None or not 0 <= time_ns < LATEST_NS:
            self._untimed += 1
            return
        if self._start_ns is None:
            self._start_ns = time_ns
        while time_ns % self._step_ns:
            self._step_ns //= 10
        if not sent.line.has_zone:
            self._lost.add("zone")
        if time_ns - self._start_ns < self._t_ns:
            self._untimed += 1  # a clock was set, or a line was written late
        else:
            self._t_ns = time_ns - self._start_ns

    def finish(self, name: str, command: tuple[str, ...] | None = None) -> None:
        """Writes the row of the recording after the last entry, and closes the database.

        The database is closed immediately: a log may contain more connections than a process can
        have open files.

        Args:
            name: the name of the recording.
            command: the words of the agent's command, if the log contains the command.
        """
        lost, recording = self._lost, self._recording
        if self._start_ns is None:
            lost.add("times")
        elif self._start_ns < EARLIEST_NS:
            lost.add("date")
        elif (started_at := as_iso(self._start_ns)) is not None:
            ended_at = as_iso(self._start_ns + self._t_ns)
            recording = evolve(recording, started_at=started_at, ended_at=ended_at)
        if "times" in lost or "date" in lost:
            lost.discard("zone")
        words = self._masking.command(command) if command else []
        self.origin = Origin(
            self._source.name,
            lost=tuple(sorted(lost)),
            resolution_ns=None if "times" in lost else self._source.resolution_ns or self._step_ns,
            inferred_directions=self._inferred,
            inferred_times=0 if "times" in lost else self._untimed,
            skipped=self._skipped,
            named_answers=tuple(self._answers),
        )
        self._recording = evolve(
            completed(recording, self._rows.conversation.state.handshake),
            command=json.dumps(words, ensure_ascii=False),
            origin=self.origin,
            name=name,
        )
        self._rows.commit()
        self._rows.finish(self._recording)
        redactor = self._masking.redactor
        if redactor is not None and redactor.known:
            mask_rows(self._connection, redactor, self._rows.state.next_seq, self._recording)
            self._connection.commit()
        self._connection.close()

    def placed(self, target: Path) -> ImportedConnection:
        """Moves the finished database to its final path, or to a similar path that is free.

        Args:
            target: the path of the first recording of the log.
        """
        return ImportedConnection(place(self._made, target), self._messages, self.origin)
