"""Makes conversations for tests of `audit`: a handshake, a session, and what a test adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.explain.audit.audit import audit
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import error, notification, request, result, text

if TYPE_CHECKING:
    from acp_proxy.explain.audit.audit_values import Action, Audit

CWD = "/proj/app"
OPTIONS = [
    {"optionId": "1", "name": "Allow", "kind": "allow_once"},
    {"optionId": "2", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "3", "name": "Reject", "kind": "reject_once"},
]
ALLOW, ALWAYS, REJECT = "1", "2", "3"
_INITIALIZE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "v1": ({"clientCapabilities": {}}, {"agentCapabilities": {}}),
    "v2": (
        {"info": {"name": "ed", "version": "1"}, "capabilities": {}},
        {"info": {"name": "ag", "version": "1"}, "capabilities": {"session": {}}},
    ),
    "draft-1.0": (
        {"clientInfo": {"name": "ed"}, "capabilities": {"fs": {"read": True}}},
        {"agentInfo": {"name": "ag"}, "capabilities": {}},
    ),
}


class Talk:
    """A recording that a test writes. Each line takes a second; the first prompt is frame 6.

    Args:
        dialect: the dialect of the handshake.
        **opening: further params of ``session/new``.

    Attributes:
        pause_ms: the time before each line.
    """

    def __init__(self, dialect: str = "v1", **opening: Any) -> None:
        self.dialect = dialect
        self.pause_ms = 1000
        self.lines: list[tuple[str, Any]] = []
        self._ids = {"to-agent": 0, "to-client": 0}
        params, answer = _INITIALIZE[dialect]
        version = 2 if dialect == "v2" else 1
        directory = "workingDirectory" if dialect == "draft-1.0" else "cwd"
        self.client_asks("initialize", {"protocolVersion": version, **answer},
                         protocolVersion=version, **params)  # fmt: skip
        self.client_asks("session/new", {"sessionId": "s"}, **{directory: CWD, **opening})
        self.prompt()

    def to_agent(self, *messages: Any) -> None:
        """Adds messages of the client."""
        self.lines += [("to-agent", message) for message in messages]

    def to_client(self, *messages: Any) -> None:
        """Adds messages of the agent."""
        self.lines += [("to-client", message) for message in messages]

    def client_asks(self, method: str, answer: dict[str, Any], /, **params: Any) -> None:
        """Adds a request of the client and the agent's answer."""
        number = self._next("to-agent")
        self.to_agent(_request(number, method, params))
        self.to_client(result(number, **answer))

    def prompt(self, session: str = "s") -> None:
        """Adds a prompt, which begins a turn."""
        self.to_agent(
            request(self._next("to-agent"), "session/prompt", sessionId=session, prompt=[text("x")])
        )

    def asks(self, method: str, answer: dict[str, Any] | None, /, **params: Any) -> None:
        """Adds a request of the agent, and the client's answer if there is one."""
        number = self._next("to-client")
        session = {} if self.dialect == "draft-1.0" else {"sessionId": "s"}
        self.to_client(_request(number, method, {**session, **params}))
        if answer is not None:
            self.to_agent(result(number, **answer))

    def asks_in_vain(self, method: str, /, **params: Any) -> None:
        """Adds a request of the agent that the client answers with an error."""
        number = self._next("to-client")
        self.to_client(_request(number, method, {"sessionId": "s", **params}))
        self.to_agent(error(number, -32603, "no disk"))

    def permission(self, chosen: str | None, call: dict[str, Any], **params: Any) -> None:
        """Adds a permission request and the chosen option; None cancels the request."""
        outcome = {"outcome": "cancelled"}
        if chosen is not None:
            outcome = {"outcome": "selected", "optionId": chosen}
        self.asks(
            "session/request_permission", {"outcome": outcome},
            **{"toolCall": call, "options": OPTIONS, **params},
        )  # fmt: skip

    def update(self, update: str, /, **fields: Any) -> None:
        """Adds a session update."""
        if self.dialect == "draft-1.0":
            params: dict[str, Any] = {"sessionId": "s", "type": update, "data": fields}
        else:
            params = {"sessionId": "s", "update": {"sessionUpdate": update, **fields}}
        self.to_client(notification("session/update", **params))

    def call(self, call: str, /, **fields: Any) -> None:
        """Adds the announcement of a tool call."""
        kind = "tool_call_update" if self.dialect == "v2" else "tool_call"
        name = "id" if self.dialect == "draft-1.0" else "toolCallId"
        self.update(kind, **{name: call, "status": "pending", **fields})

    def ends(self, call: str, status: str = "completed", /, **fields: Any) -> None:
        """Adds an update that ends a tool call."""
        name = "id" if self.dialect == "draft-1.0" else "toolCallId"
        self.update("tool_call_update", **{name: call, "status": status, **fields})

    def text_form(self) -> list[bytes]:
        """Returns the recording in the text form, line by line."""
        recording = {
            "id": "c0ffee000001", "name": "talk", "tool_version": "0", "cwd": "/home/me",
            "started_at": "2025-01-01T00:00:00Z", "command": ["agent", "--acp"],
        }  # fmt: skip
        lines: list[Any] = [{"acp_proxy": 1, "recording": recording}]
        for stream, message in self.lines:
            lines.append({"after_ms": self.pause_ms, "stream": stream, "message": message})
        return [json.dumps(line).encode() + b"\n" for line in lines]

    def reader(self) -> RecordingReader:
        """Opens the recording that the test has written so far."""
        return RecordingReader(Path("talk.jsonl"), iter(self.text_form()))

    def audit(self) -> Audit:
        """Returns the result of `audit` for the recording."""
        with self.reader() as reader:
            return audit(reader)

    def action(self) -> Action:
        """Returns the only action in the result of `audit`."""
        (action,) = self.audit().actions
        return action

    def findings(self) -> dict[str, str]:
        """Returns the texts of the findings of `audit`, by kind."""
        return {finding.kind: finding.text for finding in self.audit().findings}

    def _next(self, stream: str) -> int:
        self._ids[stream] += 1
        return self._ids[stream]


def _request(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def shell(line: str) -> dict[str, Any]:
    """Returns the fields of a tool call that runs a command."""
    return {"title": line, "kind": "execute", "rawInput": {"command": line}}


def edit(path: str) -> dict[str, Any]:
    """Returns the fields of a tool call that edits a file."""
    return {"title": f"Edit {path}", "kind": "edit", "locations": [{"path": path}]}
