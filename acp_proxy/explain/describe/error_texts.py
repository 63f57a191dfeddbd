"""Describes an error by the name of its code, its message and its data."""

from acp_proxy.explain.describe import peer_texts
from acp_proxy.explain.describe.phrases import compact, joined, members, part, payload, word
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.json_text import json_or_none

_JSON_RPC = {
    -32700: "parse error",
    -32600: "invalid request",
    -32601: "method not found",
    -32602: "invalid params",
    -32603: "internal error",
}
_OFFICIAL = {
    -32000: "authentication required",
    -32002: "resource not found",
    -32800: "request cancelled",
}
# The same number means different things in two dialects.
_DRAFT = {
    -32000: "session not found",
    -32001: "authentication required",
    -32002: "permission denied",
    -32003: "cancelled",
    -32004: "resource not found",
    -32005: "access denied",
    -32006: "invalid session state",
    -32007: "capability not supported",
    -32008: "rate limited",
    -32009: "timeout",
}


def code_name(code: object, dialect: str | None) -> str:
    """Returns the name of an error code in a dialect; empty if the code has no name.

    Args:
        code: the code, which may be anything.
        dialect: the dialect of the recording; None if it is not known.
    """
    names = _JSON_RPC | (_DRAFT if dialect == DRAFT else _OFFICIAL)
    return names.get(code, "") if isinstance(code, int) else ""


def describe_error(error: object, dialect: str | None = None) -> str:
    """Describes an error by its code, its message and its data.

    Args:
        error: the member ``error`` of a response.
        dialect: the dialect whose names for error codes are used; None for no name.
    """
    if not isinstance(error, dict):
        return f"? {compact(error)}"
    message = _message(word(error, "message")) or payload(part(error, "message"))
    name = code_name(error.get("code"), dialect) if dialect else ""
    code = word(error, "code") or "?"
    code = f"{code} ({name})" if name and name not in message.lower() else code
    return joined(joined(code, message), _explained(error.get("data"), message), by=": ")


def _message(message: str) -> str:
    """Returns the readable part of an error message that may be the JSON of a model server."""
    answer = json_or_none(message.encode(errors="replace")) if message.startswith("{") else None
    if not isinstance(answer, dict):
        return message
    inner = part(answer, "error") or answer
    return word(inner, "message", "detail") or message


def _explained(data: object, message: str) -> str:
    if isinstance(data, dict):
        if methods := peer_texts.auth_methods(data):
            return f"auth {methods}"
        only = list(data.values())
        data = only[0] if len(only) == 1 else data
    text = members(data) if isinstance(data, dict) else compact(data) if data else ""
    return "" if text in message else text
