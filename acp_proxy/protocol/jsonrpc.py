"""Reads the labels of a line: kind, method, id, and the values that correlate frames.

Parsing never raises: `Message.parse_error` has the reason why a line is not JSON-RPC. The fast
reader in `envelope` is tried first. A tolerant reader reads the lines that `envelope` refuses.

The rules come from JSON-RPC 2.0, sections 4 to 6. An id is kept as its *token*, the JSON text of
the id: ``7``, ``"7"`` and ``7.0`` differ. An id is unique only within one direction, since each
peer numbers its own requests.
"""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec
from attrs import define
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_proxy.protocol.envelope import (
    Block,
    Number,
    Params,
    Result,
    Update,
    decode,
    picked,
    string,
)
from acp_proxy.protocol.json_text import members
from acp_proxy.protocol.updates import TOOL_CALLS, UPDATE


class Stream(StrEnum):
    """One recorded stream of bytes."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"
    STDERR = "stderr"


class Direction(StrEnum):
    """The direction of a message. Requests of both directions may have the same id."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"

    @property
    def other(self) -> "Direction":
        """The opposite direction, in which answers to requests of this direction travel."""
        return _OTHER[self]


# Tables, because looking up an enum member takes as long as parsing a short message.
_OTHER = {Direction.TO_AGENT: Direction.TO_CLIENT, Direction.TO_CLIENT: Direction.TO_AGENT}
DIRECTIONS = {Stream.TO_AGENT: Direction.TO_AGENT, Stream.TO_CLIENT: Direction.TO_CLIENT}
"""The directions of the streams that carry messages."""
SENDERS = {"to-agent": "client", "to-client": "agent"}
"""The sender of the messages in each direction."""


class Kind(StrEnum):
    """The kind of a frame."""

    REQUEST = "request"
    RESPONSE = "response"
    ERROR = "error"
    NOTIFICATION = "notification"
    BATCH = "batch"
    INVALID = "invalid"
    BLANK = "blank"
    STDERR = "stderr"


MESSAGE_KINDS = (Kind.REQUEST, Kind.RESPONSE, Kind.ERROR, Kind.NOTIFICATION, Kind.BATCH)
"""The kinds of frames that are JSON-RPC messages."""


@define
class Message:
    """The labels of one JSON-RPC message, and the message itself."""

    kind: Kind
    method: str | None = None
    rpc_id: str | None = None
    """The id of the message, as a JSON token."""
    parse_error: str | None = None
    """The reason why the line is not a valid message."""
    session: str | None = None
    update: str | None = None
    """The kind of a session update."""
    tool_call: str | None = None
    terminal: str | None = None
    target: str | None = None
    """The id token of the request that a ``$/cancel_request`` cancels."""
    stop_reason: str | None = None
    status: str | None = None
    """The status of the tool call."""
    mode: str | None = None
    """The session mode that the message sets or reports."""
    state: str | None = None
    """The session state of a ``state_update`` (v2)."""
    error_code: int | None = None
    text: str | None = None
    """The text of a session update whose content is a single block of text."""
    message_id: str | None = None
    """The id that all pieces of one message, or of one compaction's summary, share."""
    members: "tuple[Message, ...]" = ()
    """The messages of a batch."""
    raw: bytes | None = None
    """The line, for code that needs other members; None if the line is too large to keep."""


class _Id(Struct, gc=False):
    id: Raw | UnsetType = UNSET


_decode_id = msgspec.json.Decoder(_Id).decode
_decode_members = msgspec.json.Decoder(list[Raw]).decode

_TERMINAL = b'"terminalId"'
_NOTIFICATION, _REQUEST = Kind.NOTIFICATION, Kind.REQUEST  # enum lookups are slow


def read(raw: bytes) -> Message:
    """Reads one line, passed without its newline; never raises."""
    if not raw or raw.isspace():
        return Message(Kind.BLANK, raw=raw)
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as e:
            return _invalid(raw, f"not UTF-8 at byte {e.start}")
    try:
        envelope = decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return _read_tolerantly(raw)
    params, result, error = envelope.params, envelope.result, envelope.error
    rpc_id = None if envelope.id is UNSET else bytes(envelope.id).strip().decode()
    if envelope.method is not UNSET:
        message = Message(_NOTIFICATION if rpc_id is None else _REQUEST, envelope.method, rpc_id)
        message.raw = raw
        if params is not None:
            _label(message, params)
        return message
    if error is not UNSET and error is not None:
        return Message(Kind.ERROR, None, rpc_id, error_code=error.code, raw=raw)
    if result is UNSET:
        return _invalid(raw, "neither method, result nor error", rpc_id)
    message = Message(Kind.RESPONSE, None, rpc_id, raw=raw)
    if result is not None:
        _label_response(message, result)
    return message


def _label_response(message: Message, result: Result) -> None:
    message.session = result.sessionId
    message.terminal = result.terminalId
    message.stop_reason = result.stopReason
    message.mode = result.currentMode if result.modes is None else result.modes.currentModeId


