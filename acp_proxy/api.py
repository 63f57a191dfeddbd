"""Opens and reads recordings for scripts, notebooks and tests, which import `acp_proxy`.

    import acp_proxy

    with acp_proxy.open("latest") as recording:
        for call in recording.tool_calls():
            print(call.title, call.status, call.seconds)

The classes of the returned values are in `acp_proxy.recording.library_values`. Secrets are masked
unless a recording is opened with ``unredacted=True``.

Every function raises `AcpProxyError` for wrong arguments and unreadable files. The message of the
error is one line for the user.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import AttrsInstance, asdict, fields

from acp_proxy.base import system
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.recording.file_names import recordings_directory
from acp_proxy.recording.library_values import (
    RecordedExchange,
    RecordedFrame,
    RecordedMessage,
    RecordedToolCall,
    RecordedTurn,
)
from acp_proxy.recording.recording import Recording, read_time
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from acp_proxy.explain.show.summary_values import Summary
    from acp_proxy.explain.transcript.entries import TranscriptEntry, TranscriptSection
    from acp_proxy.store.files.directory import ListedRecording

# Modules that only some methods need are imported there, so that a script starts quickly.


class OpenRecording:
    """A recording that is open for reading; a context manager.

    Use `open` to get one.

    Args:
        reader: the reader of the recording; `close` closes it.
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
        """Closes the files of the recording."""
        self._reader.close()

    @property
    def path(self) -> Path:
        """The path of the recording."""
        return self._reader.path

    @property
    def facts(self) -> Recording:
        """The properties of the recording: its peers, its times, and how it ended."""
        return self._reader.recording

    @property
    def is_running(self) -> bool:
        """Whether the recorder is still running; `refresh` reads what the recorder added."""
        return self._reader.live

    @property
    def warning(self) -> str | None:
        """A problem of the file, such as a lost part of its log; None if there is no problem."""
        return self._reader.warning

    def refresh(self) -> None:
        """Reads what was recorded since the previous reading; fast if nothing was recorded."""
        self._reader.refresh()

    def frames(self, chosen: str = "") -> Iterator[RecordedFrame]:
        """Yields the frames that match a filter, in order; without a filter, all frames.

        Args:
            chosen: a filter as on the command line, such as ``kind:error or latency:2s..``.

        Raises:
            BadFilter: the filter is not valid; the message says where.
        """
        from acp_proxy.recording.filters import parse

        recording = self.facts
        start = read_time(recording.known_start) if recording.known_start else None
        for row in self._reader.frames(parse(chosen)):
            is_request = row["kind"] == "request"
            yield RecordedFrame(
                **_same(RecordedFrame, {**row, "raw": bytes(row["raw"])}),
                seconds=_seconds(recording.known_ns(row["t_ns"])),
                time=start and start + timedelta(microseconds=row["t_ns"] // 1000),
                id=None if row["rpc_id"] is None else json_or_none(row["rpc_id"].encode()),
                pair=row["response_seq"] if is_request else row["request_seq"],
                latency=_seconds(row["latency_ns"]),
            )

    def frame(self, seq: int) -> RecordedFrame:
        """Returns one frame.

        Raises:
            KeyError: there is no frame with this number.
        """
        for frame in self.frames(f"seq:{seq}"):
            return frame
        raise KeyError(f"no frame {seq} in {self.path}")

    def exchanges(self, method: str | None = None) -> Iterator[RecordedExchange]:
        """Yields requests with their answers, in the order of the requests.

        Args:
            method: the method of the requests; None for all methods.
        """
        from acp_proxy.store.queries.exchanges import exchanges

        methods = () if method is None else (method,)
        for row in exchanges(self._reader, methods=methods, order="request_seq"):
            own = _same(RecordedExchange, row._asdict())
            yield RecordedExchange(**own, seconds=_seconds(row.latency_ns))

    def turns(self) -> list[RecordedTurn]:
        """Returns all turns."""
        from acp_proxy.explain.show.conversation_summary import read_turns

        return [
            RecordedTurn(
                **_same(RecordedTurn, asdict(turn)),
                seconds=_seconds(turn.duration_ns),
                first_seq=turn.prompt_seq,
                last_seq=turn.end_seq,
            )
            for turn in read_turns(self._reader)
        ]

    def messages(self, chosen: str = "") -> Iterator[RecordedMessage]:
        """Yields prompts, messages and thoughts in order, with their full text.

        Args:
            chosen: a filter of frames; chunks that do not match it are left out of the texts.
        """
        from acp_proxy.explain.transcript.entries import EntryKind

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
                seconds=_seconds(entry.t_ns),
            )

    def tool_calls(self, chosen: str = "") -> Iterator[RecordedToolCall]:
        """Yields the tool calls, in the order of their first frames.

        Args:
            chosen: a filter of frames. A tool call is yielded, with all its frames, if at least one
                of its frames matches.
        """
        from acp_proxy.explain.show.summary_values import REJECTED
        from acp_proxy.explain.transcript.entries import EntryKind

        for section, entry in self._entries(chosen):
            if entry.kind is EntryKind.TOOL_CALL:
                # A transcript calls the call rejected, but the agent reported a failure.
                is_rejected = entry.state == REJECTED
                yield RecordedToolCall(
                    id=entry.id,
                    title=entry.title,
                    kind=entry.detail,
                    status="failed" if is_rejected else entry.state,
                    has_failed=entry.is_failed or is_rejected,
                    session=entry.session,
                    turn=section.turn,
                    first_seq=entry.seq,
                    last_seq=entry.last_seq,
                    seconds=_seconds(entry.took_ns),
                )

    def summary(self) -> "Summary":
        """Returns the values that ``acp-proxy show`` prints: the peers, the turns, the findings."""
        from acp_proxy.check.judgement import summarize_whole

        return summarize_whole(self._reader)

    def text_form(self, chosen: str = "") -> Iterator[bytes]:
        """Yields the lines of the text form, each with its newline.

        Args:
            chosen: a filter; frames that do not match it are left out.
        """
        from acp_proxy.recording.filters import EVERYTHING, parse
        from acp_proxy.store.copies.text_export import write_text_form

        return write_text_form(self._reader, parse(chosen) if chosen else EVERYTHING)

    def export(self, path: "str | os.PathLike[str]") -> None:
        """Writes the text form into a new file, which only its owner can read.

        Args:
            path: the path of the file.

        Raises:
            FileExistsError: the file exists.
            OSError: the file cannot be written; an incomplete file is removed.
        """
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.flags(), 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.writelines(self.text_form())
        except BaseException:
            os.unlink(path)  # noqa: PTH108  a path of any type
            raise

    def _entries(self, chosen: str) -> "Iterator[tuple[TranscriptSection, TranscriptEntry]]":
        """Yields each entry of the transcript, with its section. Texts of entries are not cut."""
        from acp_proxy.explain.transcript.entries import FULL, TranscriptEntry
        from acp_proxy.explain.transcript.transcript import TranscriptReader
        from acp_proxy.recording.filters import parse

        section = None
        for part in TranscriptReader(self._reader, parse(chosen), FULL).read():
            if isinstance(part, TranscriptEntry):
                assert section is not None
                yield section, part
            else:
                section = part


