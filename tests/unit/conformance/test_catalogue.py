"""Places in the specification have addresses."""

from __future__ import annotations

import pytest

from acp_proxy.conformance.catalogue import address_of, rules


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("documentation: Tool Calls/Updating", "/protocol/v1/tool-calls"),
        ("documentation: Initialization page", "/protocol/v1/initialization"),
        ("documentation today: v2 prompt lifecycle", "/protocol/v2/prompt-lifecycle"),
        ("documentation today: MCP-over-ACP RFD", "/rfds/mcp-over-acp"),
    ],
)
def test_a_place_in_the_documentation_has_its_page(source: str, address: str) -> None:
    """By the page that its name begins with."""
    assert address_of(source) == f"https://agentclientprotocol.com{address}"


def test_only_the_draft_and_our_own_rules_have_no_address() -> None:
    """They are on no site."""
    sources = {source for rule in rules().values() for source in rule.source}
    without = {source for source in sources if address_of(source) is None}
    assert all(source.startswith(("1.0 draft, ", "acp-proxy; ")) for source in without)
    assert address_of("JSON-RPC 2.0") == "https://www.jsonrpc.org/specification"
    assert address_of("JSON") == "https://www.rfc-editor.org/rfc/rfc8259"
