"""Looks up facts in other frames: the title of a tool call, the options of an answer.

A line of the timeline describes one frame. But an update of a tool call often has only the id of
the call, and an answer to a permission request only the id of an option.
"""

from typing import Any

from attrs import define, field, frozen

from acp_proxy.inspection.describe.tools import params_of, state_of
from acp_proxy.inspection.describe.values import HEAD
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.store.checked_values import Row
from acp_proxy.store.frame_queries import start_of_line, updates_of_call
from acp_proxy.store.reader import RecordingReader

_KEPT = 10_000
"""Titles that are remembered."""
_SEARCHED = 20
"""Updates of a tool call in which its title is looked for."""


@frozen
class Hints:
    """What is known of a frame besides its own text."""

    dialect: str | None = None
    """Names error codes."""
    title: str = ""
    """The announced title of its tool call."""
    asked: dict[str, Any] | None = None
    """The params of the permission request that it answers."""


NONE = Hints()
"""Nothing but the frame is known."""


@define
class HintReader:
    """Looks up hints in a recording, by its indexes and once for each tool call."""

    reader: RecordingReader
    _titles: dict[tuple[str | None, str], str] = field(factory=dict)

    def of(self, frame: Row) -> Hints:
        """Returns the hints for a row of `frames`, or for a message of a batch."""
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
            session: of the tool call.
            tool_call: its id.
            upto: the last number that counts.
        """
        key = (session, tool_call)
        found = self._titles.get(key)
        if found is None:
            lines = updates_of_call(self.reader, *key, upto, _SEARCHED)
            titles = (state_of(line).title for line in lines)
            found = next(filter(None, titles), "")
            if found and len(self._titles) < _KEPT:
                self._titles[key] = found
        return found
