"""What a frame means, in one line: the prompt, the chunk, the call and its status, the choice."""

import json
from collections.abc import Callable
from typing import Any

Value = dict[str, Any]
_LONGEST = 1 << 20
"""Bytes of a frame beyond which nobody reads on for a preview."""


def preview(raw: bytes, kind: str, method: str | None, parse_error: str | None = None) -> str:
    """Describes a frame by its content; never raises.

    Args:
        raw: the line as received.
        kind: the frame's kind.
        method: the frame's method, or that of the request it answers.
        parse_error: why the line is no message, if it is none.
    """
    if kind in ("stderr", "blank"):
        return plain(raw.decode(errors="replace"))
    if kind == "invalid":
        return f"({plain(parse_error or '')}) {plain(raw[:400].decode(errors='replace'))}"
    if len(raw) > _LONGEST:
        return ""
    try:
        return _meaning(json.loads(raw), kind, method)
    except (ValueError, RecursionError):
        return plain(raw[:400].decode(errors="replace"))


def _meaning(message: object, kind: str, method: str | None) -> str:
    if isinstance(message, list):
        return f"{len(message)} messages"
    if not isinstance(message, dict):
        return ""
    if kind == "error":
        error = _object(message, "error")
        return plain(f"{error.get('code', '?')} {error.get('message', message.get('error'))}")
    part = message.get("result" if kind == "response" else "params")
    value = part if isinstance(part, dict) else {}
    table = _RESULTS if kind == "response" else _PARAMS
    try:
        text = table[method](value) if method in table else ""
    except (TypeError, ValueError, AttributeError):  # a shape that nobody foresaw
        text = ""
    return plain(text or _compact(part))


def plain(text: str) -> str:
    """Makes text safe to print on one line: control characters become visible escapes."""
    return visible(text.replace("\r\n", "\n").replace("\t", " ")[:2000])


def visible(text: str) -> str:
    """Writes control characters as escapes, so that nothing recorded can command a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def prompt_text(params: Value) -> str:
    """The text of a prompt, in either dialect."""
    return _content(params.get("prompt", params.get("content")))


def _object(value: Value, key: str) -> Value:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _compact(value: object) -> str:
    return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)


def _content(value: object) -> str:
    """Describes content blocks: text as it is, media by type and size, resources by their name."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_content, value)))
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    kind = value.get("type")
    if kind == "text" or "text" in value:
        return str(value.get("text", ""))
    if kind in ("image", "audio"):
        source = _object(value, "source") or value
        data = source.get("data")
        size = f", {len(data) * 3 // 4} bytes" if isinstance(data, str) else ""
        return f"[{source.get('mimeType', kind)}{size}]"
    if kind in ("resource", "resource_link"):
        inner = _object(value, "resource") or value
        return f"[{inner.get('uri', kind)}]"
    if kind == "content":
        return _content(value.get("content"))
    if kind == "diff":
        return f"[diff {value.get('path', '')}]"
    if kind == "terminal":
        return f"[terminal {value.get('terminalId', '')}]"
    return ""


def _update(params: Value) -> str:
    update = _object(params, "update")
    kind = update.get("sessionUpdate")
    if not kind:  # draft-1.0
        update, kind = _object(params, "data"), params.get("type")
    if not isinstance(kind, str):
        return ""
    if kind.endswith(("_chunk", "_message", "_thought")):
        return f"{kind}: {_content(update.get('content'))}"
    if kind in ("tool_call", "tool_call_update"):
        title = update.get("title") or update.get("tool") or update.get("toolCallId", "")
        status = update.get("status")
        shown = _content(update.get("content")) or _content(update.get("output"))
        parts = [str(title), f"[{status}]" if status else "", shown]
        return f"{kind}: {' '.join(filter(None, parts))}"
    if kind == "plan":
        entries = update.get("entries", update.get("steps"))
        states = [e.get("status") for e in entries or [] if isinstance(e, dict)]
        return f"plan: {states.count('completed')} of {len(states)} done"
    if kind in ("available_commands_update", "available_commands"):
        names = update.get("availableCommands", update.get("commands"))
        return f"{kind}: {len(names) if isinstance(names, list) else 0} commands"
    if kind == "state_update":
        return f"state_update: {update.get('state')} {update.get('stopReason') or ''}".rstrip()
    rest = {name: value for name, value in update.items() if name != "sessionUpdate"}
    return f"{kind}: {_compact(rest)}"


def _permission(params: Value) -> str:
    call = _object(params, "toolCall")
    title = call.get("title") or params.get("title") or params.get("operation") or ""
    options = [o.get("kind") for o in params.get("options") or [] if isinstance(o, dict)]
    asked = f" ({', '.join(map(str, options))})" if options else ""
    return f"{title}{asked}"


def _permission_result(result: Value) -> str:
    outcome = _object(result, "outcome")
    if outcome:
        return " ".join(map(str, filter(None, (outcome.get("outcome"), outcome.get("optionId")))))
    return "granted" if result.get("granted") else "denied" if "granted" in result else ""


def _peer(value: Value) -> str:
    info = next(
        (_object(value, key) for key in ("clientInfo", "agentInfo", "info") if value.get(key)), {}
    )
    name = f" {info.get('name', '')} {info.get('version', '')}".rstrip() if info else ""
    return f"protocol {value.get('protocolVersion', '?')}{name}"


def _command(params: Value) -> str:
    return " ".join(map(str, [params.get("command", ""), *(params.get("args") or [])]))


def _exit(result: Value) -> str:
    status = _object(result, "exitStatus") or result
    if status.get("signal"):
        return f"signal {status['signal']}"
    code = status.get("exitCode")
    return f"exit {code}" if code is not None else ""


def _output(result: Value) -> str:
    return f"{_exit(result)} {result.get('output', '')}".strip()


def _named(*keys: str) -> Callable[[Value], str]:
    return lambda value: " ".join(str(value[key]) for key in keys if value.get(key) is not None)


def _write(params: Value) -> str:
    content = params.get("content")
    size = f" ({len(content)} characters)" if isinstance(content, str) else ""
    return f"{params.get('path', '')}{size}"


def _read_result(result: Value) -> str:
    content = result.get("content")
    return f"{len(content)} characters" if isinstance(content, str) else ""


_PARAMS: dict[str, Callable[[Value], str]] = {
    "initialize": _peer,
    "session/prompt": prompt_text,
    "session/update": _update,
    "session/request_permission": _permission,
    "session/new": _named("cwd", "workingDirectory"),
    "session/load": _named("sessionId"),
    "session/cancel": _named("sessionId", "reason"),
    "session/set_mode": _named("modeId", "mode"),
    "$/cancel_request": _named("requestId"),
    "authenticate": _named("methodId", "method"),
    "fs/read_text_file": _named("path"),
    "fs/write_text_file": _write,
    "terminal/create": _command,
    "terminal/output": _named("terminalId"),
    "terminal/wait_for_exit": _named("terminalId"),
    "terminal/kill": _named("terminalId"),
    "terminal/release": _named("terminalId"),
}
_RESULTS: dict[str, Callable[[Value], str]] = {
    "initialize": _peer,
    "session/new": _named("sessionId"),
    "session/prompt": _named("stopReason"),
    "session/request_permission": _permission_result,
    "fs/read_text_file": _read_result,
    "terminal/create": _named("terminalId"),
    "terminal/output": _output,
    "terminal/wait_for_exit": _exit,
}
