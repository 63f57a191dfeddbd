"""Finds the style in which a line spells its JSON, so that the same bytes can be written again.

A message is written as JSON only if writing its *value* anew, in one of a few named styles, gives
the same bytes. So a tool that writes the text in its own way, as ``jq -c`` does, changes nothing.
Such tools may change some values, such as a float that is a whole number or an integer beyond
2**53: a line that has one is kept as a string.
"""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

DEEPEST = 128
"""Levels of brackets that every JSON tool can follow; ``jq`` gives up at 256."""

_SAFE = 1 << 53
"""From here on a double skips integers."""
_LONG_NUMBER = re.compile(rb"[0-9]{16}")


class Style(StrEnum):
    """How a peer's serializer writes JSON."""

    COMPACT = "compact"
    """No spaces, UTF-8: ``JSON.stringify``, serde_json."""
    ASCII = "ascii"
    """No spaces, and escapes for all that is not ASCII."""
    SPACED = "spaced"
    """A space after colons and commas, UTF-8."""
    SPACED_ASCII = "spaced-ascii"
    """The same with escapes: Python's ``json.dumps``."""
    HTML = "html"
    r"""As Go's ``json.Marshal``: compact, with ``<``, ``>`` and ``&`` as ``\u003c`` and so on."""


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


class _Changeable(Exception):
    """Raised for a number that other tools may write differently."""


def _plain_float(text: str) -> float:
    value = float(text)
    if value.is_integer() or repr(value) != text or "e" in text:
        raise _Changeable
    return value


_decode = msgspec.json.Decoder(float_hook=_plain_float).decode
_decode_any = msgspec.json.Decoder().decode


def find_style(raw: bytes) -> tuple[bytes, Style] | None:
    """Finds out how a line is spelled.

    Returns:
        The message, spelled compactly, and the style with which `spell` makes the line again; None
        if it is no JSON object or array, or cannot be made again.
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
    except (msgspec.MsgspecError, ValueError, RecursionError, _Changeable):
        pass
    return None


def _candidates(raw: bytes) -> tuple[Style, ...]:
    """The styles of a line that is not compact, as far as a quick look can tell."""
    if b", " in raw or b": " in raw:
        styles: tuple[Style, ...] = (Style.SPACED, Style.SPACED_ASCII)
    else:
        styles = ()
    return (Style.ASCII, *styles, Style.HTML) if b"\\u" in raw else styles


def is_unchangeable(value: Any, levels: int = DEEPEST) -> bool:
    """Whether every JSON tool writes a value as it has read it.

    Args:
        value: parsed JSON.
        levels: how deep it may be nested.
    """
    if isinstance(value, dict):
        return levels > 0 and all(is_unchangeable(inner, levels - 1) for inner in value.values())
    if isinstance(value, list):
        return levels > 0 and all(is_unchangeable(inner, levels - 1) for inner in value)
    if isinstance(value, float):
        return not value.is_integer() and "e" not in repr(value) and value - value == 0
    return not isinstance(value, int) or -_SAFE < value < _SAFE


def spell(message: bytes, style: Style) -> bytes:
    """Spells a message in a style; the inverse of `find_style`.

    Args:
        message: JSON in any spelling.
        style: how it is to be written.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return _SPELL[style](_decode_any(message))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from None
