"""Reads a recording's events, and tells which events show that a peer left."""

import json
from collections.abc import Iterable, Iterator

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.log_format import GAVE_UP, STOPPING
from acp_proxy.recording.recording import RecordedEvent
from acp_proxy.store.rows import Rows

_NOT_THE_CLIENT = ("the reader is gone", "closed by a fault")
"""Reasons for the end of the stream to the agent, if the client did not end the stream."""


def events(rows: Rows, *kinds: str) -> Iterator[RecordedEvent]:
    """Yields events in recorded order.

    Args:
        rows: the recording.
        kinds: only events of these kinds, if any are given.
    """
    chosen = f"WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    sql = f"SELECT seq, t_ns, kind, data FROM events {chosen} ORDER BY seq"
    for row in rows.query(sql, kinds):
        yield RecordedEvent(row["seq"], row["t_ns"], row["kind"], json.loads(row["data"]))


def clock_origin_ns(rows: Rows) -> int | None:
    """Returns a recording's start on the recorder's monotonic clock, in ns; None if unknown."""
    start = next(events(rows, "start"), None)
    origin = start.data.get("origin") if start is not None else None
    return origin if isinstance(origin, int) else None


def made_by(rows: Rows) -> str | None:
    """Returns the acp-proxy command that recorded for its own use; None if a person recorded."""
    start = next(events(rows, "start"), None)
    command = None if start is None else start.data.get("made_by")
    return command if isinstance(command, str) else None


def is_agent_leaving(event: RecordedEvent) -> bool:
    """Whether an event is the agent's exit or the end of its output."""
    return event.kind == "exit" or _is_eof(event, Stream.TO_CLIENT)


def is_client_leaving(event: RecordedEvent) -> bool:
    """Whether an event shows that the client closed its end of the connection."""
    return _is_eof(event, Stream.TO_AGENT) and event.data.get("reason") not in _NOT_THE_CLIENT


def is_stopping_signal(event: RecordedEvent) -> bool:
    """Whether an event is a signal that stops an agent, whoever sent the signal."""
    return event.kind == "signal" and event.data.get("signal") in STOPPING


def is_client_ending(event: RecordedEvent) -> bool:
    """Whether an event shows that the client closed its end, or that a signal stopped the agent."""
    is_passed_on = event.data.get("action") == "passed on"
    return is_client_leaving(event) or (is_passed_on and is_stopping_signal(event))


def is_peer_leaving(event: RecordedEvent) -> bool:
    """Whether an event shows that a peer left, or that a signal stopped the agent."""
    return is_agent_leaving(event) or is_client_ending(event)


def gave_up_at(rows: Rows) -> int | None:
    """Returns the number of the ``signal`` event of a client that gave up on the agent, or None."""
    return next((e.seq for e in events(rows, "signal") if e.data.get("reason") == GAVE_UP), None)


def ended_by_itself_at(events: Iterable[RecordedEvent]) -> int | None:
    """Returns the number of the event with which the agent ended its output on its own.

    The agent was stopped, and did not end on its own, in these cases:

    - The client closed its end of the connection before the agent exited or ended its output.
    - Somebody sent the agent a stopping signal before the agent exited or ended its output.
    - A stopping signal killed the agent.

    Args:
        events: at least all events ``eof``, ``signal`` and ``exit``, in recorded order.

    Returns:
        The number; None if the agent was stopped, or if its end is not recorded.
    """
    left_at: int | None = None
    has_left = False
    for event in events:
        if not has_left and (is_client_leaving(event) or is_stopping_signal(event)):
            return None
        # A signal to the whole process group is recorded only after it has killed the agent.
        if event.kind == "exit" and event.data.get("signal") in STOPPING:
            return None
        if left_at is None and _is_eof(event, Stream.TO_CLIENT):
            left_at = event.seq
        has_left = has_left or is_agent_leaving(event)
    return left_at


def _is_eof(event: RecordedEvent, stream: Stream) -> bool:
    return event.kind == "eof" and event.data.get("stream") == stream
