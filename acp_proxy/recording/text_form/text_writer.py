"""Writes the lines of frames, events and fired faults.

A line leaves out each member that has its default value or can be derived. The number of a row is
derived from the previous line. Kind, method, exchange, session and turn are derived from the
message.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from acp_proxy.base.wording import visible_json
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.text_form.text_lines import (
    Pieces,
    Style,
    event_data,
    find_style,
    large_member,
    milliseconds,
    text_or_base64,
)

_encode = msgspec.json.encode


class LineWriter:
    """Writes the lines of one recording, in order; each line ends with a newline.

    The methods raise `ValueError` if row numbers do not increase, or if a row has a value that no
    recorder writes.
    """

    def __init__(self) -> None:
        self._seq = 0
        self._t_ns = 0

    def frame(self, row: Mapping[str, Any]) -> bytes:
        """Returns the line of a frame.

        Args:
            row: the frame's columns.
        """
        line = self._members(row)
        return visible_json(line + _payload(row["raw"], row["stream"]) + b"}\n")

    def large(self, row: Mapping[str, Any], pieces: Pieces) -> Iterator[bytes]:
        """Yields the line of a frame in parts, since the frame is too large for memory.

        The payload is written as text or Base64, never as a message.

        Args:
            row: the frame's columns, without the payload.
            pieces: returns the pieces of the payload.
        """
        yield visible_json(self._members(row))
        yield from large_member(pieces)
        yield b"}\n"

    def _members(self, row: Mapping[str, Any]) -> bytes:
        """Returns the beginning of a frame's line: all members except the payload."""
        t_ns, stream = row["t_ns"], row["stream"]
        line = self._place(row["seq"], t_ns)
        line += b'"stream":"' + str(stream).encode() + b'",'
        if t_ns != row["t_first_ns"]:
            line += b'"lag_ms":' + milliseconds(t_ns - row["t_first_ns"]) + b","
        if row["newline"] != "\n":
            line += b'"newline":' + _encode(row["newline"]) + b","
        if row["delivered"] != "full":
            if row["delivered"] is None:
                raise ValueError(f"frame {row['seq']} does not say whether it was delivered")
            line += b'"delivered":' + _encode(row["delivered"]) + b","
        if row["fault"] is not None:
            line += b'"fault":' + _encode(row["fault"]) + b","
        if row["masked"]:
            line += b'"masked":true,'
        return line

    def event(self, row: Mapping[str, Any]) -> bytes:
        """Returns the line of an event.

        Args:
            row: the event's columns.
        """
        line = self._place(row["seq"], row["t_ns"]) + b'"event":' + _encode(row["kind"])
        return visible_json(line + b',"data":' + event_data(row["data"]) + b"}\n")

    def fired(self, row: Mapping[str, Any]) -> bytes:
        """Returns the line of a fired fault, to be written after the line of the fault's frame.

        Args:
            row: the fault's columns.
        """
        _check_fired(row)
        fired = {name: row[name] for name in ("rule", "action") if row[name] is not None}
        for name in ("received", "delivered"):
            if row[name] is not None:
                member, text = text_or_base64(name, f"{name}_base64", row[name])
                fired[member] = text
        if row["late_ns"] is not None:
            fired["late_ms"] = msgspec.Raw(milliseconds(row["late_ns"]))
        line = {"fired": fired} if row["seq"] == self._seq else {"seq": row["seq"], "fired": fired}
        return visible_json(_encode(line) + b"\n")

    def _place(self, seq: int, t_ns: int) -> bytes:
        """Returns the beginning of a line: time and number, each only if it is not the default."""
        line = b"{"
        if t_ns != self._t_ns:
            line += b'"after_ms":' + milliseconds(t_ns - self._t_ns) + b","
        if seq != self._seq + 1:
            if seq <= self._seq:
                raise ValueError(f"expected 'seq' to be more than {self._seq}, got {seq}")
            line += b'"seq":%d,' % seq
        self._seq, self._t_ns = seq, t_ns
        return line


def _payload(raw: bytes, stream: str) -> bytes:
    if stream != Stream.STDERR and (styled := find_style(raw)) is not None:
        message, style = styled
        if style is Style.COMPACT:
            return b'"message":' + message
        return b'"style":"' + style.encode() + b'","message":' + message
    name, text = text_or_base64("text", "base64", raw)
    return b'"' + name.encode() + b'":' + _encode(text)


def _check_fired(row: Mapping[str, Any]) -> None:
    texts, blobs = (row["rule"], row["action"]), (row["received"], row["delivered"])
    if (
        not all(v is None or isinstance(v, str) for v in texts)
        or not all(v is None or isinstance(v, bytes) for v in blobs)
        or not (row["late_ns"] is None or type(row["late_ns"]) is int)
    ):
        raise ValueError(f"a fault that fired at frame {row['seq']} has a value of a wrong type")
