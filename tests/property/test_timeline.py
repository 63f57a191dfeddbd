"""`list` and `log` can print any message and any event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.show.conversation_summary import first_prompt

KEYS = st.sampled_from(
    ["command", "stream", "reason", "name", "signal", "action", "code", "bytes", "to-agent", "text"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(raw=st.binary())
def test_any_bytes_have_a_first_prompt_or_none(raw: bytes) -> None:
    """`list` can list a recording, whatever bytes are stored as its first prompt."""
    assert first_prompt(raw).isprintable()


@given(value=VALUES)
def test_any_prompt_is_printable(value: Any) -> None:
    """`list` prints any first prompt as one line."""
    assert first_prompt(json.dumps({"params": value}).encode()).isprintable()
    assert first_prompt(json.dumps({"params": {"prompt": value}}).encode()).isprintable()


@pytest.mark.parametrize(
    "kind", ["start", "eof", "signal", "exit", "undelivered", "gap", "fault", "note"]
)
@given(data=st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_event_has_a_sentence(kind: str, data: dict[str, Any]) -> None:
    """`log` describes any event by a sentence."""
    assert isinstance(describe_event(kind, data), str)
