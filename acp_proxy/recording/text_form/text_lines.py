"""Writes and reads the values of the text form: messages, times, bytes and the data of events.

A message is written as JSON only if one of a few named styles encodes its *value* to the
recorded bytes. So a tool such as ``jq -c`` may rewrite the text without changing the recording. A
line with a number that ``jq`` may change, such as ``1.0`` or an integer beyond 2**53, is written as
a string.
"""

import base64
import binascii
import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from acp_proxy.base.limits import SAFE_NUMBER
from acp_proxy.base.wording import visible_json
from acp_proxy.protocol.jsonrpc import Stream

DEEPEST = 128
"""The largest number of nested brackets that every JSON tool can read; ``jq`` refuses 256."""

_LONG_NUMBER = re.compile(rb"[0-9]{16}")


class Style(StrEnum):
    """How a peer's JSON serializer spells a message."""

    COMPACT = "compact"
    """Without spaces, in UTF-8. ``JSON.stringify`` and serde_json write this style."""
    ASCII = "ascii"
    """Without spaces, with non-ASCII characters as escapes."""
    SPACED = "spaced"
    """With a space after each colon and comma, in UTF-8."""
    SPACED_ASCII = "spaced-ascii"
    """Like ``spaced``, but with non-ASCII characters as escapes. Python's ``json.dumps`` writes
    this style."""
    HTML = "html"
    r"""Like ``compact``, but with ``<``, ``>`` and ``&`` as escapes such as ``\u003c``. Go's
    ``json.Marshal`` writes this style."""


def _encoder(separators: tuple[str, str], *, ascii_only: bool) -> Callable[[Any], bytes]:
    encode = json.JSONEncoder(ensure_ascii=ascii_only, separators=separators).encode
    return lambda value: encode(value).encode()


def _html(value: Any) -> bytes:
    text = msgspec.json.encode(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character.encode(), f"\\u{ord(character):04x}".encode())
    return text


_compact = msgspec.json.encode
_SPELL: dict[Style, Callable[[Any], bytes]] = {
    Style.COMPACT: _compact,
    Style.ASCII: _encoder((",", ":"), ascii_only=True),
    Style.SPACED: _encoder((", ", ": "), ascii_only=False),
    Style.SPACED_ASCII: _encoder((", ", ": "), ascii_only=True),
    Style.HTML: _html,
}


def _plain_float(text: str) -> float:
    """Reads a number. Raises `ValueError` if another JSON tool may write the number differently."""
    value = float(text)
    if value.is_integer() or repr(value) != text or "e" in text:
        raise ValueError(text)
    return value


_decode = msgspec.json.Decoder(float_hook=_plain_float).decode
_decode_any = msgspec.json.Decoder().decode


def find_style(raw: bytes) -> tuple[bytes, Style] | None:
    """Detects the style of a line.

    Returns:
        The message in compact style, and the style with which `spell` reproduces the line. None if
        the line is not an object or array, if no style reproduces it, or if other tools may change
        a value.
    """
    if raw[:1] not in (b"{", b"["):
        return None
    try:
        value = _decode(raw)
        looks_odd = raw.count(b"{") + raw.count(b"[") > DEEPEST or _LONG_NUMBER.search(raw)
        if looks_odd and not is_unchangeable(value):
            return None
        compact = _compact(value)
        if compact == raw:
            return raw, Style.COMPACT
        for style in _candidates(raw):
            if _SPELL[style](value) == raw:
                return compact, style
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return None


def _candidates(raw: bytes) -> tuple[Style, ...]:
    """Returns the styles that a line may have if it is not compact; does not parse the line."""
    if b", " in raw or b": " in raw:
        styles: tuple[Style, ...] = (Style.SPACED, Style.SPACED_ASCII)
    else:
        styles = ()
    return (Style.ASCII, *styles, Style.HTML) if b"\\u" in raw else styles


def is_unchangeable(value: Any, levels: int = DEEPEST) -> bool:
    """Whether every JSON tool that reads a value and writes it again leaves the value unchanged.

    Args:
        value: parsed JSON.
        levels: how deep arrays and objects may be nested; a deeper value counts as changed.
    """
    if isinstance(value, dict):
        return levels > 0 and all(is_unchangeable(inner, levels - 1) for inner in value.values())
    if isinstance(value, list):
        return levels > 0 and all(is_unchangeable(inner, levels - 1) for inner in value)
    if isinstance(value, float):
        return not value.is_integer() and "e" not in repr(value) and value - value == 0
    return not isinstance(value, int) or -SAFE_NUMBER < value < SAFE_NUMBER


def spell(message: bytes, style: Style) -> bytes:
    """Encodes a message in a style. This is the inverse of `find_style`.

    Args:
        message: JSON in any style.
        style: the style to write.

    Raises:
        ValueError: the message is not JSON.
    """
    try:
        return _SPELL[style](_decode_any(message))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from None


LIMIT = 1 << 63
"""The lowest number that is too large for a database column."""

