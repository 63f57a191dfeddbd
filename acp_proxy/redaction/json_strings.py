"""Yields the strings in a line of JSON, each with its path and its place in the line's bytes.

The line is never parsed into values, so repeated keys, broken lines and lines of any size can be
read. A string longer than `WINDOW` bytes is yielded in overlapping parts: each secret is complete
in one of the parts. The module also decodes and encodes base64.
"""

import base64
import binascii
import json
import re
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from attrs import define, field

from acp_proxy.protocol.json_text import Token, tokens

WINDOW = 1 << 20
"""The number of bytes beyond which a string is yielded in parts."""
OVERLAP = 16 << 10
"""The number of bytes that two neighbouring parts of a string have in common."""

_LONGEST_ESCAPE = 6
_SCALARS = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false|null|NaN|-?Infinity")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTROLS = {rb"\b": "\b", rb"\f": "\f", rb"\n": "\n", rb"\r": "\r", rb"\t": "\t"}
_INSIDE = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_Path = tuple[str, ...]


class JsonString(NamedTuple):
    """A string value, or a part of a long string value."""

    path: _Path
    """The keys of the enclosing objects; ``*`` for an array."""
    owner: int
    """The number of the enclosing object or array, counted from the start of the line."""
    start: int
    """The offset of the first byte of `raw` in the line."""
    raw: bytes
    """The bytes between the quotes (or a part of these bytes), with escapes unchanged."""
    is_whole: bool
    """False for a part of a longer string."""

    @property
    def end(self) -> int:
        """The offset of the first byte after `raw` in the line."""
        return self.start + len(self.raw)


