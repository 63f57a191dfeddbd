"""Makes the entries of a conversation while it runs, from its messages.

An entry is made when it is complete: a tool call when it has ended, and a request when it was
answered. Text of messages and thoughts is passed on at once. Entries have no frame numbers.
"""

import time
from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from acp_proxy.explain.describe.phrases import message_of, part
from acp_proxy.explain.describe.session_texts import prompt_result
from acp_proxy.explain.show.chosen_messages import StoredMessage
from acp_proxy.explain.show.summary_values import REJECTED
from acp_proxy.explain.transcript import request_entries
from acp_proxy.explain.transcript.entries import EntryKind, TextLimits, TranscriptEntry
from acp_proxy.explain.transcript.entry_lookup import CallMessages, TerminalMessages
from acp_proxy.explain.transcript.request_entries import AskedRequest
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.dialects import HANDSHAKE, OPENING, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import word
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message, read
from acp_proxy.protocol.permissions import DENIED
from acp_proxy.protocol.tool_calls import NAMES
from acp_proxy.protocol.updates import (
    CALL_UPDATES,
    FINAL,
    PLANS,
    THOUGHT_CHUNKS,
    UPDATE,
    kind_and_update,
)
from acp_proxy.store.tables.checked_values import Row

_QUIET = (*HANDSHAKE, *OPENING)
"""Requests that are shown only if they fail."""


@frozen
class SaidText:
    """A piece of a message or a thought of the agent."""

    kind: EntryKind
    text: str


@define
class _Call:
    """The messages so far about one tool call."""

    messages: CallMessages
    began: StoredMessage
    is_running: bool = True
    """Whether the call is running. A call does not run after the end of its turn."""


_LIMITS = TextLimits()


