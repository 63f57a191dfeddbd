"""`log` prints any frame as one line."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_proxy.explain.describe.method_texts import METHODS as METHOD_TABLE
from acp_proxy.explain.describe.session_texts import UPDATES
from acp_proxy.explain.preview import preview
from acp_proxy.protocol.jsonrpc import Kind
from tests.support.protocol_documents import draft, official
from tests.support.strategies import broken_lines, json_values
from tests.tools.previews import Case, cases

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = list(cases())
EXAMPLES = [*official(), *draft()]

kinds = st.sampled_from([kind.value for kind in Kind])
methods = st.sampled_from([None, "_x/y", *{example.method for example in EXAMPLES}])
errors = st.sampled_from([None, "not UTF-8 at byte 3"])

_WORDS = """
    update sessionUpdate content text type data source mimeType resource uri path terminalId
    toolCallId title name status entries availableCommands state stopReason toolCall options kind
    outcome optionId granted clientInfo agentInfo version command args exitStatus exitCode signal
    output prompt steps subject locations location line rawInput rawOutput hunks changes patch
    oldText newText operation capabilities agentCapabilities authMethods _meta plan planId cost
    usage used size configOptions currentValue modes sessions mcpServers transport method params
    position suggestions requestedSchema properties blob message code summary"""
_VALUES = """
    tool_call tool_call_update plan plan_update usage_update state_update terminal_update
    terminal_output_chunk agent_message_chunk available_commands_update config_option_update
    session_info_update compaction_update image audio resource resource_link diff terminal text
    completed in_progress session/update initialize"""
WORDS = st.sampled_from(sorted(_WORDS.split()))
KINDS_AND_TYPES = st.sampled_from(sorted(_VALUES.split()))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | KINDS_AND_TYPES
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)
METHODS = [*sorted(METHOD_TABLE), "unknown/method"]


def is_plain(text: str) -> bool:
    """Whether a text is a single line without control characters."""
    return text.isprintable() and len(text) <= 2000


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """Draws a message of the documentation in which any JSON replaces some values."""
    if draw(st.integers(0, 9)) == 0:
        return draw(json_values)
    if isinstance(value, dict):
        return {key: draw(spoiled(inner)) for key, inner in value.items()}
    return [draw(spoiled(inner)) for inner in value] if isinstance(value, list) else value


@given(st.binary() | broken_lines(), kinds, methods, errors)
def test_any_bytes_have_a_preview(
    raw: bytes, kind: str, method: str | None, error: str | None
) -> None:
    """`log` can print any bytes as one line."""
    assert is_plain(preview(raw, kind, method, error))


@settings(max_examples=100)
@given(method=st.sampled_from(METHODS), value=VALUES)
def test_any_message_has_a_preview(method: str, value: Any) -> None:
    """`log` prints any params as one line without control characters."""
    for kind, member in (("request", "params"), ("response", "result"), ("error", "error")):
        shown = preview(json.dumps({member: value}).encode(), kind, method)
        assert is_plain(shown)


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_damaged_message_has_a_preview(example: Any, data: st.DataObject) -> None:
    """`log` can print any damaged ACP message as one line."""
    message = data.draw(spoiled(example.message))
    kind = "error" if "error" in example.message else example.kind
    assert is_plain(preview(json.dumps(message).encode(), kind, example.method))


@settings(max_examples=100)
@given(update=st.sampled_from(sorted(UPDATES)), value=st.dictionaries(WORDS, VALUES, max_size=6))
def test_any_update_has_a_preview(update: str, value: dict[str, Any]) -> None:
    """The line that `log` prints for a session update names the update's kind."""
    message = {"params": {"update": {**value, "sessionUpdate": update}}}
    shown = preview(json.dumps(message).encode(), "notification", "session/update")
    assert is_plain(shown)
    assert shown.startswith(update)


@given(st.sampled_from(CASES), st.integers(0, 400))
def test_the_beginning_of_an_example_has_a_preview(case: Case, size: int) -> None:
    """If a message is cut off at any character, `log` can still print a line."""
    assert is_plain(preview(case.raw[:size], case.kind, case.method))


@given(st.sampled_from(CASES), st.integers(0, 2**32), st.data())
def test_no_preview_shows_base64(case: Case, seed: int, data: st.DataObject) -> None:
    """The line that `log` prints for a message contains no base64."""
    picture = base64.b64encode(random.Random(seed).randbytes(data.draw(st.integers(150, 4000))))
    around = data.draw(
        st.sampled_from(
            [
                "{}",
                "see {}",
                "a look at the following picture of the whole screen: {}",
                "{} end",
                "(data:image/png;base64,{})",
            ]
        )
    )
    text = around.format(picture.decode())
    paths = list(string_paths(case.message))
    message = replaced(case.message, data.draw(st.sampled_from(paths)), text)
    shown = preview(json.dumps(message).encode(), case.kind, case.method)
    assert is_plain(shown)
    for start in range(0, len(picture) - 48, 16):
        assert picture[start : start + 48].decode() not in shown


def string_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the places of all strings within a value."""
    if isinstance(value, str):
        yield path
    members = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else members:
        yield from string_paths(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """Returns a value with the string at one place replaced."""
    if not path:
        return text
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], text)
    return copy
