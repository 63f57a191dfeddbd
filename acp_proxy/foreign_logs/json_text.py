"""Reads the messages of JSON-RPC that a log has, pretty printed or not; only their layout changes.

Members may be missing that the protocol asks for: what a peer sent wrongly is to be seen.
"""

import re
from typing import Any, NamedTuple

from acp_proxy.protocol.json_text import members, parse

_SPACE = re.compile(rb'("(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z))|\s++', re.DOTALL)
"""Blanks, and strings so that those in them are left alone."""


class ReadMessage(NamedTuple):
    """JSON that was read from a log."""

    raw: bytes
    """The JSON in one line."""
    value: Any


def read_message(text: bytes) -> ReadMessage | None:
    """Reads the text of an object or array in any layout; None if it is anything else.

    Args:
        text: the text, with or without blanks around it.
    """
    text = text.strip()
    if text[:1] not in (b"{", b"["):
        return None
    try:
        text.decode()
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    is_one_line = b"\n" not in text and b"\r" not in text
    return ReadMessage(text if is_one_line else _SPACE.sub(rb"\1", text), value)


def member_texts(raw: bytes) -> dict[str, bytes] | None:
    """Returns the members of an object that `read_message` has read, each as it is written.

    Returns:
        None if a value is nested too deeply.
    """
    text = raw.decode()
    try:
        return {one.key: text[one.start : one.end].encode() for one in members(text)}
    except (ValueError, IndexError, RecursionError):
        return None


def is_message(value: Any) -> bool:
    """Whether parsed JSON is a message of JSON-RPC, or a batch of them."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) and is_message(one) for one in value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("method"), str):
        return "jsonrpc" in value or not value.keys() - {"method", "params", "id", "type", "_meta"}
    return ("result" in value or "error" in value) and ("jsonrpc" in value or "id" in value)
