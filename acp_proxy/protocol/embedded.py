"""Finds the terminal whose output a tool call shows, in a message of any dialect."""

from typing import Any

import msgspec
from msgspec import Struct

_MARK = b'"terminalId"'


class _ToolCall(Struct, gc=False):
    content: Any = None
    output: Any = None


class _Subject(Struct, gc=False):
    toolCall: _ToolCall | None = None  # noqa: N815  the names are the protocol's


class _Params(Struct, gc=False):
    update: _ToolCall | None = None
    data: _ToolCall | None = None
    toolCall: _ToolCall | None = None  # noqa: N815
    subject: _Subject | None = None


class _Message(Struct, gc=False):
    params: _Params | None = None


_decode = msgspec.json.Decoder(_Message).decode


def embedded_terminal(raw: bytes) -> str | None:
    """Returns the id of the first terminal in a tool call's content or output; never raises.

    Half of a surrogate pair in it is written as its escape, so that it can be stored.

    Args:
        raw: an update of a tool call, or a request for permission.
    """
    if _MARK not in raw:
        return None
    try:
        params = _decode(raw).params
    except (msgspec.MsgspecError, RecursionError):
        return None
    if params is None:
        return None
    subject = params.subject.toolCall if params.subject is not None else None
    for call in (params.update, params.data, params.toolCall, subject):
        for shown in (call.content, call.output) if call is not None else ():
            for block in shown if isinstance(shown, list) else [shown]:
                found = block.get("terminalId") if isinstance(block, dict) else None
                if isinstance(found, str):
                    return found.encode("utf-8", "backslashreplace").decode()
    return None
