"""Reads lines of JSON, complete or truncated, as values or as character ranges of the text.

msgspec parses a line. The standard library parses a line that msgspec refuses, such as a line that
contains NaN or half of a surrogate pair. `members` finds the character range of each value.
`tokens` reads the beginning of a line that is too large for memory.
"""

import json
import re
from collections.abc import Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import msgspec

_decode = msgspec.json.Decoder().decode
# Integers stay text. Converting an integer of a million digits takes minutes, or raises an error.
_skip = json.JSONDecoder(parse_int=str).raw_decode
# Before 3.11.4 a possessive repetition ended too early if a branch in its body failed.
_TOKEN = re.compile(
    rb'\s*(?:"(?P<string>(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*+)(?P<quote>"?)'
    rb'|(?P<mark>[{}\[\],:])|(?P<word>[^\s"{}\[\],:]+))',
    re.DOTALL,
)
_CLOSERS = {b"{": b"}", b"[": b"]"}
_Closers = tuple[bytes, Any] | None
"""The closing brackets that are still needed, innermost first. The type is a linked list, so that a
state can be saved without copying."""


def parse(raw: bytes) -> Any:
    """Parses a line.

    Raises:
        ValueError: the line is not JSON.
        RecursionError: the value is nested too deeply.
    """
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        return json.loads(raw)


def encode_json(value: Any) -> bytes:
    """Encodes a value as JSON. Keeps half of a surrogate pair; NaN and infinity become null."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value)
        return json.dumps(json.loads(text, parse_constant=lambda _: None)).encode()


def json_or_none(raw: bytes) -> Any:
    """Parses a line; returns None if the line is ``null`` or not JSON."""
    try:
        return parse(raw)
    except (ValueError, RecursionError):
        return None


def json_or_text(raw: bytes) -> Any:
    """Parses a line; returns the line as text if it is not JSON."""
    try:
        return parse(raw)
    except (ValueError, RecursionError):
        return raw.decode(errors="surrogateescape")


def parse_or_begin(raw: bytes, most: int) -> Any:
    """Parses a line; if it is not JSON, parses as much of its beginning as possible.

    Args:
        raw: the line, or its beginning.
        most: the largest number of bytes at the beginning that are parsed if the line is not JSON.

    Returns:
        The value; None if the beginning cannot be parsed either.
    """
    try:
        return parse(raw)
    except (ValueError, RecursionError):
        pass
    try:
        return parse_beginning(raw[:most])
    except (ValueError, RecursionError):
        return None


def pointer(parts: Iterable[str]) -> str:
    """Writes a path as a JSON pointer (RFC 6901).

    Args:
        parts: the member names and item numbers from the root of a message to a value.
    """
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def parts_of(pointer: str) -> tuple[str, ...]:
    """Splits a JSON pointer into member names and item numbers."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def picked(value: Any, names: Iterable[str]) -> Any:
    """Returns an object with only some of its members; returns any other value unchanged.

    Args:
        value: a decoded value.
        names: the names of the members to keep.
    """
    if not isinstance(value, dict):
        return value
    return {name: value[name] for name in names if name in value}


def member(value: Any, *names: str) -> Any:
    """Returns a member of nested objects; None if the member does not exist.

    Args:
        value: any JSON value, decoded.
        *names: the member names, outermost first.
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def word(value: dict[str, Any], *keys: str) -> str:
    """Returns a scalar member as text; empty if no given member is a scalar.

    Args:
        value: a decoded object.
        *keys: member names; the first member that is a scalar, and not empty, is returned.
    """
    for key in keys:
        scalar = value.get(key)
        if scalar is None or scalar == "":
            continue
        if isinstance(scalar, str):
            return scalar
        if isinstance(scalar, bool):
            return "true" if scalar else "false"
        if isinstance(scalar, int | float):
            return str(scalar)
    return ""


def params_of(message: Any) -> dict[str, Any]:
    """Returns the params of a decoded message; empty if they are not an object."""
    params = member(message, "params")
    return params if isinstance(params, dict) else {}


def storable(text: str) -> str:
    """Returns a text that UTF-8 can encode: writes each half of a surrogate pair as an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


