"""Describes messages, with a table of describers for the params and results of all methods.

This module also contains the describers of requests for files, terminals and MCP servers.
"""

import shlex
from collections.abc import Callable
from typing import NamedTuple

from acp_proxy.base.wording import byte_size, counted
from acp_proxy.explain.describe import peer_texts, session_texts, tool_texts
from acp_proxy.explain.describe.content_texts import content, exit_state
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.phrases import (
    Value,
    compact,
    joined,
    listed,
    number,
    part,
    parts,
    payload,
    phrase,
    quantity,
    word,
)
from acp_proxy.protocol.dialects import INITIALIZE, LOGIN, OPENING, SUCCESSOR

MCP_ERROR = "MCP error"
_LISTS = ("tools", "resources", "prompts", "resourceTemplates")
"""Members of an MCP server's result that are lists of named things."""
Describe = Callable[[Value], str]


def _constant(text: str) -> Describe:
    return lambda _: text


def _named(*names: str) -> Describe:
    return lambda params: word(params, *names)


class Method(NamedTuple):
    """The functions that describe the params and the result of a method."""

    params: Describe
    result: Describe = _constant("")


def describe_params(method: str | None, params: object) -> str:
    """Describes the params of a request or notification.

    Args:
        method: the method of the message.
        params: the params of the message, of any shape.
    """
    value = {} if params is None else params
    if not isinstance(value, dict):
        return compact(value)
    known = METHODS.get(method) if method is not None else None
    return (known.params(value) if known is not None else "") or payload(value) or "no params"


def describe_result(method: str | None, result: object) -> str:
    """Describes the result of a response.

    Args:
        method: the method of the request.
        result: the result, of any shape.
    """
    value = {} if result is None else result
    if not isinstance(value, dict):
        return compact(value)
    known = METHODS.get(method) if method is not None else None
    return (known.result(value) if known is not None else "") or payload(value, "_meta") or "ok"


def describe_batch(messages: list[object]) -> str:
    """Describes a batch by the kinds and methods of its messages."""
    named = [_member(message) for message in messages[:8]]
    more = f", +{len(messages) - 8} more" if len(messages) > 8 else ""
    return joined(f"batch of {len(messages)}", ", ".join(named) + more, by=": ")


def _document(params: Value) -> str:
    """Describes a document that was opened, changed, saved, closed or focused."""
    text, changes = params.get("text"), params.get("contentChanges")
    return joined(
        _place(params, part(params, "position")),
        word(params, "languageId"),
        phrase("version {}", word(params, "version")),
        quantity(text) if isinstance(text, str) else "",
        counted(len(changes), "change") if isinstance(changes, list) else "",
        by=", ",
    )


def _suggesting(params: Value) -> str:
    """Describes the workspace for a session in which the agent suggests edits."""
    folders = listed(word(f, "name", "uri") for f in parts(params, "workspaceFolders"))
    repository = part(params, "repository")
    name = joined(word(repository, "owner"), word(repository, "name"), by="/")
    return joined(word(params, "workspaceUri") or folders, name, by=", ")


def _suggest(params: Value) -> str:
    """Describes a request for suggestions: its position in a document, and its trigger."""
    context = phrase("with {}", listed(part(params, "context")))
    return joined(_document(params), word(params, "triggerKind"), context, by=", ")


def _suggestions(result: Value) -> str:
    """Describes the edits that an agent suggests."""
    edits = parts(result, "suggestions")
    first = listed(map(_suggestion, edits), most=3)
    return joined(counted(len(edits), "suggestion"), first, by=": ")


def _decided(params: Value) -> str:
    """Describes a suggestion that was accepted or rejected."""
    return joined(word(params, "id", "suggestionId"), phrase("({})", word(params, "reason")))


def _suggestion(value: Value) -> str:
    edits = len(parts(value, "edits"))
    change = joined(word(value, "search"), word(value, "replace"), by=" → ")
    return joined(
        word(value, "kind"),
        _place(value, part(value, "position") or part(value, "cursorPosition")),
        f"({counted(edits, 'edit')})" if edits else "",
        word(value, "newName") or change,
    )


