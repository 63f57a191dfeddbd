"""The documented JSON of a frame and of an event, and a frame in full for a person."""

import base64
import json
from typing import Any

import msgspec
from attrs import fields, frozen

from acp_proxy.forms import converter
from acp_proxy.inspection.preview import plain

_PARSED = ("request", "response", "error", "notification", "batch")


@frozen
class FrameView:
    """A frame as ``--json`` prints it.

    One of three members follows these: ``message``, the message as it was sent; ``text``, a line
    that is no message, or one that strict parsers refuse; or ``base64``, a line that is no text.
    """

    seq: int
    t_ns: int
    t_first_ns: int
    stream: str
    kind: str
    method: str | None
    rpc_id: str | None
    exchange: int | None
    session: str | None
    turn: int | None
    tool_call: str | None
    terminal: str | None
    size: int
    newline: str
    delivered: str
    parse_error: str | None
    fault: str | None
    raw: bytes

    @classmethod
    def of(cls, row: dict[str, Any]) -> "FrameView":
        """Takes a row of `frames`."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def json(self) -> str:
        """One line of JSON; the message's own bytes stand in it unchanged."""
        value = converter.unstructure(self)
        raw = bytes(self.raw)
        del value["raw"]
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            value["base64"] = base64.b64encode(raw).decode()
        else:
            is_message = self.kind in _PARSED and _is_json(raw)
            value["message" if is_message else "text"] = msgspec.Raw(raw) if is_message else text
        return msgspec.json.encode(value).decode()

    def pretty(self) -> str:
        """The message indented, or the line as text with its control characters made visible."""
        try:
            return json.dumps(json.loads(self.raw), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            return plain(bytes(self.raw).decode(errors="backslashreplace"))


@frozen
class EventView:
    """An event as ``--json`` prints it."""

    seq: int
    t_ns: int
    event: str
    """start, eof, signal, exit, fault, undelivered, gap or note."""
    data: dict[str, Any]

    @classmethod
    def of(cls, row: dict[str, Any]) -> "EventView":
        """Takes a row of `events`."""
        return cls(row["seq"], row["t_ns"], row["kind"], json.loads(row["data"]))

    def json(self) -> str:
        """One line of JSON."""
        return json.dumps(converter.unstructure(self), separators=(",", ":"))


_check = msgspec.json.Decoder(msgspec.Raw)


def _is_json(raw: bytes) -> bool:
    try:
        _check.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return b"\n" not in raw and b"\r" not in raw