@define
class LiveEntries:
    """Makes the entries of a transcript from the messages of a conversation while it runs."""

    _requests: dict[tuple[Direction, str | None], Row] = field(init=False, factory=dict)
    _calls: dict[tuple[str | None, str], _Call] = field(init=False, factory=dict)
    _terminals: dict[str, TerminalMessages] = field(init=False, factory=dict)
    _prompt: StoredMessage | None = field(init=False, default=None)

    @property
    def running(self) -> list[str]:
        """The titles of the running tool calls."""
        running = (call for call in self._calls.values() if call.is_running)
        return [call.messages.entry(0, 0).title for call in running]

    @property
    def open_request(self) -> tuple[Direction, str | None] | None:
        """The direction and the method of the latest unanswered request, or None."""
        asked = next(reversed(self._requests.items()), None)
        return None if asked is None else (asked[0][0], asked[1]["method"])

    def call(self, session: object, name: object) -> dict[str, Any]:
        """Returns the members of a running tool call, from its messages so far.

        The result is empty for an unknown tool call.

        Args:
            session: the id of the session.
            name: the id of the tool call.
        """
        known = next((c for key, c in self._calls.items() if key == (session, name)), None)
        return {} if known is None else known.messages.members

    def take(self, direction: Direction, raw: bytes) -> Iterator[TranscriptEntry | SaidText]:
        """Reads the next line. Yields the entries and texts that this line completes.

        Args:
            direction: the direction of the line.
            raw: the line without its newline.
        """
        message = read(raw)
        for member in message.members or (message,):
            yield from self._take(_stored(direction, member), member)

    def _take(
        self, stored: StoredMessage, message: Message
    ) -> Iterator[TranscriptEntry | SaidText]:
        direction = Direction(stored.stream)
        match message.kind:
            case Kind.REQUEST:
                self._requests[direction, message.rpc_id] = _row(stored)
                if message.method == PROMPT:
                    self._prompt = stored
                    yield request_entries.prompt(self._asked(_row(stored), None), _LIMITS)
                elif message.method == PERMISSION:
                    self._add_to_call(stored, message)
            case Kind.RESPONSE | Kind.ERROR:
                asked = self._requests.pop((direction.other, message.rpc_id), None)
                if asked is not None:
                    yield from self._answered(asked, stored)
            case Kind.NOTIFICATION if message.method == UPDATE:
                yield from self._updated(stored, message)

    def _asked(self, row: Row, answer: StoredMessage | None) -> AskedRequest:
        if answer is not None:
            row = {**row, "response_seq": 1, "latency_ns": answer.t_ns - row["t_ns"]}
        title = word(self.call(row["session"], row["tool_call"]), *NAMES)
        return AskedRequest(row, answer, title, None, is_open=True)

    def _answered(self, row: Row, answer: StoredMessage) -> Iterator[TranscriptEntry]:
        asked = self._asked(row, answer)
        method = asked.method
        if method == PROMPT:
            if answer.kind == "error":
                yield from self._end(answer, f"error {asked.outcome[0]}", is_failed=True)
            elif result := prompt_result(asked.result):
                yield from self._end(answer, result)
        elif method == PERMISSION:
            entry = request_entries.permission(asked, _LIMITS)
            if (call := self._calls.get((row["session"], entry.id))) is not None:
                call.messages.is_rejected = entry.state.startswith(DENIED)
            yield entry
        elif method.startswith("terminal/"):
            yield from self._terminal(asked, answer)
        elif method not in _QUIET or answer.kind == "error":
            yield request_entries.request(asked, _LIMITS)

    def _terminal(self, asked: AskedRequest, answer: StoredMessage) -> Iterator[TranscriptEntry]:
        """Adds a request about a terminal, and its answer.

        Yields the entry of the terminal if the request releases the terminal.
        """
        source = asked.params if "terminalId" in asked.params else asked.result
        name = str(source.get("terminalId", ""))
        terminal = self._terminals.setdefault(name, TerminalMessages(_LIMITS, name))
        row = asked.row
        terminal.add_all([row["stored"], answer._replace(method=asked.method)])
        if not name or asked.method == "terminal/release":
            yield self._terminals.pop(name).entry(0, row["t_ns"], unended="released")

    def _updated(
        self, stored: StoredMessage, message: Message
    ) -> Iterator[TranscriptEntry | SaidText]:
        chunk = chunk_of(stored.raw)
        if chunk is not None:
            if not chunk.update.startswith("user"):
                is_thought = chunk.update in THOUGHT_CHUNKS
                yield SaidText(EntryKind.THOUGHT if is_thought else EntryKind.MESSAGE, chunk.text)
            return
        kind, update = kind_and_update(part(message_of(stored.raw), "params"))
        if kind in CALL_UPDATES and message.tool_call is not None:
            key = self._add_to_call(stored, message)
            entry = self._calls[key].messages.entry(0, self._calls[key].began.t_ns)
            if entry.state in FINAL | {REJECTED}:
                del self._calls[key]
                yield entry
        elif kind in PLANS:
            yield request_entries.plan(update, 0, stored.t_ns, _LIMITS)
        elif kind == "state_update" and message.state == "idle":
            yield from self._end(stored, prompt_result(update))

    def _add_to_call(self, stored: StoredMessage, message: Message) -> tuple[str | None, str]:
        key = (message.session, message.tool_call or "")
        if key not in self._calls and key[1]:
            self._calls[key] = _Call(CallMessages(_LIMITS), stored)
        if key[1]:
            self._calls[key].messages.add_all([stored])
        return key

    def _end(
        self, stored: StoredMessage, title: str, *, is_failed: bool = False
    ) -> Iterator[TranscriptEntry]:
        """Yields the entries of the calls that have not ended, and the entry of the turn's end."""
        for call in self._calls.values():
            if call.is_running:
                call.is_running = False
                yield call.messages.entry(0, call.began.t_ns)
        began = self._prompt or stored
        yield TranscriptEntry(
            EntryKind.END, 0, 0, stored.t_ns, title, is_failed=is_failed,
            took_ns=stored.t_ns - began.t_ns,
        )  # fmt: skip


def _stored(direction: Direction, message: Message) -> StoredMessage:
    return StoredMessage(
        0, time.monotonic_ns(), direction.value, message.kind.value, message.method, None,
        message.session, None, message.tool_call, message.raw or b"",
    )  # fmt: skip


def _row(stored: StoredMessage) -> Row:
    """Returns a row for `AskedRequest`. The row contains the message itself."""
    members = {"response_seq": None, "latency_ns": None, "stored": stored}
    return {**stored._asdict(), **members}
