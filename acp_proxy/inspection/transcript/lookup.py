"""Looks up the messages that belong to a frame: about its tool call or terminal, or its answer."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import merge
from operator import attrgetter

from acp_proxy.inspection.diagnosis.messages import (
    LARGEST,
    StoredMessage,
    messages_of_exchanges,
    read_messages,
)
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.transcript.calls import CallMessages
from acp_proxy.inspection.transcript.requests import AskedRequest
from acp_proxy.inspection.transcript.terminals import TerminalMessages
from acp_proxy.inspection.transcript.values import TextLimits, TranscriptEntry, TranscriptSection
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.store.call_queries import frames_of_call, frames_of_terminal
from acp_proxy.store.checked_values import Row
from acp_proxy.store.exchange_queries import LAST_SEQ
from acp_proxy.store.frame_queries import Span, batches_within
from acp_proxy.store.reader import RecordingReader


class MessageLookup:
    """Finds related messages by the indexes of a recording, and combines them into one entry.

    Args:
        reader: the recording.
        limits: how much of each text is kept.
    """

    def __init__(self, reader: RecordingReader, limits: TextLimits) -> None:
        self._reader = reader
        self._limits = limits
        self._batches = _BatchMessages(reader)
        self.hints = HintReader(reader)

    def call(self, row: Row, section: TranscriptSection, its: Span) -> TranscriptEntry:
        """Returns the entry of a tool call, from all messages about it in a section.

        Args:
            row: the first frame about the tool call in the section.
            section: the section.
            its: the span of the tool call.
        """
        key = (row["session"], row["tool_call"])
        last = LAST_SEQ if section.last_seq is None else section.last_seq
        span = max(section.seq, its[0]), min(last, its[1])
        alone = read_messages(self._reader, frames_of_call(self._reader, *key, span))
        in_batches = self._batches.about_call(key, span)
        call = CallMessages(self._limits, self.hints.of(row).title)
        call.add_all(
            message
            for message in merge(alone, in_batches, key=attrgetter("seq"))
            if (message.session, message.tool_call) == key
            and message.turn == section.turn
            and (message.kind == "notification" or message.method == PERMISSION)
        )
        return call.entry(row["seq"], row["t_ns"])

    def terminal(self, row: Row, terminal: str, *, is_new: bool) -> TranscriptEntry:
        """Returns the entry of a terminal, from all messages about it in the recording.

        Args:
            row: the first frame about the terminal.
            terminal: the id of the terminal.
            is_new: whether this frame creates the terminal, so that earlier frames with the same id
                are about another terminal.
        """
        key = (row["session"], terminal)
        numbers = frames_of_terminal(self._reader, *key, row["seq"] if is_new else 0)
        found = TerminalMessages(self._limits, terminal)
        found.add_all(self._about_terminal(numbers, key))
        unended = "did not end"
        if self._reader.is_open:
            unended = "running" if self._reader.live else "open"
        return found.entry(row["seq"], row["t_ns"], unended=unended)

    def asked(self, row: Row) -> AskedRequest:
        """Returns a request with its answer."""
        answer = None
        if row["response_seq"] is not None:
            key = (row["response_seq"], row["exchange"])
            if row["response_seq"] in self._batches.seqs:
                answer = self._batches.of_exchange(key)
            else:
                answer = messages_of_exchanges(self._reader, [key], LARGEST).get(key)
        return AskedRequest(
            row,
            answer,
            self.hints.of(row).title,
            self._reader.recording.dialect,
            self._reader.is_open,
        )

    def _about_terminal(
        self, numbers: Iterable[int], key: tuple[str | None, str]
    ) -> Iterator[StoredMessage]:
        for message in read_messages(self._reader, numbers):
            if message.session != key[0]:
                continue
            if message.method == UPDATE:
                is_about = message.tool_call is None
            else:
                named = message.part("params").get("terminalId")
                is_about = named in (None, key[1])
                is_about = is_about and (message.method or "").startswith("terminal/")
            if is_about:
                yield message


class _BatchMessages:
    """The messages of batches, which no index has; read once, and only if they are asked for.

    Args:
        reader: the recording.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        has_any = bool(reader.first_of_kind("batch"))
        self.seqs = {*batches_within(reader, (0, LAST_SEQ))} if has_any else set[int]()
        """The numbers of the batches."""

    def about_call(self, key: CallKey, span: Span) -> list[StoredMessage]:
        """Returns the messages about the tool calls with an id in a stretch, in order."""
        return [one for one in self._by_call.get(key, ()) if span[0] <= one.seq <= span[1]]

    def of_exchange(self, key: tuple[int, int]) -> StoredMessage | None:
        """Returns the request or the answer with a number and an exchange."""
        return self._by_exchange.get(key)

    @cached_property
    def _messages(self) -> list[StoredMessage]:
        return list(read_messages(self._reader, self.seqs))

    @cached_property
    def _by_exchange(self) -> dict[tuple[int, int], StoredMessage]:
        every = self._messages
        return {(one.seq, one.exchange): one for one in every if one.exchange is not None}

    @cached_property
    def _by_call(self) -> dict[CallKey, list[StoredMessage]]:
        found: dict[CallKey, list[StoredMessage]] = {}
        for one in self._messages:
            if one.tool_call is not None:
                found.setdefault((one.session, one.tool_call), []).append(one)
        return found
