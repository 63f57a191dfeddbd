"""Records a conversation with secrets in every place that may have text."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.support.log_writer import LogWriter, notification, request, result, text

if TYPE_CHECKING:
    from pathlib import Path

ENV = "q7Vd/Xw2+Lm9Rt4Kp8Zb"
"""The value of a variable, which is repeated in several forms."""
KEY = "sk-ant-api03-Vb7QxL2mRk9TzWp4Yc8NdHf5"
"""A provider's key, which is sent in two chunks."""
ARGUMENT = "Hn6wQz3LfTyB"
"""The value of an argument of the agent."""
SECRETS = (ENV, KEY, ARGUMENT, quote(ENV, safe=""), base64.b64encode(ENV.encode()).decode()[:20])


def record_planted(path: Path, *, large: int = 0, **fields: Any) -> Path:
    """Records a conversation with secrets, and returns the path.

    Args:
        path: the path of the database.
        large: the size in bytes of another line with a secret; 0 for no such line.
        **fields: fields of the recording, such as ``redaction``.
    """
    with LogWriter(path, arg=["--api-key", ARGUMENT], **fields) as recorder:
        recorder.to_agent(request(1, "initialize", protocolVersion=1))
        recorder.to_client(result(1, protocolVersion=1))
        env = [{"name": "DEPLOY", "value": ENV}]
        server = {"name": "m", "command": "x", "args": [], "env": env}
        recorder.to_agent(request(2, "session/new", cwd="/srv/app", mcpServers=[server]))
        recorder.to_client(result(2, sessionId="s1"))
        prompt = [text(f"use {ENV} at /{quote(ENV, safe='')}")]
        recorder.to_agent(request(3, "session/prompt", sessionId="s1", prompt=prompt))
        for part in ("hello, the key is ", KEY[:14], KEY[14:], " as you see"):
            recorder.to_client(_chunk(part))
        code = base64.b64encode(ENV.encode()).decode()
        batch = [_chunk(f"in a batch {ENV}"), _chunk(f"coded {code}")]
        recorder.to_client(batch)
        recorder.stderr(f"connecting with {ENV}")
        recorder.to_client(b"no JSON, but " + ENV.encode() + b"\n")
        if large:
            recorder.to_client(_chunk(f"{'lorem ' * (large // 6)}{ENV} end"))
        recorder.to_client(result(3, stopReason="end_turn"))
        recorder.end(code=0)
        recorder.close()
        recorder.finish()
    return path


def _chunk(words: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": text(words)}
    return notification("session/update", sessionId="s1", update=update)
