"""Starts verifications in which a live agent makes requests, and makes these requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.verify_playbook import LiveAgent, verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

SESSION = """
    1 -> #0 initialize {"protocolVersion": 1}
    2 <- #0 result {"protocolVersion": 1}
    3 -> #1 session/new {"cwd": "/p"}
    4 <- #1 result {"sessionId": "s"}
"""
"""The transcript of a recording that opens a session."""
HAS_SESSION = """
    -> 1
    <- 2
    -> 3
    <- 4
"""
"""The transcript of a verification of `SESSION`."""
START = f"""{SESSION}
    5 -> #2 session/prompt {{"sessionId": "s"}}
"""
"""The transcript of a recording that opens a session and begins a turn."""
STARTED = f"""{HAS_SESSION}
    -> 5
"""
"""The transcript of a verification of `START`."""
END = '#2 result {"stopReason": "end_turn"}'
"""The answer that ends the turn of `START`."""
UPDATE = 'session/update {"sessionId": "s", "update": {"n": %d}}'
ALLOW, REJECT = "y:allow_once", "n:reject_once"
LS = {"title": "ls", "kind": "read", "rawInput": {"command": "ls"}}
RM = {"title": "rm -rf ~", "kind": "execute", "rawInput": {"command": "rm -rf ~"}}
"""Tool calls that need permission."""


def asking(record: Record, recorded: str, **options: Any) -> LiveAgent:
    """Returns a verification that has just sent a prompt; the turn's frames begin with number 6."""
    live = verify(record(f"{START}\n{recorded}\n<- {END}"), **options)
    return live.check(STARTED)


def options(*named: str) -> str:
    """Returns permission options as JSON; each is given as ``id:kind`` or ``id:kind:name``."""
    words = [item.split(":") for item in named]
    items = (
        f'{{"optionId": "{w[0]}", "kind": "{w[1]}", "name": "{w[2] if len(w) > 2 else w[1]}"}}'
        for w in words
    )
    return f"[{', '.join(items)}]"


def permission(call: dict[str, Any], *named: str, token: int = 0) -> str:
    """Returns a permission request; by default it offers the options `ALLOW` and `REJECT`."""
    tool = json.dumps({"toolCallId": f"call-{token}", **call})
    offered = options(*(named or (ALLOW, REJECT)))
    params = f'{{"sessionId": "s", "toolCall": {tool}, "options": {offered}}}'
    return f"#{token} session/request_permission {params}"


def selected(option: str, token: int = 0) -> str:
    """Returns the recorded answer that chooses an option."""
    return f'#{token} result {{"outcome": {{"outcome": "selected", "optionId": "{option}"}}}}'


def outcome(option: str | None, token: int = 0) -> str:
    """Returns the answer of `verify` to a permission request: an option, or None to cancel."""
    chosen = '"cancelled"' if option is None else f'"selected","optionId":"{option}"'
    return f'{{"jsonrpc":"2.0","id":{token},"result":{{"outcome":{{"outcome":{chosen}}}}}}}'


def read(path: str, token: str = "0", **more: int) -> str:
    """Returns a request to read a file."""
    rest = "".join(f', "{key}": {value}' for key, value in more.items())
    return f'#{token} fs/read_text_file {{"sessionId": "s", "path": "{path}"{rest}}}'


def write(path: str, text: str, token: str = "0") -> str:
    """Returns a request to write a file."""
    params = f'{{"sessionId": "s", "path": "{path}", "content": "{text}"}}'
    return f"#{token} fs/write_text_file {params}"
