"""What a frame is: its item type, the kind of update or tool call, and whose requests it names."""

from typing import Any, NamedTuple

from acp_proxy.difference.canonicalizer import RequestPeers
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import Payload

NO_ANSWER = "an answer to nothing"
NO_MESSAGE = "a line that is no message"
_ANSWERS = ("response", "error")


class ItemType(NamedTuple):
    """What an item is; only items of the same type can have changed into each other."""

    title: str
    """``session/update tool_call``, ``the answer to session/prompt``."""
    sort: str
    """The kind of its frames; an error is an answer, too."""


def item_type_of(frame: Payload, update: str | None, *, is_decision: bool = False) -> ItemType:
    """Returns what a frame is.

    Args:
        frame: a frame.
        update: the kind of session update in it.
        is_decision: whether only the decision in an answer counts, and not which request it is for.
    """
    if frame.kind in _ANSWERS:
        title = f"the answer to {frame.method}" if frame.method else NO_ANSWER
        return ItemType(title, "decision" if is_decision else "answer")
    if frame.kind == "invalid":
        return ItemType(NO_MESSAGE, frame.kind)
    name = frame.method or frame.kind
    return ItemType(name if update is None else f"{name} {update}", frame.kind)


def update_of(message: Any) -> str | None:
    """Returns the kind of a session update, in any dialect."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != "session/update":
        return None
    update = params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else params.get("type")
    return kind if isinstance(kind, str) else None


def kind_of_call(message: Any) -> str | None:
    """Returns what a tool call does, if a message contains that."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return None
    subject = params.get("subject")
    in_v2 = subject.get("toolCall") if isinstance(subject, dict) else None
    for call in (params.get("update"), params.get("toolCall"), in_v2):
        if isinstance(call, dict) and isinstance(call.get("kind"), str):
            return str(call["kind"])
    return None


def ends_cancelled(message: Any) -> bool:
    """Returns whether a message ends a turn that was cancelled, in any dialect."""
    if not isinstance(message, dict):
        return False
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    ends = (message.get("result"), update)
    return any(isinstance(end, dict) and end.get("stopReason") == "cancelled" for end in ends)


def request_peers_of(frame: Payload) -> RequestPeers:
    """Returns in which direction the requests went that a frame speaks of.

    A notification cancels a request of its own peer; a request names one of the other peer, for
    which it is made.
    """
    other = Direction(frame.stream).other.value
    own = other if frame.kind in _ANSWERS else frame.stream
    return RequestPeers(own, other if frame.kind == "request" else frame.stream)
