"""Determines the type of a frame, and whether it is part of a text.

Parts of a text are the chunks of a message, and pushed output: in the 1.0 draft, a client sends the
output of a command in its own requests, and the agent acknowledges each. Their number, their
boundaries and the messages in between are accidental, as with the chunks of a message. So there is
one text for each terminal (test_frames.py).
"""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from acp_proxy.protocol.chunks import TEXT_PLACES, ChunkSplitter, SplitChunk, TextPlace
from acp_proxy.protocol.dialects import PERMISSION, PUSH
from acp_proxy.protocol.json_text import json_or_text, params_of
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.tool_calls import call_of
from acp_proxy.protocol.updates import UPDATE, kind_and_update
from acp_proxy.recording.recording import StoredFrame

NO_ANSWER = "an answer to nothing"
NO_MESSAGE = "a line that is no message"
_encode = msgspec.json.Encoder(order="sorted").encode
_ANSWERS = ("response", "error")
_OUTPUT: TextPlace = ("params", "data")
"""The path of pushed output."""
PLACES = (*TEXT_PLACES, _OUTPUT)
"""The paths of the text of a chunk."""


class ItemType(NamedTuple):
    """The type of an item; only items of the same type can have changed into each other."""

    title: str
    """For instance ``session/update tool_call`` or ``the answer to session/prompt``."""
    sort: str
    """The kind of its frames; an error is an answer, too."""


class RequestPeers(NamedTuple):
    """The peers that numbered the requests in a message, as the direction of the requests."""

    own: str
    """For the request that the message is or answers."""
    named: str
    """For a request that the message names by its id."""


CLIENTS = RequestPeers(Direction.TO_AGENT.value, Direction.TO_AGENT.value)
"""The client numbered all requests."""


def item_type_of(frame: StoredFrame, update: str | None, *, is_decision: bool = False) -> ItemType:
    """Returns the type of a frame.

    Args:
        frame: a frame.
        update: the kind of session update in it.
        is_decision: whether only the decision in an answer counts, regardless of its request.
    """
    if frame.kind in _ANSWERS:
        title = f"the answer to {frame.method}" if frame.method else NO_ANSWER
        return ItemType(title, "decision" if is_decision else "answer")
    if frame.kind == "invalid":
        return ItemType(NO_MESSAGE, frame.kind)
    name = frame.method or frame.kind
    return ItemType(name if update is None else f"{name} {update}", frame.kind)


def update_of(message: Any) -> str | None:
    """Returns the kind of update in a ``session/update`` of any dialect."""
    return kind_and_update(params_of(message))[0] or None


def kind_of_call(message: Any) -> str | None:
    """Returns the kind of a tool call, if a message contains it."""
    kind = call_of(params_of(message)).get("kind")
    return kind if isinstance(kind, str) else None


def ends_cancelled(message: Any) -> bool:
    """Returns whether a message ends a cancelled turn, in any dialect."""
    if not isinstance(message, dict):
        return False
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    ends = (message.get("result"), update)
    return any(isinstance(end, dict) and end.get("stopReason") == "cancelled" for end in ends)


def request_peers_of(frame: StoredFrame) -> RequestPeers:
    """Returns the directions of the requests that a frame names.

    A notification cancels a request of its own peer; a request names the request of the other peer
    that it is made for.
    """
    other = Direction(frame.stream).other.value
    own = other if frame.kind in _ANSWERS else frame.stream
    return RequestPeers(own, other if frame.kind == "request" else frame.stream)


def is_decision(frame: StoredFrame) -> bool:
    """Returns whether a frame is the client's decision on a permission request, not an error."""
    is_result = frame.kind == "response" and frame.stream == Direction.TO_AGENT
    return is_result and frame.method == PERMISSION


def is_push(frame: StoredFrame) -> bool:
    """Returns whether a client pushes output; in v1 the agent requests it."""
    is_request = frame.kind == "request" and frame.stream == Direction.TO_AGENT
    return is_request and frame.method == PUSH


def is_acknowledgement(frame: StoredFrame) -> bool:
    """Returns whether an agent acknowledges pushed output; an error does not."""
    is_result = frame.kind == "response" and frame.stream == Direction.TO_CLIENT
    return is_result and frame.method == PUSH


def split_push(raw: bytes) -> SplitChunk | None:
    """Splits a push into its output and the rest without the id; None if there is no output."""
    try:
        message: Any = json_or_text(raw)
        params = message["params"]
        text, params["data"] = params["data"], ""
        message.pop("id", None)
        rest = canonical_json(message)
    except (KeyError, TypeError, RecursionError, AttributeError):
        return None
    return SplitChunk(PUSH, _OUTPUT, rest, 0, text) if isinstance(text, str) else None


def canonical_json(value: Any) -> bytes:
    """Returns JSON that is equal for equal values: sorted keys, and one form for numbers.

    Raises:
        RecursionError: the value is nested too deeply.
    """
    try:
        return _encode(value)
    except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError):
        return json.dumps(value, sort_keys=True).encode()


def digest_of_pieces(title: str, pieces: Iterable[bytes]) -> str:
    """Returns a digest of a line that comes in pieces.

    Args:
        title: other data that distinguishes the line.
        pieces: the pieces; other cuts give another digest.
    """
    digest = blake2b(title.encode(errors="backslashreplace"), digest_size=8)
    for piece in pieces:
        digest.update(b"\0")
        digest.update(piece)
    return digest.hexdigest()


class ChunkHandler:
    """Splits frames that are parts of a text into the text and the rest.

    Args:
        joins_texts: whether chunks are joined; otherwise each is compared by itself.
    """

    def __init__(self, joins_texts: bool) -> None:
        self._joins_texts = joins_texts
        self._splitter = ChunkSplitter()

    def chunk(self, frame: StoredFrame) -> SplitChunk | None:
        """Returns a chunk of a message, thought or summary; None for other frames."""
        raw = frame.raw
        # `in` is slower, since it first tries the text as a number.
        if raw is None or raw.find(b"_chunk") < 0:
            return None
        return self._splitter.split(raw) if frame.method == UPDATE and self._joins_texts else None

    def part(self, frame: StoredFrame) -> SplitChunk | None:
        """Returns a part of any text, including pushed output; None for other frames."""
        if is_push(frame) and self._joins_texts:
            return split_push(frame.raw or b"")
        return self.chunk(frame)
