"""Writes conversations as the logs of other tools have them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import frozen

from acp_proxy.protocol.peers import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEGAN_NS = int(BEGAN.timestamp()) * 10**9
TO_AGENT, TO_CLIENT, STDERR = Stream.TO_AGENT, Stream.TO_CLIENT, Stream.STDERR


class Sent(NamedTuple):
    """A message, or a line of stderr, with milliseconds since the beginning."""

    stream: Stream
    raw: bytes
    ms: int = 0


@frozen
class Writer:
    """How a tool writes a conversation."""

    format: str
    write: Callable[[list[Sent]], str]
    has_times: bool = False
    began_ns: int = BEGAN_NS
    """The time of the beginning in the log."""
    has_directions: bool = True
    has_stderr: bool = False
    has_values: bool = True
    """Whether null, false and empty objects are told apart, and results from errors."""


def time_of(sent: Sent) -> datetime:
    """When a message was sent."""
    return BEGAN + timedelta(milliseconds=sent.ms)


def lines(write: Callable[[Sent], str]) -> Callable[[list[Sent]], str]:
    """Writes each message by itself."""
    return lambda conversation: "".join(write(sent) + "\n" for sent in conversation)


def _text(sent: Sent) -> str:
    return sent.raw.decode()


def _jetbrains(sent: Sent) -> str:
    stamp = time_of(sent).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    side = "OUT" if sent.stream is TO_AGENT else "IN"
    return f"{stamp} [{sent.ms:7}]   FINE - AcpTransport - {side}: {_text(sent)}"


def _zed(conversation: list[Sent]) -> str:
    rows: list[dict[str, Any]] = []
    for sent in conversation:
        if sent.stream is STDERR:
            rows.append({"_direction": "stderr", "_type": "stderr", "id": None,
                         "method": "stderr", "params": _text(sent)})  # fmt: skip
            continue
        message = json.loads(sent.raw)
        row = {"_direction": "outgoing" if sent.stream is TO_AGENT else "incoming"}
        if "method" in message:
            kind, params = "request" if "id" in message else "notification", message.get("params")
        else:
            kind, params = "response", message.get("result", message.get("error"))
        row |= {"_type": kind, "id": message.get("id"), "method": message.get("method", "x")}
        rows.append({**row, "params": params})
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _devtools(sent: Sent, number: int = 1) -> dict[str, Any]:
    return {
        "seq": number,
        "timestamp": BEGAN_NS // 10**6 + sent.ms,
        "direction": "editor-to-agent" if sent.stream is TO_AGENT else "agent-to-editor",
        "kind": "request",
        "raw": _text(sent),
        "payload": json.loads(sent.raw),
    }


def _devtools_export(conversation: list[Sent]) -> str:
    session = {"id": 4, "name": None, "agentCommand": "npx -y 'an agent'"}
    return json.dumps(
        {
            "version": 1,
            "tool": {"name": "acp-devtools", "version": "0.3.0"},
            "session": session,
            "messages": [_devtools(sent, n) for n, sent in enumerate(conversation, 1)],
        },
        indent=4,
    )


def lisp(value: Any) -> str:
    """Writes JSON as Emacs prints what it has read of it."""
    if isinstance(value, dict) and value:
        pairs = (f"({_symbol(name)} . {lisp(each)})" for name, each in value.items())
        return f"({' '.join(pairs)})"
    if value is None or value is False or value == {}:
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, list):
        return f"[{' '.join(map(lisp, value))}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return str(value)


def _symbol(name: str) -> str:
    plain = "".join(c if c.isalnum() or c in "_-/:." else f"\\{c}" for c in name)
    return f"\\{plain}" if plain[:1].isdigit() or plain in (".", "-") else plain or "##"


def _agent_shell(conversation: list[Sent]) -> str:
    entries = []
    for sent in conversation:
        side = "outgoing" if sent.stream is TO_AGENT else "incoming"
        message = lisp(json.loads(sent.raw))
        entries.append(f"((:direction . {side})\n  (:kind . request)\n  (:object . {message}))")
    return f"({chr(10).join(entries)})\n" if entries else "nil\n"


def _vscode(sent: Sent) -> str:
    stamp = time_of(sent).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    side = ">>> CLIENT → AGENT" if sent.stream is TO_AGENT else "<<< AGENT → CLIENT"
    pretty = json.dumps(json.loads(sent.raw), indent=2, ensure_ascii=False)
    return f"[{stamp}Z] {side} [REQUEST] initialize\n{pretty}\n"


def _kandev(sent: Sent) -> str:
    side = {TO_AGENT: "sent", TO_CLIENT: "received", STDERR: "stderr"}[sent.stream]
    content = {"line": _text(sent)} if sent.stream is STDERR else {"frame": json.loads(sent.raw)}
    return json.dumps({"ts": time_of(sent).isoformat(), "direction": side, **content})


def _trace(sent: Sent) -> str:
    message = json.loads(sent.raw)
    ends = ("Client", "Agent") if sent.stream is TO_AGENT else ("Agent", "Client")
    event = {"ts": sent.ms / 1000, "protocol": "acp", "from": ends[0], "to": ends[1]}
    if "method" in message:
        kind = "request" if "id" in message else "notification"
        del message["jsonrpc"]
        return json.dumps({"type": kind, **event, "session": None} | message)
    payload = message.get("result", message.get("error"))
    answer = {"id": message["id"], "is_error": "error" in message, "payload": payload}
    return json.dumps({"type": "response", **event, **answer})


def _toad(sent: Sent) -> str:
    if sent.stream is TO_AGENT:
        return f"[client] {json.loads(sent.raw)!r}"
    return f"[agent] {_text(sent)}"


def _marked(to_agent: str, to_client: str) -> Callable[[list[Sent]], str]:
    return lines(lambda s: f"{to_agent if s.stream is TO_AGENT else to_client} {_text(s)}")


WRITERS = {
    "jetbrains": Writer("jetbrains", lines(_jetbrains), has_times=True),
    "zed": Writer("zed", _zed, has_stderr=True, has_values=False),
    "acp-devtools": Writer("acp-devtools", _devtools_export, has_times=True),
    "acp-devtools-lines": Writer(
        "acp-devtools", lines(lambda sent: json.dumps(_devtools(sent))), has_times=True
    ),
    "acpx": Writer("acpx", lines(_text), has_directions=False),
    "agent-shell": Writer("agent-shell", _agent_shell, has_values=False),
    "vscode": Writer("lines", lines(_vscode), has_times=True),
    "kandev": Writer("lines", lines(_kandev), has_times=True, has_stderr=True),
    "trace": Writer("lines", lines(_trace), has_times=True, began_ns=0),
    "toad": Writer("lines", lines(_toad)),
    "arrows": Writer("lines", _marked("→", "←")),
    "long-arrows": Writer("lines", _marked("-->", "<--")),
    "angles": Writer("lines", _marked(">", "<")),
    "out-in": Writer("lines", _marked("OUT:", "IN:")),
    "conductor": Writer("lines", _marked("C →", "C ←")),
    "quoted": Writer(
        "lines",
        lambda conversation: "".join(
            f"> {line}\n" for line in _marked("→", "←")(conversation).split("\n")[:-1]
        ),
    ),
}
"""Every way of writing, by name."""


def conversation_of(path: Path) -> list[Sent]:
    """The messages of a recording, as far as they are JSON."""
    from acp_proxy.store.reader import RecordingReader

    with RecordingReader(path, unredacted=True) as reader:
        rows: Iterable[Any] = reader.connection.execute(
            "SELECT stream, raw, t_ns FROM frames WHERE kind NOT IN ('invalid', 'blank', 'batch')"
            " ORDER BY seq"
        )
        return [Sent(Stream(stream), raw, t_ns // 10**6) for stream, raw, t_ns in rows]
