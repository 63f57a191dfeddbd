"""The items of each dialect are those of its schemas, or of the text of the 1.0 draft."""

from __future__ import annotations

import pytest

from acp_proxy.conformance.coverage_items import SECTIONS, Standing, items_of, standing_of
from acp_proxy.conformance.exercised import USES
from acp_proxy.conformance.message_types import packaged
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.peers import Direction

STABLE, UNSTABLE, FORMER = Standing.STABLE, Standing.UNSTABLE, Standing.FORMER
DIALECTS = (V1, V2, DRAFT)


def names(dialect: str, section: str, standing: Standing = STABLE) -> list[str]:
    """Names the items of a section with a standing."""
    return [name for name, its in items_of(dialect)[section].items() if its is standing]


@pytest.mark.parametrize("dialect", [V1, V2])
def test_methods_are_those_of_the_schemas(dialect: str) -> None:
    """Stable is what the stable schema has, unstable what only the unstable one has."""
    stable, unstable = packaged(dialect), packaged(f"{dialect}-unstable")
    for section, direction in (
        ("client methods", Direction.TO_AGENT),
        ("agent methods", Direction.TO_CLIENT),
    ):
        own, more = {*stable.params[direction]}, {*unstable.params[direction]}
        assert {*names(dialect, section)} == own
        assert {*names(dialect, section, UNSTABLE)} == more - own
        assert own.isdisjoint(names(dialect, section, FORMER))


def test_the_values_of_v1_are_derived() -> None:
    """Enums, tags of unions, and what is meant where there is no tag."""
    assert names(V1, "stop reasons") == [
        "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled",
    ]  # fmt: skip
    blocks = ["text", "image", "audio", "resource_link", "resource"]
    assert names(V1, "prompt content") == names(V1, "agent content") == blocks
    assert names(V1, "tool content") == ["content", "diff", "terminal"]
    assert names(V1, "tool statuses") == ["pending", "in_progress", "completed", "failed"]
    kinds = ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert names(V1, "permission options") == kinds
    assert names(V1, "permission outcomes") == [*kinds, "cancelled"]
    assert names(V1, "MCP servers") == ["http", "sse", "stdio"]
    assert names(V1, "MCP servers", UNSTABLE) == ["acp"]
    assert names(V1, "login methods") == ["terminal", "agent"]
    assert names(V1, "session states") == []
    assert "plan" in names(V1, "session updates")
    assert "plan_removed" in names(V1, "session updates", UNSTABLE)


def test_the_values_of_v2_are_derived() -> None:
    """Open enums have their known values, and the states of a session are among them."""
    assert names(V2, "session states") == ["running", "idle", "requires_action"]
    assert "agent_message" in names(V2, "session updates")
    assert "tool_call" not in names(V2, "session updates")
    assert {"read", "other"} < {*names(V2, "tool kinds")}
    assert names(V2, "permission outcomes")[-1] == "cancelled"


def test_capabilities_are_paths_to_what_has_no_more_in_it() -> None:
    """Objects that group others are no items."""
    assert {"fs.readTextFile", "terminal", "elicitation.url"} < {*names(V1, "client capabilities")}
    assert "fs" not in items_of(V1)["client capabilities"]
    assert {"loadSession", "auth.logout"} < {*names(V1, "agent capabilities")}
    assert "sessionCapabilities.fork" in names(V1, "agent capabilities", UNSTABLE)
    assert "session.prompt.image" in names(V2, "agent capabilities")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_use_of_a_capability_can_be_seen(dialect: str) -> None:
    """A capability and what uses it are in the same dialect, if they are in it at all."""
    items = items_of(dialect)
    for section in ("client capabilities", "agent capabilities"):
        for name in items[section]:
            for by, what in USES.get(name, ()):
                assert by.name == "session members" or what in items[by.name], (name, what)


def test_no_section_is_empty_in_all_dialects() -> None:
    """Each place in a section leads to a value."""
    for section in SECTIONS:
        assert any(items_of(dialect)[section.name] for dialect in DIALECTS), section.name
        if section.places:
            assert items_of(V1)[section.name] or items_of(V2)[section.name], section.name


def test_what_is_in_no_dialect_is_an_extension_or_unknown() -> None:
    """Its name decides; a group has the standing of what is in it."""
    items = items_of(V1)["client capabilities"]
    assert standing_of(items, "_meta.own") is Standing.EXTENSION
    assert standing_of(items, "$/progress") is Standing.EXTENSION
    assert standing_of(items, "teleport") is Standing.UNKNOWN
    assert standing_of(items, "elicitation") is STABLE
    assert standing_of(items, "nes") is FORMER
    assert standing_of(items_of(None)["session updates"], "state_update") is STABLE
