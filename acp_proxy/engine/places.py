"""Where in ACP messages typed values stand: ids, sessions, paths, terminals, configuration.

The tables hold for all dialects at once; where two use different names, both are here. Positions
are from the specification's schema (v1 with its unstable part, v2) and from the 1.0 draft.
"""

from functools import cache

from acp_proxy.engine.splice import Place, Places

_S, _R, _P = Place.SESSION, Place.ROOT, Place.PATH
_U, _T, _F = Place.URI, Place.TERMINAL, Place.FREE

_CONTENT: Places = {"uri": _U, "resource": {"uri": _U}, "path": _P}
_BLOCKS: Places = {"*": _CONTENT}
_TOOL_CONTENT: Places = {
    "*": {
        "path": _P,
        "terminalId": _T,
        "content": _CONTENT,
        "changes": {"*": {"path": _P, "oldPath": _P, "newPath": _P}},
    }
}
_TOOL_CALL: Places = {
    "content": {**_TOOL_CONTENT, **_CONTENT},
    "locations": {"*": {"path": _P, "uri": _U}},
    "location": {"path": _P, "uri": _U},
    "output": _TOOL_CONTENT,
    "terminalId": _T,
}
_ROOTS: Places = {
    "cwd": _R,
    "workingDirectory": _R,
    "additionalDirectories": {"*": _R},
    "mcpServers": _F,
}
_TERMINAL: Places = {"terminalId": _T}

_PARAMS: dict[str, Places] = {
    **dict.fromkeys(("session/new", "session/load", "session/resume", "session/fork"), _ROOTS),
    "session/list": {"cwd": _R},
    "session/prompt": {"prompt": _BLOCKS, "content": _BLOCKS, "attachments": _BLOCKS},
    "session/update": {"update": _TOOL_CALL, "data": _TOOL_CALL},
    "session/request_permission": {
        "toolCall": _TOOL_CALL,
        "subject": {"toolCall": _TOOL_CALL, "cwd": _P},
        "resource": _P,
    },
    "fs/read_text_file": {"path": _P},
    "fs/write_text_file": {"path": _P},
    "terminal/create": {"cwd": _P},
    "terminal/output": {"terminalId": _T, "data": _F},
    "terminal/wait_for_exit": _TERMINAL,
    "terminal/kill": _TERMINAL,
    "terminal/release": _TERMINAL,
    "document/didOpen": {"uri": _U},
    "document/didChange": {"uri": _U},
    "document/didClose": {"uri": _U},
    "document/didSave": {"uri": _U},
    "document/didFocus": {"uri": _U},
    "$/cancel_request": {"requestId": Place.ID},
}
_RESULTS: dict[str, Places] = {
    "session/new": _ROOTS,
    "session/load": _ROOTS,
    "session/list": {"sessions": {"*": {"cwd": _P}}},
    "terminal/create": {"terminalId": _T},
}
_NONE: Places = {}


@cache
def places_of(kind: str, method: str | None) -> Places:
    """Returns the places of a message, but not its own id.

    Args:
        kind: request, notification or response.
        method: its method, or that of the request it answers.
    """
    if kind == "response":
        return {"result": {"sessionId": _S, **_RESULTS.get(method or "", _NONE)}}
    if kind in ("request", "notification"):
        return {"params": {"sessionId": _S, **_PARAMS.get(method or "", _NONE)}}
    return _NONE