def _place(value: Value, position: Value) -> str:
    """Describes a position in a document by line and character, from 1."""
    line, character = position.get("line"), position.get("character")
    if not isinstance(line, int) or not isinstance(character, int):
        return word(value, "uri")
    return f"{word(value, 'uri')}:{line + 1}:{character + 1}"


def _member(message: object) -> str:
    if not isinstance(message, dict):
        return "no message"
    method = word(message, "method")
    if method:
        return joined("notification" if "id" not in message else "request", method)
    return "error" if message.get("error") else "response" if "result" in message else "no message"


def _wrapped(params: Value) -> str:
    """Describes a message that is wrapped to pass through a chain of proxies."""
    method = word(params, "method")
    if not method:
        return ""
    return joined(method, describe_params(method, params.get("params")), by=": ")


def _read_params(params: Value) -> str:
    """Describes the file to read, and the lines to read from it."""
    first, count = number(params, "line"), number(params, "limit")
    start, end = number(params, "startLine"), number(params, "endLine")
    if first is not None or count is not None:
        start = 1 if first is None else first
        end = None if count is None else start + count - 1
    if start is None and end is None:
        return word(params, "path")
    return f"{word(params, 'path')}, lines {start or 1}-{'' if end is None else end}"


def _read_result(result: Value) -> str:
    """Describes how much of a file was read."""
    text = result.get("content")
    if not isinstance(text, str):
        return ""
    return joined(
        quantity(text) if text else "an empty file",
        phrase("{} lines in all", word(result, "totalLines")),
        "truncated" if result.get("truncated") is True else "",
        by=", ",
    )


def _write_params(params: Value) -> str:
    """Describes the file to write, and its size."""
    text = params.get("content")
    size = f"({quantity(text)})" if isinstance(text, str) else ""
    return joined(word(params, "path"), size)


def _write_result(result: Value) -> str:
    """Describes how much was written to a file (the 1.0 draft)."""
    count = number(result, "bytesWritten")
    size = f"{byte_size(count)} written" if count is not None else ""
    return joined(size, "new file" if result.get("created") is True else "", by=", ")


def _command(params: Value) -> str:
    """Describes a command line, with its arguments quoted for the shell."""
    arguments = params.get("args")
    words = map(_quoted, arguments) if isinstance(arguments, list) else ()
    return joined(word(params, "command"), *words, phrase("(in {})", word(params, "cwd")))


def _created(result: Value) -> str:
    """Describes a new terminal by its id and its process."""
    return joined(word(result, "terminalId"), phrase("(pid {})", word(result, "pid")))


def _terminal(params: Value) -> str:
    """Describes a terminal, and the signal to send or the time to wait."""
    how = joined(
        word(params, "signal"),
        "by force" if params.get("force") is True else "",
        phrase("timeout {}", word(params, "timeout")),
        by=", ",
    )
    return joined(word(params, "terminalId"), phrase("({})", how))


def _done(result: Value) -> str:
    """Describes the result of an action on a terminal (the 1.0 draft)."""
    known = (key for key in ("received", "killed", "released") if key in result)
    return listed(key if result[key] is True else f"not {key}" for key in known)


def _output_params(params: Value) -> str:
    """Describes a terminal; in the 1.0 draft, also the output that the client pushes."""
    data = params.get("data")
    if not isinstance(data, str):
        return word(params, "terminalId")
    return joined(joined(word(params, "terminalId"), word(params, "stream")), data, by=": ")


def _output_result(result: Value) -> str:
    """Describes the state of a terminal, and its output."""
    output = result.get("output")
    if not isinstance(output, str):
        return _done(result)
    size = byte_size(len(output.encode(errors="replace"))) if output else "no output"
    cut = ", truncated" if result.get("truncated") is True else ""
    state = exit_state(part(result, "exitStatus")) or "running"
    return joined(f"{state}, {size}{cut}", output, by=": ")


def _exit_result(result: Value) -> str:
    """Describes how a command ended."""
    return exit_state(part(result, "exitStatus") or result) or "ended"


