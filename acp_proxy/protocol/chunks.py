"""Reads the text in the chunks of streamed messages and thoughts, optimized for many chunks.

All chunks of one message are equal byte for byte except for their text. So a chunk is split without
parsing if it differs from the previous chunk only in its text. If the place of the text is in
doubt, the chunk is parsed.

Some agents cut a text so that a chunk ends in half of a surrogate pair.
"""

import json
import re
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from acp_proxy.protocol.envelope import Block, Params, Update, decode, picked
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.updates import CHUNKS, UPDATE

_HALF = re.compile("[\ud800-\udfff]")


class Chunk(NamedTuple):
    """A piece of a streamed text. It is a tuple, since there may be a million pieces."""

    update: str
    """The kind of the session update."""
    message_id: str | None
    """The id that all pieces of one message share; None if the agent sends no id. A piece of a
    compaction's summary has the id of the compaction."""
    text: str
    """The text as it was sent. It may be empty, and it may end in half of a surrogate pair."""


def chunk_of(raw: bytes) -> Chunk | None:
    """Reads a line as a chunk of text; returns None if the line is not a chunk. Never raises.

    The kind of update is recognized only if it is written without escapes.
    """
    if b"_chunk" not in raw:
        return None
    try:
        envelope = decode(raw)
        is_update = envelope.method == UPDATE and envelope.id is UNSET
        params = envelope.params if is_update else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        params = _read_tolerantly(raw)
    if params is None:
        return None
    update = params.update
    if update is not None:
        kind = update.sessionUpdate
    elif isinstance(params.data, Update):  # draft-1.0
        update, kind = params.data, params.type
    if update is None or kind not in CHUNKS:
        return None
    content = update.content
    if isinstance(content, Block):
        content = content.text if content.type == "text" else None
    if not isinstance(content, str):
        return None
    return Chunk(kind, update.messageId or update.compactionId, content)


def _read_tolerantly(raw: bytes) -> Params | None:
    """Returns the params of a session update that `decode` refuses."""
    message = json_or_none(raw)
    if not isinstance(message, dict) or message.get("method") != UPDATE or "id" in message:
        return None
    return picked(Params, message.get("params"))


def mended(text: str) -> str:
    """Joins the halves of each character that was cut between two pieces of a text."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


TextPlace = tuple[str, ...]
_OFFICIAL: TextPlace = ("params", "update", "content", "text")
_DRAFT: TextPlace = ("params", "data", "content")
TEXT_PLACES = (_OFFICIAL, _DRAFT)
"""The paths that a chunk's text may have: in v1 and v2, and in the 1.0 draft."""

_LITERAL = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_EMPTY = b'""'
_is_plain = re.compile(rb'"[^"\\\x00-\x1f]*"').fullmatch
"""Matches a JSON string without escapes."""
_KEYS = {place: re.compile(rb'"%s"\s*:\s*' % place[-1].encode()) for place in TEXT_PLACES}


class SplitChunk(NamedTuple):
    """A chunk's frame split in two: the frame with an empty text, and the text itself."""

    update: str
    place: TextPlace
    """The path of the text in the message."""
    rest: bytes
    """The frame in its original spelling, but with an empty text."""
    at: int
    """The offset of the empty text (its opening quote) in `rest`."""
    text: str


class ChunkSplitter:
    """Splits chunks into their text and the bytes around it, one chunk after the other.

    It is fast if each chunk differs from the previous chunk only in its text.
    """

    def __init__(self) -> None:
        self._latest: SplitChunk | None = None
        self._before = self._after = b"\0"
        self._start = self._end = 1

    def same(self, raw: bytes) -> str | None:
        """Returns the text of a line that differs from the previous chunk only in its text.

        Returns:
            The text; None if the line differs in more than its text, or if this is uncertain. After
            None, call `split`.
        """
        if raw.startswith(self._before) and raw.endswith(self._after):
            start, end = self._start, len(raw) - self._end
            if _is_plain(raw, start, end):
                try:
                    return raw[start + 1 : end - 1].decode()
                except UnicodeDecodeError:
                    return None
        return None

    def split(self, raw: bytes) -> SplitChunk | None:
        """Splits a chunk into its text and the bytes around it; None if impossible or in doubt."""
        if self._latest is not None and (text := self.same(raw)) is not None:
            update, place, rest, at, _ = self._latest
            return SplitChunk(update, place, rest, at, text)
        chunk = split(raw)
        if chunk is not None:
            self._latest = chunk
            self._before, self._after = chunk.rest[: chunk.at], chunk.rest[chunk.at + len(_EMPTY) :]
            self._start, self._end = len(self._before), len(self._after)
        return chunk


class ChunkReader:
    """Reads consecutive chunks like `chunk_of`, but faster."""

    def __init__(self) -> None:
        self._splitter = ChunkSplitter()
        self._chunk: Chunk | None = None

    def read(self, raw: bytes) -> Chunk | None:
        """Reads a line as a chunk of text; None if it is not a chunk. Never raises."""
        text = self._splitter.same(raw)
        if text is None:
            chunk = chunk_of(raw)
            if self._splitter.split(raw) is not None:
                self._chunk = chunk
            return chunk
        if self._chunk is None:
            return None
        update, message_id, _ = self._chunk
        return tuple.__new__(Chunk, (update, message_id, text))  # twice as fast as `Chunk(...)`


_decode_text = msgspec.json.Decoder(str).decode


def split(raw: bytes) -> SplitChunk | None:
    """Splits a chunk into its text and the bytes around it; None if impossible or in doubt."""
    if b"_chunk" not in raw:
        return None
    try:
        envelope = decode(raw)
        if envelope.id is not UNSET or envelope.params is None:
            return None
        kind, text, place = _text_in(envelope.params)
        if text is None or kind is None or kind not in CHUNKS:
            return None
        keys = [*_KEYS[place].finditer(raw)]
        literal = _LITERAL.match(raw, keys[0].end())
        if len(keys) > 1 or literal is None or _decode_text(literal[0]) != text:
            return None
        rest = raw[: literal.start()] + _EMPTY + raw[literal.end() :]
        return SplitChunk(kind, place, rest, literal.start(), text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError):
        return _split_half(raw) if _HALVES.search(raw) else None


def _split_half(raw: bytes) -> SplitChunk | None:
    """Splits a chunk whose text contains half of a surrogate pair, which `decode` refuses."""
    for place, key in _KEYS.items():
        keys = [*key.finditer(raw)]
        literal = _LITERAL.match(raw, keys[0].end()) if len(keys) == 1 else None
        if literal is None or not _HALVES.search(literal[0]):
            continue
        chunk = split(raw[: literal.start()] + _EMPTY + raw[literal.end() :])
        if chunk is not None and chunk.place == place and chunk.at == literal.start():
            with suppress(ValueError):
                return chunk._replace(text=json.loads(literal[0]))
    return None


def _text_in(params: Params) -> tuple[str | None, str | None, TextPlace]:
    """Returns the kind of a session update, the text in the update, and the path of the text."""
    update = params.update
    if update is not None:
        content = update.content
        text = content.text if isinstance(content, Block) else None
        return update.sessionUpdate, text, _OFFICIAL
    data = params.data if isinstance(params.data, Update) else None
    return params.type, data.content if data and isinstance(data.content, str) else None, _DRAFT
