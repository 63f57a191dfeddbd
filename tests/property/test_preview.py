"""A preview can be had of anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.inspection.preview import preview
from acp_proxy.protocol.jsonrpc import Kind
from tests.documents import draft, official
from tests.strategies import broken_lines, json_values

EXAMPLES = [*official(), *draft()]

kinds = st.sampled_from([kind.value for kind in Kind])
methods = st.sampled_from([None, "_x/y", *{example.method for example in EXAMPLES}])
errors = st.sampled_from([None, "not UTF-8 at byte 3"])

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


def is_plain(text: str) -> bool:
    """Whether a line of text can be printed without commanding the terminal."""
    return text.isprintable() and len(text) <= 20_000


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """A message of the documents with some of its values replaced by any JSON."""
    if draw(st.integers(0, 9)) == 0:
        return draw(json_values)
    if isinstance(value, dict):
        return {key: draw(spoiled(inner)) for key, inner in value.items()}
    return [draw(spoiled(inner)) for inner in value] if isinstance(value, list) else value


@given(st.binary() | broken_lines(), kinds, methods, errors)
def test_any_bytes_have_a_preview(
    raw: bytes, kind: str, method: str | None, error: str | None
) -> None:
    """No bytes make it raise, whatever they are said to be."""
    assert is_plain(preview(raw, kind, method, error))


@pytest.mark.parametrize("method", METHODS)
@given(value=VALUES)
def test_any_message_has_a_preview(method: str, value: Any) -> None:
    """Params, results and errors of any shape give one printable line."""
    for kind, member in (("request", "params"), ("response", "result"), ("error", "error")):
        shown = preview(json.dumps({member: value}).encode(), kind, method)
        assert shown.isprintable()


@given(json_values, kinds, methods, st.sampled_from(["params", "result", "error", None]))
def test_any_json_has_a_preview(
    value: Any, kind: str, method: str | None, member: str | None
) -> None:
    """No JSON makes it raise, wherever in a message it stands."""
    message = value if member is None else {member: value}
    assert is_plain(preview(json.dumps(message).encode(), kind, method))


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_spoiled_message_has_a_preview(example: Any, data: st.DataObject) -> None:
    """Nor does a message that is almost one of the documents'."""
    message = data.draw(spoiled(example.message))
    kind = "error" if "error" in example.message else example.kind
    assert is_plain(preview(json.dumps(message).encode(), kind, example.method))


@given(st.sampled_from(EXAMPLES))
def test_a_message_of_the_documents_has_a_preview(example: Any) -> None:
    """There is something to show of each message of the documents, unless it holds nothing."""
    kind = "error" if "error" in example.message else example.kind
    shown = preview(example.raw, kind, example.method)
    assert shown or not example.message.get("result", example.message.get("params"))
