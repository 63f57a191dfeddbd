"""Combines all messages about a tool call into one entry."""

from collections.abc import Iterable
from typing import Any

from acp_proxy.inspection.describe.tools import (
    NAMES,
    CallState,
    call_of,
    given_to,
    places,
    tool_name,
)
from acp_proxy.inspection.describe.values import Value, word
from acp_proxy.inspection.diagnosis.messages import StoredMessage
from acp_proxy.inspection.transcript.contents import (
    TextCollector,
    blocks_of,
    json_block,
    output_blocks,
    text_block,
)
from acp_proxy.inspection.transcript.values import (
    EntryKind,
    TextBlock,
    TextForm,
    TextLimits,
    TranscriptEntry,
)
from acp_proxy.protocol.updates import UPDATE, kind_and_update

_CONTENT_CHUNK = "tool_call_content_chunk"
_MOST_ITEMS = 200
_LONGEST_TITLE = 300


class CallMessages:
    """Collects the messages about one tool call.

    Args:
        limits: how much of each text is kept.
        title: the title of the tool call, for the case that none of the messages has it.
    """

    def __init__(self, limits: TextLimits, title: str = "") -> None:
        self._limits = limits
        self._title = title
        self._call = CallState(members={})
        self._streamed = TextCollector(limits.output)
        self._items: list[Any] = []
        self._first: StoredMessage | None = None
        self._last: StoredMessage | None = None

    def add_all(self, messages: Iterable[StoredMessage]) -> None:
        """Adds messages in their order."""
        for message in messages:
            params = message.part("params")
            if message.method == UPDATE:
                self._add_update(message, params)
            else:  # a permission request may have members that no update has
                asked = CallState(members={})
                asked.take({**call_of(params), "content": None, "status": None})
                asked.take(self._call.members or {})
                self._call = asked

    def _add_update(self, message: StoredMessage, params: Value) -> None:
        kind, update = kind_and_update(params)
        self._first = self._first or message
        self._last = message
        if kind == _CONTENT_CHUNK:  # v2
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
            elif len(self._items) < _MOST_ITEMS:
                self._items.append(content)

    def entry(self, seq: int, t_ns: int) -> TranscriptEntry:
        """Returns the entry of the tool call.

        Args:
            seq: the number of the first frame about it.
            t_ns: the time of that frame.
        """
        call, members = self._call, self._call.members or {}
        first, last = self._first, self._last
        is_timed = call.is_over and first is not last
        where = places(members)
        return TranscriptEntry(
            EntryKind.TOOL_CALL,
            seq,
            max(seq, last.seq if last is not None else seq),
            t_ns,
            title=(word(members, *NAMES) or self._title or tool_name(members))[:_LONGEST_TITLE],
            state=call.status,
            is_failed=call.is_failed,
            took_ns=last.t_ns - first.t_ns if is_timed and first and last else None,
            by="agent",
            detail="" if call.kind == "other" else call.kind,
            id=word(members, "toolCallId", "id"),
            remarks=[where] if where else [],
            blocks=[*self._blocks(members, self._limits.output)],
        )

    def _blocks(self, call: Value, most: int | None) -> list[TextBlock]:
        found: list[TextBlock] = []
        given = given_to(call)
        if isinstance(given, str):
            found.append(text_block(given, most, "input"))
        elif given not in (None, {}, []):
            found.append(json_block(given, most, "input"))
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
        found += shown
        if error := call.get("error"):
            is_text = isinstance(error, str)
            found.append(
                text_block(error, most, "error") if is_text else json_block(error, most, "error")
            )
        return found
