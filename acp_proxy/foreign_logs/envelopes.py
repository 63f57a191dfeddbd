"""Reads objects that have a message in one member, and its direction and time in others.

``{"ts":"2026-01-02T03:04:05Z","direction":"received","frame":{"jsonrpc":"2.0",...}}``, as loggers
write it that write JSON. The message may be an object or a string.
"""

from typing import Any, NamedTuple

from acp_proxy.foreign_logs.json_text import ReadMessage, member_texts, read_message
from acp_proxy.foreign_logs.markers import Marker, read_word
from acp_proxy.foreign_logs.messages import is_message, spelled
from acp_proxy.foreign_logs.times import Stamp, read_epoch, read_stamp
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.peers import Stream

_MESSAGES = ("frame", "message", "msg", "raw", "payload", "data", "body", "json", "line", "rpc")
_DIRECTIONS = (
    "direction", "dir", "_direction", "side", "from", "stream", "channel", "event", "type",
)  # fmt: skip
_TIMES = ("ts", "timestamp", "time", "at", "t", "@timestamp", "date")
_PARTS = {
    "request": ("id", "method", "params"),
    "notification": ("method", "params"),
    "response": ("id", "payload"),
}
_LONGEST_TRACE = 10**8
"""Seconds since its start that an event of a trace may have."""
_WORDS = ("line", "text", "message", "msg", "raw", "data", "frame")


class EnclosedMessage(NamedTuple):
    """What was in an object around a message, or around text of stderr."""

    raw: bytes
    """The message in one line, or the text in any number of lines."""
    marker: Marker | None
    stamp: Stamp | None
    is_stderr: bool = False
    is_elided: bool = False
    """Whether somebody has left out a part of it."""


def read_envelope(found: ReadMessage) -> EnclosedMessage | None:
    """Returns what is in an object; None if it encloses no message and no text of stderr.

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
        if text is not None:
            return EnclosedMessage(_bytes(text), None, stamp, is_stderr=True)
    marker = next((marker for word in words if (marker := read_word(_bytes(word)))), None)
    for name in _MESSAGES:
        inner = value.get(name)
        if isinstance(inner, str):
            read = read_message(_bytes(inner), repairs=True)
            if read is not None and is_message(read.value):
                is_elided = found.is_elided or read.is_elided
                return EnclosedMessage(read.raw, marker, stamp, is_elided=is_elided)
        elif is_message(inner) and (texts := member_texts(found.raw)) is not None:
            return EnclosedMessage(texts[name], marker, stamp, is_elided=found.is_elided)
    return _traced(found)


def _traced(found: ReadMessage) -> EnclosedMessage | None:
    """Reads an event of sacp-conductor, whose members are those of the message and others."""
    value = found.value
    ends = (value.get("from"), value.get("to"))
    is_of_client = [isinstance(end, str) and end.lower() == "client" for end in ends]
    texts = member_texts(found.raw) if any(is_of_client) else None
    if texts is None or value.get("protocol", "acp") != "acp":
        return None  # between two agents of a chain, or of another protocol
    parts = {name: texts[name] for name in _PARTS.get(str(value.get("type")), ()) if name in texts}
    if "payload" in parts:
        parts["error" if value.get("is_error") is True else "result"] = parts.pop("payload")
    if len(parts) < 2:
        return None
    stream = Stream.TO_AGENT if is_of_client[0] else Stream.TO_CLIENT
    ts = value.get("ts")
    has_time = isinstance(ts, int | float) and 0 <= ts < _LONGEST_TRACE
    stamp = Stamp(int(ts * 10**9), has_date=True, has_zone=True) if has_time else None
    marker = Marker(stream, names_peers=True)
    return EnclosedMessage(spelled(parts), marker, stamp, is_elided=found.is_elided)


def _stamp(value: Any) -> Stamp | None:
    if isinstance(value, str):
        return read_stamp(_bytes(value)) or read_epoch(_bytes(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return read_epoch(str(value).encode())
    return None


def _bytes(text: str) -> bytes:
    """Encodes a string; half of a surrogate pair becomes the escape that JSON has for it."""
    return storable(text).encode()
