"""The title, kind and status of a tool call are read in every dialect, also from a cut frame."""

from __future__ import annotations

import json
from typing import Any

from acp_proxy.explain.describe.tool_texts import call_in, call_label, params_of, places
from acp_proxy.protocol.tool_calls import CallState
from tests.support.cases import each_case
from tests.support.log_writer import line, notification, request, update


@each_case(
    ("message", "state"),
    [
        (
            update("s", "tool_call", toolCallId="c", title="Edit", status="pending"),
            CallState("pending", title="Edit"),
        ),
        (
            notification(
                "session/update", sessionId="s", type="tool_call", data={"id": "c", "tool": "t"}
            ),
            CallState(title="t", tool="t"),
        ),
        (
            request(1, "session/request_permission", toolCall={"title": "Run", "kind": "execute"}),
            CallState(title="Run", kind="execute"),
        ),
        (
            request(1, "session/request_permission", subject={"toolCall": {"title": "Run"}}),
            CallState(title="Run"),
        ),
        (update("s", "tool_call", title="\x1b[2J"), CallState(title="\\x1b[2J")),
        (update("s", "tool_call", title=["a"], status={}), CallState()),
        ({"params": [1]}, CallState()),
        ([1, 2], CallState()),
    ],
)
def test_the_state_of_a_call_is_read(message: Any, state: CallState) -> None:
    """`call_in` returns the title, kind and status of a tool call from a message of any dialect."""
    assert call_in(line(message)) == state


def test_the_state_is_read_from_a_cut_frame() -> None:
    """`call_in` returns a tool call's title even from only the beginning of a frame."""
    raw = line(update("s", "tool_call", title="Write", content="x" * 1000))
    assert call_in(raw[:200]).title == "Write"
    assert params_of(raw[:20]) == {}
    assert params_of(b"\xff\x00") == {}
    assert params_of(b"[" * 100_000) == {}


def test_half_a_surrogate_pair_is_read() -> None:
    """If a tool call's title has half a surrogate pair, `call_in` returns it as an escape."""
    raw = json.dumps({"params": {"update": {"sessionUpdate": "tool_call", "title": "\ud83d"}}})
    assert call_in(raw.encode()).title == "\\ud83d"


def test_counted_ids_are_told_apart() -> None:
    """`call_label` shortens a long id of a tool call, but not a counted id such as `call_0`."""
    assert call_label("Write", "stream_call_0") == "Write (stream_call_0)"
    assert call_label("Write", "call_0") == "Write (call_0)"
    assert call_label("Write", "toolu_01ABCDEFGHJK0123456789XyZ") == "Write (…789XyZ)"


@each_case(
    ("location", "shown"),
    [
        ({"line": 3}, "/a.py:3"),
        ({"line": 3, "column": 0}, "/a.py:3:0"),
        ({"line": 3, "endLine": 3}, "/a.py:3"),
        ({"line": 3, "column": 5, "endLine": 3}, "/a.py:3:5"),
        ({"line": 3, "endLine": 7}, "/a.py:3-7"),
        ({"line": 3, "column": 5, "endLine": 7, "endColumn": 2}, "/a.py:3:5-7:2"),
        ({"line": 3, "column": 5, "endLine": 3, "endColumn": 9}, "/a.py:3:5-3:9"),
        ({"line": 3, "column": 5, "endColumn": 9}, "/a.py:3:5-3:9"),
    ],
)
def test_a_location_has_its_lines_and_columns(location: dict[str, int], shown: str) -> None:
    """If a tool call names a place in a file, `show` prints the line and column of the place."""
    assert places({"location": {"path": "/a.py", **location}}) == shown
