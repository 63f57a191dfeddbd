"""Looks up facts about a frame in other frames: a tool call's title, or a permission's options.

An update of a tool call often has only the id of the call, and an answer to a permission request
has only the id of an option. The title or the options are in an earlier frame.

Several calls may have the same id; `protocol.call_ids` decides where a new call begins. All frames
with an id are read when the id is first needed.
"""

from array import array
from bisect import bisect_right
from typing import Any

from attrs import define, field, frozen

from acp_proxy.base.limits import LAST_NUMBER, LINE_EDGE, REMEMBERED_CALLS
from acp_proxy.explain.describe.tool_texts import call_in, params_of
from acp_proxy.protocol.call_ids import CallKey, LastCalls
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.outline import read_outline
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.call_frames import call_frames
from acp_proxy.store.queries.frames import Span, start_of_line
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

_SEARCHED = 20
"""The largest number of updates of a tool call that are searched for its title."""


@define
class _Calls:
    """All tool calls with one id. An agent may use an id for several calls, one after the other."""

    calls: LastCalls[None]
    first_seqs: "array[int]" = field(factory=lambda: array("q"))
    """The number of the first frame of each call, in order."""
    titles: dict[int, tuple[int, str]] = field(factory=dict)
    """For each call with a title: the number of the frame that contains the title, and the title.
    The key is the number of the call, from 1."""
    untitled: int = _SEARCHED
    """How many more updates of the latest call are searched for the title of this call."""
    upto: int = 0
    """The number of the last frame that was read; `LAST_NUMBER` if the recording has ended."""

    def take(self, frame: StoredFrame, tail: bytes | None) -> None:
        """Adds the next frame about a call with this id.

        Of a large line, the frame contains only the beginning, and ``tail`` is the end.
        """
        raw = frame.raw or b""
        message = read(raw) if tail is None else read_outline(raw, tail)
        if self.calls.begins(None, frame.turn, frame.method, message.update, message.status):
            self.first_seqs.append(frame.seq)
            self.untitled = _SEARCHED
        if self.untitled and frame.method == UPDATE and len(self.first_seqs) <= REMEMBERED_CALLS:
            self.untitled -= 1
            if title := call_in(raw[:LINE_EDGE]).title:
                self.titles[len(self.first_seqs)] = frame.seq, title
                self.untitled = 0
        self.upto = frame.seq


@define
class CallSpans:
    """Finds the frames of tool calls in a recording."""

    reader: RecordingReader
    _by_key: dict[CallKey, _Calls] = field(factory=dict)

    def span(self, session: str | None, tool_call: str, seq: int) -> Span:
        """Returns the first and the last frame that may be about the tool call of a given frame.

        Args:
            session: the session of the tool call.
            tool_call: the id of the tool call.
            seq: the number of the frame.

        Returns:
            The numbers of the two frames. The first call with an id begins at 0, and the last call
            with an id ends at `LAST_NUMBER`.
        """
        calls, at = self._at(session, tool_call, seq)
        first_seqs = calls.first_seqs
        first = first_seqs[at - 1] if at > 1 else 0
        return first, first_seqs[at] - 1 if at < len(first_seqs) else LAST_NUMBER

    def title(self, session: str | None, tool_call: str, seq: int) -> str:
        """Returns the title of a frame's tool call; empty if the title was sent later, or never.

        Args:
            session: the session of the tool call.
            tool_call: the id of the tool call.
            seq: the number of the frame.
        """
        calls, at = self._at(session, tool_call, seq)
        title_seq, title = calls.titles.get(at, (0, ""))
        return title if title_seq <= seq else ""

    def _at(self, session: str | None, tool_call: str, seq: int) -> tuple[_Calls, int]:
        """Returns the calls with the given id, and which of them (from 1) a frame belongs to."""
        key = (session, tool_call)
        calls = self._by_key.get(key)
        if calls is None or seq > calls.upto:
            calls = self._read(key, calls, seq)
        return calls, bisect_right(calls.first_seqs, seq) or 1

    def _read(self, key: CallKey, calls: _Calls | None, seq: int) -> _Calls:
        if calls is None:
            calls = self._by_key[key] = _Calls(LastCalls(self.reader.recording.dialect))
            if len(self._by_key) > REMEMBERED_CALLS:
                del self._by_key[next(iter(self._by_key))]
        for frame, tail in call_frames(self.reader, *key, calls.upto):
            calls.take(frame, tail)
        calls.upto = max(calls.upto, seq) if self.reader.is_open else LAST_NUMBER
        return calls


@frozen
class Hints:
    """Facts about a frame that are in other frames."""

    dialect: str | None = None
    """The dialect whose names for error codes are used."""
    title: str = ""
    """The title that the agent announced for the frame's tool call."""
    asked: dict[str, Any] | None = None
    """The params of the permission request that the frame answers."""


NONE = Hints()
"""Hints without any fact."""


@define
class HintReader(CallSpans):
    """Looks up hints for the frames of a recording."""

    def of(self, frame: Row) -> Hints:
        """Returns hints for a row of `frames`, or for a message of a batch."""
        kind, method = frame["kind"], frame["method"]
        asked = None
        if method == PERMISSION and kind == "response" and frame.get("request_seq") is not None:
            asked = self._asked(frame["request_seq"])
        title = ""
        if frame["tool_call"] is not None and method in (UPDATE, PERMISSION):
            title = self.title(frame["session"], frame["tool_call"], frame["seq"])
        return Hints(self.reader.recording.dialect if kind == "error" else None, title, asked)

    def _asked(self, seq: int) -> dict[str, Any] | None:
        kind, raw = start_of_line(self.reader, seq, LINE_EDGE) or ("", b"")
        return params_of(raw) if kind == "request" else None
