"""Whatever a message holds, there is a line to show for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.inspection.preview import preview
from acp_proxy.inspection.summary import first_prompt
from acp_proxy.inspection.timeline import describe_event

_WORDS = """
    update sessionUpdate content text type data source mimeType resource uri path terminalId
    toolCallId title status entries availableCommands state stopReason toolCall options kind
    outcome optionId granted clientInfo agentInfo name version command args exitStatus exitCode
    signal output prompt tool_call plan image resource_link diff agent_message_chunk steps
    state_update available_commands_update terminal"""
WORDS = st.sampled_from(sorted(_WORDS.split()))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | WORDS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)
METHODS = [
    "initialize",
    "session/prompt",
    "session/update",
    "session/request_permission",
    "session/new",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "$/cancel_request",
    "unknown/method",
]


@pytest.mark.parametrize("method", METHODS)
@given(value=VALUES)
def test_any_message_has_a_preview(method: str, value: Any) -> None:
    """Params, results and errors of any shape give one printable line."""
    for kind, member in (("request", "params"), ("response", "result"), ("error", "error")):
        shown = preview(json.dumps({member: value}).encode(), kind, method)
        assert shown.isprintable()


@given(raw=st.binary(), kind=st.sampled_from(["request", "response", "invalid", "stderr", "batch"]))
def test_any_bytes_have_a_preview(raw: bytes, kind: str) -> None:
    """What is no message, and what is no text, gives one printable line."""
    assert preview(raw, kind, "session/update", "why").isprintable()
    assert first_prompt(raw) == "" or raw.isascii()


@given(value=VALUES)
def test_any_prompt_is_text(value: Any) -> None:
    """The first prompt of any request is one printable line, or nothing."""
    assert first_prompt(json.dumps({"params": value}).encode()).isprintable()
    assert first_prompt(json.dumps({"params": {"prompt": value}}).encode()).isprintable()


@pytest.mark.parametrize(
    "kind", ["start", "eof", "signal", "exit", "undelivered", "gap", "fault", "note"]
)
@given(data=st.dictionaries(WORDS | st.just("to-agent"), VALUES, max_size=4))
def test_any_event_is_told(kind: str, data: dict[str, Any]) -> None:
    """An event's sentence never fails, whoever wrote its data."""
    assert isinstance(describe_event(kind, data), str)
