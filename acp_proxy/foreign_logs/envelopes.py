"""Reads objects that have a message in one member, and its direction and time in others.

``{"ts":"2026-01-02T03:04:05Z","direction":"received","frame":{"jsonrpc":"2.0",...}}``, as loggers
write it that write JSON. The message may be an object or a string.
"""

from typing import Any, NamedTuple

from acp_proxy.foreign_logs.json_text import ReadMessage, member_texts, read_message
from acp_proxy.foreign_logs.markers import Marker, read_word
from acp_proxy.foreign_logs.messages import is_message
from acp_proxy.foreign_logs.times import Stamp, read_epoch, read_stamp

_MESSAGES = ("frame", "message", "msg", "raw", "payload", "data", "body", "json", "line", "rpc")
_DIRECTIONS = (
    "direction",
    "dir",
    "_direction",
    "side",
    "from",
    "stream",
    "channel",
    "event",
    "type",
)
_TIMES = ("ts", "timestamp", "time", "at", "t", "@timestamp", "date")
_WORDS = ("line", "text", "message", "msg", "raw", "data", "frame")


class EnclosedMessage(NamedTuple):
    """What was in an object around a message."""

    raw: bytes
    marker: Marker | None
    stamp: Stamp | None
    is_stderr: bool = False


def read_envelope(found: ReadMessage) -> EnclosedMessage | None:
    """Returns what is in an object around a message; None if there is no message in it.

    Args:
        found: the object.
    """
    value = found.value
    if not isinstance(value, dict):
        return None
    stamp = next((stamp for name in _TIMES if (stamp := _stamp(value.get(name)))), None)
    words = [value[name] for name in _DIRECTIONS if isinstance(value.get(name), str)]
    if "stderr" in words:
        text = next((value[name] for name in _WORDS if isinstance(value.get(name), str)), None)
        if text is not None and "\n" not in text:
            return EnclosedMessage(text.encode("utf-8", "replace"), None, stamp, is_stderr=True)
    marker = next((marker for word in words if (marker := read_word(word.encode()))), None)
    for name in _MESSAGES:
        inner = value.get(name)
        if isinstance(inner, str):
            read = read_message(inner.encode("utf-8", "replace"), repairs=True)
            if read is not None and is_message(read.value):
                return EnclosedMessage(read.raw, marker, stamp)
        elif is_message(inner):
            return EnclosedMessage(member_texts(found.raw)[name], marker, stamp)
    return None


def _stamp(value: Any) -> Stamp | None:
    if isinstance(value, str):
        return read_stamp(value.encode()) or read_epoch(value.encode())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return read_epoch(str(value).encode())
    return None
