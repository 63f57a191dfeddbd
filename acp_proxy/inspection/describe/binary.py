"""Keeps base64 out of descriptions: binary data is shown by type and size."""

import re
import string
from typing import Any

from acp_proxy.wording import byte_size

_WHOLE = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_WITHIN = re.compile(
    r"data:(?P<type>[\w.+-]{1,40}/[\w.+-]{1,80})[^,\s]{0,80};base64,[A-Za-z0-9+/_=-]*"
    r"|[A-Za-z0-9+/_-]{40,}(?:(?:\r?\n|\\r|\\n)+[A-Za-z0-9+/_-]{40,})*"
    r"(?:(?:\r?\n|\\r|\\n)+[A-Za-z0-9+/_-]{0,40}==?)?={0,2}"
)
"""A data URI, or a run of base64, which may be wrapped into lines."""
_TYPES = ("mimeType", "mediaType", "media_type", "contentType")
_ALPHABET = f"{string.ascii_letters}{string.digits}+/_-="
_SHORTEST = 96
"""Characters from which on a run within a text may be base64."""


def decoded_size(base64_text: str) -> str:
    """Returns how much data a base64 text encodes."""
    return byte_size(len(base64_text.rstrip("=")) * 3 // 4)


def is_base64(text: str) -> bool:
    """Whether a whole text looks like base64, and is longer than an id or a digest."""
    return len(text) > 64 and _WHOLE.fullmatch(text) is not None and _is_mixed(text[:4000])


def media(value: dict[str, Any]) -> str:
    """Describes an object that has data beside its media type; empty for any other object."""
    data = value.get("data", value.get("blob"))
    if not isinstance(data, str):
        return ""
    kind = next((k for key in _TYPES if isinstance(k := value.get(key), str) and k), None)
    if kind is None:
        kind = value.get("type")
        if kind not in ("image", "audio", "base64"):
            return ""
    uri = value.get("uri")
    where = f"{uri}, " if isinstance(uri, str) and uri else ""
    return f"[{where}{kind}, {decoded_size(data)}]"


def beginning(text: str, length: int) -> str:
    """Returns the beginning of a text, without a piece of base64 too short to be recognized.

    Args:
        text: the text.
        length: the most characters of it.
    """
    if len(text) <= length:
        return text
    start = text[:length]
    whole = start.rstrip(_ALPHABET)
    return whole if len(start) - len(whole) < _SHORTEST else start


def without_base64(text: str) -> str:
    """Returns a text with a mark in place of each data URI and long run of base64."""
    if len(text) < _SHORTEST and ";base64," not in text:
        return text
    return _WITHIN.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    if kind := match["type"]:
        return f"[data: {kind}]"
    run = match[0]
    return "[base64]" if len(run) >= _SHORTEST and _is_mixed(run) else run


def _is_mixed(text: str) -> bool:
    """Distinguishes base64 from long paths and identifiers, which have the same characters.

    Two in five characters of base64 are capitals. Its two alphabets differ in two characters each,
    and no text has characters of both.
    """
    if ("/" in text or "+" in text) and ("-" in text or "_" in text):
        return False
    capitals = sum("A" <= c <= "Z" for c in text)
    return (
        capitals * 6 >= len(text)
        and any("a" <= c <= "z" for c in text)
        and any("0" <= c <= "9" for c in text)
    )