class Decoded:
    """The text of a JSON string, and the offset of each character in the string's bytes.

    Args:
        raw: the bytes between the quotes.

    Attributes:
        raw: the bytes between the quotes.
        text: the decoded text.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._is_plain = b"\\" not in raw and raw.isascii()
        self._at: list[int] = []  # the index in the text of each run's first character
        self._bytes: list[int] = []  # the offset in the bytes of each run's first byte
        if self._is_plain:
            self.text = raw.decode()
        else:
            text = _quickly_decoded(raw)
            self.text = "".join(self._runs()) if text is None else text

    def place(self, index: int) -> int:
        """Returns the offset in `raw` of the character at an index of the text."""
        if self._is_plain:
            return index
        if not self._at:
            self.text = "".join(self._runs())
        n = bisect_right(self._at, index) - 1
        if n < 0:
            return 0
        begin, at = self._bytes[n], self._at[n]
        if index == at:
            return begin
        run = self.text[at:index]
        return begin + len(run.encode("utf-8", "surrogateescape"))

    def _runs(self) -> Iterator[str]:
        """Yields the texts between the escapes, and the character of each escape, in order."""
        count = place = 0
        for escape in _ESCAPE.finditer(self.raw):
            if escape.start() > place:
                run = self.raw[place : escape.start()].decode("utf-8", "surrogateescape")
                self._note(count, place)
                count += len(run)
                yield run
            self._note(count, escape.start())
            count += 1
            place = escape.end()
            yield _unescaped(escape[0])
        self._note(count, place)
        run = self.raw[place:].decode("utf-8", "surrogateescape")
        self._note(count + len(run), len(self.raw))
        yield run

    def _note(self, index: int, place: int) -> None:
        self._at.append(index)
        self._bytes.append(place)


def _quickly_decoded(raw: bytes) -> str | None:
    """Returns the text of a string; None if it is invalid or may contain an escaped surrogate."""
    if _SURROGATE.search(raw):
        return None
    try:
        return str(json.loads(f'"{raw.decode()}"', strict=False))
    except ValueError:
        return None


def _unescaped(escape: bytes) -> str:
    """Returns the character that an escape stands for; each surrogate is a character by itself."""
    if len(escape) == _LONGEST_ESCAPE:
        return chr(int(escape[2:], 16))
    return _CONTROLS.get(escape) or escape[1:].decode("latin-1")


@define
class _Open:
    """An object or array that is still open."""

    number: int
    is_object: bool
    key: str | None = None
    """The latest key of an object. None in an array, and before the first key of an object."""


@define
class StringWalk:
    """Reads a line once, piece by piece, and yields its strings."""

    is_json: bool = True
    """Whether the line is valid JSON as far as it was read; only tokens are checked."""
    _open: list[_Open] = field(factory=list)
    _count: int = 0
    _expects_key: bool = False

    def strings(self, pieces: Iterable[bytes]) -> Iterator[JsonString]:
        """Yields the string values of a line.

        Args:
            pieces: the bytes of the line without its newline, in any number of pieces.
        """
        buffered, base = b"", 0  # the unread bytes, and their offset in the line
        source = iter(pieces)
        while True:
            piece = next(source, None)
            buffered += piece or b""
            if piece is not None and len(buffered) < WINDOW:
                continue  # small pieces are joined, since tokens must be complete
            at, is_last = 0, piece is None
            for token in tokens(buffered):
                if not is_last and token.end >= len(buffered):
                    break  # the token may continue in the next piece
                at = token.end
                if token.string is None:
                    self._take_other(token)
                elif (value := self._take_string(token, base)) is not None:
                    yield value
            if is_last:
                self.is_json = self.is_json and not buffered[at:].strip()
                return
            begin = at + len(buffered[at:]) - len(buffered[at:].lstrip())
            buffered, base = buffered[begin:], base + begin
            if len(buffered) >= WINDOW:
                if buffered[:1] != b'"':
                    self.is_json = False
                    return
                buffered, base = yield from self._long_string(buffered, base, source)

    def _take_other(self, token: Token) -> None:
        """Updates the state after a token that is not a string."""
        mark = token.mark
        if mark in (b"{", b"["):
            self._count += 1
            self._open.append(_Open(self._count, mark == b"{"))
            self._expects_key = mark == b"{"
        elif mark in (b"}", b"]"):
            if self._open:
                self._open.pop()
            self._expects_key = False
        elif mark == b",":
            self._expects_key = bool(self._open and self._open[-1].is_object)
        elif mark is None and (token.word is None or not _SCALARS.fullmatch(token.word)):
            self.is_json = False

    def _take_string(self, token: Token, base: int) -> JsonString | None:
        """Updates the state after a string; returns the string if it is a value, and not a key."""
        string = token.string
        assert string is not None
        if self._expects_key and self._open:
            is_plain = string.isascii() and b"\\" not in string
            self._open[-1].key = string.decode() if is_plain else Decoded(string).text
            self._expects_key = False
            return None
        start = base + token.end - len(string) - token.is_whole
        self.is_json = self.is_json and token.is_whole
        return JsonString(self._path(), self._owner(), start, string, True)

    def _long_string(
        self, buffered: bytes, base: int, source: Iterator[bytes]
    ) -> Generator[JsonString, None, tuple[bytes, int]]:
        """Yields the parts of a string that is longer than `WINDOW` bytes.

        Args:
            buffered: the unread bytes, beginning with the string's opening quote.
            base: the offset of the opening quote in the line.
            source: the later pieces of the line.

        Returns:
            The unread bytes after the string, and the offset of these bytes in the line.
        """
        buffered, base = buffered[1:], base + 1
        is_key, is_over = self._expects_key, False
        while True:
            while not is_over and len(buffered) < WINDOW + OVERLAP:
                piece = next(source, None)
                is_over = piece is None
                buffered += piece or b""
            end = _end_of(_INSIDE, buffered, len(buffered))
            if not is_key:
                yield JsonString(self._path(), self._owner(), base, buffered[:end], False)
            if buffered[end : end + 1] == b'"':
                self._expects_key = False
                return buffered[end + 1 :], base + end + 1
            if is_over or end < len(buffered) - _LONGEST_ESCAPE:
                self.is_json = False
                return b"", base + len(buffered)
            # An escape must not be cut, so the next part does not begin inside an escape.
            kept = _end_of(_INSIDE, buffered, end - OVERLAP)
            buffered, base = buffered[kept:], base + kept

    def _path(self) -> _Path:
        return tuple([(each.key or "") if each.is_object else "*" for each in self._open])

    def _owner(self) -> int:
        return self._open[-1].number if self._open else 0


def _end_of(pattern: re.Pattern[bytes], data: bytes, limit: int) -> int:
    match = pattern.match(data, 0, limit)
    return match.end() if match is not None else 0


def decoded_base64(text: str) -> str | None:
    """Decodes a text from base64; returns None if it is not base64."""
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None


def encoded_base64(text: str) -> bytes:
    """Encodes a text in base64; the text comes from `decoded_base64`, and may have been masked."""
    return base64.b64encode(text.encode("utf-8", "surrogateescape"))
