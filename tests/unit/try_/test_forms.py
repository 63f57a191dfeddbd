"""Tests the messages of `try` in each dialect."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.try_.forms import (
    Forms,
    McpServer,
    allowing_option,
    denial,
    permission_result,
)

SERVER = McpServer("tools", ["/bin/tools", "--all"])
OPTIONS = [
    {"optionId": "n", "name": "No", "kind": "reject_once"},
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
]


def _asked(**params: Any) -> dict[str, Any]:
    return {"method": "session/request_permission", "params": params}


@pytest.mark.parametrize("writes", [True, False])
def test_writing_is_offered_only_if_it_is_served(writes: bool) -> None:
    """`try` announces writing files and running terminals together, in v1 and the draft."""
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
    """`try` speaks the version that the agent answers, if it knows the version."""
    assert Forms(asked).following({"protocolVersion": version}).dialect == followed


def test_each_dialect_has_its_members() -> None:
    """`try` writes sessions, prompts and servers as each dialect has them."""
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


def test_permission_is_granted_once_rather_than_always() -> None:
    """Of several options that allow, `try` takes the one for a single call."""
    assert (allowing_option(_asked(options=OPTIONS)) or {})["optionId"] == "y"
    assert allowing_option(_asked(options=OPTIONS[:1])) is None


def test_permission_is_denied_by_an_option_or_cancelled() -> None:
    """If `try` has no option to reject, it answers cancelled, or in the draft not granted."""
    selected = {"outcome": {"outcome": "selected", "optionId": "n"}}
    assert denial(_asked(options=OPTIONS)) == selected
    assert denial(_asked(options=OPTIONS[1:])) == {"outcome": {"outcome": "cancelled"}}
    draft = _asked(operation="file_write", resource="a.txt")
    assert denial(draft) == {"granted": False}
    assert permission_result(draft, None, granted=True) == {"granted": True}
