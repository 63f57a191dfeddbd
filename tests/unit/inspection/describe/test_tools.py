"""What frames say about a tool call is read in every dialect, also from the half of a frame."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.inspection.describe.tools import CallState, params_of, state_of
from tests.log_writer import line, notification, request, update


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (
            update("s", "tool_call", toolCallId="c", title="Edit", status="pending"),
            CallState("Edit", None, "pending"),
        ),
        (
            notification(
                "session/update", sessionId="s", type="tool_call", data={"id": "c", "tool": "t"}
            ),
            CallState("t", None, None),
        ),
        (
            request(1, "session/request_permission", toolCall={"title": "Run", "kind": "execute"}),
            CallState("Run", "execute", None),
        ),
        (
            request(1, "session/request_permission", subject={"toolCall": {"title": "Run"}}),
            CallState("Run", None, None),
        ),
        (update("s", "tool_call", title="\x1b[2J"), CallState("\\x1b[2J", None, None)),
        (update("s", "tool_call", title=["a"], status={}), CallState()),
        ({"params": [1]}, CallState()),
        ([1, 2], CallState()),
    ],
)
def test_a_frame_tells_the_state(message: Any, state: CallState) -> None:
    """Title, kind and status are found where a dialect has them, and are safe to print."""
    assert state_of(line(message)) == state


def test_half_a_frame_tells_what_it_can() -> None:
    """Of a line that was cut, what stands before the cut is known."""
    raw = line(update("s", "tool_call", title="Write", content="x" * 1000))
    assert state_of(raw[:200]).title == "Write"
    assert params_of(raw[:20]) == {}
    assert params_of(b"\xff\x00") == {}
    assert params_of(b"[" * 100_000) == {}


def test_half_an_emoji_is_no_obstacle() -> None:
    """What strict parsers refuse is read by a tolerant one."""
    raw = json.dumps({"params": {"update": {"sessionUpdate": "tool_call", "title": "\ud83d"}}})
    assert state_of(raw.encode()).title == "\\ud83d"


def test_later_frames_add_to_what_is_known() -> None:
    """A later word replaces an earlier one, and silence none."""
    first = CallState("Read", "read", "pending")
    assert first.updated(CallState(None, None, "completed")) == CallState(
        "Read", "read", "completed"
    )
    assert first.updated(CallState("Read a.py")).title == "Read a.py"
