"""The documented JSON of a frame and of an event, and what is known of one, for a person."""

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
from attrs import fields, frozen

from acp_proxy.forms import converter
from acp_proxy.inspection.fault_effects import described
from acp_proxy.transcript.pieces import Pieces, member
from acp_proxy.transcript.spelling import make_visible
from acp_proxy.wording import duration

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
        return cls(**{field.name: row[field.name] for field in _FIELDS})

    def json(self) -> str:
        """One line of JSON; the message's own bytes stand in it unchanged."""
        return frame_json({field.name: getattr(self, field.name) for field in _FIELDS}).decode()


_FIELDS = fields(FrameView)
_MEMBERS = tuple(field.name for field in _FIELDS if field.name != "raw")
_encode = msgspec.json.Encoder().encode


def frame_json(row: dict[str, Any]) -> bytes:
    """The line of JSON of a row of `frames`; there may be a million."""
    value = {name: row[name] for name in _MEMBERS}
    raw = bytes(row["raw"])
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        value["base64"] = base64.b64encode(raw).decode()
    else:
        is_message = row["kind"] in _PARSED and _is_json(raw)
        value["message" if is_message else "text"] = msgspec.Raw(raw) if is_message else text
    return _encode(value)


def large_frame_json(row: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
    """The same of a frame that is too large to be held, in parts; never as a message.

    Args:
        row: a row of `frames` without its line.
        pieces: reads the line piece by piece.
    """
    yield make_visible(_encode({name: row[name] for name in _MEMBERS}))[:-1] + b","
    yield from member(pieces)
    yield b"}"


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


Fact = tuple[str, str]
"""A name and what it is."""


def facts(row: dict[str, Any], started_at: datetime, *, live: bool = False) -> Iterator[Fact]:
    """Tells all that is known of a frame or event beside its bytes; what is not known is left out.

    Args:
        row: of `RecordingReader.rows`.
        started_at: when the recording began.
        live: whether an answer may still come.
    """
    at = (started_at + timedelta(microseconds=row["t_ns"] // 1000)).astimezone()
    yield "time", f"{at:%Y-%m-%d %H:%M:%S.%f %z}, {row['t_ns'] / 1e9:.6f} s after the start"
    if "raw" not in row:
        yield "event", row["kind"]
        return
    if row["t_first_ns"] != row["t_ns"]:
        yield "arrived", f"over {duration(row['t_ns'] - row['t_first_ns'])}"
    for name in ("stream", "kind", "method"):
        yield name, row[name]
    yield "id", row["rpc_id"]
    for name in ("exchange", "session", "turn", "tool_call", "terminal"):
        yield name, row[name]
    yield "size", f"{row['size']} bytes"
    yield "newline", {"\n": "\\n", "\r\n": "\\r\\n"}.get(row["newline"], "none")
    yield "delivered", row["delivered"]
    yield "fault", row["fault"]
    for text in described(row):
        yield "fired", text
    yield "parse_error", row["parse_error"]
    yield "answer" if row["kind"] == "request" else "answers", _answer(row, live)


def _answer(row: dict[str, Any], live: bool) -> str:
    if row["request_seq"] is None:
        return ""
    if row["kind"] != "request":
        return f"{row['request_seq']}, after {duration(row['latency_ns'])}"
    if row["response_seq"] is None:
        return "none yet" if live else "none"
    return f"{row['response_seq']}, after {duration(row['latency_ns'])}"


_check = msgspec.json.Decoder(msgspec.Raw)


def _is_json(raw: bytes) -> bool:
    try:
        _check.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return b"\n" not in raw and b"\r" not in raw
