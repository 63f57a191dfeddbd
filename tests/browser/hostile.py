"""Makes recordings with markup, scripts and odd characters in every place for text.

Recordings are untrusted: an agent chooses nearly all of their text, and the sender of a file can
choose all of it.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from itertools import cycle
from typing import TYPE_CHECKING, Any

from acp_proxy.recording.log_format import TO_AGENT, TO_CLIENT
from tests.support.images import REFUSED, SHOWN, image
from tests.support.log_writer import LogWriter, error, notification, request, result, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

AWAY = "http://example.invalid"
"""The host that must not get any request."""
TAGS = {
    "script": "</script><script>alert(1)</script>",
    "odd case": "</ScRiPt\t><sCrIpT>alert(2)</sCrIpT\n>",
    "comment": "<!--<script>",
    "comment closed": "<!--<script>alert(3)</script>-->",
    "comment end": "--><script>alert(4)</script>",
    "end of data": "]]><![CDATA[<script>alert(5)</script>]]>",
    "style": f"</style><style>@import url({AWAY}/style);*{{background:url({AWAY}/css)}}</style>",
    "title": "</title></textarea></noscript></template><svg/onload=alert(6)>",
    "image": f'"><img src={AWAY}/image onerror=alert(7)>',
    "attribute": "' onmouseover='alert(8)' autofocus onfocus='alert(8)' x='",
    "backquote": "` onclick=alert(9) style=position:fixed;inset:0 `",
    "frame": f"<iframe src='javascript:alert(10)'></iframe><iframe src={AWAY}/frame>",
    "object": f"<object data={AWAY}/object></object><embed src={AWAY}/embed>",
    "refresh": f'<meta http-equiv="refresh" content="0;url={AWAY}/refresh">',
    "base": f"<base href={AWAY}/><link rel=stylesheet href=sheet><link rel=prefetch href=p>",
    "form": f"<form action={AWAY}/form><input autofocus onfocus=alert(11)><button>x</form>",
    "details": "<details open ontoggle=alert(12)><dialog open>x</dialog></details>",
    "entities": "&lt;script&gt;alert(13)&lt;/script&gt;&#x3C;img src onerror=alert(13)&#x3E;&amp;",
    "unclosed": "<table><tr><td><select><math><mtext></form><b><i><a href='x",
    "slot": "<template shadowrootmode=open><slot></slot><script>alert(14)</script></template>",
}
"""Texts that would be markup."""
ADDRESSES = {
    "script address": "javascript:alert(20)",
    "odd script address": "\x01JaVa\tScRiPt&colon;alert(21)//%0aalert(21)",
    "data address": "data:text/html,<script>alert(22)</script>",
    "address": f"{AWAY}/link?a=1&b=2#c",
    "file address": "file:///etc/passwd",
    "path": "../../../../etc/passwd\\..\\..\\%00%0d%0a",
}
"""Texts with addresses outside of the page."""
TEXTS = {
    "template": "{{7*7}} ${7*7} {% raw %} {# x #} #{7*7} <%= 7*7 %> {{''.__class__}}",
    "names": "__proto__",
    "constructor": "constructor",
    "escaped": "\\u003cscript\\u003ealert(30)\\x3c/script\\x3e",
    "separators": "a\u2028b\u2029c\x85d",
    "bidirectional": "\u202egpj.exe\u2066\u2069\u200f",
    "invisible": "in\u200bvi\u200dsi\u2060b\ufeffle\u00ad\U000e0041",
    "high surrogate": "high \ud800 alone",
    "low surrogate": "low \udc00 alone",
    "surrogates": "\udc00\ud800 the wrong way round",
    "nul": "nul \x00 and \x01\x08\x0b\x0c\x1f\x7f\x9b31m controls",
    "lines": "a\r\nb\nc\td\re",
    "colours": "\x1b[31;1mred\x1b[0m \x1b[38;2;1;2;3;48;5;300mmany\x1b[m",
    "terminal link": f"\x1b]8;;javascript:alert(31)\x07a\x1b]8;;\x07\x1b]8;;{AWAY}/o\x1b\\b",
    "terminal title": "\x1b]0;title\x07\x1b]52;c;eHg=\x07\x1bPq#0\x1b\\\x1b_Gi=1;AA\x1b\\",
    "cursor": "\x1b[2J\x1b[H\x1b[999999999A\x1b[999999999;999999999Hx\x1b[?1049h\x1bc",
    "colours without end": "\x1b[" + "1;" * 300 + "mx\x1b[" + "9" * 400 + "m" + "\x1b[1m" * 300,
    "unfinished": "\x1b[38;5\x1b]8;;http",
    "long word": "w" * 2_000,
    "marks": "Z" + "\u0301" * 300,
    "wide": "﷽𒐫👩‍👩‍👧‍👦" * 5,
    "number": "1e999",
    "quotes": "\"'`\\\"\\'$(reboot)&&|;",
    "filter": "or not ( method:* latency:>2s text:\"",
    "pattern": "(((((a+)+)+)+)+)$[",
    "arrow": "-->>x: note over a,b; end %% \"]",
    "space": "   ",
    "empty": "",
}  # fmt: skip
"""Texts that are difficult to display."""
PAYLOADS = {**TAGS, **ADDRESSES, **TEXTS}
DEEP = 20_000
LONG = 1 << 20


def encoded(message: Any, number: int) -> bytes:
    """Returns a message as a line; every second message has non-ASCII characters unescaped."""
    try:
        return json.dumps(message, ensure_ascii=number % 2 == 0).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message).encode() + b"\n"


class Hostile:
    """Records conversations in which peers use one of `PAYLOADS` as every text."""

    def __init__(self, recorder: LogWriter) -> None:
        self._recorder = recorder
        self._number = 0

    def client(self, message: Any) -> None:
        """Records a message of the client."""
        self._recorder.chunk(TO_AGENT, encoded(message, self._number))

    def agent(self, message: Any) -> None:
        """Records a message of the agent."""
        self._recorder.chunk(TO_CLIENT, encoded(message, self._number))

    def converse(self, payload: str) -> None:
        """Writes a session with a turn in which all strings are the payload."""
        self._number += 1
        p = payload
        self.client(request(p, "session/new", cwd=p, mcpServers=[_server(p)], _meta={p: p}))
        self.agent(
            result(p, sessionId=p, modes={"currentModeId": p, "availableModes": [_named(p)]})
        )
        blocks = [
            text(p),
            {"type": "resource_link", "uri": p, "name": p, "title": p, "mimeType": p},
            {"type": "resource", "resource": {"uri": p, "text": p, "mimeType": p}},
            {"type": "image", "data": p, "uri": p, "mimeType": p},
            {"type": p, p: p},
        ]
        self.client(request(f"{p}2", "session/prompt", sessionId=p, prompt=blocks))
        for message in self._updates(p):
            self.agent(message)
        for number, (method, params, answer) in enumerate(self._asked(p)):
            self.agent(request(f"{p}{number}", method, sessionId=p, **params))
            self.client(result(f"{p}{number}", **answer))
        self.client(notification(p, **{p: p}))
        self.client(request([p], p, **{p: {p: [p, {p: p}]}}))
        self.client(request(f"{p}3", p, text=p))
        self.agent(
            {"jsonrpc": p, "id": f"{p}3", "error": {"code": p, "message": p, "data": {p: p}}}
        )
        self.agent([notification(p, text=p), _update(p, "agent_message_chunk", content=text(p)), p])
        self.agent({p: p})
        self._recorder.to_client(p.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"\n")
        self._recorder.stderr(p.encode("utf-8", "replace").decode().replace("\n", " "))
        self.agent(error(f"{p}2", -32603, p))
        self.client(request(f"{p}4", "session/prompt", sessionId=p, prompt=[text(p)]))
        self.agent(result(f"{p}4", stopReason=p))
        self.agent(request(f"{p}5", "session/request_permission", sessionId=p, toolCall=_call(p)))

    def _updates(self, p: str) -> Iterator[Any]:
        for kind in ("user_message_chunk", "agent_thought_chunk", "agent_message_chunk"):
            yield _update(p, kind, content=text(p), messageId=p)
            yield _update(p, kind, content=text(p), messageId=p)
        content = [
            {"type": "content", "content": text(p)},
            {"type": "diff", "path": p, "oldText": f"{p}\n{p} old", "newText": f"{p}\n{p} new"},
            {"type": "terminal", "terminalId": p},
        ]
        yield _update(p, "tool_call", **_call(p), content=content)
        yield _update(p, "tool_call_update", toolCallId=p, title=p, status=p, rawOutput={p: p})
        yield _update(p, "tool_call_update", toolCallId=p, status="failed", content=content)
        yield _update(p, "plan", entries=[{"content": p, "priority": p, "status": p}])
        yield _update(p, "available_commands_update", availableCommands=[_named(p)])
        yield _update(p, "current_mode_update", currentModeId=p)
        yield _update(p, "session_info_update", title=p)
        yield _update(p, p, **{p: p})

    def _asked(self, p: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        options = [{"optionId": p, "name": p, "kind": p}]
        yield (
            "session/request_permission",
            {"toolCall": _call(p), "options": options},
            {"outcome": {"outcome": "selected", "optionId": p}},
        )
        yield "fs/read_text_file", {"path": p}, {"content": p}
        yield "fs/write_text_file", {"path": p, "content": p}, {}
        env = [{"name": p, "value": "x"}]
        yield (
            "terminal/create",
            {"command": p, "args": [p], "env": env, "cwd": p},
            {"terminalId": p},
        )
        status = {"exitCode": None, "signal": p}
        yield "terminal/output", {"terminalId": p}, {"output": f"{p}\n{p}", "exitStatus": status}
        yield f"_{p}", {p: p}, {p: p}


def _update(session: str, what: str, /, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": what, **fields}
    return notification("session/update", sessionId=session, update=update)


def _named(p: str) -> dict[str, Any]:
    return {"id": p, "name": p, "description": p, "input": {"hint": p}}


def _server(p: str) -> dict[str, Any]:
    return {"name": p, "command": p, "args": [p], "env": [{"name": p, "value": "x"}], "url": p}


def _call(p: str) -> dict[str, Any]:
    return {
        "toolCallId": p,
        "title": p,
        "kind": p,
        "status": "pending",
        "locations": [{"path": p, "line": 1}],
        "rawInput": {"command": p, p: p},
    }


def record_hostile(path: Path, payloads: Iterable[str] = PAYLOADS.values()) -> Path:
    """Makes a recording with each payload in every place, and with unusual lines."""
    every = " ".join(PAYLOADS.values())
    with LogWriter(path) as recorder:
        hostile = Hostile(recorder)
        parties = {"name": every, "version": every, "title": every}
        hostile.client(request(0, "initialize", protocolVersion=1, clientInfo=parties))
        hostile.agent(result(0, protocolVersion=1, agentInfo=parties, authMethods=[_named(every)]))
        for payload in payloads:
            hostile.converse(payload)
        _write_pictures(hostile)
        _write_odd_lines(recorder)
        recorder.end(code=3)
        recorder.close()
        recorder.finish()
    _spoil(path, every)
    return path


def _write_pictures(hostile: Hostile) -> None:
    """Writes images of all kinds in prompts and tool calls, with payloads as their types."""
    pictures = [*(data for data, *_ in SHOWN.values()), *REFUSED.values()]
    for number, (data, p) in enumerate(zip(pictures, cycle(PAYLOADS.values()))):
        block = {**image(data, p), "uri": p}
        hostile.client(request(f"i{number}", "session/prompt", sessionId="i", prompt=[block]))
        call = {"toolCallId": f"i{number}", "title": p, "status": "failed"}
        content = [{"type": "content", "content": block}]
        hostile.agent(_update("i", "tool_call", **call, content=content))
        hostile.agent(result(f"i{number}", stopReason="end_turn"))


def _write_odd_lines(recorder: LogWriter) -> None:
    """Writes lines that are deeply nested, very long, or not text."""
    deep = b"[" * DEEP + b"]" * DEEP
    deep_object = b'{"a":' * DEEP + b"1" + b"}" * DEEP
    for value in (deep, deep_object):
        start = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        recorder.to_client(start + value + b"}}\n", value + b"\n", value[:DEEP] + b"\n")
    recorder.to_client(notification("</script>" + "m" * LONG, sessionId="</script>" + "s" * 9_999))
    recorder.to_client(notification("session/update", **{f"key {n}": n for n in range(20_000)}))
    recorder.to_client(
        b"\xff\xfe\xed\xa0\x80<script>alert(40)</script>\xc0\xaf\n", b"\x00" * 300 + b"\n"
    )
    recorder.to_client(
        b'{"jsonrpc":"2.0","method":"n","params":[1e999,-0,123456789012345678901]}\n'
    )
    recorder.to_client(b'{"method":"a","method":"b","params":{"x":1,"x":2,"__proto__":{"y":1}}}\n')


def _spoil(path: Path, every: str) -> None:
    """Sets payloads in columns that no peer, but the sender of a file can choose."""
    every = every.encode("utf-8", "replace").decode().replace("\x00", "")
    columns = (
        "name", "tool_version", "cwd", "platform", "dialect_reason", "end_reason", "fault_plan",
        "parent", "connection_id", "note", "protocol_version", "client_version", "agent_version",
    )  # fmt: skip
    with contextlib.closing(sqlite3.connect(path)) as database:
        for column in columns:
            database.execute(f"UPDATE recording SET {column} = ?", (every,))
        database.execute("UPDATE recording SET command = ?", (json.dumps([every, every]),))
        last = database.execute("SELECT max(seq) FROM events").fetchone()[0]
        for number, payload in enumerate(PAYLOADS.values(), 1):
            rule = payload.encode("utf-8", "replace").decode().replace("\x00", "")
            fired = (10 * number, rule, rule, None, rule.encode())
            database.execute("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)", fired)
            database.execute("UPDATE frame_rows SET fault = ? WHERE seq = ?", (rule, 10 * number))
            data = json.dumps({"action": rule, "reason": rule, "signal": rule, rule: rule})
            for kind in ("note", "signal", "fault", rule or "other"):
                last += 1
                database.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?)", (last, 10**12, kind, data)
                )
        database.commit()