def _mcp_message(params: Value) -> str:
    """Describes an MCP message by its connection, its method and its params."""
    via = word(params, "connectionId", "serverName")
    inner = part(params, "params") or part(params, "mcpParams")
    return joined(joined(via, word(params, "method", "mcpMethod")), payload(inner), by=": ")


def _mcp_result(result: Value) -> str:
    """Describes the answer of an MCP server: its content, the names in a list, or its error."""
    if error := mcp_error(result):
        return f"{MCP_ERROR} {describe_error(error)}"
    result = part(result, "result") or result
    for key in _LISTS:
        if key in result:
            names = listed(word(item, "name", "uri") for item in parts(result, key))
            return joined(key, names or "none", by=": ")
    failed = "error" if result.get("isError") is True else ""
    return joined(failed, content(result.get("content")), by=": ")


def mcp_error(result: Value) -> Value:
    """Returns the error of an MCP server in a result; empty if the result has no error."""
    return {} if "result" in result else part(result, "error")


def _quoted(argument: object) -> str:
    return shlex.quote(argument) if isinstance(argument, str) else str(argument)


_WHICH = Method(_named("sessionId"))
_LOGOUT = Method(_constant("log out"))
_TERMINAL = Method(_terminal, _done)
_MCP = Method(_mcp_message, _mcp_result)
_MCP_SERVER = _named("serverId", "acpId", "connectionId")
_MODE = _named("modeId", "mode", "modelId")

METHODS: dict[str, Method] = {
    **dict.fromkeys(INITIALIZE, Method(peer_texts.peer, peer_texts.peer)),
    **dict.fromkeys(LOGIN, Method(peer_texts.login, peer_texts.login_result)),
    "logout": _LOGOUT,
    "auth/logout": _LOGOUT,
    "providers/list": Method(_constant("all providers"), peer_texts.providers),
    "providers/set": Method(peer_texts.provider),
    "providers/disable": Method(peer_texts.provider),
    **dict.fromkeys(OPENING, Method(session_texts.opened, session_texts.open_result)),
    "session/list": Method(session_texts.list_params, session_texts.list_result),
    "session/delete": _WHICH,
    "session/close": _WHICH,
    "session/prompt": Method(session_texts.prompt, session_texts.prompt_result),
    "session/cancel": Method(session_texts.cancel),
    "session/set_mode": Method(_MODE, session_texts.set_mode_result),
    "session/set_model": Method(_MODE),
    "session/set_config_option": Method(session_texts.set_option, session_texts.set_option_result),
    "session/update": Method(session_texts.session_update),
    "session/request_permission": Method(tool_texts.permission, tool_texts.permission_result),
    "elicitation/create": Method(tool_texts.elicitation, tool_texts.elicitation_result),
    "elicitation/complete": Method(_named("elicitationId")),
    "fs/read_text_file": Method(_read_params, _read_result),
    "fs/write_text_file": Method(_write_params, _write_result),
    "terminal/create": Method(_command, _created),
    "terminal/output": Method(_output_params, _output_result),
    "terminal/wait_for_exit": Method(_terminal, _exit_result),
    "terminal/kill": _TERMINAL,
    "terminal/release": _TERMINAL,
    "nes/start": Method(_suggesting, session_texts.open_result),
    "nes/suggest": Method(_suggest, _suggestions),
    "nes/accept": Method(_decided),
    "nes/reject": Method(_decided),
    "nes/close": _WHICH,
    "document/didOpen": Method(_document),
    "document/didChange": Method(_document),
    "document/didClose": Method(_document),
    "document/didSave": Method(_document),
    "document/didFocus": Method(_document),
    "mcp/connect": Method(_MCP_SERVER, _MCP_SERVER),
    "mcp/disconnect": Method(_MCP_SERVER),
    "mcp/message": _MCP,
    "_mcp/request": _MCP,
    **dict.fromkeys(SUCCESSOR, Method(_wrapped)),
    "$/cancel_request": Method(lambda params: f"request #{word(params, 'requestId')}"),
}
"""The methods of all dialects. A message of any other method is described by its members."""
