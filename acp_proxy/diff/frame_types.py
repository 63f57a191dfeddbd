"""Determines the type of a frame, and whether it is part of a text.

The parts of a text are the chunks of one message, or the pushed output of one terminal. (In the 1.0
draft, a client pushes the output of a command in requests, which the agent acknowledges.) The
number of parts and the messages between them differ from run to run, so whole texts are compared.
"""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from acp_proxy.protocol.chunks import TEXT_PLACES, ChunkSplitter, SplitChunk, TextPlace
from acp_proxy.protocol.dialects import PERMISSION, PUSH
from acp_proxy.protocol.json_text import json_or_text, member, params_of
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.tool_calls import call_of
from acp_proxy.protocol.updates import UPDATE, kind_and_update
from acp_proxy.recording.recording import StoredFrame

NO_ANSWER = "an answer to nothing"
NO_MESSAGE = "a line that is no message"
_encode = msgspec.json.Encoder(order="sorted").encode
_ANSWERS = ("response", "error")
_OUTPUT: TextPlace = ("params", "data")
"""The keys that lead to pushed output in a message."""
PLACES = (*TEXT_PLACES, _OUTPUT)
"""The paths that may lead to a part of a text in a message."""


class ItemType(NamedTuple):
    """The type of an item. A changed item has the same type in A and B."""

    title: str
    """The name of the type, such as ``session/update tool_call`` or ``the answer to
    session/prompt``."""
    sort: str
    """The kind of the frames. It is ``answer`` for all responses and errors, or ``decision`` if
    only the decision is compared."""


class RequestPeers(NamedTuple):
    """Says whose request ids are in a message. A peer is given as the direction of its requests."""

    own: str
    """The direction of the message itself, or of the request that the message answers."""
    named: str
    """The direction of any further request whose id is in the message."""


CLIENTS = RequestPeers(Direction.TO_AGENT.value, Direction.TO_AGENT.value)
"""The value for a message in which all request ids belong to requests of the client."""


def item_type_of(frame: StoredFrame, update: str | None, *, is_decision: bool = False) -> ItemType:
    """Returns the type of a frame.

    Args:
        frame: a frame.
        update: the kind of session update in the frame; None without an update.
        is_decision: whether only the decision in an answer is compared.
    """
    if frame.kind in _ANSWERS:
        title = f"the answer to {frame.method}" if frame.method else NO_ANSWER
        return ItemType(title, "decision" if is_decision else "answer")
    if frame.kind == "invalid":
        return ItemType(NO_MESSAGE, frame.kind)
    name = frame.method or frame.kind
    return ItemType(name if update is None else f"{name} {update}", frame.kind)


def update_of(message: Any) -> str | None:
    """Returns the kind of a ``session/update`` of any dialect; None for any other message."""
    return kind_and_update(params_of(message))[0] or None


def kind_of_call(message: Any) -> str | None:
    """Returns the kind of the tool call in a message; None without a kind."""
    kind = call_of(params_of(message)).get("kind")
    return kind if isinstance(kind, str) else None


def ends_cancelled(message: Any) -> bool:
    """Whether a message ends a cancelled turn, in any dialect."""
    ends = (("result", "stopReason"), ("params", "update", "stopReason"))
    return any(member(message, *names) == "cancelled" for names in ends)


def request_peers_of(frame: StoredFrame) -> RequestPeers:
    """Returns the directions of the requests whose ids are in a frame.

    A request id inside a notification names an earlier request of the same sender, to cancel it. A
    request id inside a request names an earlier request of the other peer: the request that the
    sender is working on.
    """
    other = Direction(frame.stream).other.value
    own = other if frame.kind in _ANSWERS else frame.stream
    return RequestPeers(own, other if frame.kind == "request" else frame.stream)


def is_decision(frame: StoredFrame) -> bool:
    """Whether a frame is the client's decision on a permission request, and not an error."""
    is_result = frame.kind == "response" and frame.stream == Direction.TO_AGENT
    return is_result and frame.method == PERMISSION


def is_push(frame: StoredFrame) -> bool:
    """Whether a frame is a client's request that pushes output."""
    is_request = frame.kind == "request" and frame.stream == Direction.TO_AGENT
    return is_request and frame.method == PUSH


def is_acknowledgement(frame: StoredFrame) -> bool:
    """Whether a frame is an agent's response to pushed output, and not an error."""
    is_result = frame.kind == "response" and frame.stream == Direction.TO_CLIENT
    return is_result and frame.method == PUSH


def split_push(raw: bytes) -> SplitChunk | None:
    """Splits a request that pushes output into the output and the other members, without the id.

    Returns None if the request has no output.
    """
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
    """Returns JSON that is equal for equal values: keys are sorted, and numbers have one form.

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
        title: further data in the digest.
        pieces: the pieces. The digest depends on where the line is cut.
    """
    digest = blake2b(title.encode(errors="backslashreplace"), digest_size=8)
    for piece in pieces:
        digest.update(b"\0")
        digest.update(piece)
    return digest.hexdigest()


class ChunkHandler:
    """Separates the part of a text in a frame from the other members of the frame.

    Args:
        joins_texts: whether texts are joined. If not, no frame is split.
    """

    def __init__(self, joins_texts: bool) -> None:
        self._joins_texts = joins_texts
        self._splitter = ChunkSplitter()

    def chunk(self, frame: StoredFrame) -> SplitChunk | None:
        """Splits a chunk of a message, thought or summary. Returns None for any other frame."""
        raw = frame.raw
        # The operator `in` is slower: it first tries to read its left operand as a number.
        if raw is None or raw.find(b"_chunk") < 0:
            return None
        return self._splitter.split(raw) if frame.method == UPDATE and self._joins_texts else None

    def part(self, frame: StoredFrame) -> SplitChunk | None:
        """Splits a chunk, or a request that pushes output. Returns None for any other frame."""
        if is_push(frame) and self._joins_texts:
            return split_push(frame.raw or b"")
        return self.chunk(frame)
