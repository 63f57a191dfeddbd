"""What an error's code is called: the same number means different things in two dialects."""

from acp_proxy.protocol.dialects import DRAFT

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
    """The name that a dialect gives an error's code; empty if it has none for it."""
    if not isinstance(code, int):
        return ""
    named = _DRAFT if dialect == DRAFT else _OFFICIAL
    return _JSON_RPC.get(code) or named.get(code) or ""
