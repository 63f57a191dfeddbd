"""Writes conversations in the log formats of other tools."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import frozen

from acp_proxy.protocol.jsonrpc import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEGAN_NS = int(BEGAN.timestamp()) * 10**9
TO_AGENT, TO_CLIENT, STDERR = Stream.TO_AGENT, Stream.TO_CLIENT, Stream.STDERR


class Sent(NamedTuple):
    """A message or a line of stderr, with milliseconds since the log's beginning."""

    stream: Stream
    raw: bytes
    ms: int = 0


@frozen
class Writer:
    """How a tool writes a conversation into its log, and what its log leaves out."""

    format: str
    write: Callable[[list[Sent]], str]
    has_times: bool = False
    has_directions: bool = True
    has_stderr: bool = False
    has_values: bool = True
    """Whether the log distinguishes null, false and empty objects, and results and errors."""


def time_of(sent: Sent) -> datetime:
    """Returns the time when a message was sent."""
    return BEGAN + timedelta(milliseconds=sent.ms)


def lines(write: Callable[[Sent], str]) -> Callable[[list[Sent]], str]:
    """Returns a writer that puts each message on a line of its own."""
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


def _vscode(sent: Sent) -> str:
    stamp = time_of(sent).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    side = ">>> CLIENT → AGENT" if sent.stream is TO_AGENT else "<<< AGENT → CLIENT"
    pretty = json.dumps(json.loads(sent.raw), indent=2, ensure_ascii=False)
    return f"[{stamp}Z] {side} [REQUEST] initialize\n{pretty}\n"


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
    "vscode": Writer("lines", lines(_vscode), has_times=True),
    "arrows": Writer("lines", _marked("→", "←")),
    "long-arrows": Writer("lines", _marked("-->", "<--")),
    "angles": Writer("lines", _marked(">", "<")),
    "out-in": Writer("lines", _marked("OUT:", "IN:")),
    "conductor": Writer("lines", _marked("C →", "C ←")),
}
"""All writers of logs, by name."""


def conversation_of(path: Path) -> list[Sent]:
    """Returns the messages of a recording that are valid and not in a batch."""
    from acp_proxy.store.reader import RecordingReader

    with RecordingReader(path, unredacted=True) as reader:
        rows: Iterable[Any] = reader.connection.execute(
            "SELECT stream, raw, t_ns FROM frames WHERE kind NOT IN ('invalid', 'blank', 'batch')"
            " ORDER BY seq"
        )
        return [Sent(Stream(stream), raw, t_ns // 10**6) for stream, raw, t_ns in rows]