class Member(NamedTuple):
    """The place of an object's member, or of an array's item."""

    key: str
    """The name of the member; ``*`` for an item."""
    start: int
    """The index of the value's first character."""
    end: int
    """The index after the value's last character."""


def members(text: str, at: int = 0) -> Iterator[Member]:
    """Yields the members of an object or the items of an array, without parsing them.

    Args:
        text: a line.
        at: the index where a value begins; nothing is yielded for a string, number or word.

    Raises:
        ValueError: a member or item is not JSON.
        IndexError: the text ends before the closing bracket.
        RecursionError: a member or item is nested too deeply.
    """
    at = _after_space(text, at)
    if text[at] not in "{[":
        return
    is_object, end = text[at] == "{", "}" if text[at] == "{" else "]"
    at, key = _after_space(text, at + 1), "*"
    while text[at] != end:
        if is_object:
            _expect(text, at, '"')
            key, at = scanstring(text, at + 1)
            at = _after_space(text, at)
            _expect(text, at, ":")
            at = _after_space(text, at + 1)
        _, after = _skip(text, at)
        yield Member(key, at, after)
        at = _after_space(text, after)
        if text[at] == end:
            return
        _expect(text, at, ",")
        at = _after_space(text, at + 1)
        if text[at] == end:
            raise ValueError(f"expected a value at character {at}, got {end!r}")


def _expect(text: str, at: int, mark: str) -> None:
    if text[at] != mark:
        raise ValueError(f"expected {mark!r} at character {at}, got {text[at]!r}")


def _after_space(text: str, at: int) -> int:
    while text[at] in " \t\n\r":
        at += 1
    return at


class Token(NamedTuple):
    """A piece of JSON text: a mark (bracket, comma or colon), a string, or a word or number."""

    end: int
    """The offset of the first byte after the token."""
    mark: bytes | None
    string: bytes | None
    """The bytes between the quotes, with escapes unchanged."""
    word: bytes | None
    is_whole: bool
    """False if the token may be truncated: a string without its closing quote, or a word at the end
    of the text."""


def tokens(text: bytes, at: int = 0) -> Iterator[Token]:
    """Yields the tokens of JSON that may be truncated; stops at anything that is not JSON.

    Args:
        text: the beginning or a later part of a line.
        at: the offset where the first token begins.
    """
    while match := _TOKEN.match(text, at):
        at = match.end()
        string, quote, mark, word = match.groups()
        is_whole = quote == b'"' if word is None else at < len(text)
        yield Token(at, mark, string, word, is_whole or mark is not None)


def parse_beginning(head: bytes) -> Any:
    """Parses the beginning of a line as if all open strings and brackets were closed at its end.

    A truncated string is kept. A member name without a value is dropped. A number or word at the
    end is dropped too, since it may be truncated.

    Raises:
        ValueError: the beginning is not JSON even with the strings and brackets closed.
        RecursionError: the value is nested too deeply.
    """
    text = head.decode(errors="replace").removesuffix("\ufffd")  # an incomplete character
    return json.loads(_closed(text.encode()))


def _closed(head: bytes) -> bytes:
    closers: _Closers = None
    whole, quote, then_open = 0, b"", closers  # `head[:whole]` is valid with these appended
    is_key_next = False
    for token in tokens(head):
        is_value = not is_key_next
        if token.mark in (b",", b":"):
            is_key_next = token.mark == b"," and closers is not None and closers[0] == b"}"
            continue
        if token.mark is not None:
            if token.mark in _CLOSERS:
                closers = (_CLOSERS[token.mark], closers)
            else:
                closers = closers[1] if closers is not None else None
            is_key_next, is_value = token.mark == b"{", True
        elif not token.is_whole and token.word is not None:
            break
        if is_value:
            whole, then_open = token.end, closers
            quote = b"" if token.is_whole else b'"'
        if not token.is_whole:
            break
    return head[:whole] + quote + b"".join(_unrolled(then_open))


def _unrolled(closers: _Closers) -> Iterator[bytes]:
    while closers is not None:
        closer, closers = closers
        yield closer
