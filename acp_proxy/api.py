"""Recordings as values, for scripts, notebooks and tests; `acp_proxy` has the same names.

    import acp_proxy

    with acp_proxy.open("latest") as recording:
        for call in recording.tool_calls():
            print(call.title, call.status, call.seconds)

Values are attrs classes, so that ``attrs.asdict`` makes plain ones of them. Times are seconds.
Frames are numbered as in ``acp-proxy log``. Secrets are masked as everywhere, unless a recording is
opened with ``unredacted=True``.

Every function raises `AcpProxyError` for bad use and for files that cannot be read; its message is
one line for a person.
"""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from acp_proxy import system
from acp_proxy.capture.files import recordings_directory
from acp_proxy.errors import AcpProxyError
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.recording import Recording, read_time
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from acp_proxy.inspection.diagnosis.values import Summary
    from acp_proxy.inspection.transcript.values import TranscriptEntry, TranscriptSection
    from acp_proxy.store.library import ListedRecording

# What only some of the methods need is imported by them, so that a script begins quickly.

__all__ = [
    "AcpProxyError",
    "OpenRecording",
    "RecordedExchange",
    "RecordedFrame",
    "RecordedMessage",
    "RecordedToolCall",
    "RecordedTurn",
    "Recording",
    "open",
    "recordings",
]

_MESSAGES = ("request", "response", "error", "notification", "batch")
_NS = 1e9


@frozen
class RecordedFrame:
    """One line of a stream."""

    seq: int
    """Its number, counted from 1 in the order in which lines were read."""
    seconds: float
    """Since the recording began."""
    time: datetime
    """With a time zone."""
    stream: str
    """``to-agent``, ``to-client`` or ``stderr``."""
    kind: str
    """request, response, error, notification, batch, invalid, blank or stderr."""
    method: str | None
    """Of a notification or a request; of an answer, that of its request."""
    id: Any
    """The JSON-RPC id; None if there is none."""
    session: str | None
    turn: int | None
    tool_call: str | None
    terminal: str | None
    size: int
    """Bytes, without the newline."""
    raw: bytes = field(repr=False)
    """The line without its newline; its first 64 KiB if it has more than 16 MiB."""
    delivered: str
    """``full``; ``part`` or ``none`` if a fault, or the end, kept something of it."""
    fault: str | None
    """The rule of the plan that touched it."""
    pair: int | None
    """The number of the answer to a request, or of the request that is answered."""
    latency: float | None
    """Seconds between the two."""

    @property
    def message(self) -> Any:
        """The message as Python values; None if the line is no message."""
        return json_or_none(self.raw) if self.kind in _MESSAGES else None


@frozen
class RecordedTurn:
    """A prompt and all that follows until its stop reason."""

    id: int
    """Counted from 1."""
    session: str | None
    prompt: str
    """The beginning of what was asked, in one line."""
    stop_reason: str | None
    outcome: str | None
    """Of the prompt: result, error, cancelled or unanswered."""
    seconds: float | None
    """How long it took; None if it never ended."""
    updates: int
    tool_calls: int
    first_seq: int
    last_seq: int | None


@frozen
class RecordedExchange:
    """A request and its answer."""

    id: int
    direction: str
    """Of the request: ``to-agent`` or ``to-client``."""
    method: str | None
    session: str | None
    request_seq: int
    response_seq: int | None
    """None if there is no answer."""
    seconds: float | None
    """From the request to its answer."""
    outcome: str | None
    """result, error, cancelled or unanswered."""


@frozen
class RecordedMessage:
    """What was said, its chunks joined."""

    role: str
    """user, agent or thought."""
    text: str
    session: str | None
    turn: int | None
    """None outside of turns, as in a history that an agent repeats."""
    first_seq: int
    last_seq: int
    seconds: float
    """When it began, since the recording began."""