def _same(kind: type[AttrsInstance], row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values in a row that the class ``kind`` has an attribute for, by their names."""
    return {field.name: row[field.name] for field in fields(kind) if field.name in row}


def open(  # noqa: A001  as `gzip.open`
    what: "str | os.PathLike[str]" = "latest", *, unredacted: bool = False
) -> OpenRecording:
    """Opens a recording: a database or a text form, finished or still being recorded.

    Args:
        what: the recording: a path, a name, a part of a name, the start of an id, or ``latest``.
        unredacted: whether to show the secrets in the file instead of masking them.

    Raises:
        NoSuchRecording: no recording has this name, or several have it.
        UnreadableRecording: the recording cannot be read.
    """
    from acp_proxy.store.files.lookup import resolve

    path = resolve(os.fspath(what), _directory(), Path.cwd())
    return OpenRecording(RecordingReader(path, unredacted=unredacted))


def recordings(directory: "str | os.PathLike[str] | None" = None) -> "list[ListedRecording]":
    """Returns the properties of each recording in a directory, the newest first.

    Unreadable files come last, with ``problem`` in place of the other properties.

    Args:
        directory: the directory; None for the recordings directory.
    """
    from acp_proxy.store.files.directory import list_recordings, paths

    return list_recordings(paths(_directory() if directory is None else Path(directory)))


def _directory() -> Path:
    return Path(recordings_directory(os.environ))


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9
