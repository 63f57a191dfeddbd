"""Reads what became of each tool call, and which were running at some frame."""

from collections import Counter
from collections.abc import Iterable

from acp_proxy.inspection.describe.tools import tool_content, tool_name
from acp_proxy.inspection.describe.values import HEAD, Value, word
from acp_proxy.inspection.diagnosis.frame_pass import CallFrames, CallKey
from acp_proxy.inspection.diagnosis.messages import StoredMessage, read_messages
from acp_proxy.inspection.diagnosis.values import FailedCall, ToolTally
from acp_proxy.protocol.updates import FAILED, RUNNING, UPDATE, kind_and_update
from acp_proxy.safe_text import plain
from acp_proxy.store.frame_queries import Span, call_updates_of_turn, updates_and_batches
from acp_proxy.store.reader import RecordingReader

_MOST_SEARCHED = 1_000
_MOST_FAILED = 100


def read_tool_calls(
    reader: RecordingReader, calls: dict[CallKey, CallFrames]
) -> tuple[list[ToolTally], list[FailedCall]]:
    """Reads the kind and the last status of all tool calls.

    Args:
        reader: the recording.
        calls: the frames about each.

    Returns:
        How many there are of each kind, the most frequent first; and the first that failed.
    """
    states: dict[CallKey, Value] = {key: {} for key in calls}
    edges = (seq for call in calls.values() for seq in (call.first, call.last))
    for message in read_messages(reader, edges):
        key = (message.session, message.tool_call or "")
        if key in states:
            _update(states[key], message)
    # The last update of some calls has no status, so that an earlier one has the last.
    unknown = [
        key
        for key, state in states.items()
        if calls[key].count > 2 and state.get("status_seq") != calls[key].last
    ]
    for key in unknown[:_MOST_SEARCHED]:
        for message in _updates(reader, key, calls[key]):
            _update(states[key], message)
    tallies: dict[str, Counter[str]] = {}
    for state in states.values():
        statuses = tallies.setdefault(state.get("kind") or "other", Counter())
        statuses[state.get("status") or "no status"] += 1
    every = [
        ToolTally(plain(kind), sum(n.values()), {plain(status): n[status] for status in n})
        for kind, n in tallies.items()
    ]
    return sorted(every, key=lambda tally: (-tally.count, tally.kind)), _failed(reader, states)


def running_calls(reader: RecordingReader, turn: int, span: Span) -> dict[int, str]:
    """Returns the tool calls of a turn that were not over at a frame.

    Args:
        reader: the recording.
        turn: the turn.
        span: its prompt, and the frame.

    Returns:
        Their titles by their first frames.
    """
    states: dict[str | None, Value] = {}
    for message in read_messages(reader, call_updates_of_turn(reader, turn, span), HEAD):
        if message.tool_call is None or message.turn != turn or message.method != UPDATE:
            continue  # another message of a batch
        _update(states.setdefault(message.tool_call, {"seq": message.seq}), message)
    running = [state for state in states.values() if state.get("status") in RUNNING]
    return {state["seq"]: plain(state.get("title") or "")[:80] for state in running}


def _failed(reader: RecordingReader, states: dict[CallKey, Value]) -> list[FailedCall]:
    """The first tool calls that failed, in the order in which they did."""
    failed = {
        (state["status_seq"], call): (session, state)
        for (session, call), state in states.items()
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


def _updates(reader: RecordingReader, key: CallKey, frames: CallFrames) -> Iterable[StoredMessage]:
    """All updates of a tool call, those in batches included."""
    seqs = updates_and_batches(reader, *key, (frames.first, frames.last))
    for message in read_messages(reader, seqs, HEAD):
        if (message.session, message.tool_call, message.method) == (*key, UPDATE):
            yield message


def _update(state: Value, message: StoredMessage) -> None:
    """Takes over what an update has of its call; what it leaves out stays."""
    _, update = kind_and_update(message.part("params"))
    for name, found in (
        ("kind", word(update, "kind", "tool")),
        ("status", word(update, "status")),
        ("title", tool_name(update) if word(update, "title", "name", "tool") else ""),
    ):
        if found:
            state[name] = found
            state[f"{name}_seq"] = message.seq
