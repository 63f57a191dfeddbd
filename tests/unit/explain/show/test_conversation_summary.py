"""`show` lists the capabilities of peers by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.explain.describe.peer_texts import auth_method_ids
from acp_proxy.explain.show.conversation_summary import capabilities

PROTOCOL = Path(__file__).parents[3] / "data" / "protocol"


def test_enabled_capabilities_of_v1_are_listed() -> None:
    """In v1, `show` lists the capabilities that are enabled, such as `terminal`."""
    params = {
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": False},
            "terminal": True,
            "elicitation": {"form": {}, "url": None},
            "plan": {},
        }
    }
    assert capabilities(params) == ["elicitation.form", "fs.readTextFile", "plan", "terminal"]


def test_empty_groups_of_v1_are_no_capabilities() -> None:
    """In v1, `show` does not list an empty group, such as `promptCapabilities`, as a capability."""
    groups: dict[str, Any] = {
        "promptCapabilities": {},
        "mcpCapabilities": {},
        "sessionCapabilities": {},
        "auth": {},
    }
    assert capabilities({"agentCapabilities": {**groups, "loadSession": False}}) == []


def test_capabilities_of_v1_are_named_by_path() -> None:
    """In v1, `show` names a capability by the path of its member, such as `fs.readTextFile`."""
    result = {
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False},
            "mcp": {"http": True},
            "sessionCapabilities": {"list": {}},
        }
    }
    assert capabilities(result) == [
        "loadSession",
        "mcp.http",
        "promptCapabilities.image",
        "sessionCapabilities.list",
    ]


def test_custom_capabilities_come_last() -> None:
    """`show` lists custom capabilities, such as those in `_meta`, after all others."""
    params = {
        "clientCapabilities": {"_meta": {"zed.dev": {"workspace": True}}, "terminal": True},
        "capabilities": {"_own": {"x": 1}, "fs": {"read": True}},
    }
    assert capabilities(params) == [
        "fs.read",
        "terminal",
        "_meta.zed.dev.workspace",
        "_own.x: 1",
    ]


def test_an_empty_object_is_a_capability_in_v2() -> None:
    """In v2, `show` lists a capability whose value is an empty object."""
    params: dict[str, Any] = {
        "capabilities": {"auth": {}, "session": {"prompt": {"image": {}}, "mcp": None}}
    }
    assert capabilities(params) == ["auth", "session.prompt.image"]


def test_capabilities_of_the_draft_have_values() -> None:
    """In the 1.0 draft, `show` prints the value of a capability after its name."""
    result = {
        "capabilities": {
            "mcpCapabilities": {"transport": ["stdio", "http"]},
            "terminal": {"maxConcurrent": 5},
        },
        "requiredClientCapabilities": {"fs": {"read": True}},
    }
    assert capabilities(result) == [
        "mcpCapabilities.transport: stdio, http",
        "terminal.maxConcurrent: 5",
    ]
    assert capabilities(result, "requiredClientCapabilities") == ["fs.read"]


def test_login_methods_are_listed_by_id() -> None:
    """`show` lists the login methods of an agent by id."""
    ways = [{"id": "oauth", "name": "Browser"}, {"methodId": "key"}, {"name": "Guest"}, {}, 7]
    assert auth_method_ids({"authMethods": ways}) == ["oauth", "key", "Guest"]


@pytest.mark.parametrize(
    "half",
    [
        {},
        {"capabilities": None, "agentCapabilities": "all"},
        {"clientCapabilities": [], "agentCapabilities": True, "authMethods": {}},
        {"capabilities": {"a": {"b": {"c": {"d": {"e": {"f": {"g": True}}}}}}}},
        {"capabilities": {"": True, "x" * 10_000: [None, {}, 1.5]}},
    ],
)
def test_odd_capabilities_are_named(half: Any) -> None:
    """For capabilities of any JSON shape, `show` prints names of at most 201 characters."""
    assert all(0 < len(name) <= 201 for name in capabilities(half))
    assert capabilities(half, "requiredClientCapabilities") == auth_method_ids(half) == []


@pytest.mark.parametrize("path", sorted(PROTOCOL.glob("messages-*.jsonl")), ids=lambda p: p.stem)
def test_every_initialization_in_the_specifications_has_capabilities(path: Path) -> None:
    """`show` finds the capabilities in every handshake of ACP's documents."""
    examples = [json.loads(line) for line in path.read_text().splitlines()]
    halves = [
        e["message"].get("params") or e["message"].get("result")
        for e in examples
        if e["method"] == "initialize"
    ]
    assert halves
    assert all(map(capabilities, halves))
