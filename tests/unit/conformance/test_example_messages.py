"""Every example message of the specifications, in the middle of a minimal legal conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.peers import Direction
from tests import documents
from tests.judged import HANDSHAKES, check_lines

if TYPE_CHECKING:
    from tests.documents import Example

V1, DRAFT = "a v1 handshake", "a 1.0 draft handshake"
CWD = "/home/user/project"

NO_INFO = {"init.info"}
SLIPS: dict[str, dict[int, set[str]]] = {
    V1: {
        6: NO_INFO,
        7: {*NO_INFO, "init.capabilities", "meta.root-field"},  # capabilities of the client
        12: NO_INFO,
        13: {*NO_INFO, "init.capability-name"},  # agentCapabilities.mcp
        24: {"mode.update-field"},  # modeId for currentModeId
        25: {"tool.content-form"},  # a bare block of text
        28: NO_INFO,
        33: NO_INFO,
        36: {*NO_INFO, "init.capabilities", "meta.root-field"},
    },
    DRAFT: {
        11: {"rpc.request-without-id", "rpc.version"},
        16: {"rpc.request-without-id", "rpc.version"},
        17: {"session.lost"},  # the session was opened before it
        18: {"rpc.request-without-id", "rpc.version"},
        26: {"session.outside-roots"},
        33: {"session.outside-roots"},
    },
}
"""The rules that examples break, by their place in the documents; all others break none."""
EXAMPLES = [
    *((V1, at, one) for at, one in enumerate(documents.official())),
    *((DRAFT, at, one) for at, one in enumerate(documents.draft())),
]


class Setting:
    """A conversation in which a message is legal, as far as it can be.

    Args:
        example: the message.
        handshake: the handshake of its dialect.
    """

    def __init__(self, example: Example, handshake: str) -> None:
        self.example = example
        self.handshake = handshake
        self.message = example.message
        self.lines: list[str] = []
        self._ids = {"->": 1000, "<-": 1000}

    def tell(self) -> list[str]:
        """Returns the lines before the message, and the message as the last one."""
        example, message = self.example, self.message
        arrow = "->" if example.direction == Direction.TO_AGENT else "<-"
        params = message.get("params", {})
        method = example.method
        if method != "initialize":
            self._shake()
        elif example.kind == "response":
            request = HANDSHAKES[self.handshake][0]
            self.lines.append(f"-> #{json.dumps(message['id'])} initialize {json.dumps(request)}")
        if example.kind != "response":
            self._prepare(arrow, method, params)
        elif method != "initialize":
            self._ask("<-" if arrow == "->" else "->", method)
        return [*self.lines, f"{arrow} {json.dumps(message)}"]

    def _shake(self) -> None:
        params, result = (_with_extensions(one) for one in HANDSHAKES[self.handshake])
        self.lines += [f"-> #0 initialize {json.dumps(params)}"]
        self.lines += [f"<- #0 result {json.dumps(result)}"]

    @property
    def _is_draft(self) -> bool:
        return self.handshake == DRAFT

    def _exchange(self, arrow: str, method: str, params: Any, result: Any) -> None:
        self._ids[arrow] += 1
        other = "<-" if arrow == "->" else "->"
        self.lines.append(f"{arrow} #{self._ids[arrow]} {method} {json.dumps(params)}")
        self.lines.append(f"{other} #{self._ids[arrow]} result {json.dumps(result)}")

    def _open(self, session: str) -> None:
        modes = {
            "currentModeId": "ask",
            "availableModes": [{"id": one, "name": one} for one in ("ask", "architect", "code")],
        }
        result = {"sessionId": session, "modes": modes}
        new: dict[str, Any] = {"cwd": CWD, "mcpServers": []}
        if self._is_draft:
            new, result = {"workingDirectory": CWD}, {"sessionId": session, "createdAt": "2026"}
        self._exchange("->", "session/new", new, result)

    def _prompt(self, session: str, number: int = 900) -> None:
        member = "content" if self._is_draft else "prompt"
        params = {"sessionId": session, member: [{"type": "text", "text": "hello"}]}
        self.lines.append(f"-> #{number} session/prompt {json.dumps(params)}")

    def _prepare(self, arrow: str, method: str, params: dict[str, Any]) -> None:
        session = params.get("sessionId")
        if session is None and self._is_draft and arrow == "<-":
            session = "sess_x"
        if session is None or method == "session/load":
            return
        self._open(session)
        if method not in ("session/prompt", "session/set_mode"):
            self._prompt(session)
        update = params.get("update", params.get("data", {}))
        call = params.get("toolCall", {}).get("toolCallId") or params.get("toolCallId")
        is_change = "tool_call_update" in (update.get("sessionUpdate"), params.get("type"))
        if is_change:
            call = update.get("toolCallId") or update.get("id")
        if call is not None:
            self._announce(session, call)
        terminal = params.get("terminalId")
        for item in update.get("content", []) if isinstance(update.get("content"), list) else []:
            terminal = item.get("terminalId", terminal)
        if terminal is not None:
            self._create_terminal(session, terminal)

    def _announce(self, session: str, call: str) -> None:
        if self._is_draft:
            data = {"id": call, "tool": "fs/read_text_file", "status": "in_progress", "input": {}}
            told: Any = {"sessionId": session, "type": "tool_call", "data": data}
        else:
            update = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Work"}
            told = {"sessionId": session, "update": update | {"status": "in_progress"}}
        self.lines.append(f"<- session/update {json.dumps(told)}")

    def _create_terminal(self, session: str, terminal: str) -> None:
        params = {"sessionId": session, "command": "make"}
        self._exchange("<-", "terminal/create", params, {"terminalId": terminal})

    def _ask(self, arrow: str, method: str) -> None:
        """Sends the request that the message answers."""
        number = json.dumps(self.message["id"])
        session = "sess_x"
        paths = {"path": f"{CWD}/a", "content": "a"}
        options = [
            {"optionId": "allow-once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
        ]
        requests: dict[str, dict[str, Any]] = {
            "session/load": {"sessionId": "old", "cwd": CWD, "mcpServers": []},
            "session/new": {"cwd": CWD, "mcpServers": []},
            "fs/read_text_file": {"sessionId": session, "path": f"{CWD}/a"},
            "fs/write_text_file": {"sessionId": session, **paths},
            "terminal/create": {"sessionId": session, "command": "make"},
            "terminal/output": {"sessionId": session, "terminalId": "t"},
            "terminal/wait_for_exit": {"sessionId": session, "terminalId": "t"},
            "session/request_permission": {
                "sessionId": session, "toolCall": {"toolCallId": "c"}, "options": options,
            },
        }  # fmt: skip
        if self._is_draft:
            requests |= {
                "session/new": {"workingDirectory": CWD},
                "fs/read_text_file": {"path": f"{CWD}/a"},
                "fs/write_text_file": paths,
                "session/request_permission": {
                    "sessionId": session, "operation": "file_write", "resource": f"{CWD}/a",
                    "toolCallId": "c",
                },
            }  # fmt: skip
        if method not in ("session/new", "session/load"):
            self._open(session)
        if method == "session/prompt":
            self._prompt(session, self.message["id"])
            self._say(session)
            return
        if method.startswith(("fs/", "terminal/", "session/request")):
            self._prompt(session)
        if method in ("terminal/output", "terminal/wait_for_exit"):
            self._create_terminal(session, "t")
        if method == "session/request_permission":
            self._announce(session, "c")
        self.lines.append(f"{arrow} #{number} {method} {json.dumps(requests.get(method, {}))}")
        if method == "session/request_permission" and "cancelled" in self.example.raw.decode():
            self.lines.append(f'-> session/cancel {{"sessionId": "{session}"}}')
        if method == "session/load":
            self._say("old")

    def _say(self, session: str) -> None:
        update = {"sessionUpdate": "user_message_chunk" if session == "old" else
                  "agent_message_chunk", "content": {"type": "text", "text": "hello"}}  # fmt: skip
        told: Any = {"sessionId": session, "update": update}
        if self._is_draft:
            told = {"sessionId": session, "type": "agent_message_chunk",
                    "data": {"content": "hello", "index": 0, "final": True}}  # fmt: skip
        self.lines.append(f"<- session/update {json.dumps(told)}")


def _with_extensions(handshake: dict[str, Any]) -> dict[str, Any]:
    """Announces the extensions that the examples use."""
    meta = {"zed.dev": {"workspace": True}, "custom": {}}
    sessions = {"modes": ["default", "plan"]}
    return {
        name: {**value, "_meta": meta, "sessionCapabilities": sessions}
        if name == "capabilities" and "sessionCapabilities" in value
        else {**value, "_meta": meta}
        if name.lower().endswith("capabilities")
        else value
        for name, value in handshake.items()
    }


def found_in(example: Example, handshake: str) -> tuple[set[str], set[str]]:
    """Returns the rules that a message breaks, and those that what comes before it breaks."""
    lines = Setting(example, handshake).tell()
    found = check_lines(lines).findings
    at = {one.rule for one in found if one.seq == len(lines)}
    return at, {f"{one.rule} #{one.seq}" for one in found if one.seq < len(lines)}


@pytest.mark.parametrize(
    ("handshake", "at", "example"), EXAMPLES, ids=lambda one: getattr(one, "method", None)
)
def test_finds_the_slips_of_the_documents(handshake: str, at: int, example: Example) -> None:
    """An example breaks the rules that its note says, and what comes before it breaks none."""
    assert found_in(example, handshake) == (SLIPS[handshake].get(at, set()), set())


def test_examples_that_are_not_of_their_type_break_a_rule() -> None:
    """But for two null results, which stand for empty ones."""
    for at, example in enumerate(documents.official()):
        if example.valid_v1_schema is False and example.message.get("result", {}) is not None:
            assert SLIPS[V1][at] - NO_INFO
