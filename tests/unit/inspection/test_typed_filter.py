"""Filters as people type them, on a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.commands.inspect import INSPECT
from acp_proxy.errors import BadFilter
from acp_proxy.inspection.typed_filter import chosen_in, why_nothing
from acp_proxy.store.reader import RecordingReader
from tests.commands import run
from tests.log_writer import LogWriter, handshake, notification, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def prompt(rpc_id: int, session: str) -> dict[str, object]:
    """A prompt."""
    return request(rpc_id, "session/prompt", sessionId=session, prompt=[text("hello")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two sessions, three turns, a failed tool call, a permission, a slow answer, a hang."""
    with LogWriter(tmp_path / "monday.db") as recorder:
        handshake(recorder)
        for number, session in ((2, "ses_1"), (3, "ses_2")):
            recorder.to_agent(request(number, "session/new", cwd="/src", mcpServers=[]))
            recorder.to_client(result(number, sessionId=session))
        recorder.to_agent(prompt(4, "ses_1"))
        recorder.to_client(
            update("ses_1", "tool_call", toolCallId="toolu_01", title="pytest", status="pending"),
            update("ses_1", "tool_call_update", toolCallId="toolu_01", status="failed"),
            request(1, "session/request_permission", sessionId="ses_1", options=[]),
        )
        recorder.to_agent(result(1, outcome={"outcome": "cancelled"}))
        recorder.to_client(
            request(2, "fs/read_text_file", sessionId="ses_1", path="/src/app.py"),
        )
        recorder.t_ns += 3 * 10**9
        recorder.to_agent(result(2, content="x"))
        recorder.to_client(result(4, stopReason="end_turn"))
        recorder.to_agent(prompt(5, "ses_2"), prompt(6, "ses_1"))
        recorder.to_client(update("ses_1", "agent_message_chunk", content=text("done")))
        recorder.to_client(result(6, stopReason="end_turn"))
        recorder.stderr("ERROR permission denied")
        recorder.end()
    return recorder.path


@pytest.fixture
def monday(path: Path) -> Iterator[RecordingReader]:
    """The recording, open."""
    with RecordingReader(path, unredacted=True) as reader:
        yield reader


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        ("turn:last", ["session/prompt", "session/update", "session/prompt"]),
        ("status:failed", ["session/update"]),
        ("is:failed", ["session/update"]),
        ("failed", ["session/update"]),
        ("unanswered", ["session/prompt"]),
        ("is:unanswered", ["session/prompt"]),
        ("denied", [None]),
        ("latency:2s..", ["fs/read_text_file", "session/prompt"]),
        ("session:ses_2", ["session/new", "session/new", "session/prompt"]),
        ("session:ses_2 kind:request", ["session/new", "session/prompt"]),
        ("method:permission", ["session/request_permission"] * 2),
        ("call:toolu", ["session/update"] * 2),
        ("params.path=*app.py", ["fs/read_text_file"]),
        ("kind:stderr", [None]),
    ],
)
def test_a_first_guess_works(
    monday: RecordingReader, words: str, methods: list[str | None]
) -> None:
    """Each of these was an error or found nothing when somebody tried it."""
    found = [row["method"] for row in monday.frames(chosen_in(monday, words))]
    assert found == methods or (words == "latency:2s.." and set(found) == set(methods))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("session:ses2", "; did you mean session:ses_2?"),
        ("method:session/promt", "; did you mean method:session/prompt?"),
        ("method:tool_call", "; did you mean params.update.sessionUpdate=tool_call?"),
        ("call:tolu_01", "; did you mean call:toolu_01?"),
        ("turn:9", "; it has 3 turns"),
        ("to-agent", "; did you mean dir:to-agent?"),
        ("requests", "; did you mean kind:request?"),
        ("errors", ""),
        ("kind:error method:prompt", "; 5 frames match method:prompt"),
        ("kind:stderr dir:to-agent", None),
        ("xyzzy", ""),
    ],
)
def test_nothing_is_explained(monday: RecordingReader, words: str, hint: str | None) -> None:
    """Of how many frames, and what would match."""
    assert not list(monday.frames(chosen_in(monday, words)))
    said = why_nothing(monday, words)
    begin = f"0 of {monday.count()} frames match {words}"
    assert said.startswith(begin)
    assert hint is None or said == begin + hint


@pytest.mark.parametrize("command", ["log", "stats", "audit", "transcript", "export"])
def test_each_command_says_that_nothing_matches(path: Path, command: str) -> None:
    """On stderr, and is no failure."""
    done = run(command, path, "session:ses2")
    assert "; did you mean session:ses_2?" in done.stderr
    assert done.stderr.count("0 of") == 1
    assert done.exit_code == 0
    assert command in INSPECT


def test_a_kind_is_suggested_where_there_is_one(tmp_path: Path) -> None:
    """A word that no frame has, in the plural."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "x"))
        recorder.to_client({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
    with RecordingReader(recorder.path) as reader:
        assert (
            why_nothing(reader, "errors") == "0 of 2 frames match errors; did you mean kind:error?"
        )
        assert why_nothing(reader, "unanswered") == "0 of 2 frames match unanswered"
        assert why_nothing(reader, "id:2 failed") == (
            "0 of 2 frames match id:2 failed; 1 frame matches failed"
        )


def test_a_search_asks_each_recording_for_its_last_turn(path: Path) -> None:
    """`-w turn:last` is another turn in each."""
    assert "done" in run("search", "-w", "turn:last", "done", path).stdout
    assert run("search", "-w", "turn:last", "pytest", path).exit_code == 1


def test_a_comparison_has_no_last_turn(path: Path) -> None:
    """It is another one in each recording."""
    done = run("diff", path, path, "turn:last")
    assert done.exit_code == 2
    assert "the last turn is that of one recording" in done.stderr


def test_a_mistake_is_found_before_the_recording_is_opened(tmp_path: Path) -> None:
    """A filter with a mistake is answered at once, however large the recording is."""
    done = run("log", tmp_path / "no.db", "knid:error")
    assert "did you mean kind?" in done.stderr


def test_a_recording_without_turns_has_no_last_one(tmp_path: Path) -> None:
    """Nothing is of turn 0."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(notification("x"))
    with RecordingReader(recorder.path) as reader:
        assert not list(reader.frames(chosen_in(reader, "turn:last")))
        with pytest.raises(BadFilter):
            chosen_in(reader, "turn:first")
