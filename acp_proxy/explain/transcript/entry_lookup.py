"""Looks up messages that belong together, and combines them into a transcript entry.

Messages belong together if they are about one tool call or one terminal, or if they are a request
and its answer.
"""

import codecs
from collections.abc import Iterable, Iterator
from heapq import merge
from operator import attrgetter
from typing import Any

from acp_proxy.base.limits import BLOCKS, LAST_NUMBER, SENTENCE, WHOLE_LINE
from acp_proxy.explain.describe.content_texts import command_of, exit_state
from acp_proxy.explain.describe.phrases import Value, from_base64, part, word
from acp_proxy.explain.describe.tool_texts import given_to, places, tool_name
from acp_proxy.explain.hints import HintReader
from acp_proxy.explain.show.chosen_messages import (
    BatchMessages,
    StoredMessage,
    messages_of_exchanges,
    read_messages,
    read_person_requests,
)
from acp_proxy.explain.show.summary_values import REJECTED, rejected_calls
from acp_proxy.explain.transcript.contents import (
    TextCollector,
    blocks_of,
    json_block,
    output_blocks,
    value_block,
)
from acp_proxy.explain.transcript.entries import (
    EntryKind,
    TextBlock,
    TextForm,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.transcript.request_entries import AskedRequest
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.tool_calls import NAMES, CallState, call_of
from acp_proxy.protocol.updates import CONTENT_CHUNK, FINAL, UPDATE, kind_and_update
from acp_proxy.store.queries.call_frames import frames_of_call, frames_of_terminal
from acp_proxy.store.queries.frames import Span
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row


class CallMessages:
    """Collects the messages about one tool call.

    Args:
        limits: how much of each text is kept.
        title: the title of the tool call if no message contains a title.
    """

    def __init__(self, limits: TextLimits, title: str = "") -> None:
        self._limits = limits
        self._title = title
        self._call = CallState(members={})
        self._streamed = TextCollector(limits.output)
        self._items: list[Any] = []
        self._first: StoredMessage | None = None
        self._last: StoredMessage | None = None
        self.is_rejected = False
        """Whether a person denied the permission for the call."""

    @property
    def members(self) -> Value:
        """The members of the tool call, from all messages so far."""
        return self._call.members or {}

    def add_all(self, messages: Iterable[StoredMessage]) -> None:
        """Adds messages about the tool call, in order."""
        for message in messages:
            params = message.part("params")
            if message.method == UPDATE:
                self._add_update(message, params)
            else:  # a permission request may have members that are in no update
                asked = CallState(members={})
                asked.take({**call_of(params), "content": None, "status": None})
                asked.take(self._call.members or {})
                self._call = asked

    def _add_update(self, message: StoredMessage, params: Value) -> None:
        kind, update = kind_and_update(params)
        self._first = self._first or message
        self._last = message
        if kind == CONTENT_CHUNK:
            self._add_chunk(update.get("content"))
            self._call.take({"toolCallId": update.get("toolCallId")})
            return
        if update.get("content") is not None:
            self._streamed, self._items = TextCollector(self._limits.output), []
        self._call.take(update)

    def _add_chunk(self, content: Any) -> None:
        for block in blocks_of(content, None):
            if block.form is TextForm.TEXT and not block.label:
                self._streamed.add(block.text.start)
            elif len(self._items) < BLOCKS:
                self._items.append(content)

    def entry(self, seq: int, t_ns: int) -> TranscriptEntry:
        """Returns the entry of the tool call.

        Args:
            seq: the number of the first frame about the tool call.
            t_ns: the time of the first frame.
        """
        call, members = self._call, self.members
        first, last = self._first, self._last
        is_timed = call.is_over and first is not last
        is_rejected = call.is_failed and self.is_rejected
        where = places(members)
        return TranscriptEntry(
            EntryKind.TOOL_CALL, seq, max(seq, last.seq if last is not None else seq), t_ns,
            title=(word(members, *NAMES) or self._title or tool_name(members))[:SENTENCE],
            state=REJECTED if is_rejected else call.status,
            is_failed=call.is_failed and not is_rejected,
            took_ns=last.t_ns - first.t_ns if is_timed and first and last else None,
            by="agent", detail="" if call.kind == "other" else call.kind,
            id=word(members, "toolCallId", "id"), remarks=[where] if where else [],
            blocks=[*self._blocks(members, self._limits.output)],
        )  # fmt: skip

    def _blocks(self, call: Value, most: int | None) -> list[TextBlock]:
        text_blocks: list[TextBlock] = []
        if (given := given_to(call)) not in (None, {}, []):
            text_blocks.append(value_block(given, most, "input"))
        shown = [*blocks_of(call.get("content"), most, "output")]
        if self._streamed.characters:
            shown.append(TextBlock(TextForm.TEXT, self._streamed.text, "output"))
        for item in self._items:
            shown += blocks_of(item, most, "output")
        if not shown:
            shown = [*output_blocks(call.get("output"), most)]
        if not shown:
            shown = [*output_blocks(call.get("rawOutput"), most)]
        elif self._limits.is_full and "rawOutput" in call:
            shown.append(json_block(call["rawOutput"], most, "raw output"))
        text_blocks += shown
        if error := call.get("error"):
            text_blocks.append(value_block(error, most, "error"))
        return text_blocks


_CREATE, _OUTPUT = "terminal/create", "terminal/output"
_ENDING = {"terminal/kill": "killed", "terminal/release": "released"}


class TerminalMessages:
    """Collects the messages about one terminal.

    Args:
        limits: how much of the output is kept.
        terminal: the id of the terminal.
    """

    def __init__(self, limits: TextLimits, terminal: str) -> None:
        self._limits = limits
        self._terminal = terminal
        self._command, self._directory, self._exit = "", "", ""
        self._remarks: list[str] = []
        self._error = ""
        self._is_over = False
        self._first_ns = self._last_ns = self._last_seq = 0
        self._clear()

    def _clear(self) -> None:
        self._output = TextCollector(self._limits.output)
        self._stream, self._is_line_open = "stdout", False
        # A chunk of output may end in the middle of a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add_all(self, messages: Iterable[StoredMessage]) -> None:
        """Adds messages in order. Stops before a second terminal is created with the same id."""
        created = 0
        for message in messages:
            if message.kind == "request" and message.method == _CREATE:
                created += 1
                if created > 1:
                    return
            self._first_ns = self._first_ns or message.t_ns
            if not self._is_over:
                self._last_ns = message.t_ns
            self._last_seq = message.seq
            self._add(message)

    def _add(self, message: StoredMessage) -> None:
        params, result = message.part("params"), message.part("result")
        if message.method == UPDATE:
            self._add_update(params)
        elif message.method == _CREATE and message.kind == "request":
            self._read_command(params)
        elif message.method == _OUTPUT and message.kind == "request":
            if isinstance(data := params.get("data"), str):  # 1.0 draft: the client pushes output
                self._push(data, word(params, "stream"))
        elif isinstance(output := result.get("output"), str):
            self._clear()
            self._output.add(output)
            if result.get("truncated") is True:
                self._remark("the client has left out the beginning of the output")
        elif message.method in _ENDING and message.kind == "request":
            self._remark(_ENDING[message.method or ""])
        elif message.method == _CREATE and message.kind == "error":
            self._error = word(message.part("error"), "message") or "error"
        self._read_exit(part(result, "exitStatus") or result)

    def _push(self, data: str, stream: str) -> None:
        """Adds output that the client pushed, with a heading where stdout or stderr begins."""
        if data and stream in ("stdout", "stderr") and stream != self._stream:
            self._output.add(("\n" if self._is_line_open else "") + f"{stream}:\n")
            self._stream = stream
        self._output.add(data)
        self._is_line_open = not data.endswith("\n") if data else self._is_line_open

    def _add_update(self, params: Value) -> None:
        """Adds an update of v2 about a terminal of the agent. The output in it is base64."""
        kind, update = kind_and_update(params)
        if kind == "terminal_output_chunk":
            self._add_base64(update.get("data"))
            return
        self._read_command(update)
        if isinstance(data := part(update, "output").get("data"), str):
            self._clear()
            self._add_base64(data)
        self._read_exit(part(update, "exitStatus"))

    def _add_base64(self, data: object) -> None:
        if (decoded := from_base64(data)) is not None:
            self._output.add(self._decoder.decode(decoded))
        elif isinstance(data, str):
            self._remark("output that is not base64")

    def _read_command(self, value: Value) -> None:
        self._command = command_of(value) or self._command
        self._directory = word(value, "cwd") or self._directory

    def _read_exit(self, value: Value) -> None:
        if state := exit_state(value):
            self._exit, self._is_over = state, True

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.append(text)

    def entry(self, seq: int, t_ns: int, *, unended: str) -> TranscriptEntry:
        """Returns the entry of the terminal.

        Args:
            seq: the number of the first frame about the terminal.
            t_ns: the time of the first frame.
            unended: the state to show if no message reports the end of the terminal.
        """
        output = self._output.text
        state = self._error or self._exit or unended
        if self._remarks and not self._exit and not self._error:
            state = ""
        return TranscriptEntry(
            EntryKind.TERMINAL, seq, max(seq, self._last_seq), t_ns,
            title=(self._command or self._terminal)[:SENTENCE], state=state,
            is_failed=bool(self._error) or self._exit not in ("", "exit 0"),
            took_ns=self._last_ns - self._first_ns if self._is_over else None,
            by="agent", detail=self._directory, id=self._terminal, remarks=self._remarks,
            blocks=[TextBlock(TextForm.TEXT, output, "output")] if output.characters else [],
        )  # fmt: skip


class MessageLookup:
    """Finds messages that belong together in a recording, and combines them into one entry.

    Args:
        reader: the recording.
        limits: how much of each text is kept.
    """

    def __init__(self, reader: RecordingReader, limits: TextLimits) -> None:
        self._reader = reader
        self._limits = limits
        self._batches = BatchMessages(reader)
        self.hints = HintReader(reader)
        self._rejected = rejected_calls(read_person_requests(reader, None))

    def call(self, row: Row, section: TranscriptSection, its: Span) -> TranscriptEntry:
        """Returns the entry of a tool call, made from all messages about the call in a section.

        Args:
            row: the row of the section's first frame about the tool call.
            section: the section. Messages outside of it are left out.
            its: the first and the last number that a frame about the tool call may have.
        """
        key = (row["session"], row["tool_call"])
        last = LAST_NUMBER if section.last_seq is None else section.last_seq
        span = max(section.seq, its[0]), min(last, its[1])
        alone = read_messages(self._reader, frames_of_call(self._reader, *key, span))
        in_batches = self._batches.about_call(key, span)
        call = CallMessages(self._limits, self.hints.of(row).title)
        call.add_all(
            message
            for message in merge(alone, in_batches, key=attrgetter("seq"))
            if (message.session, message.tool_call) == key
            and message.turn == row["turn"]
            and (message.kind == "notification" or message.method == PERMISSION)
        )
        call.is_rejected = key in self._rejected
        entry = call.entry(row["seq"], row["t_ns"])
        if section.last_seq is not None and entry.state not in FINAL | {REJECTED}:
            numbers, remarks = frames_of_call(self._reader, *key, (last + 1, its[1])), [""]
            for later in read_messages(self._reader, numbers):
                is_over = word(call_of(later.part("params")), "status") in FINAL
                remarks = [f"{'ended' if is_over else 'goes on'} after the turn (#{later.seq})"]
                if is_over:
                    break
            entry.remarks.extend(filter(None, remarks))
        return entry

    def terminal(self, row: Row, terminal: str, *, is_new: bool) -> TranscriptEntry:
        """Returns the entry of a terminal, from all messages about it in the recording.

        Args:
            row: the row of the first frame about the terminal.
            terminal: the id of the terminal.
            is_new: whether the first frame creates the terminal. If so, earlier frames with the
                same id are about another terminal.
        """
        key = (row["session"], terminal)
        numbers = frames_of_terminal(self._reader, *key, row["seq"] if is_new else 0)
        terminal_messages = TerminalMessages(self._limits, terminal)
        terminal_messages.add_all(self._about_terminal(numbers, key))
        unended = "did not end"
        if self._reader.is_open:
            unended = "running" if self._reader.live else "open"
        return terminal_messages.entry(row["seq"], row["t_ns"], unended=unended)

    def asked(self, row: Row) -> AskedRequest:
        """Returns the request in a row, with its answer."""
        key = (row["response_seq"], row["exchange"])
        if row["response_seq"] in self._batches.seqs:
            answer = self._batches.by_exchange.get(key)
        else:
            answer = messages_of_exchanges(self._reader, [key], WHOLE_LINE).get(key)
        dialect, title = self._reader.recording.dialect, self.hints.of(row).title
        return AskedRequest(row, answer, title, dialect, self._reader.is_open)

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
