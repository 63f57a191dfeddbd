"""Hypothesis strategies for JSON values, for ACP messages and for lines that resemble them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WORDS = (
    "sessionId", "toolCallId", "terminalId", "requestId", "type", "data", "update", "toolCall",
    "subject", "sessionUpdate", "state", "stopReason", "id", "code", "params", "method", "",
)  # fmt: skip
"""Names of members that have a meaning at some places of ACP messages."""

text = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | text
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | text, inner, max_size=4)
    ),
    max_leaves=8,
)

ids = st.integers(-2, 3) | st.sampled_from(["", "0", "1", "é", None, 1.5, 2**70])
names = st.sampled_from(["s", "t", "ü"])
updates = st.fixed_dictionaries(
    {},
    optional={
        "sessionUpdate": st.sampled_from(
            ["agent_message_chunk", "tool_call", "tool_call_update", "plan", "state_update"]
        ),
        "toolCallId": names,
        "terminalId": names,
        "state": st.sampled_from(["running", "idle"]),
        "stopReason": names,
        "content": json_values,
    },
)
calls = st.fixed_dictionaries({}, optional={"toolCallId": names, "rawInput": json_values})
params = st.fixed_dictionaries(
    {},
    optional={
        "sessionId": names,
        "update": updates,
        "type": st.sampled_from(["tool_call", "plan"]),
        "data": st.fixed_dictionaries({}, optional={"id": names, "output": json_values}),
        "toolCall": calls,
        "subject": st.fixed_dictionaries({}, optional={"toolCall": calls, "toolCallId": names}),
        "toolCallId": names,
        "terminalId": names,
        "requestId": ids,
        "content": json_values,
        "_meta": json_values,
    },
)
methods = st.sampled_from(
    ["initialize", "session/new", "session/prompt", "session/update", "session/request_permission",
     "fs/read_text_file", "terminal/create", "$/cancel_request", "_x/y", ""]
)  # fmt: skip
results = st.fixed_dictionaries(
    {},
    optional={"sessionId": names, "terminalId": names, "stopReason": names, "content": json_values},
)
errors = st.fixed_dictionaries({"code": st.integers(-33000, 500), "message": text})

requests = st.fixed_dictionaries(
    {"method": methods}, optional={"id": ids, "params": params | json_values, "jsonrpc": text}
)
answers = st.fixed_dictionaries(
    {"result": results | json_values}, optional={"id": ids, "error": st.none()}
) | st.fixed_dictionaries({"error": errors}, optional={"id": ids, "result": st.none()})
messages: st.SearchStrategy[dict[str, Any]] = requests | answers
"""Requests, notifications and answers with labels where they should be, and some where not."""


@st.composite
def shuffled(draw: st.DrawFn, value: Any) -> Any:
    """Draws the same JSON value with the members of objects in another order."""
    if isinstance(value, dict):
        return {key: draw(shuffled(value[key])) for key in draw(st.permutations(list(value)))}
    return [draw(shuffled(inner)) for inner in value] if isinstance(value, list) else value


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draws a message as one line, in one of the styles in which peers write JSON."""
    separators = draw(st.sampled_from([None, (",", ":"), (" ,\t", " : ")]))
    line = json.dumps(
        draw(messages), ensure_ascii=draw(st.booleans()), separators=separators
    ).encode()
    return draw(st.sampled_from([b"", b" "])) + line + draw(st.sampled_from([b"", b"\r"]))


@st.composite
def broken_lines(draw: st.DrawFn) -> bytes:
    """Draws a line in which a few bytes are missing, doubled or replaced."""
    line = bytearray(draw(lines()))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(line)))
        end = start + draw(st.integers(0, 3))
        line[start:end] = draw(st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"\\ud800"]))
    return bytes(line).replace(b"\n", b"")
