"""Recognizes the frames that are parts of one text: chunks of messages, and pushed output.

In the 1.0 draft a client sends what a command writes in requests of its own, and the agent
acknowledges each. How many there are, where they are cut and what is sent in between is chance, as
with the chunks of a message; so there is one text for each terminal
(test_chunks.py).
"""

from typing import Any

from acp_proxy.difference.canonicalizer import canonical_json
from acp_proxy.difference.options import DiffOptions
from acp_proxy.protocol.chunk_splitter import TEXT_PLACES, ChunkSplitter, SplitChunk, TextPlace
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.methods import PUSH
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording import Payload

_OUTPUT: TextPlace = ("params", "data")
"""Where pushed output stands."""
PLACES = (*TEXT_PLACES, _OUTPUT)
"""Where the text of a chunk may stand."""


class ChunkHandler:
    """Splits frames that are parts of a text into the text and the rest.

    Args:
        options: texts are joined unless lines are compared exactly, or no texts at all.
    """

    def __init__(self, options: DiffOptions) -> None:
        self._joins_texts = options.joins_texts
        self._splitter = ChunkSplitter()

    def chunk(self, frame: Payload) -> SplitChunk | None:
        """Returns a chunk of a message, of a thought or of a summary; None for other frames."""
        raw = frame.raw
        if frame.method != UPDATE or raw is None or b"_chunk" not in raw or not self._joins_texts:
            return None
        return self._splitter.split(raw)

    def part(self, frame: Payload) -> SplitChunk | None:
        """Returns a part of any text, which may also be pushed output; None for other frames."""
        if is_push(frame) and self._joins_texts:
            return split_push(frame.raw or b"")
        return self.chunk(frame)


def is_push(frame: Payload) -> bool:
    """Returns whether a client pushes output; in v1 it is the agent that requests it."""
    is_request = frame.kind == "request" and frame.stream == Direction.TO_AGENT
    return is_request and frame.method == PUSH


def is_acknowledgement(frame: Payload) -> bool:
    """Returns whether an agent acknowledges pushed output; an error does not."""
    is_result = frame.kind == "response" and frame.stream == Direction.TO_CLIENT
    return is_result and frame.method == PUSH


def split_push(raw: bytes) -> SplitChunk | None:
    """Splits a push into its output and everything else but its id; None if there is no output."""
    try:
        message: Any = json_or_text(raw)
        params = message["params"]
        text, params["data"] = params["data"], ""
        message.pop("id", None)
        rest = canonical_json(message)
    except (KeyError, TypeError, RecursionError, AttributeError):
        return None
    return SplitChunk(PUSH, _OUTPUT, rest, 0, text) if isinstance(text, str) else None