_MS = 10**6
_EXACT = 10**15
"""A time below this number of nanoseconds is exact as a double in milliseconds. Other times are
written as strings."""
_BIG = ("wall", "origin", "since", "bytes", *Stream)
"""The fields of events that may contain a number too large for a double. A number that is too large
is written as a string."""

_encode = msgspec.json.encode

Pieces = Callable[[], Iterable[bytes]]
"""A function that returns the pieces of a line. Each call begins at the first piece."""


class BadLine(Exception):
    """Raised when a line is not in the text form. The message says what was expected and found."""


def milliseconds(ns: int) -> bytes:
    """Writes nanoseconds as milliseconds: as a JSON number, or as a JSON string if very large."""
    whole, part = divmod(abs(ns), _MS)
    text = f"{'-' * (ns < 0)}{whole}.{part:06}".rstrip("0").rstrip(".")
    return (text if -_EXACT < ns < _EXACT else f'"{text}"').encode()


def nanoseconds(name: str, ms: int | float | str) -> int:
    """Converts milliseconds to nanoseconds.

    A number is exact up to 11 days, and a string is always exact.

    Args:
        name: the member's name, for error messages.
        ms: the member's value.

    Raises:
        BadLine: the value is not milliseconds.
    """
    try:
        if isinstance(ms, str):
            whole, _, part = ms.removeprefix("-").partition(".")
            if not (ms.isascii() and whole.isdecimal() and len(whole) <= 20 and len(part) <= 6):
                raise ValueError
            ns = int(whole) * _MS + int(part.ljust(6, "0"))
            return -ns if ms.startswith("-") else ns
        return ms * _MS if isinstance(ms, int) else round(ms * _MS)
    except (ValueError, OverflowError):
        raise BadLine(f"expected {name!r} to be milliseconds, got {ms!r}") from None


def text_or_base64(name: str, name_of_base64: str, raw: bytes) -> tuple[str, str]:
    """Returns a member's name and value for bytes: as text if the bytes are UTF-8, else as Base64.

    Args:
        name: the member's name for text.
        name_of_base64: the member's name for Base64.
        raw: the bytes.
    """
    try:
        return name, raw.decode()
    except UnicodeDecodeError:
        return name_of_base64, base64.b64encode(raw).decode()


def large_member(pieces: Pieces) -> Iterator[bytes]:
    """Yields a line in pieces, as the member ``text`` or ``base64`` of a JSON object."""
    if _is_text(pieces()):
        yield b'"text":"'
        decode = codecs.getincrementaldecoder("utf-8")().decode
        for piece in pieces():
            yield visible_json(_encode(decode(piece)))[1:-1]
    else:
        yield b'"base64":"'
        rest = b""
        for piece in pieces():
            whole = rest + piece
            end = len(whole) - len(whole) % 3
            rest = whole[end:]
            yield base64.b64encode(whole[:end])
        yield base64.b64encode(rest)
    yield b'"'


def _is_text(pieces: Iterable[bytes]) -> bool:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for piece in pieces:
            decode(piece)
        decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def from_base64(name: str, text: str) -> bytes:
    """Reads bytes from Base64.

    Args:
        name: the member's name, for error messages.
        text: the member's value.

    Raises:
        BadLine: the value is not Base64.
    """
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as e:
        raise BadLine(f"{name} is not Base64: {e}") from None


def event_data(text: str) -> bytes:
    """Writes the text of an event's data: as a JSON object if possible, else as a JSON string.

    An object is possible if JSON tools leave the object unchanged, and if `read_event_data` turns
    the object into the given text again.
    """
    try:
        data = json.loads(text)
        small = {name: str(v) if name in _BIG and _is_big(v) else v for name, v in data.items()}
        if is_unchangeable(small) and _event_text(small) == text:
            return _encode(small)
    except (ValueError, AttributeError, RecursionError):
        pass
    return _encode(text)


def read_event_data(data: bytes) -> str:
    """Reads the data of an event as JSON text for the database; the inverse of `event_data`.

    Raises:
        BadLine: the data is not a JSON object.
    """
    try:
        value = msgspec.json.decode(data)
        if isinstance(value, str):
            if isinstance(json.loads(value), dict):
                return value
        elif isinstance(value, dict):
            return _event_text(value)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        pass
    raise BadLine(f"expected 'data' to be a JSON object, got {short(data)}")


def _event_text(data: dict[str, Any]) -> str:
    for name in _BIG:
        value = data.get(name)
        if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 20:
            data = {**data, name: int(value)}
    return json.dumps(data)


def _is_big(value: Any) -> bool:
    return isinstance(value, int) and value >= SAFE_NUMBER


def short(line: bytes) -> str:
    """Returns the beginning of a line, for error messages."""
    text = line[:200].decode(errors="replace").strip()
    return text if len(text) <= 40 else f"{text[:40]}..."


def reason(error: Exception) -> str:
    """Returns the reason why a line could not be read, as a part of a sentence."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = str(error).replace("`", "")
    return text if text.startswith("JSON") else text[:1].lower() + text[1:]
