"""Checks conversations that have the syntax of the examples of rules.

`judge` returns the lines of an example with the findings that the checker really makes. A test
compares this result with the findings that the example lists.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.check.catalogue import rules
from acp_proxy.check.checker import Checker
from acp_proxy.check.judgement import check_whole, merged
from acp_proxy.store.reader import RecordingReader
from tests.support.labelled_transcripts import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_proxy.check.check_values import ConformanceResult
    from acp_proxy.explain.findings import Finding

CWD = "/proj/app"
_ARROWS = {"->": "to-agent", "<-": "to-client"}
_V1_CLIENT = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "session": {"configOptions": {"boolean": {}}},
}
_V1_AGENT = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {
        "list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {},
    },
    "auth": {"logout": {}},
}  # fmt: skip
_V2_AGENT: dict[str, Any] = {
    "session": {
        "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
        "mcp": {"stdio": {}, "http": {}},
        "delete": {},
        "additionalDirectories": {},
    }
}
_CLIENT_INFO, _AGENT_INFO = {"name": "ed", "version": "1"}, {"name": "ag", "version": "1"}
_METHODS = [{"id": "login", "name": "Log in"}]


def _v1(client: dict[str, Any], agent: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    params = {"protocolVersion": 1, "clientCapabilities": client, "clientInfo": _CLIENT_INFO}
    return params, {
        "protocolVersion": 1,
        "agentCapabilities": agent,
        "agentInfo": _AGENT_INFO,
        "authMethods": _METHODS,
    }


HANDSHAKES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a v1 handshake": _v1(_V1_CLIENT, _V1_AGENT),
    "a v1 handshake without capabilities": _v1({}, {}),
    "a v2 handshake": (
        {
            "protocolVersion": 2,
            "info": _CLIENT_INFO,
            "capabilities": {"elicitation": {"form": {}, "url": {}}},
        },
        {
            "protocolVersion": 2,
            "info": _AGENT_INFO,
            "capabilities": _V2_AGENT,
            "authMethods": [{"methodId": "login", "name": "Log in", "type": "agent"}],
        },
    ),
    "a 1.0 draft handshake": (
        {
            "protocolVersion": 1,
            "clientInfo": _CLIENT_INFO,
            "capabilities": {
                "fs": {"read": True, "write": True},
                "terminal": {"create": True, "maxConcurrent": 2},
            },
        },
        {
            "protocolVersion": 1,
            "agentInfo": _AGENT_INFO,
            "capabilities": {
                "loadSession": True,
                "promptCapabilities": {"streaming": True, "attachments": True},
                "mcpCapabilities": {"servers": True, "transport": ["stdio", "http"]},
                "sessionCapabilities": {"modes": ["ask", "code"], "configOptions": ["model"]},
            },
        },
    ),
}
"""The handshake before an example: the params and the result of initialize."""


def judge(
    lines: Iterable[str],
    after: str = "",
    only: str | None = None,
    gap_ms: float = 1000,
    *,
    is_whole: bool = False,
) -> list[str]:
    """Checks an example, and returns its lines with the actual findings below them.

    Args:
        lines: the lines of an example; the findings that it lists are ignored.
        after: the conversation before the example, such as ``a v1 handshake, session s``.
        only: a rule; findings of other rules are left out.
        gap_ms: the time between two messages.
        is_whole: whether the checks of the whole conversation run, too.
    """
    told = [line for line in lines if not line.startswith(" ")]
    earlier = before(after)
    whole = [*earlier, *told]
    results = judge_lines(whole, gap_ms) if is_whole else check_lines(whole, gap_ms).findings
    written: list[str] = []
    seq = len(earlier)
    for line in told:
        seqs = range(seq + 1, seq + 1 + len(_rows(line)))
        seq = max(seqs, default=seq)
        written.append(line)
        for item in results:
            if item.seq in seqs and only in (None, item.rule):
                own = rules()[item.rule].severity
                severity = "" if item.severity == own else f" ({item.severity.value})"
                written.append(f"   {item.rule} by {item.by or 'nobody'}{severity}")
    for item in results:
        if item.seq <= len(earlier):
            written.append(f"   before it: {item.rule} by {item.by or 'nobody'}")
    return written


def check_lines(lines: list[str], gap_ms: float = 1000) -> ConformanceResult:
    """Checks the lines of an example by all rules; the first line is frame 1."""
    return Checker(reader_of(lines, gap_ms)).read()


def judge_lines(lines: list[str], gap_ms: float = 1000) -> list[Finding]:
    """Returns all findings about the lines of an example, each cause once."""
    with reader_of(lines, gap_ms) as reader:
        return merged(check_whole(reader), rules())[0]


def reader_of(lines: list[str], gap_ms: float = 1000) -> RecordingReader:
    """Opens the lines of an example as a recording."""
    return RecordingReader(Path("judged.jsonl"), iter(text_form_of(lines, gap_ms)), unredacted=True)


def text_form_of(lines: list[str], gap_ms: float = 1000) -> list[bytes]:
    """Returns the text form of the lines of an example."""
    is_over = any(line.removeprefix("== ") in _ENDINGS for line in lines)
    recording: dict[str, Any] = {
        "id": "c0ffee000001",
        "name": "judged",
        "tool_version": "0",
        "started_at": "2025-01-01T00:00:00Z",
        "state": "complete" if is_over else "incomplete",
    }
    for line in lines:
        recording |= _HEADERS.get(line.removeprefix("== "), {})
    rows: list[dict[str, Any]] = [{"acp_proxy": 1, "recording": recording}]
    rows += [{"after_ms": gap_ms, **row} for line in lines for row in _rows(line)]
    return [json.dumps(row).encode() + b"\n" for row in rows]


def frames_of(line: str) -> int:
    """Returns how many frames and events a line of an example stands for."""
    return len(_rows(line))


def before(after: str) -> list[str]:
    """Returns the lines that an example has before it, such as ``a v1 handshake, session s``."""
    if not after:
        return []
    handshake, *parts = after.split(", ")
    params, result = HANDSHAKES[handshake]
    is_draft = "draft" in handshake
    lines = [
        f"-> #0 initialize {json.dumps(params)}",
        f"<- #0 result {json.dumps(result)}",
    ]
    for part in parts:
        number = sum(line.startswith("->") for line in lines)
        if match := re.fullmatch(r"session (\w+)", part):
            session = match[1]
            new = {"workingDirectory": CWD} if is_draft else {"cwd": CWD, "mcpServers": []}
            opened = {"sessionId": session} | ({"createdAt": "2025-01-01"} if is_draft else {})
            lines.append(f"-> #{number} session/new {json.dumps(new)}")
            lines.append(f"<- #{number} result {json.dumps(opened)}")
        elif part == "a prompt":
            member = "content" if is_draft else "prompt"
            said = {"sessionId": session, member: [{"type": "text", "text": "hello"}]}
            lines.append(f"-> #{number} session/prompt {json.dumps(said)}")
            if "v2" in handshake:
                lines.append(f"<- #{number} result {{}}")
                for kind, update in (
                    ("state_update", {"state": "running"}),
                    ("user_message", {"messageId": "m1", "content": said[member]}),
                ):
                    params = {"sessionId": session, "update": {"sessionUpdate": kind, **update}}
                    lines.append(f"<- session/update {json.dumps(params)}")
        else:
            raise ValueError(f"expected 'session NAME' or 'a prompt', got {part!r}")
    return lines


def _rows(line: str) -> list[dict[str, Any]]:
    arrow, _, text = line.partition(" ")
    text = text.strip()
    if arrow == "==":
        if match := re.fullmatch(r"(\d+) seconds pass", text):
            return [{"stream": "stderr", "text": "", "after_ms": 1000 * int(match[1])}]
        return [] if text in _HEADERS else _ENDINGS.get(text) or _EVENTS[text]
    if arrow == "stderr":
        return [{"stream": "stderr", "text": text.removeprefix("| ")}]
    how, bar, rest = text.partition("|")
    if bar and how.strip() in _RAW:
        return [{"stream": _ARROWS[arrow], **_RAW[how.strip()](rest.removeprefix(" "))}]
    return [{"stream": _ARROWS[arrow], "text": frame(text).decode()}]


_RAW: dict[str, Callable[[str], dict[str, Any]]] = {
    "": lambda text: {"text": text},
    "cut": lambda text: {"text": text, "newline": ""},
    "bytes": lambda text: {"base64": base64.b64encode(bytes.fromhex(text)).decode()},
}
_EOF_OF_AGENT = {"event": "eof", "data": {"stream": "to-client"}}
_ENDINGS: dict[str, list[dict[str, Any]]] = {
    "client leaves": [
        {"event": "eof", "data": {"stream": "to-agent"}},
        {"event": "exit", "data": {"code": 0}},
    ],
    "agent exits": [_EOF_OF_AGENT, {"event": "exit", "data": {"code": 1}}],
    "agent exits with 127": [_EOF_OF_AGENT, {"event": "exit", "data": {"code": 127}}],
    "agent crashes": [
        _EOF_OF_AGENT,
        {"event": "exit", "data": {"signal": 11, "name": "SIGSEGV"}},
    ],
    "agent cannot be started": [
        {"event": "exit", "data": {"code": 127, "reason": "cannot start the agent 'ag'"}},
    ],
    "fault drop-out ends the agent": [
        {"event": "fault", "data": {"rule": "drop-out", "action": "kill"}},
        _EOF_OF_AGENT,
        {"event": "exit", "data": {"signal": 9, "name": "SIGKILL"}},
    ],
}
"""The events that end a conversation."""
_EVENTS: dict[str, list[dict[str, Any]]] = {
    "the agent reads nothing for 30 seconds": [
        {"event": "note", "data": {"action": "stalled", "stream": "to-agent", "bytes": 65_536}},
        {
            "event": "note",
            "data": {"action": "resumed", "stream": "to-agent"},
            "after_ms": 30_000,
        },
    ],
    "90 bytes are left for the agent": [
        {"event": "undelivered", "data": {"stream": "to-agent", "bytes": 90}},
    ],
    "4,096 bytes pass unrecorded": [
        {"event": "gap", "data": {"to-client": 4_096, "reason": "no space left on device"}},
    ],
}
_EXCERPT = {"source": "lines", "lost": ["ending", "start"]}
_HEADERS: dict[str, dict[str, Any]] = {
    "npx starts the agent": {"command": '["npx", "ag"]'},
    "an excerpt begins": {"origin": _EXCERPT, "state": "complete"},
    "recorder is killed": {},
}
"""Facts about the recording that are not among its events."""