def _label(message: Message, params: Params) -> None:
    message.session = params.sessionId
    message.terminal = params.terminalId
    message.tool_call = params.toolCallId
    message.mode = params.modeId or params.mode
    if (update := params.update) is not None:
        message.update = update.sessionUpdate
        message.tool_call = update.toolCallId
        message.status = update.status
        message.terminal = update.terminalId
        message.state = update.state
        message.stop_reason = update.stopReason
        message.mode = update.currentModeId
        message.message_id = update.messageId or update.compactionId
        if type(update.content) is Block and update.content.type == "text":
            message.text = update.content.text
    elif message.method == UPDATE and params.type is not None:  # draft-1.0
        message.update = params.type
        if isinstance(params.data, Update):
            message.mode = params.data.currentMode
            message.message_id = params.data.messageId
            message.text = params.data.content if type(params.data.content) is str else None
            if params.type in TOOL_CALLS:
                message.tool_call, message.status = params.data.id, params.data.status
    elif params.toolCall is not None:
        message.tool_call = params.toolCall.toolCallId
        message.status = params.toolCall.status
    elif (subject := params.subject) is not None:  # v2
        call = subject.toolCall
        message.tool_call = call.toolCallId if call is not None else subject.toolCallId
        message.status = call.status if call is not None else None
    if params.requestId is not UNSET:
        message.target = bytes(params.requestId).strip().decode()
    if message.terminal is None and message.tool_call is not None and message.raw is not None:
        message.terminal = _shown_terminal(params) if _TERMINAL in message.raw else None


def _shown_terminal(params: Params) -> str | None:
    """Returns the id of the first terminal that a tool call shows in its content or output."""
    data = params.data if isinstance(params.data, Update) else None
    subject = params.subject.toolCall if params.subject is not None else None
    for call in (params.update, data, params.toolCall, subject):
        for shown in (call.content, call.output) if call is not None else ():
            for block in shown if isinstance(shown, list) else [shown]:
                if isinstance(block, Block) and block.terminalId is not None:
                    return block.terminalId
    return None


def _read_tolerantly(raw: bytes) -> Message:
    """Reads a line that the fast reader refuses, or finds the reason why the line is not JSON."""
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_int=Number)
        if isinstance(value, list):
            return _read_batch(raw, value)
        if isinstance(value, dict):
            return _read_object(raw, value)
    except RecursionError:
        return _invalid(raw, "nested too deeply")
    except ValueError as e:
        return _invalid(raw, _reason(raw, e))
    return _invalid(raw, "a JSON value that is no object")


def _read_batch(raw: bytes, values: list[Any]) -> Message:
    if not values:
        return Message(Kind.BATCH, parse_error="an empty batch", raw=raw)
    try:
        parts = [bytes(member).strip() for member in _decode_members(raw)]
    except (msgspec.MsgspecError, RecursionError):
        parts = [part.encode() for _, part in _written(raw.decode())]
    return Message(Kind.BATCH, members=tuple(map(_read_member, parts)), raw=raw)


def _read_member(raw: bytes) -> Message:
    """Reads a member of a batch; a batch within a batch is not read."""
    return _invalid(raw, "a batch within a batch") if raw.startswith(b"[") else read(raw)


def _read_object(raw: bytes, value: dict[str, Any]) -> Message:
    rpc_id = _token(raw, value)
    if (method := string(value, "method")) is not None:
        kind = Kind.NOTIFICATION if rpc_id is None else Kind.REQUEST
        message = Message(kind, method, rpc_id, raw=raw)
        params = value.get("params")
        if (fields := picked(Params, params)) is not None:
            _label(message, fields)
        if isinstance(params, dict) and "requestId" in params:
            outer = dict(_written(raw.decode()))
            message.target = dict(_written(outer["params"]))["requestId"]
        return message
    if "method" in value:
        return _invalid(raw, "a method that is no string", rpc_id)
    if (error := value.get("error")) is not None:
        code = _integer(error.get("code")) if isinstance(error, dict) else None
        return Message(Kind.ERROR, None, rpc_id, error_code=code, raw=raw)
    if "result" not in value:
        return _invalid(raw, "neither method, result nor error", rpc_id)
    message = Message(Kind.RESPONSE, None, rpc_id, raw=raw)
    if (result := picked(Result, value["result"])) is not None:
        _label_response(message, result)
    return message


def _integer(value: Any) -> int | None:
    try:
        return int(value) if isinstance(value, Number) else None
    except ValueError:  # more digits than Python converts
        return None


def _token(raw: bytes, value: dict[str, Any]) -> str | None:
    if "id" not in value:
        return None
    try:
        rpc_id = _decode_id(raw).id
        if rpc_id is not UNSET:
            return bytes(rpc_id).strip().decode()
    except (msgspec.MsgspecError, RecursionError):
        pass
    return dict(_written(raw.decode()))["id"]


def _written(text: str) -> Iterator[tuple[str, str]]:
    """Yields each member of an object, or each item of an array: its key and its original text."""
    for key, start, end in members(text):
        yield key, text[start:end]


def _invalid(raw: bytes, reason: str, rpc_id: str | None = None) -> Message:
    return Message(Kind.INVALID, None, rpc_id, parse_error=reason, raw=raw)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _reason(raw: bytes, error: ValueError) -> str:
    if raw.startswith(BOM_UTF8):
        return "begins with a byte order mark"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at character {error.pos}: {error.msg[:1].lower()}{error.msg[1:]}"
    return f"not JSON: {error}"
