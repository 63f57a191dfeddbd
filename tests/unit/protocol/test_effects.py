"""What each method makes a client do."""

from __future__ import annotations

import pytest

from acp_proxy.inspection.diagnosis.errors import Rules
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.effects import TABLE, Effect, effect_of
from tests import documents


@pytest.mark.parametrize(
    ("method", "dialect", "effect"),
    [
        ("fs/read_text_file", "v1", Effect.READS),
        ("fs/read_text_file", "draft-1.0", Effect.READS),
        ("fs/read_text_file", None, Effect.READS),
        ("fs/read_text_file", "v2", Effect.WRITES),
        ("fs/write_text_file", "v1", Effect.WRITES),
        ("fs/write_binary_file", "draft-1.0", Effect.WRITES),
        ("fs/watch", None, Effect.WRITES),
        ("terminal/create", "v1", Effect.RUNS),
        ("terminal/resize", None, Effect.RUNS),
        ("session/request_permission", "v2", Effect.ASKS),
        ("elicitation/create", "v1", Effect.ASKS),
        ("elicitation/create", "draft-1.0", Effect.OTHER),
        ("session/update", "v2", Effect.INFORMS),
        ("mcp/message", "v1", Effect.OTHER),
        ("_ext/run", "v1", Effect.OTHER),
        ("", None, Effect.OTHER),
        (None, None, Effect.OTHER),
    ],
)
def test_a_method_has_an_effect(method: str | None, dialect: str | None, effect: Effect) -> None:
    """An unlisted method has an unknown effect; below fs/ and terminal/ the worst is assumed."""
    assert effect_of(method, dialect) is effect


def test_each_method_stands_in_the_table_once() -> None:
    """So that it has one effect."""
    assert len({row.method for row in TABLE}) == len(TABLE)


def test_all_that_the_documents_have_agents_ask_for_is_in_the_table() -> None:
    """But for extensions."""
    examples = [*documents.official(), *documents.draft()]
    asked = {
        one.method
        for one in examples
        if one.direction.value == "to-client" and one.kind in ("request", "notification")
    }
    named = {method for method in asked if not method.startswith("_")}
    assert len(named) > 5
    assert named <= {row.method for row in TABLE}


@pytest.mark.parametrize("dialect", [V1, V2, DRAFT])
def test_the_rules_of_a_dialect_know_the_same_requests(dialect: str) -> None:
    """The table of rules, by which a refusal is blamed on a peer, has the same methods."""
    rules = Rules(dialect, {})
    for row in TABLE:
        if row.effect not in (Effect.INFORMS, Effect.OTHER):
            fault = rules.violation("to-client", row.method, {})
            is_unknown = "does not have" in fault or "which only the client may send" in fault
            assert is_unknown is (dialect not in row.dialects), row.method