@frozen
class RecordedToolCall:
    """All messages about one tool call in one turn."""

    id: str
    title: str
    kind: str
    """read, edit, execute and the like; empty if the agent names none."""
    status: str
    """The latest one; empty if the agent names none."""
    has_failed: bool
    session: str | None
    turn: int | None
    """None outside of turns, as in a history that an agent repeats."""
    first_seq: int
    last_seq: int
    seconds: float | None
    """How long it took; None if its end was not seen."""


class OpenRecording:
    """A recording that is open for reading; a context manager.

    Use `open` to get one.

    Args:
        reader: what reads it.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader

    def __enter__(self) -> "OpenRecording":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"

    def close(self) -> None:
        """Closes its files."""
        self._reader.close()

    @property
    def path(self) -> Path:
        """Its file."""
        return self._reader.path

    @property
    def facts(self) -> Recording:
        """Who was connected, when, and how it ended."""
        return self._reader.recording

    @property
    def is_running(self) -> bool:
        """Whether it is still being recorded; `refresh` reads what came since."""
        return self._reader.live

    @property
    def warning(self) -> str | None:
        """What one should know about the file: that a part of its log was lost, for instance."""
        return self._reader.warning

    def refresh(self) -> None:
        """Reads what was recorded since; cheap if that is nothing."""
        self._reader.refresh()

    def frames(self, chosen: str = "") -> Iterator[RecordedFrame]:
        """Yields the frames that a filter matches, in order; all without one.

        Args:
            chosen: as on the command line: ``kind:error or latency:2s..``.

        Raises:
            BadFilter: the filter cannot be read; the message says where.
        """
        from acp_proxy.filters import parse

        start = read_time(self.facts.started_at)
        for row in self._reader.frames(parse(chosen)):
            is_request = row["kind"] == "request"
            yield RecordedFrame(
                seq=row["seq"],
                seconds=row["t_ns"] / _NS,
                time=start + timedelta(microseconds=row["t_ns"] // 1000),
                stream=row["stream"],
                kind=row["kind"],
                method=row["method"],
                id=None if row["rpc_id"] is None else json_or_none(row["rpc_id"].encode()),
                session=row["session"],
                turn=row["turn"],
                tool_call=row["tool_call"],
                terminal=row["terminal"],
                size=row["size"],
                raw=bytes(row["raw"]),
                delivered=row["delivered"],
                fault=row["fault"],
                pair=row["response_seq"] if is_request else row["request_seq"],
                latency=_seconds(row["latency_ns"]),
            )

    def frame(self, seq: int) -> RecordedFrame:
        """Returns one frame.

        Raises:
            KeyError: there is none of that number.
        """
        for found in self.frames(f"seq:{seq}"):
            return found
        raise KeyError(f"no frame {seq} in {self.path}")

    def exchanges(self, method: str | None = None) -> Iterator[RecordedExchange]:
        """Yields requests with their answers, in the order of the requests.

        Args:
            method: only those with this method.
        """
        from acp_proxy.store.exchange_queries import exchanges

        methods = () if method is None else (method,)
        for row in exchanges(self._reader, methods=methods, order="request_seq"):
            yield RecordedExchange(
                row.id,
                row.direction,
                row.method,
                row.session,
                row.request_seq,
                row.response_seq,
                _seconds(row.latency_ns),
                row.outcome,
            )

    def turns(self) -> list[RecordedTurn]:
        """Returns all turns."""
        from acp_proxy.inspection.diagnosis.conversation import read_turns

        return [
            RecordedTurn(
                id=turn.id,
                session=turn.session,
                prompt=turn.prompt,
                stop_reason=turn.stop_reason,
                outcome=turn.outcome,
                seconds=_seconds(turn.duration_ns),
                updates=turn.updates,
                tool_calls=turn.tool_calls,
                first_seq=turn.prompt_seq,
                last_seq=turn.end_seq,
            )
            for turn in read_turns(self._reader)
        ]

    def messages(self, chosen: str = "") -> Iterator[RecordedMessage]:
        """Yields prompts, messages and thoughts whole, in order.

        Args:
            chosen: a filter; a message has what it matches.
        """
        from acp_proxy.inspection.transcript.values import EntryKind

        for section, entry in self._entries(chosen):
            if entry.kind not in (EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.THOUGHT):
                continue
            speaker = "agent" if entry.by == "agent" else "user"
            yield RecordedMessage(
                role="thought" if entry.kind is EntryKind.THOUGHT else speaker,
                text="\n".join(block.text.start for block in entry.blocks),
                session=entry.session,
                turn=section.turn,
                first_seq=entry.seq,
                last_seq=entry.last_seq,
                seconds=entry.t_ns / _NS,
            )

    def tool_calls(self, chosen: str = "") -> Iterator[RecordedToolCall]:
        """Yields the tool calls, in the order of their first frames.

        Args:
            chosen: a filter; a tool call is whole if one of its frames matches.
        """
        from acp_proxy.inspection.transcript.values import EntryKind

        for section, entry in self._entries(chosen):
            if entry.kind is EntryKind.TOOL_CALL:
                yield RecordedToolCall(
                    id=entry.id,
                    title=entry.title,
                    kind=entry.detail,
                    status=entry.state,
                    has_failed=entry.is_failed,
                    session=entry.session,
                    turn=section.turn,
                    first_seq=entry.seq,
                    last_seq=entry.last_seq,
                    seconds=_seconds(entry.took_ns),
                )

    def summary(self) -> "Summary":
        """Returns what ``acp-proxy show`` shows: the peers, the turns, what went wrong."""
        from acp_proxy.inspection.diagnosis.summary import summarize

        return summarize(self._reader)

    def text_form(self, chosen: str = "") -> Iterator[bytes]:
        """Yields the lines of the text form, each with its newline.

        Args:
            chosen: a filter that leaves lines out.
        """
        from acp_proxy.filters import EVERYTHING, parse
        from acp_proxy.store.text_export import write_text_form

        return write_text_form(self._reader, parse(chosen) if chosen else EVERYTHING)

    def export(self, path: "str | os.PathLike[str]") -> None:
        """Writes the text form into a new file, which only its owner can read.

        Args:
            path: the file.

        Raises:
            FileExistsError: it exists.
            OSError: it cannot be written; nothing is left of it then.
        """
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.flags(), 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.writelines(self.text_form())
        except BaseException:
            os.unlink(path)  # noqa: PTH108  whatever was given
            raise

    def _entries(self, chosen: str) -> "Iterator[tuple[TranscriptSection, TranscriptEntry]]":
        """Yields the entries of the transcript, uncut, each with its section."""
        from acp_proxy.filters import parse
        from acp_proxy.inspection.transcript.transcript import TranscriptReader
        from acp_proxy.inspection.transcript.values import FULL, TranscriptEntry

        section = None
        for part in TranscriptReader(self._reader, parse(chosen), FULL).read():
            if isinstance(part, TranscriptEntry):
                assert section is not None
                yield section, part
            else:
                section = part


def open(  # noqa: A001  as `gzip.open`
    what: "str | os.PathLike[str]" = "latest", *, unredacted: bool = False
) -> OpenRecording:
    """Opens a recording, in any form: a database, a text form, one that is still written.

    Args:
        what: a path, a name, the start of a name or of an id, or ``latest``, as on the command
            line.
        unredacted: whether to show secrets that the file holds.

    Raises:
        NoSuchRecording: there is none, or several fit.
        UnreadableRecording: it cannot be read.
    """
    from acp_proxy.store.lookup import resolve

    path = resolve(os.fspath(what), _directory(), Path.cwd())
    return OpenRecording(RecordingReader(path, unredacted=unredacted))


def recordings(directory: "str | os.PathLike[str] | None" = None) -> "list[ListedRecording]":
    """Returns what is known of each recording in a directory, the newest first.

    A file that cannot be read is among the last, with ``problem`` in place of its facts.

    Args:
        directory: the recordings directory by default.
    """
    from acp_proxy.store.library import list_recordings, paths

    return list_recordings(paths(_directory() if directory is None else Path(directory)))


def _directory() -> Path:
    return Path(recordings_directory(os.environ))


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / _NS
