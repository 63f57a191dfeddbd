"""Looks up facts about a frame in other frames: the title of a tool call, an answer's options.

A line of the timeline describes one frame. But an update of a tool call often has only the id of
the call, and an answer to a permission request only the id of an option.
"""

from typing import Any

from attrs import define, field, frozen

from acp_proxy.inspection.call_spans import CallSpans
from acp_proxy.inspection.describe.tools import params_of, state_of
from acp_proxy.inspection.describe.values import HEAD
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.store.call_queries import updates_of_call
from acp_proxy.store.checked_values import Row
from acp_proxy.store.frame_queries import start_of_line
from acp_proxy.store.reader import RecordingReader

_KEPT = 10_000
"""Titles that are remembered."""
_SEARCHED = 20
"""The number of updates of a tool call in which its title is searched."""


@frozen
class Hints:
    """What other frames say about a frame."""

    dialect: str | None = None
    """The dialect whose names for error codes are used."""
    title: str = ""
    """The announced title of its tool call."""
    asked: dict[str, Any] | None = None
    """The params of the permission request that it answers."""


NONE = Hints()
"""No hints."""


@define
class HintReader:
    """Looks up hints in a recording, by its indexes and once for each tool call."""

    reader: RecordingReader
    spans: CallSpans = field(init=False)
    """Of the tool calls of the recording."""
    _titles: dict[CallKey, tuple[int, str]] = field(factory=dict)
    """By an id of many tool calls, the first frame and the title of the last call asked for."""

    def __attrs_post_init__(self) -> None:
        self.spans = CallSpans(self.reader)

    def of(self, frame: Row) -> Hints:
        """Returns hints for a row of `frames`, or for a message of a batch."""
        kind, method = frame["kind"], frame["method"]
        asked = None
        if method == PERMISSION and kind == "response" and frame.get("request_seq") is not None:
            asked = self._asked(frame["request_seq"])
        title = ""
        if frame["tool_call"] is not None and method in (UPDATE, PERMISSION):
            title = self.title_of(frame["session"], frame["tool_call"], frame["seq"])
        return Hints(self.reader.recording.dialect if kind == "error" else None, title, asked)

    def _asked(self, seq: int) -> dict[str, Any] | None:
        kind, raw = start_of_line(self.reader, seq, HEAD) or ("", b"")
        return params_of(raw) if kind == "request" else None

    def title_of(self, session: str | None, tool_call: str, upto: int) -> str:
        """Returns the title with which a tool call was announced; empty if it has none.

        Args:
            session: the session of the tool call.
            tool_call: the id of the tool call.
            upto: the number of a frame about the tool call, and of the last one to search.
        """
        known_title = self.spans.title(session, tool_call, upto)
        if known_title is not None:
            return known_title
        key = (session, tool_call)
        first, _ = self.spans.span(session, tool_call, upto)
        known = self._titles.get(key)
        if known is not None and known[0] == first:
            return known[1]
        lines = updates_of_call(self.reader, *key, (first, upto), _SEARCHED)
        titles = (state_of(line).title for line in lines)
        found = next(filter(None, titles), "")
        if found and (known is not None or len(self._titles) < _KEPT):
            self._titles[key] = first, found
        return found
