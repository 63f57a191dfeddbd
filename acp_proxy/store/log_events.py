"""Decodes the fields of events in a log, which may come from anybody."""

import os
import signal
from typing import Any, TypeVar

from acp_proxy.capture import log_format as capture_log
from acp_proxy.capture.log_format import unpack_fields
from acp_proxy.protocol.peers import Stream
from acp_proxy.store.log_reader import LogRecord

EVENT_KINDS = {
    capture_log.END: "eof",
    capture_log.UNDELIVERED: "undelivered",
    capture_log.START: "start",
    capture_log.SIGNAL: "signal",
    capture_log.EXIT: "exit",
    capture_log.GAP: "gap",
    capture_log.NOTE: "note",
    capture_log.EFFECT: "fault",
}
"""The contract's name of each kind; one that has none is a note."""

_LARGEST = (1 << 63) - 1  # what a column can hold
_NUMBERS = (
    "pid",
    "signal",
    "code",
    "bytes",
    "since",
    "wall",
    "origin",
    "seed",
    "at",
    "size",
    *Stream,
)

_Default = TypeVar("_Default", int, None)


def event_data(record: LogRecord) -> dict[str, Any]:
    """Decodes an event's fields: numbers as numbers, lists (arguments, files) as lists."""
    data: dict[str, Any] = {}
    if name := capture_log.STREAM_NAMES[record.stream]:
        data["stream"] = name
    for key, values in unpack_fields(record.payload).items():
        if key == "arg":
            data["command"] = [_storable(value) for value in values]
        elif key == "file":
            data["files"] = [_storable(value) for value in values]
        elif key in _NUMBERS and values[0].isdecimal() and len(values[0]) < 20:
            data[key] = min(int(values[0]), _LARGEST)
        elif key == "seed" and values[0][1:].isdecimal() and len(values[0]) < 21:
            data[key] = max(int(values[0]), -_LARGEST - 1)
        else:
            data[key] = _storable(values[0])
    if isinstance(number := data.get("signal"), int):
        data["name"] = _signal_name(number)
    return data


def number(data: dict[str, Any], key: str, default: _Default) -> int | _Default:
    """Returns a field that has to be a number.

    Args:
        data: the fields, as `event_data` gives them.
        key: the field's name.
        default: what stands for one that is missing or no number.
    """
    found = data.get(key)
    return found if isinstance(found, int) else default


def _storable(text: str) -> str:
    """Text that a database can hold: bytes that are not UTF-8 are written as escapes."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
