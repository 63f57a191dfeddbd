"""Plans, diffs and texts of a message, as a person reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp_proxy.inspection.unfolded import unfolded
from tests.commands import run
from tests.log_writer import LogWriter, handshake, line, request, update

if TYPE_CHECKING:
    from pathlib import Path


def found(message: Any) -> list[tuple[str, list[str]]]:
    """What there is to read in a message."""
    return list(unfolded(json.dumps(message).encode()))


def test_a_plan_has_a_line_for_each_entry() -> None:
    """With how far it is; the draft calls them steps."""
    entries = [
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Edit", "status": "in_progress"},
    ]
    assert found(update("s", "plan", entries=entries)) == [("plan", ["✓ Look (high)", "▸ Edit"])]
    data = {"planId": "p", "steps": [{"id": "1", "description": "Wait", "status": "pending"}]}
    message = {"params": {"sessionId": "s", "type": "plan", "data": data}}
    assert found(message) == [("plan", ["· Wait"])]


def test_a_diff_has_the_lines_that_changed() -> None:
    """And not both texts, each in one string."""
    diff = {"type": "diff", "path": "/a.py", "oldText": "x\ny\nz\n", "newText": "x\nY\nz\n"}
    assert found(update("s", "tool_call", toolCallId="c", content=[diff])) == [
        ("/params/update/content/0 /a.py", ["@@ -1,3 +1,3 @@", " x", "-y", "+Y", " z"])
    ]


def test_a_file_has_its_lines(tmp_path: Path) -> None:
    """Below the message, under the pointer of its place."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        written = {"sessionId": "s", "path": "/a", "content": "one\n\x1b[2Jtwo\n"}
        recorder.to_client(request(1, "fs/write_text_file", **written))
    out = run("inspect", "log", "--seq", "4", recorder.path).stdout
    assert out.endswith("\n\n/params/content:\n  one\n  \\x1b[2Jtwo\n")


def test_what_is_no_message_has_nothing_to_read() -> None:
    """Nor has one that is too deep, or whose members are of other types."""
    assert list(unfolded(b"not json")) == []
    assert list(unfolded(b"[" * 1000)) == []
    assert found({"params": {"newText": 1, "update": [{"entries": "a\nb"}]}}) == [
        ("/params/update/0/entries", ["a", "b"])
    ]
    assert list(unfolded(line({"params": {"a~/b": "x\ny"}}))) == [("/params/a~0~1b", ["x", "y"])]
