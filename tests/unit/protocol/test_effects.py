"""Tests what effect each request of an agent has on the client: it reads, writes or runs."""

from __future__ import annotations

import pytest

from acp_proxy.explain.show.error_groups import Rules
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.effects import TABLE, ClientEffect, effect_of
from tests.support import protocol_documents
from tests.support.cases import each_case


@each_case(
    ("method", "dialect", "effect"),
    [
        ("fs/read_text_file", "v1", ClientEffect.READS),
        ("fs/read_text_file", "draft-1.0", ClientEffect.READS),
        ("fs/read_text_file", None, ClientEffect.READS),
        ("fs/read_text_file", "v2", ClientEffect.WRITES),
        ("fs/write_text_file", "v1", ClientEffect.WRITES),
        ("fs/write_binary_file", "draft-1.0", ClientEffect.WRITES),
        ("fs/watch", None, ClientEffect.WRITES),
        ("terminal/create", "v1", ClientEffect.RUNS),
        ("terminal/resize", None, ClientEffect.RUNS),
        ("session/request_permission", "v2", ClientEffect.ASKS),
        ("elicitation/create", "v1", ClientEffect.ASKS),
        ("elicitation/create", "draft-1.0", ClientEffect.OTHER),
        ("session/update", "v2", ClientEffect.INFORMS),
        ("mcp/message", "v1", ClientEffect.OTHER),
        ("_ext/run", "v1", ClientEffect.OTHER),
        ("", None, ClientEffect.OTHER),
        (None, None, ClientEffect.OTHER),
    ],
)
def test_a_method_has_an_effect(
    method: str | None, dialect: str | None, effect: ClientEffect
) -> None:
    """`effect_of` returns a request's effect on the client; an unknown `fs/` method is a write."""
    assert effect_of(method, dialect) is effect


def test_all_that_the_documents_have_agents_ask_for_is_in_the_table() -> None:
    """The table of effects on the client has each request of an agent in ACP's documents."""
    examples = [*protocol_documents.official(), *protocol_documents.draft()]
    asked = {
        example.method
        for example in examples
        if example.direction.value == "to-client" and example.kind in ("request", "notification")
    }
    named = {method for method in asked if not method.startswith("_")}
    assert len(named) > 5
    assert named <= TABLE.keys()


@pytest.mark.parametrize("dialect", [V1, V2, DRAFT])
def test_the_rules_of_a_dialect_know_the_same_requests(dialect: str) -> None:
    """In each dialect, `check` and the table of effects contain the same requests of an agent."""
    rules = Rules(dialect, {})
    for method, (effect, dialects) in TABLE.items():
        if effect not in (ClientEffect.INFORMS, ClientEffect.OTHER):
            fault = rules.violation("to-client", method, {})
            is_unknown = "does not define" in fault or "which only the client may send" in fault
            assert is_unknown is (dialect not in dialects), method
