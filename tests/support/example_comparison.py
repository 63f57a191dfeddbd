"""Makes a comparison with every kind of difference, and with text that controls terminals.

``python -m tests.support.example_comparison`` writes `tests/data/diff` anew: the output of `diff`
on terminals and to a pipe. Review each file with ``cat``, on a dark terminal and on a light one.
"""

from __future__ import annotations

import io
import os
import time
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from acp_proxy.cli.diff.diff_reports import DiffReporter, report_diff
from acp_proxy.cli.diff.diff_screen import DiffScreen
from acp_proxy.cli.screens.styled_text import Screen
from acp_proxy.diff.diff_result import (
    Change,
    Counts,
    Diff,
    DiffEntry,
    DiffSequence,
    Expect,
    Field,
    MethodLatency,
    Side,
)
from tests.support.log_writer import MS, STARTED_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

GOLDEN = Path(__file__).parents[1] / "data" / "diff"
EVIL = "\x1b[31m\x9b2J\u202e\nforged"
ANSWER = (
    "I ran the tests: 41 passed, 1 failed and 2 were skipped. The one that fails is"
    " test_resume in tests/test_session.py: it expects the session to be there after a restart,"
    " and it is not. I have not changed anything yet. Shall I fix it?\n"
)
OTHER_ANSWER = ANSWER.replace("41 passed, 1 failed", "42 passed, none failed").replace(
    "Shall I fix it?", "Shall I go on with the next task?"
)
A = Side(
    path="/srv/recordings/monday.db",
    name="monday",
    id="c0ffee000001",
    started_at=STARTED_AT,
    state="complete",
    frames=141,
    agent="opencode 1.2.0",
    client="Zed 0.190.1",
)
B = evolve(
    A,
    path="/srv/recordings/friday.db",
    name="friday",
    id="c0ffee000002",
    started_at="2025-06-19T09:00:00.000000+00:00",
    state="incomplete",
    frames=138,
    agent="opencode 1.3.0-beta.2",
)
HANDSHAKE = (
    Field("/result/agentInfo/version", "1.2.0", "1.3.0-beta.2"),
    Field("/result/agentCapabilities/loadSession", b=True, only="b"),
    Field("/result/agentCapabilities/mcpCapabilities/sse", a=True, only="a"),
)
ENTRIES = (
    DiffEntry(
        Change.CHANGED,
        "connection",
        "to-agent",
        "session/new",
        4,
        4,
        1,
        1,
        (Field("/params/mcpServers/0/args/2", "--port=1", "--port=2"),),
        "/srv/project, 1 MCP server",
    ),
    DiffEntry(Change.ONLY_B, "session:1", "to-agent", "session/set_mode", b=9, b_frames=1,
              preview="code"),
    DiffEntry(Change.MOVED, "session:1", "to-agent", "the answer to fs/read_text_file",
              31, 36, 1, 1,
              preview="2 lines, 25 characters"),
    DiffEntry(Change.ONLY_A, "session:1", "to-client", "session/update agent_thought_chunk", 12,
              a_frames=57, preview="The user wants to know whether the tests pass. I should look at"
              " how they are run, and then 请运行测试 😀 run them."),
    DiffEntry(
        Change.CHANGED,
        "session:1",
        "to-client",
        "session/update tool_call_update",
        88,
        80,
        1,
        1,
        (
            Field("/params/update/status", "completed", "failed"),
            Field("/params/update/rawOutput/exit~1code", 0, "0"),
            Field("/params/update/content", [{"type": "content", "content": {
                "type": "text", "text": "42 passed in 3.20s, 你好" + " and more" * 60}}], only="a"),
            Field("/params/update/rawOutput", None, {"error": "the command was not found",
                                                     "code": -32000, "data": {"path": "/bin"}}),
        ),
        "tool_call_update: call-1 [completed]",
    ),
    DiffEntry(
        Change.CHANGED,
        "session:1",
        "to-client",
        "session/update agent_message_chunk",
        89,
        81,
        31,
        28,
        (Field("/params/update/content/text", ANSWER, OTHER_ANSWER),),
        "I ran the tests: 41 passed, 1 failed and 2 were skipped.",
    ),
    DiffEntry(
        Change.CHANGED,
        "session:2",
        "to-client",
        f"session/update {EVIL}",
        130,
        127,
        1,
        1,
        (
            Field(f"/params/update/{EVIL}", EVIL, f"{EVIL} "),
            Field("/params/update/half", "\ud800", "\udfff" * 200),
        ),
        EVIL,
    ),
)  # fmt: skip
ENDING = (Field("/exit_code", 0, None), Field("/exit_signal", None, 9))
LATENCY = (
    MethodLatency("initialize", "to-agent", 1, 1, 338 * MS, 341 * MS, 338 * MS, 341 * MS),
    MethodLatency(
        "session/prompt", "to-agent", 12, 11, 4_200 * MS, 11_800 * MS, 9_100 * MS, 62_000 * MS
    ),
    MethodLatency("session/set_mode", "to-agent", 0, 1, None, 2 * MS, None, 2 * MS),
    MethodLatency("fs/read_text_file", "to-client", 1204, 1190, 300_000, 200_000, 800_000, 900_000),
    MethodLatency("session/request_permission", "to-client", 2, 2, 9_000 * MS, 20, 12_000 * MS, 30),
)
ALIASES: dict[str, tuple[str | None, str | None]] = {
    "path:cwd": ("/srv/project", "/srv/project"),
    "session:1": ("ses_0123456789abcdef", "ses_fedcba9876543210"),
    "session:2": (EVIL, None),
}


