"""Other frames give the timeline titles and options, and the dialect the names of error codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.render.styled_text import Ink
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.timeline import Tone, frame_line
from acp_proxy.store.reader import RecordingReader
from tests.commands import run
from tests.log_writer import (
    LogWriter,
    error,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = [
    {"optionId": "o1", "name": "Allow", "kind": "allow_once"},
    {"optionId": "o2", "name": "Never", "kind": "reject_always"},
]
CALL = "toolu_01ABCDEFGHJK0123456789XyZ"


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """Records two concurrent tool calls, a permission, and a call that fails."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 4
        recorder.to_client(
            update("s", "tool_call", toolCallId=CALL, title="pytest -q", status="pending"),  # 5
            update("s", "tool_call", toolCallId="b", title="Read a.py", status="pending"),  # 6
            request(7, "session/request_permission", sessionId="s",
                    toolCall={"toolCallId": CALL}, options=OPTIONS),  # 7
        )  # fmt: skip
        recorder.to_agent(result(7, outcome={"outcome": "selected", "optionId": "o1"}))  # 8
        failed = {"type": "content", "content": text("command not found")}
        recorder.to_client(
            update("s", "tool_call_update", toolCallId="b", status="completed"),  # 9
            update("s", "tool_call_update", toolCallId=CALL, status="failed", content=[failed]),
        )
        recorder.to_client(result(1, stopReason="end_turn"))  # 11
        recorder.end()
        recorder.close()
        recorder.finish()
    return recorder.path


def texts(path: Path) -> dict[int, str]:
    """Returns the text of each frame in the timeline."""
    with RecordingReader(path) as reader:
        hints_of = HintReader(reader).of
        return {row["seq"]: frame_line(row, hints=hints_of(row)).text for row in reader.frames()}


def test_each_update_of_a_tool_call_has_its_title_and_a_short_id(worked: Path) -> None:
    """The title is that of the first update."""
    said = texts(worked)
    assert said[5] == "pytest -q (…789XyZ) [pending]"
    assert said[9] == "Read a.py (b) [completed]"
    assert said[10] == "pytest -q (…789XyZ) [failed] command not found"


def test_a_permission_and_its_answer_are_described(worked: Path) -> None:
    """With the title of the call, and the kind and name of the chosen option."""
    said = texts(worked)
    assert said[7] == "pytest -q (…789XyZ): Allow (allow_once) | Never (reject_always)"
    assert said[8] == "selected allow_once 'Allow'"


def test_the_title_is_found_outside_of_the_filter(worked: Path) -> None:
    """Wherever the timeline begins."""
    out = run("inspect", "log", worked, "seq:9").stdout
    assert "Read a.py (b) [completed]" in out


def test_a_failed_tool_call_is_red(worked: Path) -> None:
    """Like an error."""
    with RecordingReader(worked) as reader:
        tones = {row["seq"]: frame_line(row).tone for row in reader.frames()}
    assert tones[10] is Tone.TROUBLE
    assert tones[9] is Tone.PLAIN
    out = run("inspect", "log", worked, "seq:10", FORCE_COLOR="1").stdout
    assert f"\x1b[38;5;{Ink.TROUBLE:d}mpytest" in out


def test_a_tool_call_is_named_alike_everywhere(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its title and the end of its id: on the screens of all commands, failed ones in red."""
    label = "pytest -q (…789XyZ)"
    red = f"\x1b[38;5;{Ink.TROUBLE:d}m"
    for command in ("show", "stats"):
        shown = run("inspect", command, worked, FORCE_COLOR="1").stdout
        assert label in shown
        assert f"{red}failed" in shown
    assert label in run("inspect", "audit", worked).stdout
    other = worked.with_name("other.jsonl")
    exported = run("inspect", "export", worked).stdout
    other.write_text(exported.replace('"status":"failed"', '"status":"completed"'))
    compared = run("inspect", "diff", worked, other).stdout
    assert f"{label} [failed]" in compared
    monkeypatch.setattr("acp_proxy.cli.render.output.width", lambda: 120)
    found = run("inspect", "search", "not found", worked).stdout
    assert label in found
    assert json.loads(run("inspect", "search", "--json", "not found", worked).stdout)[
        "tool_call"
    ].endswith("789XyZ")


@pytest.mark.parametrize(
    ("dialect", "code", "said"),
    [
        ("v1", -32000, "-32000 (authentication required) no"),
        ("draft-1.0", -32000, "-32000 (session not found) no"),
        ("v1", -32002, "-32002 (resource not found) no"),
        ("draft-1.0", -32002, "-32002 (permission denied) no"),
        ("v1", 5, "5 no"),
    ],
)
def test_an_error_code_has_the_name_of_its_dialect(
    tmp_path: Path, dialect: str, code: int, said: str
) -> None:
    """The same number has different meanings in two dialects."""
    with LogWriter(tmp_path / "x.db", dialect=dialect) as recorder:
        recorder.to_agent(request(1, "session/list"))
        recorder.to_client(error(1, code, "no"))
    assert texts(recorder.path)[3] == said


def test_a_permission_of_the_draft_has_the_name_of_its_tool(tmp_path: Path) -> None:
    """The request itself has only the id of the call."""
    with LogWriter(tmp_path / "x.db", dialect="draft-1.0") as recorder:
        data = {"id": "tc_123", "tool": "fs/write_text_file", "status": "pending"}
        recorder.to_client(
            notification("session/update", sessionId="s", type="tool_call", data=data),
            request(9, "session/request_permission", sessionId="s", operation="file_write",
                    resource="/w/a", toolCallId="tc_123"),
        )  # fmt: skip
    assert texts(recorder.path)[3] == "file_write /w/a: (fs/write_text_file, tc_123)"
