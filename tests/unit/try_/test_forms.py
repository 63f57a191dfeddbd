"""Tests the messages of `try` in each dialect."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.try_.forms import Forms

SERVER = ["/bin/tools", "--all"]


@pytest.mark.parametrize("writes", [True, False])
def test_writing_is_offered_only_if_it_is_served(writes: bool) -> None:
    """In v1, `try` offers writes and terminals in `initialize`, but with `--reject` only reads."""
    can = Forms(V1).initialize(writes=writes)["clientCapabilities"]
    assert can == {"fs": {"readTextFile": True, "writeTextFile": writes}, "terminal": writes}
    draft = Forms(DRAFT).initialize(writes=writes)["capabilities"]
    assert draft == {"fs": {"read": True, "write": writes}}
    assert Forms(V2).initialize(writes=writes)["capabilities"] == {}


@pytest.mark.parametrize(
    ("asked", "version", "followed"),
    [(V1, 1, V1), (V1, 2, V2), (V2, 1, V1), (V1, "x", V1), (V1, None, V1), (DRAFT, 1, DRAFT)],
)
def test_the_version_in_the_answer_is_followed(asked: str, version: Any, followed: str) -> None:
    """`try` uses the protocol version in the agent's answer to `initialize`."""
    assert Forms(asked).following({"protocolVersion": version}).dialect == followed


def test_each_dialect_has_its_members() -> None:
    """`try` writes `session/new` and prompts in the form of the agent's dialect."""
    assert Forms(V1).session("/w", [SERVER]) == {
        "cwd": "/w",
        "mcpServers": [{"name": "tools", "command": "/bin/tools", "args": ["--all"], "env": []}],
    }
    assert Forms(V2).session("/w", [SERVER])["mcpServers"][0]["type"] == "stdio"
    assert Forms(DRAFT).session("/w", [SERVER]) == {
        "workingDirectory": "/w",
        "mcpServers": [
            {
                "name": "tools",
                "transport": {"type": "stdio", "command": "/bin/tools", "args": ["--all"]},
            }
        ],
    }
    text = [{"type": "text", "text": "hi"}]
    assert Forms(V1).prompt("s", "hi") == {"sessionId": "s", "prompt": text}
    assert Forms(DRAFT).prompt("s", "hi") == {"sessionId": "s", "content": text}