def differing(entries: Sequence[DiffEntry] = ENTRIES) -> Diff:
    """Returns a comparison with these entries, and with differences of all other kinds."""
    changes = [entry.change for entry in entries]
    return Diff(
        a=A,
        b=B,
        expect=Expect.FRAMES,
        counts=Counts(
            handshake=len(HANDSHAKE),
            only_a=changes.count(Change.ONLY_A),
            only_b=changes.count(Change.ONLY_B),
            changed=changes.count(Change.CHANGED),
            moved=changes.count(Change.MOVED),
            ending=len(ENDING),
        ),
        handshake=HANDSHAKE,
        ending=ENDING,
        latency=LATENCY,
        aliases=ALIASES,
        sequences=lambda: sequences(entries),
    )


def sequences(entries: Sequence[DiffEntry]) -> Iterator[DiffSequence]:
    """Yields a sequence for each lane: 57 equal messages, and then the entries."""
    for (lane, direction), results in groupby(entries, lambda item: (item.lane, item.direction)):
        yield DiffSequence(lane, direction, None, iter([iter(range(900, 957)), *results]))


def equal(expect: Expect = Expect.FRAMES) -> Diff:
    """Returns a comparison in which only times differ."""
    return evolve(
        differing(()), expect=expect, counts=Counts(), handshake=(), ending=(), latency=LATENCY[:1]
    )


def printed(comparison: Diff, reporter: Callable[[], DiffReporter]) -> str:
    """Returns the text that a reporter of `diff` prints on stdout."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with redirect_stdout(out):
        report_diff(comparison, [reporter()])
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue().decode()


def screen(comparison: Diff, columns: int | None, *, color: bool = False) -> str:
    """Returns the output of `diff` for a comparison, on a terminal or to a pipe."""
    return printed(comparison, lambda: DiffScreen(Screen(columns, color)))


def screens() -> Iterator[tuple[str, str]]:
    """Yields the name and the expected contents of each golden file."""
    for columns in (80, 160, None):
        yield f"{columns or 'pipe'}.txt", screen(differing(), columns)
    yield "80-colour.txt", screen(differing(), 80, color=True)
    yield "80-equal.txt", screen(equal(), 80)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    GOLDEN.mkdir(exist_ok=True)
    for name, content in screens():
        (GOLDEN / name).write_text(content, encoding="utf-8")
