"""Finds out from a recording's events whether the agent ended by itself or was told to."""

import json
from collections.abc import Iterable

from acp_proxy.capture.relay import STOPPING
from acp_proxy.protocol.peers import Stream

_NOT_THE_CLIENT = ("the reader is gone", "closed by a fault")
"""Why the stream to the agent ended, where the client did not end it."""


def ended_by_itself_at(events: Iterable[tuple[int, str, str]]) -> int | None:
    """Finds the event with which the output of an agent ended that nobody had told to stop.

    An agent was told to stop if its client had closed its end, or if a signal that means so was
    passed on or sent to it, before it exited or ended its output. One that such a signal has killed
    was told as well, whoever sent it. Any other exit is the agent's own: a crash, an exit code.

    Args:
        events: number, kind and data (JSON) of each, in recorded order.

    Returns:
        The number of the event; None if the agent was told to stop, or if its end is not recorded.
    """
    left_at: int | None = None
    has_exited = False
    for seq, kind, text in events:
        data = json.loads(text)
        has_ended = has_exited or left_at is not None
        if kind == "eof" and data.get("stream") == Stream.TO_CLIENT:
            left_at = seq if left_at is None else left_at
        elif kind == "eof" and data.get("stream") == Stream.TO_AGENT:
            if not has_ended and data.get("reason") not in _NOT_THE_CLIENT:
                return None
        elif kind == "signal" and data.get("signal") in STOPPING and not has_ended:
            return None
        elif kind == "exit":
            has_exited = True
            if data.get("signal") in STOPPING:
                return None
    return left_at
