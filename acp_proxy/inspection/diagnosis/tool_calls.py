"""Reads what became of each tool call, and which were running at some frame."""

from collections import Counter

from acp_proxy.inspection.describe.tools import tool_content, tool_name
from acp_proxy.inspection.describe.values import HEAD, Value, message_of, part, word
from acp_proxy.inspection.diagnosis.messages import read_messages
from acp_proxy.inspection.diagnosis.values import FailedCall, ToolTally
from acp_proxy.protocol.updates import FAILED, RUNNING, UPDATE, kind_and_update
from acp_proxy.safe_text import plain
from acp_proxy.store.frame_queries import Span, call_updates_of_turn
from acp_proxy.store.reader import RecordingReader

_MOST_CALLS = 100_000
_MOST_FAILED = 100
_TITLE = 200
"""Characters of a title that are kept."""

CallKey = tuple[str | None, str]
"""The session and the id of a tool call."""


class CallLog:
    """Follows the kind, the title and the status of tool calls, of the first 100,000.

    Attributes:
        states: what is known of each call: ``kind``, ``title`` and ``status``, the frame ``seq``
            that it began with and the frame ``status_seq`` that set its status.
    """

    def __init__(self) -> None:
        self.states: dict[CallKey, Value] = {}

    def add(self, key: CallKey, seq: int, raw: bytes) -> None:
        """Takes an update of a call; what it leaves out stays as it was.

        Args:
            key: the call.
            seq: the number of the update's frame.
            raw: the message, or its beginning.
        """
        state = self.states.get(key)
        if state is None:
            if len(self.states) == _MOST_CALLS:
                return
            state = self.states[key] = {"seq": seq}
        _, update = kind_and_update(part(message_of(raw), "params"))
        if kind := word(update, "kind", "tool"):
            state["kind"] = kind
        if status := word(update, "status"):
            state["status"], state["status_seq"] = status, seq
        if word(update, "title", "name", "tool"):
            state["title"] = tool_name(update)[:_TITLE]

    def tallies(self) -> list[ToolTally]:
        """Returns how many calls there are of each kind, the most frequent first."""
        tallies: dict[str, Counter[str]] = {}
        for state in self.states.values():
            statuses = tallies.setdefault(state.get("kind") or "other", Counter())
            statuses[state.get("status") or "no status"] += 1
        every = [
            ToolTally(plain(kind), sum(n.values()), {plain(status): n[status] for status in n})
            for kind, n in tallies.items()
        ]
        return sorted(every, key=lambda tally: (-tally.count, tally.kind))

    def failed(self, reader: RecordingReader) -> list[FailedCall]:
        """Returns the first calls that failed, in the order in which they did."""
        failed = {
            (state["status_seq"], call): (session, state)
            for (session, call), state in self.states.items()
            if state.get("status") in FAILED
        }
        first = dict(sorted(failed.items())[:_MOST_FAILED])
        found = []
        for message in read_messages(reader, (seq for seq, _ in first), HEAD):
            call = message.tool_call or ""
            session, state = first.get((message.seq, call), (None, None))
            if state is not None:
                _, update = kind_and_update(message.part("params"))
                title = plain(state.get("title") or call)[:80]
                why = plain(tool_content(update))[:200]
                found.append(FailedCall(message.seq, session, call, title, state["status"], why))
        return found


def running_calls(reader: RecordingReader, turn: int, span: Span) -> dict[int, str]:
    """Returns the tool calls of a turn that were not over at a frame.

    Args:
        reader: the recording.
        turn: the turn.
        span: its prompt, and the frame.

    Returns:
        Their titles by their first frames.
    """
    calls = CallLog()
    for message in read_messages(reader, call_updates_of_turn(reader, turn, span), HEAD):
        if message.tool_call is not None and message.turn == turn and message.method == UPDATE:
            calls.add((message.session, message.tool_call), message.seq, message.raw)
    running = [state for state in calls.states.values() if state.get("status") in RUNNING]
    return {state["seq"]: plain(state.get("title") or "")[:80] for state in running}
