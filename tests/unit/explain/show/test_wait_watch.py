"""A watch on a running conversation knows who has to act, and says so in a line that ticks."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.screens.wait_line import WaitLine
from acp_proxy.explain.show.wait_watch import WaitWatch
from acp_proxy.store.reader import RecordingReader
from tests.support.hanging_chat import hanging_chat
from tests.support.log_writer import record_conversation, request, result

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 10**9


def line_of(watch: WaitWatch, reader: RecordingReader) -> str:
    """Returns the line of a watch after all new rows."""
    reader.refresh()
    return watch.line(watch.waits())


def test_a_wait_lasts_until_its_answer(tmp_path: Path) -> None:
    """The last line of `log --follow` names a silent agent or a person until the answer comes."""
    with hanging_chat(tmp_path / "x.db") as chat, RecordingReader(tmp_path / "x.db") as reader:
        watch = WaitWatch(reader)
        assert line_of(watch, reader).startswith("agent silent ")
        assert line_of(watch, reader).endswith(", prompt #6 open")
        chat.t_ns += 80 * SECOND
        tool = {"toolCallId": "call-3", "title": "pytest -q"}
        asked = {"sessionId": "s-1", "toolCall": tool, "options": []}
        chat.to_client(request(1, "session/request_permission", **asked))
        assert line_of(watch, reader).startswith("a person: permission ")
        chat.to_agent(result(1, outcome={"outcome": "cancelled"}))
        chat.to_client(result(2, stopReason="cancelled"))
        assert line_of(watch, reader) == ""


def test_the_line_ticks_without_new_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of `log --follow` counts how long an agent is silent while no frame comes."""
    now_ns = time.monotonic_ns()
    with hanging_chat(tmp_path / "x.db"), RecordingReader(tmp_path / "x.db") as reader:
        watch = WaitWatch(reader)
        waits = watch.waits()
        lines = []
        for seconds in (300, 301):
            monkeypatch.setattr(time, "monotonic_ns", lambda at=now_ns + seconds * SECOND: at)
            lines.append(watch.line(waits))
    assert lines[0] != lines[1]
    assert all(line.startswith("agent silent 6 min ") for line in lines)


def test_a_finished_recording_has_no_waits(tmp_path: Path) -> None:
    """For a recording that has ended, the line of `log --follow` about who must act is empty."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        watch = WaitWatch(reader)
        assert (watch.waits(), watch.elapsed_ns(), watch.line([])) == ([], 0, "")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_status_line_is_for_terminals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool
) -> None:
    """`log --follow` draws and removes its last line on a terminal only."""
    output = io.StringIO()
    output.isatty = lambda: is_terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", output)
    with hanging_chat(tmp_path / "x.db"), RecordingReader(tmp_path / "x.db") as reader:
        line = WaitLine(reader)
        line.draw()
        drawn = output.getvalue()
        line.draw()
        assert output.getvalue() == drawn, "a second has not passed"
        line.clear()
    assert ("agent silent " in drawn) == is_terminal
    assert (output.getvalue() != drawn) == is_terminal
