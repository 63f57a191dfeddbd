"""Terminal output that a client pushes, as in the 1.0 draft: one text for each terminal.

There the client sends what a command writes in requests of its own, and the agent acknowledges
each. How many there are, where they are cut and what else is sent in between is chance, as with the
chunks of a message.
"""

from typing import Any

from acp_proxy.difference.forms import canonical
from acp_proxy.difference.pieces import Piece, Place
from acp_proxy.engine.shared.steps import PUSH
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import Payload

PLACE: Place = ("params", "data")
"""Where the output stands."""


def is_push(frame: Payload) -> bool:
    """Whether a frame pushes output; in v1 it is the agent that asks, and so not the same."""
    asks = frame.kind == "request" and frame.stream == Direction.TO_AGENT
    return asks and frame.method == PUSH


def is_receipt(frame: Payload) -> bool:
    """Whether a frame acknowledges a push; an error does not."""
    answers = frame.kind == "response" and frame.stream == Direction.TO_CLIENT
    return answers and frame.method == PUSH


def split_push(raw: bytes) -> Piece | None:
    """Splits a push into its output and everything else but its id; None if there is no output."""
    try:
        message: Any = json_or_text(raw)
        params = message["params"]
        text, params["data"] = params["data"], ""
        message.pop("id", None)
        return Piece(PUSH, PLACE, canonical(message), 0, text) if isinstance(text, str) else None
    except (KeyError, TypeError, RecursionError, AttributeError):
        return None
