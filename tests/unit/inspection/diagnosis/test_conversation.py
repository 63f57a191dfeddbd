"""What the peers can do, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.inspection.describe.peers import auth_method_ids
from acp_proxy.inspection.diagnosis.conversation import capabilities

PROTOCOL = Path(__file__).parents[3] / "data" / "protocol"


def test_v1_names_what_is_on() -> None:
    """A flag that is true, or an object that is there, is a capability; false and null are none."""
    params = {
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": False},
            "terminal": True,
            "elicitation": {"form": {}, "url": None},
            "plan": {},
        }
    }
    assert capabilities(params) == ["elicitation.form", "fs.readTextFile", "plan", "terminal"]


def test_empty_groups_of_v1_are_no_capability() -> None:
    """An agent that lists its groups with nothing in them can do nothing of theirs."""
    groups: dict[str, Any] = {
        "promptCapabilities": {},
        "mcpCapabilities": {},
        "sessionCapabilities": {},
        "auth": {},
    }
    assert capabilities({"agentCapabilities": {**groups, "loadSession": False}}) == []


def test_an_agent_of_v1() -> None:
    """Names are paths, as they are on the wire."""
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


def test_custom_ones_come_last() -> None:
    """What stands under _meta, or begins with an underscore, is a capability too."""
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


def test_v2_says_by_presence() -> None:
    """In v2 an empty object is a yes, wherever it stands."""
    params: dict[str, Any] = {
        "capabilities": {"auth": {}, "session": {"prompt": {"image": {}}, "mcp": None}}
    }
    assert capabilities(params) == ["auth", "session.prompt.image"]


def test_the_draft_has_lists_and_numbers() -> None:
    """What is more than a yes is told with its value; demands on the client are told apart."""
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


def test_ways_to_log_in() -> None:
    """They go by their ids, in the agent's order, in either dialect."""
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
def test_whatever_came_has_names(half: Any) -> None:
    """Bad traffic is data; no name is longer than a line."""
    assert all(0 < len(name) <= 201 for name in capabilities(half))
    assert capabilities(half, "requiredClientCapabilities") == auth_method_ids(half) == []


@pytest.mark.parametrize("path", sorted(PROTOCOL.glob("messages-*.jsonl")), ids=lambda p: p.stem)
def test_every_example_of_the_specifications_has_some(path: Path) -> None:
    """No half of an initialization in the specifications is without capabilities."""
    examples = [json.loads(line) for line in path.read_text().splitlines()]
    halves = [
        e["message"].get("params") or e["message"].get("result")
        for e in examples
        if e["method"] == "initialize"
    ]
    assert halves
    assert all(map(capabilities, halves))
