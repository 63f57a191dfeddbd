"""Reads pieces of texts that are spread over many messages, such as chat and terminal output.

All pieces of one text have the same key, and each piece has its offset in its line. So a secret
that is split over several pieces can be found in the whole text and masked in each piece.
"""

import re
from typing import NamedTuple

from acp_proxy.protocol.chunks import ChunkSplitter
from acp_proxy.protocol.jsonrpc import Kind, read
from acp_proxy.redaction.json_strings import Decoded, StringWalk, decoded_base64

_MOST_KNOWN = 256
PUSHES = frozenset({"terminal_output_chunk", "tool_call_content_chunk", "terminal/output"})
"""The updates and the method that send output in pieces."""
_PUSHED = {
    ("params", "update", "data"): True,  # terminal_output_chunk (v2), in base64
    ("params", "update", "content", "text"): False,
    ("params", "update", "content", "content", "text"): False,
    ("params", "data"): False,  # terminal/output (draft 1.0)
}
"""The paths of pushed output, each with whether the output is encoded in base64."""
_CHUNK, _PUSH = b"_chunk", b"terminal/output"
"""Every line with a piece contains one of these two texts."""
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")
"""Matches ASCII text that has no escapes."""


class Piece(NamedTuple):
    """One piece of a text; a tuple, since there may be a million pieces."""

    key: str
    """Identifies the text that the piece belongs to."""
    text: str
    start: int
    """The offset of the first byte of `literal` in the line."""
    literal: bytes
    """The bytes between the quotes, with escapes unchanged."""
    around: bytes
    """The line without `literal`. Lines that differ only in `literal` share one object."""
    is_encoded: bool = False
    """Whether `literal` is the text in base64."""

    @property
    def end(self) -> int:
        """The offset in the line of the first byte after `literal`."""
        return self.start + len(self.literal)


class PieceReader:
    """Reads lines as pieces; fastest if all pieces of one text are consecutive."""

    def __init__(self) -> None:
        self._splitter = ChunkSplitter()
        self._keys: dict[bytes, str] = {}
        self._pushed: tuple[bytes, bytes, Piece] | None = None
        """The latest piece of pushed output, with the bytes before and after its text."""

    def read(self, raw: bytes) -> Piece | None:
        """Returns the piece in a line; None if the line has no piece.

        The result is also None if the notation of a piece is unusual. The caller then masks the
        line without regard to neighbouring lines.
        """
        if _CHUNK in raw:
            chunk = self._splitter.split(raw)
            if chunk is not None:
                start = chunk.at + 1
                literal = raw[start : len(raw) - (len(chunk.rest) - start)]
                key = self._key(raw, chunk.rest, chunk.update)
                return Piece(key, chunk.text, start, literal, chunk.rest)
            if b"terminal_output_chunk" in raw or b"tool_call_content_chunk" in raw:
                return self._read_pushed(raw)
        return self._read_pushed(raw) if _PUSH in raw else None

    def _read_pushed(self, raw: bytes) -> Piece | None:
        """Returns the piece in a line that sends output (see `PUSHES`); None if it has no piece.

        The line is not parsed if it is equal to the latest line that sent output, except for the
        text.
        """
        if self._pushed is not None:
            before, after, latest = self._pushed
            if raw.startswith(before) and raw.endswith(after):
                literal = raw[len(before) : len(raw) - len(after)]
                if len(raw) >= len(before) + len(after) and _PLAIN.fullmatch(literal):
                    written = literal.decode()
                    text = decoded_base64(written) if latest.is_encoded else written
                    return None if text is None else latest._replace(text=text, literal=literal)
        piece = _pushed(raw)
        if piece is not None:
            self._pushed = raw[: piece.start], raw[piece.end :], piece
        return piece

    def _key(self, raw: bytes, rest: bytes, update: str) -> str:
        known = self._keys.get(rest)
        if known is None:
            if len(self._keys) >= _MOST_KNOWN:
                self._keys.clear()
            message = read(raw)
            known = self._keys[rest] = f"{update} {message.session} {message.message_id}"
        return known


def may_be_piece(raw: bytes) -> bool:
    """Whether one or more lines may contain a piece; True when in doubt."""
    return _CHUNK in raw or _PUSH in raw


def _pushed(raw: bytes) -> Piece | None:
    """Returns the piece in a line that sends output (see `PUSHES`); None if it has no piece."""
    labels = read(raw)
    if labels.kind is not Kind.NOTIFICATION:
        return None
    pushed = [s for s in StringWalk().strings((raw,)) if s.path in _PUSHED and s.is_whole]
    if len(pushed) != 1:
        return None
    string, is_encoded = pushed[0], _PUSHED[pushed[0].path]
    written = Decoded(string.raw).text
    text = decoded_base64(written) if is_encoded else written
    if text is None:
        return None
    key = f"{labels.method} {labels.update} {labels.session} {labels.tool_call} {labels.terminal}"
    around = raw[: string.start] + raw[string.end :]
    return Piece(key, text, string.start, string.raw, around, is_encoded)
